#include "program/hooks/stage_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/hooks/graph_text.hpp"
#include "program/hooks/pitched.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

bool is_written(const Tensor& tensor) {
  return tensor.role == Role::out || tensor.role == Role::in_out;
}

constexpr std::array<const char*, 6> combiners = {"Sum", "Prod", "Max", "Min", "Maxn", "Minn"};

}  // namespace

// The text with whole numbers of 32 bits.
std::string narrowed(const std::string& text) {
  static const std::regex wide("\\b([0-9]+)ll\\b");
  return std::regex_replace(text, wide, "$1");
}

Expr largest_of(const Task& task) {
  std::string largest;
  for (const Tensor& tensor : task.tensors) {
    const std::string elements = elements_to_count(tensor).text;
    largest = largest.empty() ? elements : fmt::format("max({}, {})", largest, elements);
  }
  return largest;
}

bool counts_wide(const Task& task) {
  const Expr largest = largest_of(task);
  return std::any_of(task.time_shapes.begin(), task.time_shapes.end(), [&](const Workload& shape) {
    const auto number = evaluate_or_error(largest, task_scope(task, shape));
    return number && *number > most_narrow;
  });
}

std::string StageText::loaded(const std::string& tensor) const {
  const std::string plain = fmt::format("load_vector<T_{0}, N>(this->{0} + first);\n", tensor);
  if (find_tensor(task_, tensor)->role == Role::in_out)
    return fmt::format("    values.{} = {}", tensor, plain);
  return fmt::format(
      "    values.{0} = LOAD_HINT ? load_vector_streaming<T_{0}, N>(this->{0} + first)\n"
      "                           : {1}",
      tensor, plain);
}

std::vector<int> StageText::outputs(StagePlace place) const {
  std::vector<int> out;
  for (int i = 0; i < static_cast<int>(site_.stages.size()); ++i) {
    const Tensor* tensor = find_tensor(task_, stage(i).name);
    if (tensor != nullptr && is_written(*tensor) && sited(i).place == place) out.push_back(i);
  }
  return out;
}

bool StageText::down() const { return site_.form == GraphForm::columns; }

std::string StageText::opening() const { return parameters() + "struct Graph {\n" + members(); }

std::string StageText::parameters() const {
  std::string list, names;
  for (const Tensor& tensor : task_.tensors) {
    list += fmt::format("{}{}T_{}* graph_{}", list.empty() ? "" : ", ",
                        is_written(tensor) ? "" : "const ", tensor.name, tensor.name);
    if (is_view(tensor)) list += ", long long " + view_offset(tensor.name);
    names += (names.empty() ? "" : ", ") +
             (is_view(tensor) ? view_member(task_, tensor) : "graph_" + tensor.name);
  }
  for (const Axis& axis : task_.axes) {
    list += fmt::format(", long long graph_{}", axis.name);
    names += ", graph_" + axis.name;
  }
  if (!site_.joins.empty()) {
    list += ", float* graph_joined_parts, unsigned* graph_joined_arrivals";
    names += ", graph_joined_parts, graph_joined_arrivals";
  }
  return fmt::format("#define GRAPH_PARAMETERS {}\n#define GRAPH_ARGUMENTS {}\n", list, names);
}

std::string StageText::members() const {
  std::string out;
  for (const Tensor& tensor : task_.tensors)
    out += is_view(tensor) ? fmt::format("  {} {};\n", view_type(tensor), tensor.name)
                           : fmt::format("  {}T_{}* {};\n", is_written(tensor) ? "" : "const ",
                                         tensor.name, tensor.name);
  for (const Axis& axis : task_.axes) out += fmt::format("  long long {};\n", axis.name);
  if (!site_.joins.empty()) out += "  float* joined_parts;\n  unsigned* joined_arrivals;\n";
  const auto function = [&](const char* name, const Expr& value) {
    out += fmt::format("  __device__ long long {}() const {{ return {}; }}\n", name, value.text);
  };
  function("all_rows", site_.rows);
  function("all_columns", site_.cols);
  if (down()) function("inner_rows", site_.inner);
  if (site_.scan >= 0) function("scan_columns", site_.scan_cols);
  return out;
}

const ReferenceStage& StageText::stage(int number) const {
  return task_.reference.stages[static_cast<std::size_t>(number)];
}

const SiteStage& StageText::sited(int number) const {
  return site_.stages[static_cast<std::size_t>(number)];
}

