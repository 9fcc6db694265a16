#include "program/hooks/graph_text.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "program/hooks/held.hpp"
#include "program/hooks/passes.hpp"
#include "program/hooks/stage_text.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

// Text of `struct Graph` for one task.
class GraphText : public StageText {
  using Form = FoldPass::Form;

 public:
  GraphText(const Task& task, const GraphSite& site)
      : StageText(task, site), passes_(passes_of(task, site)), held_(held_elements(task, site)) {}

  std::string of_rows() const {
    std::string out =
        runs_text() + passes_text() + opening() + row_struct() + values_struct() + place();
    out += functions() + load();
    out += folds() + finish() + kept() + terms() + store() + store_row() + joins() + extents();
    out += fmt::format(
        "}};\nconstexpr int FOLDS = {}, PASSES = {}, JOINS = {};\n{}"
        "constexpr bool STORES_ELEMENTS = {};\n",
        site_.folds.size(), passes_.size(), site_.joins.size(), most_state(),
        !outputs(StagePlace::full).empty());
    if (site_.scan >= 0)
      out += fmt::format(
          "// Outputs read the scan at their own column or the one before it; BACK: from the end.\n"
          "constexpr bool NEAR = {}, BACK = {};\n",
          site_.scan_near, site_.scan_back);
    return out + combiners_text();
  }

 private:
  std::string runs_text() const {
    return runs(computed_stages()).empty() ? "" : "#include \"cupilot/run.cuh\"\n";
  }

  // Declares `Row`: what its elements share. Down: N neighbouring rows.
  std::string row_struct() const {
    std::string out = down() ? "  template <int N>\n  struct Rows {\n    long long row;\n"
                               "    long long begin;  // place of the first row's first element\n"
                             : "  struct Row {\n    long long row;\n";
    for (const int fold : site_.folds)
      out += fmt::format("    float fold_{}{};\n", stage(fold).name, down() ? "[N]" : "");
    return out + "  };\n";
  }
  const char* row_type() const { return down() ? "Rows<N>" : "Row"; }
  // Names the type of a hook's first parameter; a map's hooks take a row or an element's place.
  const char* at_type() const { return is_map() ? "At" : row_type(); }
  const char* of_place() const { return is_map() ? ", class At" : ""; }

  // Outputs are computed of elements alone: load() loads all that they read.
  bool is_map() const {
    return site_.form == GraphForm::rows && site_.folds.empty() && site_.scan < 0;
  }

