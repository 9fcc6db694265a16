#include "program/hooks.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "program/graph_site.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr std::array<const char*, 6> combiners = {"Sum", "Prod", "Max", "Min", "Maxn", "Minn"};

bool is_output(const Tensor& tensor) { return tensor.role == Role::out; }

// Text of `struct Graph` for one task.
class GraphText {
 public:
  GraphText(const Task& task, const GraphSite& site) : task_(task), site_(site) {}

  std::string text() const {
    std::string out = parameters() + "struct Graph {\n";
    out += members();
    out += row_struct() + values_struct() + load();
    out += folds();
    out += finish();
    out += store();
    out += store_row();
    out += extents();
    out += "};\n" + fmt::format("constexpr int FOLDS = {};\n", site_.folds.size());
    return out + combiners_text();
  }

 private:
  using Kind = SiteRead::Kind;

  std::string parameters() const {
    std::string list, names;
    for (const Tensor& tensor : task_.tensors) {
      list += fmt::format("{}{}T_{}* {}", list.empty() ? "" : ", ",
                          is_output(tensor) ? "" : "const ", tensor.name, tensor.name);
      names += (names.empty() ? "" : ", ") + tensor.name;
    }
    for (const Axis& axis : task_.axes) {
      list += fmt::format(", long long {}", axis.name);
      names += ", " + axis.name;
    }
    return fmt::format("#define GRAPH_PARAMETERS {}\n#define GRAPH_ARGUMENTS {}\n", list, names);
  }

  std::string members() const {
    std::string out;
    for (const Tensor& tensor : task_.tensors)
      out += fmt::format("  {}T_{}* {};\n", is_output(tensor) ? "" : "const ", tensor.name,
                         tensor.name);
    for (const Axis& axis : task_.axes) out += fmt::format("  long long {};\n", axis.name);
    out +=
        fmt::format("  __device__ long long all_rows() const {{ return {}; }}\n", site_.rows.text);
    return out + fmt::format("  __device__ long long all_columns() const {{ return {}; }}\n",
                             site_.cols.text);
  }

  // Declares `Row`: what its elements share.
  std::string row_struct() const {
    std::string out = "  struct Row {\n    long long row;\n";
    for (const int fold : site_.folds) out += fmt::format("    float fold_{};\n", stage(fold).name);
    return out + "  };\n";
  }

  // Tensors that are read at the element itself, by name.
  std::set<std::string> held() const {
    std::set<std::string> names;
    for (const SiteStage& one : site_.stages) {
      for (const SiteRead& read : one.reads) {
        if (read.kind == Kind::element && read.stage < 0) names.insert(read.source);
      }
    }
    return names;
  }

  std::string values_struct() const {
    std::string out =
        "  // N elements of a row as they are stored.\n  template <int N>\n  struct Values {\n";
    for (const std::string& name : held()) out += fmt::format("    Vector<T_{0}, N> {0};\n", name);
    return out + "  };\n";
  }

  std::string load() const {
    std::string out =
        "  template <int N>\n  __device__ __forceinline__ Values<N> load(const Row& at, long long "
        "column) const {\n    Values<N> values;\n    const long long first = at.row * "
        "all_columns() + column;\n";
    for (const std::string& name : held()) {
      out += fmt::format(
          "    values.{0} = LOAD_HINT ? load_vector_streaming<T_{0}, N>(this->{0} + first)\n"
          "                           : load_vector<T_{0}, N>(this->{0} + first);\n",
          name);
    }
    return out + "    return values;\n  }\n";
  }

  const ReferenceStage& stage(int number) const {
    return task_.reference.stages[static_cast<std::size_t>(number)];
  }
  const SiteStage& sited(int number) const {
    return site_.stages[static_cast<std::size_t>(number)];
  }

  // Stages that are computed where they are read: all but folds, in order, with `number` last.
  void needed(int number, std::vector<int>& order) const {
    for (const SiteRead& read : sited(number).reads) {
      if (read.stage >= 0 && stage(read.stage).kind == StageKind::map) needed(read.stage, order);
    }
    if (std::find(order.begin(), order.end(), number) == order.end()) order.push_back(number);
  }

  std::string converted(const std::string& tensor, const std::string& element) const {
    const Tensor* what = find_tensor(task_, tensor);
    const bool real = what == nullptr || what->type <= DType::e5m2;
    return real ? fmt::format("to_float({})", element)
                : fmt::format("static_cast<long long>({})", element);
  }

