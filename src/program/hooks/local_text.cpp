#include "program/hooks/local_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/hooks/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

Expr product_of_axes(const std::vector<StageAxis>& axes) {
  ExprShape extents;
  for (const StageAxis& axis : axes) extents.push_back(axis.extent);
  return product_of(extents);
}

}  // namespace

LocalText::LocalText(const Task& task, const GraphSite& site) : StageText(task, site) {
  found_ = find_rows();
}

int LocalText::source_of(std::size_t reader, const std::string& name) const {
  for (std::size_t i = reader; i-- > 0;) {
    if (task_.reference.stages[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool LocalText::find_rows() {
  const auto& stages = task_.reference.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    row_axis_.push_back(-1);
    if (stages[i].kind == StageKind::scan || !find_row(i)) return false;
  }
  return std::all_of(stages.begin(), stages.end(), [&](const ReferenceStage& stage) {
    const auto number = static_cast<std::size_t>(&stage - stages.data());
    return find_tensor(task_, stage.name) == nullptr || row_axis_[number] >= 0;
  });
}

// A fold that reads no other one counts rows by its first axis; a fold that reads a stage of rows
// does so by a coordinate of its own.
bool LocalText::find_row(std::size_t number) {
  const ReferenceStage& what = task_.reference.stages[number];
  std::string axis;
  for (const StageRead& read : what.reads) {
    const int from = source_of(number, read.source);
    if (from < 0 || row_axis_[static_cast<std::size_t>(from)] < 0) continue;
    const auto& free = stage(from).free;
    const std::string& extent =
        free[static_cast<std::size_t>(row_axis_[static_cast<std::size_t>(from)])].extent.text;
    auto calls = read.at.empty() ? calls_of(read.name, what.term + " " + what.finish)
                                 : std::vector<std::vector<std::string>>{read.at};
    for (const auto& call : calls) {
      // The row's place among the read's coordinates: that of the first of its extent.
      std::size_t place = 0;
      while (place < read.extents.size() && read.extents[place].text == "1") ++place;
      std::size_t own = 0;
      for (std::size_t d = 0; d < free.size(); ++d) {
        if (free[d].extent.text == "1") continue;
        if (static_cast<int>(d) == row_axis_[static_cast<std::size_t>(from)]) break;
        ++own;
      }
      for (; own > 0 && place < read.extents.size(); --own) {
        ++place;
        while (place < read.extents.size() && read.extents[place].text == "1") ++place;
      }
      if (place >= call.size() || read.extents[place].text != extent) return false;
      if (!axis.empty() && axis != call[place]) return false;
      axis = call[place];
    }
  }
  const bool first = axis.empty() && what.kind == StageKind::fold;
  for (std::size_t d = 0; d < what.free.size(); ++d) {
    const bool many = what.free[d].extent.text != "1";
    if (first ? many : what.free[d].name == axis) {
      row_axis_[number] = static_cast<int>(d);
      break;
    }
  }
  if (axis.empty() && !first) return true;
  if (row_axis_[number] < 0) return false;
  const Expr& extent = what.free[static_cast<std::size_t>(row_axis_[number])].extent;
  if (rows_.text == "1") rows_ = extent;
  return rows_ == extent;
}

// A fold with more terms than the largest of what it reads has elements: a product, a window.
bool LocalText::reads_again(int fold) const {
  const auto value = [&](const Expr& expr) {
    const auto number = evaluate_or_error(expr, task_scope(task_, task_.time_shapes.front()));
    return number ? *number : 0;
  };
  const ReferenceStage& what = stage(fold);
  std::int64_t largest = 0;
  for (const StageRead& read : what.reads) {
    if (uses(what.term, read.name)) largest = std::max(largest, value(product_of(read.extents)));
  }
  return value(product_of_axes(what.free)) * value(product_of_axes(what.over)) > largest;
}

std::vector<StageAxis> LocalText::within(int number) const {
  std::vector<StageAxis> out;
  const ReferenceStage& what = stage(number);
  for (std::size_t d = 0; d < what.free.size(); ++d) {
    const bool row = static_cast<int>(d) == row_axis_[static_cast<std::size_t>(number)];
    if (!row && what.free[d].extent.text != "1") out.push_back(what.free[d]);
  }
  return out;
}

std::vector<int> LocalText::output_stages() const {
  std::vector<int> out;
  for (int i = 0; i < static_cast<int>(task_.reference.stages.size()); ++i) {
    if (find_tensor(task_, stage(i).name) != nullptr) out.push_back(i);
  }
  return out;
}

std::optional<SiteLocal> LocalText::local() const {
  if (!found_ || site_.folds.empty() || rows_.text == "1") return std::nullopt;
  if (std::any_of(site_.folds.begin(), site_.folds.end(), [&](int f) { return reads_again(f); }))
    return std::nullopt;
  SiteLocal out{.rows = rows_};
  std::string kept, terms;
  for (const int fold : site_.folds) {
    const std::string cells = product_of_axes(within(fold)).text;
    kept += fmt::format("{}({})", kept.empty() ? "" : " + ", cells);
    terms += fmt::format("{}({})*({})", terms.empty() ? "" : " + ", cells,
                         product_of_axes(stage(fold).over).text);
  }
  for (const int output : output_stages())
    terms += fmt::format(" + ({})", product_of_axes(within(output)).text);
  out.kept = kept;
  out.terms = terms;
  return out;
}

std::string LocalText::text() const {
  std::string out = opening();
  out += "  float* kept;    // results of this row's folds\n  long long row;\n";
  std::vector<int> order;
  for (const int output : output_stages()) add_function(output, order);
  for (const int fold : site_.folds) add_function(fold, order);
  std::sort(order.begin(), order.end());
  out += fmt::format("  __device__ long long row_count() const {{ return {}; }}\n", rows_.text);
  out += fold_access();
  for (const int one : order) {
    if (stage(one).kind == StageKind::map) out += function(one);
  }
  out += fold_functions() + output_functions() + extents() + "};\n";
  out += fmt::format("constexpr int FOLDS = {}, OUTPUTS = {};\n", site_.folds.size(),
                     output_stages().size());
  out += "template <int K>\nstruct Combiner {\n  using type = Sum;\n};\n";
  for (std::size_t k = 0; k < site_.folds.size(); ++k)
    out += fmt::format("template <>\nstruct Combiner<{}> {{\n  using type = {};\n}};\n", k,
                       combiner(site_.folds[k]));
  return out;
}

// Writes where folds are kept, and reads of their results by coordinates.
std::string LocalText::fold_access() const {
  std::string out, offset = "0";
  for (const int fold : site_.folds) {
    const std::string& name = stage(fold).name;
    std::string parameters, cell = "0", at = "      long long left = index;\n", names;
    const auto own = within(fold);
    for (const StageAxis& axis : stage(fold).free) {
      if (axis.extent.text == "1") continue;
      parameters += fmt::format("{}long long {}", parameters.empty() ? "" : ", ", axis.name);
      if (std::find(own.begin(), own.end(), axis) != own.end())
        cell = fmt::format("({} * extent_{}() + {})", cell, extent_number(axis.extent.text),
                           axis.name);
    }
    for (std::size_t d = stage(fold).free.size(); d-- > 0;) {
      const StageAxis& axis = stage(fold).free[d];
      if (axis.extent.text == "1") continue;
      at += fmt::format(
          "      const long long at_{0} = left % extent_{1}();\n"
          "      left /= extent_{1}();\n",
          axis.name, extent_number(axis.extent.text));
      names = fmt::format("at_{}{}", axis.name, names.empty() ? "" : ", ") + names;
    }
    out += fmt::format(
        "  __device__ long long first_{0}() const {{ return {1}; }}\n"
        "  __device__ __forceinline__ float stage_{0}({2}) const {{ return kept[first_{0}() + "
        "{3}]; "
        "}}\n"
        "  __device__ __forceinline__ float stage_{0}_at(long long index) const {{\n{4}"
        "      return stage_{0}({5});\n  }}\n",
        name, offset, parameters, cell, at, names);
    offset += fmt::format(" + ({})", product_of_axes(own).text);
  }
  return out;
}

// Coordinates of a stage's value, from its number within the row.
std::string LocalText::coordinates_of(int number, const char* index) const {
  std::string out;
  const ReferenceStage& what = stage(number);
  const auto own = within(number);
  for (const StageAxis& axis : what.free) {
    if (axis.extent.text == "1") out += fmt::format("      const long long {} = 0;\n", axis.name);
  }
  const auto row = static_cast<std::size_t>(row_axis_[static_cast<std::size_t>(number)]);
  out += fmt::format("      const long long {} = row;\n", what.free[row].name);
  for (std::size_t d = own.size(); d-- > 0;) {
    const std::string extent = fmt::format("extent_{}()", extent_number(own[d].extent.text));
    out += d == 0 ? fmt::format("      const long long {} = {};\n", own[d].name, index)
                  : fmt::format("      const long long {0} = {1} % {2};\n      {1} /= {2};\n",
                                own[d].name, index, extent);
  }
  return out;
}

std::string LocalText::fold_functions() const {
  std::string cells, lengths, firsts, terms, finishes;
  for (std::size_t k = 0; k < site_.folds.size(); ++k) {
    const int number = site_.folds[k];
    const ReferenceStage& what = stage(number);
    const auto with = [&](std::string& to, const std::string& body) {
      to += fmt::format("    if constexpr (K == {}) {{\n{}    }}\n", k, body);
    };
    with(cells, fmt::format("      return {};\n", product_of_axes(within(number)).text));
    with(lengths, fmt::format("      return {};\n", product_of_axes(what.over).text));
    with(firsts, fmt::format("      return first_{}();\n", what.name));
    std::string over;
    for (std::size_t d = what.over.size(); d-- > 0;) {
      const std::string extent =
          fmt::format("extent_{}()", extent_number(what.over[d].extent.text));
      over += fmt::format("      const long long {0} = term_ % {1};\n      term_ /= {1};\n",
                          what.over[d].name, extent);
    }
    const std::string body = coordinates_of(number, "cell_");
    with(terms, body + over + sizes_and_constants(what, "", true) + reads_by_coordinates(number) +
                    fmt::format("      return {};\n", what.term));
    std::string finish = "      return acc;\n";
    if (!what.finish.empty()) {
      std::string all = what.finish;
      for (auto one = what.constants.rbegin(); one != what.constants.rend(); ++one) {
        if (uses(all, one->first)) all += " " + one->second;
      }
      finish = body + sizes_and_constants(what, all, false) + reads_by_coordinates(number, all) +
               fmt::format("      return {};\n", what.finish);
    }
    with(finishes, finish);
  }
  return "  // Of fold K: results a row, terms of each, where they are kept.\n"
         "  template <int K>\n  __device__ long long cells() const {\n" +
         cells + "  }\n  template <int K>\n  __device__ long long length() const {\n" + lengths +
         "  }\n  template <int K>\n  __device__ long long first_of() const {\n" + firsts +
         "  }\n  template <int K>\n  __device__ __forceinline__ float term(long long cell_,\n"
         "                                        long long term_) const {\n" +
         terms +
         "  }\n  template <int K>\n  __device__ __forceinline__ float finish(long long cell_,\n"
         "                                          float acc) const {\n" +
         finishes + "  }\n";
}

std::string LocalText::output_functions() const {
  std::string counts, stores;
  const auto outputs = output_stages();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const ReferenceStage& what = stage(outputs[o]);
    counts += fmt::format("    if constexpr (O == {}) return {};\n", o,
                          product_of_axes(within(outputs[o])).text);
    std::string names, place = "0ll";
    for (const StageAxis& axis : what.free) {
      if (axis.extent.text == "1") continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", axis.name);
      place =
          fmt::format("({} * extent_{}() + {})", place, extent_number(axis.extent.text), axis.name);
    }
    stores += fmt::format(
        "    if constexpr (O == {0}) {{\n{1}      this->{2}[{3}] = "
        "from_float<T_{2}>(stage_{2}({4}));\n"
        "    }}\n",
        o, coordinates_of(outputs[o], "element_"), what.name, place, names);
  }
  return "  // Of output O: elements a row.\n  template <int O>\n  __device__ long long elements() "
         "const {\n" +
         counts +
         "  }\n  template <int O>\n  __device__ __forceinline__ void store(long long element_) "
         "const "
         "{\n" +
         stores + "  }\n";
}

namespace {

GraphSite of_folds(const Task& task) {
  GraphSite site;
  for (std::size_t i = 0; i < task.reference.stages.size(); ++i) {
    if (task.reference.stages[i].kind == StageKind::fold) site.folds.push_back(static_cast<int>(i));
  }
  return site;
}

}  // namespace

std::optional<SiteLocal> local_of(const Task& task) {
  const GraphSite site = of_folds(task);
  return LocalText(task, site).local();
}

std::string local_text(const Task& task) {
  const GraphSite site = of_folds(task);
  return LocalText(task, site).text();
}

}  // namespace cupilot