  // Stages that are computed for the terms of a scan, and for the outputs.
  std::vector<int> of_terms() const {
    std::vector<int> order;
    needed(site_.scan, order);
    return order;
  }
  std::vector<int> of_outputs() const {
    std::vector<int> order;
    for (const int output : outputs(StagePlace::full)) needed(output, order);
    return order;
  }
  std::vector<int> computed_stages() const {
    if (site_.scan < 0) return all_stages();
    auto out = of_terms();
    const auto more = of_outputs();
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  // Tensors that outputs alone read at the element itself.
  std::set<std::string> late() const {
    std::set<std::string> out = held(all_stages());
    for (const std::string& name : held_.tensors) out.erase(name);
    return out;
  }

  std::string values_struct() const {
    std::string out = fmt::format(
        "  // N elements of {} as they are stored.\n  template <int N>\n  struct Values {{\n",
        down() ? "neighbouring rows" : "a row");
    for (const std::string& name : held_.tensors)
      out += fmt::format("    Vector<T_{0}, N> {0};\n", name);
    for (const auto& [name, read] : runs(computed_stages()))
      out += fmt::format("    Vector<T_{}, N> {};\n", read->source, name);
    for (const auto& [name, place] : loaded_columns())
      out += fmt::format("    Vector<T_{0}, N> columns_{0};\n", name);
    return out + "  };\n" + all_struct();
  }

  std::map<std::string, std::string> loaded_columns() const {
    return is_map() ? column_places(of_outputs()) : std::map<std::string, std::string>();
  }

  // Declares `All`: `Values` and what outputs alone read.
  std::string all_struct() const {
    if (site_.folds.empty()) return "";
    const auto names = late();
    if (names.empty()) return "  template <int N>\n  using All = Values<N>;\n";
    std::string out =
        "  // With those that outputs alone read.\n  template <int N>\n  struct All : Values<N> "
        "{\n";
    for (const std::string& name : names) out += fmt::format("    Vector<T_{0}, N> {0};\n", name);
    return out + "  };\n";
  }

  // The index of an element among all; down: of the first of N rows, which know where they begin.
  std::string place() const {
    if (down())
      return "  template <int N>\n  __device__ __forceinline__ Rows<N> rows_at(long long row) "
             "const "
             "{\n    Rows<N> at;\n    at.row = row;\n    at.begin = row / inner_rows() * "
             "all_columns() * inner_rows() + row % inner_rows();\n    return at;\n  }\n";
    if (is_map())
      return "  // An element whose number among all is known.\n  struct Place : Row {\n    long "
             "long "
             "first;\n  };\n  __device__ __forceinline__ long long place(const Row& at, long long "
             "column) const {\n    return at.row * all_columns() + column;\n  }\n  __device__ "
             "__forceinline__ long long place(const Place& at, long long) const {\n    return "
             "at.first;\n  }\n";
    std::string text = "row * all_columns() + column";
    if (site_.form == GraphForm::parted)
      text = fmt::format(
          "(column / extent_{0}() * all_rows() + row) * extent_{0}() + column % extent_{0}()",
          extent_number(site_.inner.text));
    return "  __device__ __forceinline__ long long place(long long row, long long column) const {\n"
           "    return " +
           text + ";\n  }\n";
  }
  std::string first() const {
    return down()     ? "    const long long first = at.begin + column * inner_rows();\n"
           : is_map() ? "    const long long first = place(at, column);\n"
                      : "    const long long first = place(at.row, column);\n";
  }

  std::string load() const {
    if (site_.scan < 0)
      return loading("load", all_stages(), held_.tensors) + sources() + completing();
    return "  // Loads what N terms of the scan read.\n" +
           loading("load_terms", of_terms(), held(of_terms())) +
           "  // Loads what the outputs at N elements read.\n" +
           loading("load", of_outputs(), held(of_outputs()));
  }

  std::string loading(const char* name, const std::vector<int>& stages,
                      const std::set<std::string>& tensors) const {
    std::string out = fmt::format(
        "  template <int N{}>\n  __device__ __forceinline__ Values<N> {}(const {}& at, long long "
        "column) const {{\n    Values<N> values;\n{}",
        of_place(), name, at_type(), first());
    for (const std::string& tensor : tensors) out += loaded(tensor);
    for (const auto& [run, read] : runs(stages)) {
      out += fmt::format(
          "    values.{0} = load_run<T_{1}, N, {2}, LOAD_HINT != 0>(\n        this->{1} + at.row * "
          "{3} + ({4} {5} column));\n",
          run, read->source, read->back, extent_call(read->pitch.text),
          extent_call(read->moved_by.text), read->back ? "-" : "+");
    }
    for (const auto& [column, at] : loaded_columns())
      out += fmt::format("    values.columns_{0} = load_vector<T_{0}, N>(this->{0} + {1});\n",
                         column, at);
    return out + "    return values;\n  }\n";
  }

  // Adds what outputs alone read to what a thread holds, or loads all of it.
  std::string completing() const {
    if (site_.folds.empty()) return "";
    const auto names = late();
    const std::string of_all = fmt::format(
        "  template <int N>\n  __device__ __forceinline__ All<N> load_all(const {}& at, long long "
        "column) const {{\n    return complete<N>(at, column, load<N>(at, column));\n  }}\n",
        row_type());
    std::string out = fmt::format(
        "  // Loads what outputs read beside `held`.\n  template <int N>\n  __device__ "
        "__forceinline__ All<N> complete(const {}& at, long long column,\n"
        "                                             const Values<N>& held) const {{\n",
        row_type());
    if (names.empty()) return out + "    return held;\n  }\n" + of_all;
    out += "    All<N> values;\n    static_cast<Values<N>&>(values) = held;\n" + first();
    for (const std::string& name : names) out += loaded(name);
    return out + "    return values;\n  }\n" + of_all;
  }

  // Tells of each tensor that load() reads where its elements lie.
  std::string sources() const {
    std::string out = fmt::format(
        "  // Calls `each(to, from)` for every tensor that load() reads.\n  template <int N{}, "
        "class "
        "Each>\n  __device__ __forceinline__ void each_source(const {}& at, long long column, "
        "Values<N>& to,\n                                               Each each) const {{\n{}",
        of_place(), at_type(), first());
    for (const std::string& name : held_.tensors)
      out += fmt::format("    each(to.{0}, this->{0} + first);\n", name);
    return out + "  }\n";
  }

  std::string folds() const { return site_.folds.empty() ? "" : passes(); }

  std::string most_state() const {
    int most = 1;
    for (const FoldPass& pass : passes_) most = std::max(most, pass.size);
    return fmt::format("constexpr int MOST_STATE = {};  // floats of a pass\n", most);
  }
  int fold_of(const FoldPass::Member& member) const {
    return site_.folds[static_cast<std::size_t>(member.number)];
  }

  // Declares what a thread keeps of each pass, and how that of two threads combines.
  std::string passes_text() const {
    if (passes_.empty()) return "";
    std::string out = "#include \"cupilot/passes.cuh\"\ntemplate <int P>\nstruct Pass;\n";
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      const FoldPass& pass = passes_[p];
      std::string nothing, merge, numbers = "false";
      for (std::size_t i = 0; i < pass.members.size(); ++i) {
        const auto& [number, slot, form] = pass.members[i];
        if (form != Form::terms) continue;
        const char* how = combiner(fold_of(pass.members[i]));
        const Form shared = pass.shared_with_next(i);
        if (shared == Form::squares) {
          nothing += fmt::format("    for (int i = {}; i < {}; ++i) out.of[i] = 0.0f;\n", slot - 1,
                                 slot + 3);
          merge +=
              fmt::format("    merge_moments(a.of + {0}, b.of + {0}, out.of + {0});\n", slot - 1);
          numbers += fmt::format(" || i == {}", slot - 1);
          continue;
        }
        nothing += fmt::format("    out.of[{}] = {}::nothing();\n", slot, how);
        if (shared == Form::place) {
          nothing += fmt::format("    out.of[{}] = 0.0f;\n", slot + 1);
          merge += fmt::format("    merge_places<{1}>(a.of + {0}, b.of + {0}, out.of + {0});\n",
                               slot, how);
        } else {
          merge += fmt::format("    out.of[{0}] = {1}::of(a.of[{0}], b.of[{0}]);\n", slot, how);
        }
      }
      out += fmt::format(
          "template <>\nstruct Pass<{0}> {{\n  static constexpr int SIZE = {1}, FIRST = {2}, END = "
          "{3};  // folds\n  using State = PassState<SIZE>;\n"
          "  // True for a slot that holds how many terms there were.\n"
          "  static __device__ constexpr bool is_number(int i) {{ return {6}; }}\n"
          "  static __device__ __forceinline__ State nothing() {{\n    State out;\n{4}    return "
          "out;\n  }}\n  static __device__ __forceinline__ State of(const State& a, const State& "
          "b) {{\n    State out;\n{5}    return out;\n  }}\n}};\n",
          p, pass.size, pass.members.front().number, pass.members.back().number + 1, nothing, merge,
          numbers);
    }
    return out;
  }