std::string StageText::functions() const {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(site_.stages.size()); ++i) {
    if (!sited(i).apart) functions_read(sited(i), order);
  }
  std::string out;
  for (const int number : order) out += function(number);
  return out;
}

std::vector<int> StageText::functions_of_fold() const {
  std::vector<int> order;
  const int number = site_.folds[0];
  for (const StageRead& read : fold().reads) {
    for (int from = 0; from < number; ++from) {
      if (stage(from).name == read.source) add_function(from, order);
    }
  }
  for (const SiteStage& one : site_.stages) {
    if (!one.apart) functions_read(one, order);
  }
  return order;
}

void StageText::functions_read(const SiteStage& one, std::vector<int>& order) const {
  for (const auto* reads : {&one.reads, &one.called}) {
    for (const SiteRead& read : *reads) {
      if (read.stage >= 0 && read.kind == Kind::other) add_function(read.stage, order);
    }
  }
}

void StageText::add_function(int number, std::vector<int>& order) const {
  if (number == site_.scan) return;
  for (const StageRead& read : stage(number).reads) {
    for (int from = 0; from < number; ++from) {
      if (stage(from).name == read.source) add_function(from, order);
    }
  }
  if (std::find(order.begin(), order.end(), number) == order.end()) order.push_back(number);
}

std::string StageText::reads_by_coordinates(int number, const std::string& text) const {
  const ReferenceStage& what = stage(number);
  std::string body;
  for (const StageRead& read : what.reads) {
    if (!text.empty() && !uses(text, read.name)) continue;
    SiteRead from{.name = read.name, .source = read.source, .extents = read.extents};
    from.at = read.at;
    for (int other = 0; other < number; ++other) {
      if (stage(other).name == read.source) from.stage = other;
    }
    body += read.at.empty()
                ? called(from)
                : fmt::format("      const auto {} = {};\n", read.name, by_coordinates(from));
  }
  return body;
}

std::string StageText::function(int number) const {
  const ReferenceStage& what = stage(number);
  std::string parameters, ones, taken, names;
  for (std::size_t d = what.free.size(); d-- > 0;) {
    const StageAxis& axis = what.free[d];
    if (axis.extent.text == "1") {
      ones += fmt::format("      const long long {} = 0;\n", axis.name);
      continue;
    }
    const std::string comma = names.empty() ? "" : ", ";
    parameters = fmt::format("long long {}{}", axis.name, comma) + parameters;
    names = fmt::format("at_{}{}", axis.name, comma) + names;
    taken += fmt::format(
        "      const long long at_{0} = index % extent_{1}();\n"
        "      index /= extent_{1}();\n",
        axis.name, extent_number(axis.extent.text));
  }
  const char* any = site_.scan < 0 ? "" : "  template <class Scanned>\n";
  const char* row = site_.scan < 0 ? "" : "const Scanned& scanned, ";
  const char* given = site_.scan < 0 ? "" : "scanned, ";
  return fmt::format(
      "{10}  __device__ __forceinline__ float stage_{0}({8}{1}) const {{\n{2}{3}{4}      return "
      "{5};\n  }}\n{10}  __device__ __forceinline__ float stage_{0}_at({8}long long index) const "
      "{{\n{6}      return stage_{0}({9}{7});\n  }}\n",
      what.name, parameters, ones, sizes_and_constants(what, "", true, true),
      reads_by_coordinates(number), what.term, taken, names, row, given, any);
}

void StageText::needed(int number, std::vector<int>& order) const {
  for (const SiteRead& read : sited(number).reads) {
    const bool inlined =
        read.kind == Kind::element || read.kind == Kind::row || read.kind == Kind::whole;
    if (read.stage >= 0 && inlined && stage(read.stage).kind == StageKind::map)
      needed(read.stage, order);
  }
  if (std::find(order.begin(), order.end(), number) == order.end()) order.push_back(number);
}

std::string StageText::converted(const std::string& tensor, const std::string& element) const {
  const Tensor* what = find_tensor(task_, tensor);
  const bool real = what == nullptr || what->type <= DType::e5m2;
  return real ? fmt::format("to_float({})", element)
              : fmt::format("static_cast<long long>({})", element);
}

std::string StageText::index_text(const SiteRead& read) const {
  const char* counted = narrow_ && counts_wide(task_) ? "static_cast<long long>(" : "(";
  std::string index = read.at.empty() ? "0" : counted + read.at[0] + ")";
  for (std::size_t d = 1; d < read.at.size(); ++d)
    index = fmt::format("({} * {} + ({}))", index, extent_call(read.extents[d].text), read.at[d]);
  return index;
}