  // Extents by functions: coordinates in scope may have the names of axes.
  std::string index_text(const SiteRead& read) const {
    std::string index = read.at.empty() ? "0" : "(" + read.at[0] + ")";
    for (std::size_t d = 1; d < read.at.size(); ++d)
      index = fmt::format("({} * extent_{}() + ({}))", index, extent_number(read.extents[d].text),
                          read.at[d]);
    return index;
  }

  std::string value(const SiteRead& read) const {
    if (read.stage >= 0) {
      const bool fold = stage(read.stage).kind == StageKind::fold;
      return (fold ? "at.fold_" : "value_") + stage(read.stage).name;
    }
    switch (read.kind) {
      case Kind::element:
        return converted(read.source, fmt::format("values.{}.at[i]", read.source));
      case Kind::row:
        return converted(read.source, fmt::format("this->{}[at.row]", read.source));
      case Kind::column:
        return converted(read.source, fmt::format("columns_{}.at[i]", read.source));
      default:
        return converted(read.source, fmt::format("this->{}[{}]", read.source, index_text(read)));
    }
  }

  // `text` with what it needs: places of its reads, constants, what these need in turn.
  std::string with_needs(const SiteStage& one, const ReferenceStage& what,
                         const std::string& text) const {
    std::string all = text;
    for (const SiteRead& read : one.reads) {
      if (!uses(text, read.name) || read.kind != Kind::other) continue;
      for (const std::string& at : read.at) all += " " + at;
    }
    for (auto constant = what.constants.rbegin(); constant != what.constants.rend(); ++constant) {
      if (uses(all, constant->first)) all += " " + constant->second;
    }
    return all;
  }

  // Coordinates of element `first + i`, or of the row where the stage has one value a row.
  std::string coordinates(const SiteStage& one, const ReferenceStage& what, bool per_row) const {
    std::string out, rest = per_row ? "at.row" : "(first + i)";
    const auto& axes = per_row ? what.free : one.coordinates;
    for (std::size_t d = axes.size(); d-- > 0;) {
      const std::string& extent = axes[d].extent.text;
      if (extent == "1") {
        out += fmt::format("      const long long {} = 0;\n", axes[d].name);
        continue;
      }
      if (!per_row && rest == "(first + i)" && axes[d].extent == site_.cols && !site_.flat) {
        out += fmt::format("      const long long {} = column + i;\n", axes[d].name);
        rest = "at.row";
        continue;
      }
      const std::string size = fmt::format("size_of_{}_{}", axes[d].name, d);
      out += fmt::format("      const long long {} = extent_{}();\n", size, extent_number(extent));
      out += fmt::format("      const long long {} = {}{};\n", axes[d].name, rest,
                         d == 0 ? "" : " % " + size);
      rest = fmt::format("({} / {})", rest, size);
    }
    return out;
  }

  std::size_t extent_number(const std::string& extent) const {
    const auto known = std::find(extents_.begin(), extents_.end(), extent);
    if (known != extents_.end()) return static_cast<std::size_t>(known - extents_.begin());
    extents_.push_back(extent);
    return extents_.size() - 1;
  }

  // `text` over a stage's reads, as the value of a new constant.
  std::string computed(int number, const std::string& text, const std::string& name,
                       bool per_row) const {
    const SiteStage& one = sited(number);
    const ReferenceStage& what = stage(number);
    std::string out = fmt::format("    float {};\n    {{\n", name);
    const std::string all = with_needs(one, what, text);
    const bool placed = std::any_of(one.coordinates.begin(), one.coordinates.end(),
                                    [&](const StageAxis& axis) { return uses(all, axis.name); });
    if (placed) out += coordinates(one, what, per_row);
    for (const StageAxis& size : what.sizes) {
      if (uses(all, size.name))
        out += fmt::format("      const long long {} = extent_{}();\n", size.name,
                           extent_number(size.extent.text));
    }
    for (const auto& [constant, value] : what.constants) {
      if (uses(all, constant)) out += fmt::format("      const auto {} = {};\n", constant, value);
    }
    for (const SiteRead& read : one.reads) {
      if (uses(text, read.name))
        out += fmt::format("      const auto {} = {};\n", read.name, value(read));
    }
    for (const SiteRead& read : one.called) out += called(read);
    return out + fmt::format("      {} = {};\n    }}\n", name, text);
  }

  std::string called(const SiteRead& read) const {
    SiteRead at = read;
    std::string list;
    for (std::size_t d = 0; d < read.extents.size(); ++d) {
      at.at.push_back(fmt::format("i{}", d));
      list += fmt::format("{}long long i{}", d == 0 ? "" : ", ", d);
    }
    return fmt::format(
        "      const auto {} = [&]({}) {{ return {}; }};\n", read.name, list,
        converted(read.source, fmt::format("this->{}[{}]", read.source, index_text(at))));
  }

