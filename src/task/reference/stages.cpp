#include "task/reference/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "task/identifiers.hpp"
#include "task/repeats.hpp"

namespace cupilot {
namespace {

constexpr std::array<const char*, 6> combiners = {"CombineSum", "CombineProd", "CombineMax",
                                                  "CombineMin", "CombineMaxn", "CombineMinn"};

// A value that is computed from inputs alone holds at most so many texts of stages: each is a
// function that the compiler inlines wherever it is read.
constexpr double most_inlined = 100;

// Counts how often a stage computes what it reads, within its term and its finish. A place that the
// read states is asked for once in each.
int times_computed(const ReferenceStage& stage, const StageRead& read) {
  if (!read.at.empty()) return uses(stage.term, read.name) + uses(stage.finish, read.name);
  int times = 0;
  for (const std::string* text : {&stage.term, &stage.finish}) {
    renamed(*text, [&](const std::string& word) -> std::optional<std::string> {
      times += word == read.name ? 1 : 0;
      return std::nullopt;
    });
  }
  return times;
}

// Coordinates that a stage's values are numbered by.
std::vector<StageAxis> coordinates(const ReferenceStage& stage) {
  std::vector<StageAxis> all = stage.free;
  if (stage.kind == StageKind::scan) all.insert(all.end(), stage.over.begin(), stage.over.end());
  return all;
}

std::string listed(const std::vector<StageAxis>& axes, const char* prefix) {
  std::string out;
  for (const StageAxis& axis : axes) out += (out.empty() ? "" : ", ") + (prefix + axis.name);
  return out;
}
std::string parameters(const std::vector<StageAxis>& axes) { return listed(axes, "long long "); }
std::string arguments(const std::vector<StageAxis>& axes) { return listed(axes, ""); }
std::string and_then(std::string list, const std::string& more) {
  return list.empty() ? more : list + ", " + more;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

std::vector<Expr> extents_of(const std::vector<StageAxis>& axes) {
  std::vector<Expr> out;
  for (const StageAxis& axis : axes) out.push_back(axis.extent);
  return out;
}
std::vector<std::string> coordinate_names(const std::vector<StageAxis>& axes) {
  std::vector<std::string> out;
  for (const StageAxis& axis : axes) out.push_back(axis.name);
  return out;
}

class StageText {
 public:
  StageText(const Task& task, std::size_t number, bool stored)
      : task_(task), stage_(task.reference.stages[number]), number_(number), stored_(stored) {}

  std::string members() {
    std::string out;
    if (stage_.kind == StageKind::map) {
      out = map_value() + at_index() + own();
    } else {
      out = fmt::format("  const cupilot_number* cupilot_stored_{};\n", stage_.name) + loop(false) +
            finish() + value() + at_index() + own();
      if (stage_.kind == StageKind::scan) out += loop(true);
    }
    return fmt::format("  // stage {}\n", stage_.name) + extents_ + out;
  }

  std::string entry_body() { return stage_.kind == StageKind::scan ? scan_body() : fold_body(); }

 private:
  // An expression over sizes of the task, as text: a member function of its own, since coordinates
  // may have the names of sizes. `from`: "this->", or "in." outside of Inputs.
  std::string extent(const Expr& expr, const char* from = "") {
    if (is_number(expr.text)) return expr.text + "ll";
    const auto known = std::find(named_.begin(), named_.end(), expr.text);
    const std::string name = fmt::format("cupilot_size_{}_{}", stage_.name, known - named_.begin());
    if (known == named_.end()) {
      named_.push_back(expr.text);
      extents_ +=
          fmt::format("  __device__ long long {}() const {{ return {}; }}\n", name, expr.text);
    }
    return from + name + "()";
  }

  std::string product(const std::vector<StageAxis>& axes, const char* from = "") {
    std::string out;
    for (const StageAxis& axis : axes) {
      if (axis.extent.text != "1") out += (out.empty() ? "" : " * ") + extent(axis.extent, from);
    }
    return out.empty() ? "1ll" : out;
  }

  // Row-major index of coordinates over extents; the only place of an extent of 1 is 0.
  std::string index_text(const std::vector<std::string>& at, const std::vector<Expr>& extents) {
    std::string index;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (extents[d].text == "1") continue;
      index = index.empty() ? "(" + at[d] + ")"
                            : fmt::format("({} * {} + ({}))", index, extent(extents[d]), at[d]);
    }
    return index.empty() ? "0ll" : index;
  }

  // Declares the axes' coordinates of row-major element `index`.
  std::string decomposed(const std::vector<StageAxis>& axes, const std::string& index,
                         const std::string& indent, const char* from = "") {
    std::string out;
    std::string rest = index;
    for (std::size_t d = axes.size(); d-- > 0;) {
      const bool alone = axes[d].extent.text == "1";
      const std::string size = alone ? "" : extent(axes[d].extent, from);
      const std::string value = alone ? "0" : d == 0 ? rest : fmt::format("{} % {}", rest, size);
      out += fmt::format("{}long long {} = {};\n", indent, axes[d].name, value);
      if (!alone) rest = fmt::format("({} / {})", rest, size);
    }
    return out;
  }

  const ReferenceStage* source_of(const StageRead& read) const {
    const int source = source_stage(task_.reference.stages, number_, read);
    return source < 0 ? nullptr : &task_.reference.stages[static_cast<std::size_t>(source)];
  }

  // The element of a read whose coordinates are `at`.
  std::string element(const StageRead& read, const std::vector<std::string>& at) {
    if (read.step.empty()) return element(read.source, source_of(read), at, read.extents);
    std::vector<std::string> all = {step_of(read)};
    all.insert(all.end(), at.begin(), at.end());
    std::vector<Expr> extents = {Expr("cupilot_steps")};  // the first extent enters no place
    extents.insert(extents.end(), read.extents.begin(), read.extents.end());
    std::string later = element(read.source, source_of(read), all, extents);
    if (read.first.empty()) return later;
    const ReferenceStage* first = stage_before(read.first);
    return fmt::format("({} == 0 ? real({}) : real({}))", step_coordinate,
                       element(read.first, first, at, read.extents), later);
  }

  std::string element(const std::string& name, const ReferenceStage* source,
                      const std::vector<std::string>& at, const std::vector<Expr>& extents) {
    if (source == nullptr) return fmt::format("this->{}({})", name, index_text(at, extents));
    const std::vector<Expr> own = extents_of(coordinates(*source));
    const bool steps = !extents.empty() && extents[0].text == "cupilot_steps";
    if (own.size() == extents.size() &&
        std::equal(own.begin() + (steps ? 1 : 0), own.end(), extents.begin() + (steps ? 1 : 0))) {
      std::string list;
      for (std::size_t d = 0; d < at.size(); ++d)
        list += (d == 0 ? "" : ", ") + (extents[d].text == "1" ? "0ll" : at[d]);
      return fmt::format("cupilot_value_{}({})", name, list);
    }
    return fmt::format("cupilot_at_{}({})", name, index_text(at, extents));
  }

  const ReferenceStage* stage_before(const std::string& name) const {
    StageRead read;
    read.source = name;
    return source_of(read);
  }

  // The place of a read along its source's first dimension. An expression over sizes is a member
  // function of its own, since coordinates may have the names of sizes.
  std::string step_of(const StageRead& read) {
    const std::string carried = fmt::format("{} - 1", step_coordinate);
    if (read.step == step_coordinate || read.step == carried) return "(" + read.step + ")";
    const auto known = std::find(places_.begin(), places_.end(), read.step);
    const std::string name =
        fmt::format("cupilot_place_{}_{}", stage_.name, known - places_.begin());
    if (known == places_.end()) {
      places_.push_back(read.step);
      extents_ += fmt::format("  __device__ long long {}(long long {}) const {{ return {}; }}\n",
                              name, step_coordinate, read.step);
    }
    const bool in_repeat = !stage_.free.empty() && stage_.free[0].name == step_coordinate;
    return fmt::format("this->{}({})", name, in_repeat ? step_coordinate : "0ll");
  }

  static std::vector<std::string> places(std::size_t count) {
    std::vector<std::string> at;
    for (std::size_t d = 0; d < count; ++d) at.push_back(fmt::format("i{}", d));
    return at;
  }

  // A name to call; `kept`: remembers its last value, since a loop asks for the same one.
  std::string called(const StageRead& read, const std::string& name, bool kept) {
    const auto at = places(read.extents.size());
    std::string list;
    for (const std::string& one : at) list += (list.empty() ? "long long " : ", long long ") + one;
    if (!kept) {
      return fmt::format("    const auto {} = [&]({}) {{ return {}; }};\n", name, list,
                         element(read, at));
    }
    return fmt::format(
        "    long long cupilot_last_{0} = -1;\n    real cupilot_kept_{0};\n"
        "    const auto {0} = [&]({1}) {{\n      const long long at = {2};\n"
        "      if (at != cupilot_last_{0}) cupilot_kept_{0} = {3}, cupilot_last_{0} = at;\n"
        "      return cupilot_kept_{0};\n    }};\n",
        name, list, index_text(at, read.extents), element(read, at));
  }

  // True if a loop over terms may ask for one value of the read again and again.
  bool is_kept(const StageRead& read) const {
    const ReferenceStage* source = source_of(read);
    return source != nullptr && is_storable(*source) && !is_of_every_term(read);
  }

  // True if the read names the coordinate that runs fastest, so that each term has another place.
  bool is_of_every_term(const StageRead& read) const {
    return !stage_.over.empty() &&
           std::find(read.at.begin(), read.at.end(), stage_.over.back().name) != read.at.end();
  }

  // Declares names to call, before a loop or a single use.
  std::string before(const std::string& text, bool loop) {
    std::string out;
    for (const StageRead& read : stage_.reads) {
      if (!uses(text, read.name)) continue;
      if (read.at.empty()) out += called(read, read.name, loop && is_kept(read));
      if (!read.at.empty() && loop && is_kept(read))
        out += called(read, "cupilot_call_" + read.name, true);
    }
    return out;
  }

  // Declares constants and plain values, where coordinates are known.
  std::string inside(const std::string& text, bool loop) {
    std::string out;
    std::string all = text;
    for (const StageRead& read : stage_.reads) {
      if (uses(text, read.name))
        for (const std::string& one : read.at) all += " " + one;
    }
    for (auto constant = stage_.constants.rbegin(); constant != stage_.constants.rend();
         ++constant) {
      if (!uses(all, constant->first)) continue;
      all += " " + constant->second;
      out = fmt::format("    const auto {} = {};\n", constant->first, constant->second) + out;
    }
    std::string sizes;
    for (const StageAxis& size : stage_.sizes) {
      if (uses(all, size.name))
        sizes += fmt::format("    const long long {} = {};\n", size.name, extent(size.extent));
    }
    out = sizes + out;
    for (const StageRead& read : stage_.reads) {
      if (read.at.empty() || !uses(text, read.name)) continue;
      std::string list;
      for (const std::string& one : read.at) list += (list.empty() ? "" : ", ") + one;
      out += loop && is_kept(read)
                 ? fmt::format("    const auto {0} = cupilot_call_{0}({1});\n", read.name, list)
                 : fmt::format("    const auto {} = {};\n", read.name, element(read, read.at));
    }
    return out;
  }

  std::string map_value() {
    return fmt::format(
        "  __device__ real cupilot_value_{}({}) const {{\n{}{}    return {};\n  }}\n", stage_.name,
        parameters(stage_.free), before(stage_.term, false), inside(stage_.term, false),
        stage_.term);
  }

  // Terms from `cupilot_first` on, combined; `scan`: every combination on the way is written.
  std::string loop(bool scan) {
    const std::string head = scan ? "void cupilot_scan_" : "real cupilot_fold_";
    const std::string more = scan ? "cupilot_number* cupilot_out, long long cupilot_count"
                                  : "long long cupilot_first, long long cupilot_count";
    std::string out =
        fmt::format("  __device__ {}{}({}) const {{\n{}", head, stage_.name,
                    and_then(parameters(stage_.free), more), before(stage_.term, true));
    out += decomposed(stage_.over, scan ? "0" : "cupilot_first", "    ");
    out += fmt::format("    cupilot::Tree<cupilot::{}, real> tree;\n", combiner());
    if (scan) out += "    long long cupilot_i = 0;\n";
    out += "    long long cupilot_left = cupilot_count;\n" + loops();
    out += inside(stage_.term, true);
    out += fmt::format("    tree.add(real({}));\n", stage_.term);
    if (scan) {
      out += fmt::format("    cupilot_out[cupilot_i++] = cupilot::stored(cupilot_finish_{}({}));\n",
                         stage_.name, and_then(arguments(coordinates(stage_)), "tree.total()"));
    }
    out += std::string(stage_.over.size() + 1, '}');
    return out + (scan ? "\n  }\n" : "\n    return tree.total();\n  }\n");
  }

  // Loops over the coordinates of `over`, the last running fastest, from where they stand until
  // none is left: what an outer one decides is computed once for the inner ones.
  std::string loops() {
    if (stage_.over.empty()) return "    for (; cupilot_left > 0; --cupilot_left) {\n";
    std::string out;
    const std::size_t last = stage_.over.size() - 1;
    for (std::size_t d = 0; d < last; ++d) {
      out +=
          fmt::format("    for (; {0} < {1} && cupilot_left > 0; ++{0}, {2} = 0) {{\n",
                      stage_.over[d].name, extent(stage_.over[d].extent), stage_.over[d + 1].name);
    }
    const std::string& name = stage_.over[last].name;
    // A single coordinate goes as far as it is asked to.
    const std::string asked = name + " + cupilot_left";
    const std::string size = extent(stage_.over[last].extent);
    const std::string end = last == 0 ? asked : fmt::format("{0} < {1} ? {0} : {1}", asked, size);
    return out + fmt::format(
                     "    {{\n    const long long cupilot_end = {0};\n"
                     "    cupilot_left -= cupilot_end - {1};\n"
                     "    for (; {1} < cupilot_end; ++{1}) {{\n",
                     end, name);
  }

  std::string finish() {
    const std::string text = stage_.finish.empty() ? "acc" : stage_.finish;
    return fmt::format(
        "  __device__ real cupilot_finish_{}({}) const {{\n{}{}    return {};\n  }}\n", stage_.name,
        and_then(parameters(coordinates(stage_)), "real acc"), before(text, false),
        inside(text, false), text);
  }

  // True if readers find every value in memory.
  bool is_always_stored() const { return !stage_.repeat.empty() || stored_; }

  std::string stored_text() {
    const auto all = coordinates(stage_);
    return fmt::format("cupilot::restored(cupilot_stored_{}[{}])", stage_.name,
                       index_text(coordinate_names(all), extents_of(all)));
  }

  // The value computed here, from what the stage reads.
  std::string computed_text() {
    const std::string count =
        stage_.kind == StageKind::scan ? stage_.over[0].name + " + 1" : product(stage_.over);
    return fmt::format("cupilot_finish_{}({})", stage_.name,
                       and_then(arguments(coordinates(stage_)),
                                fmt::format("cupilot_fold_{}({})", stage_.name,
                                            and_then(arguments(stage_.free), "0, " + count))));
  }

  std::string stored_or_computed(const std::string& name) {
    return fmt::format(
        "  __device__ real {}({}) const {{\n    if (cupilot_stored_{} != nullptr)\n"
        "      return {};\n    return {};\n  }}\n",
        name, parameters(coordinates(stage_)), stage_.name, stored_text(), computed_text());
  }

  std::string value() {
    const std::string name = "cupilot_value_" + stage_.name;
    if (!is_always_stored()) return stored_or_computed(name);
    return fmt::format("  __device__ real {}({}) const {{\n    return {};\n  }}\n", name,
                       parameters(coordinates(stage_)), stored_text());
  }

  std::string at_index() { return indexed("cupilot_at_" + stage_.name, "cupilot_value_"); }

  std::string indexed(const std::string& name, const char* value) {
    const auto all = coordinates(stage_);
    return fmt::format(
        "  __device__ real {}(long long cupilot_index) const {{\n{}    return {}{}({});\n  }}\n",
        name, decomposed(all, "cupilot_index", "    "), value, stage_.name, arguments(all));
  }

  // An output's value for its own entry, which computes it unless it is better off stored.
  std::string own() {
    const Tensor* tensor = find_tensor(task_, stage_.name);
    if (tensor == nullptr || tensor->role == Role::in) return "";
    const std::string name = "cupilot_own_at_" + stage_.name;
    const bool as_read = stage_.kind == StageKind::map || !stored_ || !stage_.repeat.empty();
    if (as_read) return indexed(name, "cupilot_value_");
    return stored_or_computed("cupilot_own_" + stage_.name) + indexed(name, "cupilot_own_");
  }

  // A stage of a repeat computes one step, which takes the place of `from_parts`.
  std::string first_of_step() {
    const std::vector<StageAxis> within(stage_.free.begin() + 1, stage_.free.end());
    return fmt::format("from_parts * ({}) + thread", product(within, "in."));
  }

  std::string scan_body() {
    if (!stage_.repeat.empty()) {
      return fmt::format("  const long long line = {};\n{}  in.cupilot_scan_{}({});\n",
                         first_of_step(), decomposed(stage_.free, "line", "  ", "in."), stage_.name,
                         and_then(arguments(stage_.free), "out + line * span, span"));
    }
    return fmt::format("{}  in.cupilot_scan_{}({});\n",
                       decomposed(stage_.free, "thread", "  ", "in."), stage_.name,
                       and_then(arguments(stage_.free), "out + thread * span, span"));
  }

  std::string fold_body() {
    const std::string free = stage_.free.empty() ? "" : arguments(stage_.free) + ", ";
    if (!stage_.repeat.empty()) {
      return fmt::format(
          "  const long long element = {0};\n{1}"
          "  const real acc = in.cupilot_fold_{2}({3}0, {4});\n"
          "  out[element] = cupilot::stored(in.cupilot_finish_{2}({3}acc));\n",
          first_of_step(), decomposed(stage_.free, "element", "  ", "in."), stage_.name, free,
          product(stage_.over, "in."));
    }
    return fmt::format(
        "  const long long part = thread % parts, first = part * span;\n"
        "  const long long element = {5};\n"
        "{0}  real acc;\n"
        "  if (from == nullptr) {{\n"
        "    const long long terms = {1};\n"
        "    acc = in.cupilot_fold_{2}({3}first, terms - first < span ? terms - first : span);\n"
        "  }} else {{\n"
        "    cupilot::Tree<cupilot::{4}, real> tree;\n"
        "    for (long long i = first; i < first + span && i < from_parts; ++i)\n"
        "      tree.add(cupilot::restored(from[element * from_parts + i]));\n"
        "    acc = tree.total();\n  }}\n"
        "  out[element * parts + part] =\n"
        "      cupilot::stored(parts == 1 ? in.cupilot_finish_{2}({3}acc) : acc);\n",
        decomposed(stage_.free, "element", "  ", "in."), product(stage_.over, "in."), stage_.name,
        free, combiner(), element_of_thread());
  }

  // Elements that share operands lie along both of the last two axes.
  std::string element_of_thread() {
    if (stage_.free.size() < 2 || stage_.free.back().extent.text == "1") return "thread / parts";
    return fmt::format(
        "from == nullptr && parts == 1 ? cupilot_dealt(thread, count, {}) : thread / parts",
        extent(stage_.free.back().extent, "in."));
  }

  const char* combiner() const { return combiners[static_cast<std::size_t>(stage_.combine)]; }

  const Task& task_;
  const ReferenceStage& stage_;
  std::size_t number_;
  bool stored_;                      // the members are those of StoredInputs
  std::vector<std::string> named_;   // expressions that have a member function
  std::vector<std::string> places_;  // those of the step
  std::string extents_;              // these functions
};

}  // namespace

int source_stage(const std::vector<ReferenceStage>& stages, std::size_t reader,
                 const StageRead& read) {
  const bool carried = !read.first.empty();
  for (std::size_t i = reader; carried && i < stages.size(); ++i) {
    if (stages[i].name == read.source && !stages[i].repeat.empty()) return static_cast<int>(i);
  }
  for (std::size_t i = std::min(reader, stages.size()); i-- > 0;) {
    if (stages[i].name == read.source) return static_cast<int>(i);
  }
  return -1;
}

bool is_storable(const ReferenceStage& stage) { return stage.kind != StageKind::map; }

std::vector<bool> directly_read(const std::vector<ReferenceStage>& stages) {
  std::vector<double> inlined;  // texts of stages that one value takes, itself included
  std::vector<bool> direct;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    double texts = 1;
    for (const StageRead& read : stages[i].reads) {
      const int source = source_stage(stages, i, read);
      const bool stepped = !stages[i].repeat.empty() && is_storable(stages[i]);
      if (source >= 0 && static_cast<std::size_t>(source) < i && !stepped)
        texts += inlined[static_cast<std::size_t>(source)] * times_computed(stages[i], read);
    }
    inlined.push_back(texts);
    direct.push_back(texts <= most_inlined);
  }
  return direct;
}

std::string stage_members(const Task& task, std::size_t number, bool stored) {
  return StageText(task, number, stored).members();
}

std::string stage_as_output(const ReferenceStage& stage) {
  return fmt::format(
      "template <class In>\n"
      "__device__ real reference_{0}(const In& in, long long index) {{\n"
      "  return in.cupilot_own_at_{0}(index);\n}}\n",
      stage.name);
}

std::string stage_entry_body(const Task& task, std::size_t number) {
  StageText text(task, number, true);
  text.members();  // numbers the sizes as the members do
  return text.entry_body();
}

}  // namespace cupilot