  // The state of a pass as a parameter, and of one row of those that a thread has.
  std::string state_parameter(const char* kept) const {
    return fmt::format("{}typename Pass<P>::State{}", kept, down() ? " (&states)[N]" : "& state");
  }
  const char* state() const { return down() ? "states[each_]" : "state"; }

  // Adds a member's terms: text within the loop over N elements, and what stands around it.
  struct PassText {
    std::string before{}, loop{}, after{};
    std::vector<int> needed{};
  };
  void add_member(const FoldPass& pass, std::size_t i, PassText& out) const {
    const int number = fold_of(pass.members[i]), slot = pass.members[i].slot;
    const Form shared = pass.shared_with_next(i);
    std::vector<int> order;
    needed(number, order);
    needed(number, out.needed);
    out.loop += "    {\n" + stages_before(order, number) +
                computed(number, sited(number).term, "term", false);
    if (shared == Form::squares) {
      out.before += fmt::format("    float terms_{}[N];\n", i);
      out.loop += fmt::format("    terms_{}[each_] = term;\n", i);
      out.after += fmt::format("    add_moments<N>(state.of + {}, terms_{});\n", slot - 1, i);
    } else if (shared == Form::place) {
      const int next = fold_of(pass.members[i + 1]);
      out.loop +=
          computed(next, "__uint_as_float(static_cast<unsigned>(place))", "at_place", false) +
          fmt::format("    add_place<{2}>({0}.of + {1}, term, at_place);\n", state(), slot,
                      combiner(number));
    } else {
      out.loop += fmt::format("    {0}.of[{1}] = {2}::of({0}.of[{1}], term);\n", state(), slot,
                              combiner(number));
    }
    out.loop += "    }\n";
  }