  // Columns that stages of `order` read: loaded once for N elements.
  std::string columns(const std::vector<int>& order) const {
    std::set<std::string> names;
    for (const int number : order) {
      for (const SiteRead& read : sited(number).reads) {
        if (read.kind == Kind::column && read.stage < 0) names.insert(read.source);
      }
    }
    std::string out;
    for (const std::string& name : names)
      out += fmt::format(
          "    const auto columns_{0} = load_vector<T_{0}, N>(this->{0} + column);\n", name);
    return out;
  }

  std::string stages_before(const std::vector<int>& order, int last) const {
    std::string out;
    for (const int number : order) {
      if (number == last) continue;
      out += computed(number, sited(number).term, "value_" + stage(number).name,
                      sited(number).place == StagePlace::row);
    }
    return out;
  }

  std::string folds() const {
    if (site_.folds.empty()) return "";
    std::string out =
        "  // `acc` with N further terms of fold K.\n  template <int K, int N>\n  __device__ "
        "__forceinline__ float fold(const Row& at, long long column, const Values<N>& values,\n"
        "                                        float acc) const {\n"
        "    const long long first = at.row * all_columns() + column;\n";
    for (std::size_t k = 0; k < site_.folds.size(); ++k) {
      const int number = site_.folds[k];
      std::vector<int> order;
      needed(number, order);
      out += fmt::format("    if constexpr (K == {}) {{\n", k) + columns(order) +
             "#pragma unroll\n    for (int i = 0; i < N; ++i) {\n" + stages_before(order, number) +
             computed(number, sited(number).term, "term", false) +
             fmt::format("    acc = {}::of(acc, term);\n    }}\n    }}\n", combiner(number));
    }
    return out + "    return acc;\n  }\n";
  }

  std::string finish() const {
    if (site_.folds.empty()) return "";
    std::string out =
        "  // Keeps the combined terms of fold K.\n  template <int K>\n  __device__ "
        "__forceinline__ void finish(Row& at, float acc) const {\n";
    for (std::size_t k = 0; k < site_.folds.size(); ++k) {
      const int number = site_.folds[k];
      const std::string& text = sited(number).finish;
      out += fmt::format("    if constexpr (K == {}) {{\n", k);
      if (!text.empty()) out += computed(number, text, "finished", true);
      out += fmt::format("    at.fold_{} = {};\n    }}\n", stage(number).name,
                         text.empty() ? "acc" : "finished");
    }
    return out + "  }\n";
  }

  std::vector<int> outputs(StagePlace place) const {
    std::vector<int> out;
    for (int i = 0; i < static_cast<int>(site_.stages.size()); ++i) {
      const Tensor* tensor = find_tensor(task_, stage(i).name);
      if (tensor != nullptr && is_output(*tensor) && sited(i).place == place) out.push_back(i);
    }
    return out;
  }

  std::string store() const {
    std::string out =
        "  // Outputs of N elements.\n  template <int N>\n  __device__ __forceinline__ void "
        "store(const Row& at, long long column, const Values<N>& values) const {\n"
        "    const long long first = at.row * all_columns() + column;\n";
    std::vector<int> order;
    const auto all = outputs(StagePlace::full);
    for (const int output : all) needed(output, order);
    out += columns(order);
    for (const int output : all)
      out += fmt::format("    Vector<T_{0}, N> out_{0};\n", stage(output).name);
    out += "#pragma unroll\n    for (int i = 0; i < N; ++i) {\n" + stages_before(order, -1);
    for (const int output : all)
      out += fmt::format("    out_{0}.at[i] = from_float<T_{0}>(value_{0});\n", stage(output).name);
    out += "    }\n";
    for (const int output : all) {
      out += fmt::format(
          "    if (STORE_HINT) store_vector_streaming<T_{0}, N>(this->{0} + first, out_{0});\n"
          "    else store_vector<T_{0}, N>(this->{0} + first, out_{0});\n",
          stage(output).name);
    }
    return out + "  }\n";
  }

  std::string store_row() const {
    std::string out =
        "  // Outputs that have one value a row.\n  __device__ __forceinline__ void "
        "store_row(const Row& at) const {\n";
    for (const int output : outputs(StagePlace::row)) {
      const bool fold = stage(output).kind == StageKind::fold;
      std::vector<int> order;
      if (!fold) needed(output, order);
      out += "    {\n" + stages_before(order, -1) +
             fmt::format("    {0}[at.row] = from_float<T_{0}>({1}{0});\n    }}\n",
                         stage(output).name, fold ? "at.fold_" : "value_");
    }
    return out + "  }\n";
  }