bool StageText::is_strided(const SiteRead& read) const {
  const Tensor* tensor = read.stage < 0 ? find_tensor(task_, read.source) : nullptr;
  return tensor != nullptr && is_view(*tensor) && tensor->shape == read.extents &&
         read.at.size() == read.extents.size();
}

std::string StageText::storage_of(const SiteRead& read) const {
  return fmt::format("this->{}{}", read.source, is_strided(read) ? ".base" : "");
}

std::string StageText::storage_index(const SiteRead& read) const {
  if (!is_strided(read)) return index_text(read);
  const char* counted = narrow_ && counts_wide(task_) ? "static_cast<long long>(" : "(";
  const Tensor& tensor = *find_tensor(task_, read.source);
  std::string index;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    index += fmt::format("{}{}{})", index.empty() ? "" : " + ", counted, read.at[d]);
    if (tensor.strides[d].text != "1") index += " * " + extent_call(tensor.strides[d].text);
  }
  return "(" + index + ")";
}

std::string StageText::by_coordinates(const SiteRead& read) const {
  if (read.stage < 0)
    return converted(read.source, fmt::format("{}[{}]", storage_of(read), storage_index(read)));
  if (read.stage == site_.scan) return fmt::format("scanned[{}]", read.at.back());
  std::vector<std::string> given, extents, wanted;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    if (read.extents[d].text == "1") continue;
    given.push_back(read.at[d]);
    extents.push_back(read.extents[d].text);
  }
  for (const StageAxis& axis : stage(read.stage).free) {
    if (axis.extent.text != "1") wanted.push_back(axis.extent.text);
  }
  const std::string& name = stage(read.stage).name;
  const char* row = site_.scan < 0 ? "" : "scanned, ";
  if (extents == wanted) return fmt::format("stage_{}({}{})", name, row, fmt::join(given, ", "));
  return fmt::format("stage_{}_at({}{})", name, row, index_text(read));
}

std::string StageText::value(const SiteRead& read) const {
  if (read.stage >= 0 && (read.kind == Kind::other || read.kind == Kind::scanned))
    return by_coordinates(read);
  if (read.stage >= 0) {
    const bool fold = stage(read.stage).kind == StageKind::fold;
    if (fold && read.kind == Kind::whole) return "whole.join_" + stage(read.stage).name;
    return (fold ? "at.fold_" : "value_") + stage(read.stage).name +
           (fold && down() ? "[each_]" : "");
  }
  switch (read.kind) {
    case Kind::element:
      return converted(read.source, fmt::format("values.{}.at[each_]", read.source));
    case Kind::run:
      return converted(read.source, fmt::format("values.{}.at[each_]", run_name(read)));
    case Kind::row:
      return converted(read.source,
                       fmt::format("this->{}[at.row{}]", read.source, down() ? " + each_" : ""));
    case Kind::column:
      return converted(read.source, down() ? fmt::format("this->{}[column]", read.source)
                                           : fmt::format("columns_{}.at[each_]", read.source));
    case Kind::cycle:
      return converted(read.source, fmt::format("columns_{}.at[each_]", read.source));
    default:
      return by_coordinates(read);
  }
}

std::string StageText::run_name(const SiteRead& read) const {
  return fmt::format("run_{}_{}_{}", read.source, read.back ? "back" : "on",
                     extent_number(read.moved_by.text));
}