  std::string passes() const {
    std::string out = fmt::format(
        "  // Adds N further terms of each fold of pass P.\n  template <int P, int N>\n  "
        "__device__ "
        "__forceinline__ void fold(const {}& at, long long column, const Values<N>& values,\n"
        "                                        {}) const {{\n",
        row_type(), state_parameter(""));
    out += first();
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      const FoldPass& pass = passes_[p];
      PassText text;
      for (std::size_t i = 0; i < pass.members.size(); ++i) {
        if (pass.members[i].form == Form::terms) add_member(pass, i, text);
      }
      out += fmt::format("    if constexpr (P == {}) {{\n", p) + columns(text.needed) +
             text.before + "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n" +
             text.loop + "    }\n" + text.after + "    }\n";
    }
    return out + "  }\n";
  }

  // The result of a member as its finish takes it.
  std::string finished_state(const FoldPass& pass, std::size_t i) const {
    const auto& [number, slot, form] = pass.members[i];
    if (form == Form::squares)
      return fmt::format("squares_about(state.of + {}, at.fold_{})", slot - 3,
                         stage(fold_of(pass.members[i - 1])).name);
    const std::string value = fmt::format("{}.of[{}]", state(), slot);
    return form == Form::place ? fmt::format("static_cast<float>(__float_as_uint({}))", value)
                               : value;
  }

  // Keeps the results of a pass.
  std::string finish() const {
    if (site_.folds.empty()) return "";
    std::string out = fmt::format(
        "  // Keeps the results of pass P.\n  template <int P{}>\n  __device__ __forceinline__ "
        "void "
        "finish({}& at, {}) const {{\n{}",
        down() ? ", int N" : "", row_type(), state_parameter("const "), each_row());
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      out += fmt::format("    if constexpr (P == {}) {{\n", p);
      for (std::size_t i = 0; i < passes_[p].members.size(); ++i) {
        const auto& member = passes_[p].members[i];
        const int number = fold_of(member);
        const std::string& text = sited(number).finish;
        const std::string acc = finished_state(passes_[p], i);
        out += fmt::format("    {{\n    const float acc = {};\n", acc) +
               (text.empty() ? "" : computed(number, text, "finished", true)) +
               fmt::format("    at.fold_{}{} = {};\n    }}\n", stage(number).name,
                           down() ? "[each_]" : "", text.empty() ? "acc" : "finished");
      }
      out += "    }\n";
    }
    return out + (down() ? "    }\n  }\n" : "  }\n");
  }

  // Terms of the scan.
  std::string terms() const {
    if (site_.scan < 0) return "";
    const std::vector<int> order = of_terms();
    return "  // N terms of a row's scan.\n  template <int N>\n  __device__ __forceinline__ void "
           "terms(const Row& at, long long column, const Values<N>& values,\n"
           "                                        float (&out)[N]) const {\n"
           "    const float* scanned = nullptr;  // not yet\n" +
           first() + columns(order) +
           "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n" +
           stages_before(order, site_.scan) +
           computed(site_.scan, sited(site_.scan).term, "term", false) +
           "    out[each_] = term;\n    }\n  }\n";
  }

  // Access to what finish() kept.
  std::string kept() const {
    if (site_.folds.empty() || down()) return "";
    std::string get, set;
    for (std::size_t k = 0; k < site_.folds.size(); ++k) {
      const std::string& name = stage(site_.folds[k]).name;
      get += fmt::format("    if constexpr (K == {}) return at.fold_{};\n", k, name);
      set += fmt::format("    if constexpr (K == {}) at.fold_{} = value;\n", k, name);
    }
    return "  template <int K>\n  __device__ __forceinline__ float kept(const Row& at) const {\n" +
           get +
           "  }\n  template <int K>\n  __device__ __forceinline__ void keep(Row& at, float value) "
           "const {\n" +
           set + "  }\n";
  }

  std::string store() const {
    const bool scan = site_.scan >= 0;
    std::string out = fmt::format(
        "  // Outputs of N elements.\n  template <int N{}>\n  __device__ __forceinline__ void "
        "store(const {}& at, long long column, const {}<N>& values{}) const {{\n{}",
        scan ? ", class Scanned" : of_place(), at_type(), site_.folds.empty() ? "Values" : "All",
        scan ? ",\n                                        const Scanned& row_scanned" : "",
        first());
    const std::vector<int> order = of_outputs();
    const auto all = outputs(StagePlace::full);
    for (const auto& [name, at] : loaded_columns())
      out += fmt::format("    const auto& columns_{0} = values.columns_{0};\n", name);
    if (!is_map()) out += columns(order);
    for (const int output : all)
      out += fmt::format("    Vector<T_{0}, N> out_{0};\n", stage(output).name);
    out += "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n" + own_scan() +
           stages_before(order, -1);
    for (const int output : all)
      out += fmt::format("    out_{0}.at[each_] = from_float<T_{0}>(value_{0});\n",
                         stage(output).name);
    out += "    }\n";
    for (const int output : all) {
      out += fmt::format(
          "    if (STORE_HINT) store_vector_streaming<T_{0}, N>(this->{0} + first, out_{0});\n"
          "    else store_vector<T_{0}, N>(this->{0} + first, out_{0});\n",
          stage(output).name);
    }
    return out + "  }\n" + store_held();
  }

  // Stores elements of which a thread holds what folds read.
  std::string store_held() const {
    if (site_.folds.empty() || late().empty()) return "";
    return fmt::format(
        "  template <int N>\n  __device__ __forceinline__ void store(const {}& at, long long "
        "column, "
        "const Values<N>& held) const {{\n    store<N>(at, column, complete<N>(at, column, "
        "held));\n  }}\n",
        row_type());
  }

  // Names what an element reads of the scan.
  std::string own_scan() const {
    if (site_.scan < 0) return "";
    return site_.scan_near ? "    const auto scanned = row_scanned.element(each_);\n"
                           : "    const float* scanned = row_scanned;\n";
  }

  std::string store_row() const {
    std::string out = fmt::format(
        "  // Outputs that have one value a row.\n{}  __device__ __forceinline__ void "
        "store_row(const {}& at) const {{\n",
        down() ? "  template <int N>\n" : "", row_type());
    if (down()) out += "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n";
    for (const int output : outputs(StagePlace::row)) {
      const bool fold = stage(output).kind == StageKind::fold;
      std::vector<int> order;
      if (!fold) needed(output, order);
      out += "    {\n" + stages_before(order, -1) +
             fmt::format("    {0}[at.row{3}] = from_float<T_{0}>({1}{0}{2});\n    }}\n",
                         stage(output).name, fold ? "at.fold_" : "value_",
                         fold && down() ? "[each_]" : "", down() ? " + each_" : "");
    }
    return out + (down() ? "    }\n  }\n" : "  }\n");
  }

  // Stages of one value of all rows that come before `number`, or all that are needed for it.
  std::string whole_before(int number) const {
    std::vector<int> order, whole;
    needed(number, order);
    std::copy_if(order.begin(), order.end(), std::back_inserter(whole), [&](int one) {
      return sited(one).place == StagePlace::whole && stage(one).kind == StageKind::map;
    });
    return stages_before(whole, -1);
  }

  // Folds what the rows gave over all of them.
  std::string joins() const {
    if (site_.joins.empty()) return "";
    std::string results, terms, finishes;
    for (std::size_t k = 0; k < site_.joins.size(); ++k) {
      const int number = site_.joins[k];
      const std::string& text = sited(number).finish;
      std::vector<int> order;
      needed(number, order);
      order.erase(std::remove_if(order.begin(), order.end(),
                                 [&](int one) { return sited(one).place == StagePlace::whole; }),
                  order.end());
      results += fmt::format("    float join_{};\n", stage(number).name);
      terms += fmt::format("    if constexpr (J == {}) {{\n{}", k, each_row()) +
               stages_before(order, -1) + computed(number, sited(number).term, "term", true) +
               fmt::format("    acc = {}::of(acc, term);\n    {}}}\n", combiner(number),
                           down() ? "}\n    " : "");
      finishes += fmt::format("    if constexpr (J == {}) {{\n", k) + whole_before(number) +
                  (text.empty() ? "" : computed(number, text, "finished", true)) +
                  fmt::format("    whole.join_{} = {};\n    }}\n", stage(number).name,
                              text.empty() ? "acc" : "finished");
    }
    std::string stores;
    for (const int output : outputs(StagePlace::whole)) {
      const bool fold = stage(output).kind == StageKind::fold;
      stores += fmt::format("    {{\n{1}    this->{0}[0] = from_float<T_{0}>({2}{0});\n    }}\n",
                            stage(output).name, fold ? "" : whole_before(output),
                            fold ? "whole.join_" : "value_");
    }
    return fmt::format(
        "  struct Whole {{\n{0}  }};\n  // `acc` with the terms of join J of {4}.\n"
        "  template <int J{5}>\n  __device__ __forceinline__ float join(const {6}& at, float acc) "
        "const {{\n{1}    return acc;\n  }}\n"
        "  // Keeps the combined terms of join J.\n  template <int J>\n  __device__ "
        "__forceinline__ void finish_join(Whole& whole, float acc) const {{\n{2}  }}\n"
        "  __device__ __forceinline__ void store_whole(const Whole& whole) const {{\n{3}  }}\n",
        results, terms, finishes, stores, down() ? "N rows" : "a row", down() ? ", int N" : "",
        row_type());
  }

  const char* each_row() const {
    return down() ? "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n" : "";
  }

  // Combiner<K>: how fold K combines.
  std::string combiners_text() const {
    std::string out = "template <int K>\nstruct Combiner {\n  using type = Sum;\n};\n";
    const auto folds = site_.scan < 0 ? site_.folds : std::vector<int>{site_.scan};
    for (std::size_t k = 0; k < folds.size(); ++k) {
      out += fmt::format("template <>\nstruct Combiner<{}> {{\n  using type = {};\n}};\n", k,
                         combiner(folds[k]));
    }
    out += "template <int J>\nstruct JoinCombiner;\n";
    for (std::size_t k = 0; k < site_.joins.size(); ++k)
      out += fmt::format("template <>\nstruct JoinCombiner<{}> {{\n  using type = {};\n}};\n", k,
                         combiner(site_.joins[k]));
    return out;
  }

  std::vector<FoldPass> passes_;
  HeldElements held_;
};

}  // namespace

std::string graph_text(const Task& task, const GraphSite& site) {
  return GraphText(task, site).of_rows();
}

}  // namespace cupilot