  std::string extents() const {
    std::string out;
    for (std::size_t i = 0; i < extents_.size(); ++i)
      out += fmt::format("  __device__ long long extent_{}() const {{ return {}; }}\n", i,
                         extents_[i]);
    return out;
  }

  const char* combiner(int number) const {
    return combiners[static_cast<std::size_t>(stage(number).combine)];
  }

  // Combiner<K>: how fold K combines.
  std::string combiners_text() const {
    std::string out = "template <int K>\nstruct Combiner {\n  using type = Sum;\n};\n";
    for (std::size_t k = 0; k < site_.folds.size(); ++k) {
      out += fmt::format("template <>\nstruct Combiner<{}> {{\n  using type = {};\n}};\n", k,
                         combiner(site_.folds[k]));
    }
    return out;
  }

  const Task& task_;
  const GraphSite& site_;
  mutable std::vector<std::string> extents_;
};

bool is_float_task(const Task& task) {
  const auto fits = [](const Tensor& tensor) {
    return tensor.role == Role::in || tensor.role == Role::constant ||
           (tensor.role == Role::out && tensor.type != DType::f64);
  };
  return task.precision != Precision::fp64 && task.precision != Precision::integer &&
         task.scalars.empty() && std::all_of(task.tensors.begin(), task.tensors.end(), fits) &&
         std::all_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
           return tensor.strides.empty() && tensor.alignment == Tensor().alignment;
         });
}

// Sizes that a template's expressions may use.
NamedExprs sizes_of(const Task& task, const GraphSite& site) {
  std::int64_t widest = 1, operations = 0;
  std::string bytes;
  for (const Tensor& tensor : task.tensors) {
    widest = std::max<std::int64_t>(widest, size_of(tensor.type));
    bytes += fmt::format("{}({})*{}", bytes.empty() ? "" : " + ", product_of(tensor.shape).text,
                         size_of(tensor.type));
  }
  std::int64_t inputs = 0;
  for (const Tensor& tensor : task.tensors) inputs += is_output(tensor) ? 0 : 1;
  for (const SiteStage& stage : site.stages)
    operations += 2 + static_cast<std::int64_t>(stage.term.size() / 12);
  return {{"graph_rows", site.rows},
          {"graph_cols", site.cols},
          {"graph_bytes", bytes},
          {"graph_widest", widest},
          {"graph_inputs", inputs},
          {"graph_folds", static_cast<std::int64_t>(site.folds.size())},
          {"graph_operations", operations}};
}

// "graph" among a launch's arguments stands for the tensors and the sizes.
std::vector<PlanArgument> arguments_of(const Task& task, const std::vector<PlanArgument>& given) {
  std::vector<PlanArgument> out;
  for (const PlanArgument& argument : given) {
    if (argument.kind != PlanArgument::Kind::name || argument.name != "graph") {
      out.push_back(argument);
      continue;
    }
    for (const Tensor& tensor : task.tensors) out.push_back({.name = tensor.name});
    for (const Axis& axis : task.axes)
      out.push_back({.kind = PlanArgument::Kind::i64, .value = axis.name});
  }
  return out;
}

}  // namespace

std::optional<Tunable> with_hooks(const Tunable& tunable, const Task& task) {
  if (!is_float_task(task)) return std::nullopt;
  auto site = graph_site(task);
  if (!site || (tunable.anchor == "map") != site->folds.empty()) return std::nullopt;
  if (site->folds.empty()) {
    const bool same = std::all_of(site->stages.begin(), site->stages.end(), [](const SiteStage& s) {
      return s.called.empty() && std::all_of(s.reads.begin(), s.reads.end(), [](const SiteRead& r) {
               return r.kind == SiteRead::Kind::element;
             });
    });
    if (same) {
      site->flat = true;
      site->cols = product_of({site->rows, site->cols});
      site->rows = 1;
    }
  }
  Tunable out = tunable;
  out.family = task.family;
  out.anchor.clear();
  out.text = "#include \"cupilot/vector.cuh\"\n#include \"cupilot/functions.cuh\"\n" +
             GraphText(task, *site).text() + tunable.text;
  const NamedExprs sizes = sizes_of(task, *site);
  out.let.insert(out.let.begin(), sizes.begin(), sizes.end());
  out.plan.let.insert(out.plan.let.begin(), sizes.begin(), sizes.end());
  for (PlanLaunch& launch : out.plan.launches) launch.args = arguments_of(task, launch.args);
  return out;
}

}  // namespace cupilot