std::vector<int> StageText::all_stages() const {
  std::vector<int> order(site_.stages.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::set<std::string> StageText::held(const std::vector<int>& stages) const {
  std::set<std::string> names;
  for (const int number : stages) {
    for (const SiteRead& read : sited(number).reads) {
      if (read.kind == Kind::element && read.stage < 0) names.insert(read.source);
    }
  }
  return names;
}

std::map<std::string, const SiteRead*> StageText::runs(const std::vector<int>& stages) const {
  std::map<std::string, const SiteRead*> out;
  for (const int number : stages) {
    for (const SiteRead& read : sited(number).reads) {
      if (read.kind == Kind::run) out.emplace(run_name(read), &read);
    }
  }
  return out;
}

std::string StageText::with_needs(const SiteStage& one, const ReferenceStage& what,
                                  const std::string& text) const {
  std::string all = text;
  for (const SiteRead& read : one.reads) {
    const bool placed = read.kind == Kind::other || read.kind == Kind::scanned;
    if (!uses(text, read.name) || !placed) continue;
    for (const std::string& at : read.at) all += " " + at;
  }
  for (auto constant = what.constants.rbegin(); constant != what.constants.rend(); ++constant) {
    if (uses(all, constant->first)) all += " " + constant->second;
  }
  return all;
}

// A join's terms are numbered by what it runs over.
const std::vector<StageAxis>& StageText::axes_of(const SiteStage& one, const ReferenceStage& what,
                                                 bool per_row) {
  return per_row && one.place != StagePlace::whole ? what.free : one.coordinates;
}

bool StageText::runs_down(const ReferenceStage& fold, const std::vector<StageAxis>& axes,
                          std::size_t d) const {
  if (fold.kind != StageKind::fold || axes[d].extent != site_.cols) return false;
  ExprShape after;
  for (std::size_t i = d + 1; i < axes.size(); ++i) after.push_back(axes[i].extent);
  return product_of(after) == site_.inner &&
         std::find(fold.over.begin(), fold.over.end(), axes[d]) != fold.over.end();
}

std::string StageText::coordinates(const SiteStage& one, const ReferenceStage& what,
                                   bool per_row) const {
  if (per_row && keeps_coordinates_ && &what == &fold()) return kept_coordinates();
  std::string out, rest = !per_row ? "(first + each_)" : down() ? "(at.row + each_)" : "at.row";
  const bool narrow = per_row && narrow_ && !down() && !counts_wide(task_);
  if (narrow) rest = "static_cast<int>(at.row)";
  const char* type = narrow ? "int" : "long long";
  const bool in_rows = site_.form == GraphForm::rows || site_.form == GraphForm::product;
  const auto& axes = axes_of(one, what, per_row);
  for (std::size_t d = axes.size(); d-- > 0;) {
    const std::string& extent = axes[d].extent.text;
    if (extent == "1") {
      out += fmt::format("      const long long {} = 0;\n", axes[d].name);
      continue;
    }
    const bool along = axes[d].extent == site_.cols || what.kind == StageKind::scan;
    if (!per_row && rest == "(first + each_)" && along && in_rows && !site_.flat) {
      out += fmt::format("      const long long {} = column + each_;\n", axes[d].name);
      rest = "at.row";
      continue;
    }
    const std::string size = fmt::format("size_of_{}_{}", axes[d].name, d);
    if (!per_row && down() && runs_down(what, axes, d)) {
      out += fmt::format("      const long long {} = column;\n", axes[d].name);
      if (d > 0) rest = fmt::format("({} / extent_{}())", rest, extent_number(extent));
      continue;
    }
    out += fmt::format("      const {} {} = {}extent_{}();\n", type, size, narrow ? "narrow_" : "",
                       extent_number(extent));
    out += fmt::format("      const {} {} = {}{};\n", type, axes[d].name, rest,
                       d == 0 ? "" : " % " + size);
    rest = fmt::format("({} / {})", rest, size);
  }
  return out;
}

std::string StageText::kept_coordinates() const {
  std::string out;
  for (const StageAxis& axis : fold().free)
    out += fmt::format("      const long long {} = {};\n", axis.name,
                       axis.extent.text == "1" ? "0" : "at." + axis.name);
  return out;
}

const char* StageText::whole() const { return narrow_ ? "int" : "long long"; }

std::string StageText::extent_call(const std::string& extent) const {
  return fmt::format("{}extent_{}()", narrow_ ? "narrow_" : "", extent_number(extent));
}

std::size_t StageText::extent_number(const std::string& extent) const {
  const auto known = std::find(extents_.begin(), extents_.end(), extent);
  if (known != extents_.end()) return static_cast<std::size_t>(known - extents_.begin());
  extents_.push_back(extent);
  return extents_.size() - 1;
}

std::string StageText::computed(int number, const std::string& text, const std::string& name,
                                bool per_row) const {
  const SiteStage& one = sited(number);
  const ReferenceStage& what = stage(number);
  std::string out = fmt::format("    float {};\n    {{\n", name);
  const std::string all = with_needs(one, what, text);
  const auto& axes = axes_of(one, what, per_row);
  const bool placed = std::any_of(axes.begin(), axes.end(),
                                  [&](const StageAxis& axis) { return uses(all, axis.name); });
  if (placed) out += coordinates(one, what, per_row);
  out += sizes_and_constants(what, all, false, true);
  for (const SiteRead& read : one.reads) {
    if (uses(text, read.name))
      out += fmt::format("      const auto {} = {};\n", read.name, value(read));
  }
  for (const SiteRead& read : one.called) out += called(read);
  return out + fmt::format("      {} = {};\n    }}\n", name, text);
}

std::string StageText::sizes_and_constants(const ReferenceStage& what, const std::string& text,
                                           bool all, bool wide) const {
  std::string out;
  for (const StageAxis& size : what.sizes) {
    if (all || uses(text, size.name))
      out += fmt::format("      const {} {} = {};\n", wide ? "long long" : whole(), size.name,
                         extent_call(size.extent.text));
  }
  for (const auto& [constant, value] : what.constants) {
    if (all || uses(text, constant))
      out += fmt::format("      const auto {} = {};\n", constant, value);
  }
  return out;
}

std::string StageText::called(const SiteRead& read) const {
  SiteRead at = read;
  std::string list;
  for (std::size_t d = 0; d < read.extents.size(); ++d) {
    at.at.push_back(fmt::format("i{}", d));
    list += fmt::format("{}{} i{}", d == 0 ? "" : ", ", whole(), d);
  }
  return fmt::format("      const auto {} = [&]({}) {{ return {}; }};\n", read.name, list,
                     by_coordinates(at));
}

std::map<std::string, std::string> StageText::column_places(const std::vector<int>& order) const {
  std::map<std::string, std::string> places;
  for (const int number : order) {
    for (const SiteRead& read : sited(number).reads) {
      if (read.stage >= 0) continue;
      if (read.kind == Kind::column) places.emplace(read.source, "column");
      if (read.kind == Kind::cycle)
        places.emplace(read.source, fmt::format("first % extent_{}()",
                                                extent_number(product_of(read.extents).text)));
    }
  }
  return places;
}

std::string StageText::columns(const std::vector<int>& order, const char* load) const {
  std::string out;
  for (const auto& [name, place] : column_places(order)) {
    if (!down())
      out += fmt::format("    const auto columns_{0} = {1}<T_{0}, N>(this->{0} + {2});\n", name,
                         load, place);
  }
  return out;
}

std::string StageText::stages_before(const std::vector<int>& order, int last) const {
  std::string out;
  for (const int number : order) {
    if (number == last) continue;
    out += computed(number, sited(number).term, "value_" + stage(number).name,
                    sited(number).place != StagePlace::full);
  }
  return out;
}

std::string StageText::extents() const {
  std::string out;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    out +=
        fmt::format("  __device__ long long extent_{}() const {{ return {}; }}\n", i, extents_[i]);
    if (narrow_)
      out += fmt::format(
          "  __device__ int narrow_extent_{0}() const {{ return static_cast<int>(extent_{0}()); "
          "}}\n",
          i);
  }
  return out;
}

const char* StageText::combiner(int number) const {
  return combiners[static_cast<std::size_t>(stage(number).combine)];
}

std::string StageText::folded_row_struct() const {
  std::string members;
  for (const StageAxis& axis : fold().free) {
    if (keeps_coordinates_ && axis.extent.text != "1")
      members += fmt::format("    int {};\n", axis.name);
  }
  return fmt::format("  struct Row {{\n    long long row;\n{}    float fold_{};\n  }};\n", members,
                     fold().name);
}

std::string StageText::store_folded() const {
  const int number = site_.folds[0];
  const std::string& text = sited(number).finish;
  std::string out = "  __device__ __forceinline__ void store_row(Row at, float acc) const {\n";
  if (!text.empty()) out += computed(number, text, "finished", true);
  out += fmt::format("    at.fold_{} = {};\n", fold().name, text.empty() ? "acc" : "finished");
  for (const int output : outputs(StagePlace::row)) {
    const bool folded = stage(output).kind == StageKind::fold;
    std::vector<int> order;
    if (!folded) needed(output, order);
    out += "    {\n" + stages_before(order, -1) +
           fmt::format("    this->{0}[at.row] = from_float<T_{0}>({1}{0});\n    }}\n",
                       stage(output).name, folded ? "at.fold_" : "value_");
  }
  return out + "  }\n";
}

SiteOutputs outputs_of(const Task& task, const GraphSite& site) {
  const StageText text(task, site);
  SiteOutputs out;
  const auto names = [&](StagePlace place, std::vector<std::string>& to) {
    for (const int stage : text.outputs(place))
      to.push_back(task.reference.stages[static_cast<std::size_t>(stage)].name);
  };
  names(StagePlace::full, out.full);
  names(StagePlace::row, out.per_row);
  return out;
}

}  // namespace cupilot
