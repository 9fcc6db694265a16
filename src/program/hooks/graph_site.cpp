#include "program/hooks/graph_site.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "program/hooks/row_reads.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

std::vector<StageAxis> without_ones(const std::vector<StageAxis>& axes) {
  std::vector<StageAxis> out;
  for (const StageAxis& axis : axes) {
    if (axis.extent.text != "1") out.push_back(axis);
  }
  return out;
}

class Sited {
 public:
  explicit Sited(const Task& task) : task_(task) {}
  Sited(const Task& task, const Expr& rows, const Expr& cols) : task_(task), given_(true) {
    site_.form = GraphForm::product;
    site_.rows = rows;
    site_.cols = cols;
    groups_ = {{true, rows}, {false, cols}};
  }

  std::optional<GraphSite> run() {
    const auto& stages = task_.reference.stages;
    if (stages.empty() || task_.time_shapes.empty()) return std::nullopt;
    if (!(given_ ? is_of_elements() : find_rows())) return std::nullopt;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (!add(i)) return std::nullopt;
    }
    if (const auto near =
            site_.scan < 0 ? std::nullopt : near_scan(task_, site_.scan, site_.cols)) {
      site_.scan_near = true;
      site_.scan_back = near->back;
    }
    return site_;
  }

 private:
  std::optional<std::int64_t> value(const Expr& expr) const {
    const auto number = evaluate_or_error(expr, task_scope(task_, task_.time_shapes.front()));
    return number ? std::optional(*number) : std::nullopt;
  }
  static Expr product(const std::vector<StageAxis>& axes) {
    ExprShape extents;
    for (const StageAxis& axis : axes) extents.push_back(axis.extent);
    return product_of(extents);
  }
  static std::vector<StageAxis> all_of(const ReferenceStage& stage) {
    auto all = stage.free;
    all.insert(all.end(), stage.over.begin(), stage.over.end());
    return all;
  }

  bool is_of_elements() const {
    const auto& stages = task_.reference.stages;
    return value(site_.rows) && value(site_.cols) &&
           std::all_of(stages.begin(), stages.end(),
                       [](const ReferenceStage& stage) { return stage.kind == StageKind::map; });
  }

  // Rows and columns: those of the folds, else of the output.
  bool find_rows() {
    const auto& stages = task_.reference.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].kind == StageKind::scan) return find_scan(static_cast<int>(i));
      if (stages[i].kind != StageKind::fold) continue;
      if (site_.folds.empty() && !find_groups(stages[i])) return false;
      const bool of_row = value(product(stages[i].free)) == value(site_.rows) &&
                          value(product(stages[i].over)) == value(site_.cols);
      if (!of_row && !joins_rows(stages[i])) return false;
      (of_row ? site_.folds : site_.joins).push_back(static_cast<int>(i));
    }
    const bool given = value(site_.rows) && value(site_.cols);
    if (!site_.folds.empty()) return given && *value(site_.cols) > 1;
    const auto output = std::find_if(stages.begin(), stages.end(), [&](const ReferenceStage& one) {
      return find_tensor(task_, one.name) != nullptr;
    });
    if (output == stages.end()) return false;
    auto axes = without_ones(output->free);
    if (axes.empty()) return false;
    site_.cols = axes.back().extent;
    axes.pop_back();
    site_.rows = product(axes);
    groups_ = {{true, site_.rows}, {false, site_.cols}};
    return value(site_.rows) && value(site_.cols);
  }

  bool joins_rows(const ReferenceStage& fold) const {
    return without_ones(fold.free).empty() && value(product(fold.over)) == value(site_.rows);
  }

  // Rows of the one scan; columns of the output, which may have others.
  bool find_scan(int number) {
    const auto& stages = task_.reference.stages;
    const auto is_output = [&](const ReferenceStage& one) {
      return find_tensor(task_, one.name) != nullptr;
    };
    const auto other = [&](const ReferenceStage& one) {
      return one.kind != StageKind::map && &one != &stages[static_cast<std::size_t>(number)];
    };
    if (std::any_of(stages.begin(), stages.end(), other)) return false;
    const ReferenceStage& scan = stages[static_cast<std::size_t>(number)];
    if (!find_groups(scan) || site_.form != GraphForm::rows || without_ones(scan.over).size() != 1)
      return false;
    site_.scan = number;
    site_.scan_cols = site_.cols;
    const auto output = std::find_if(stages.begin(), stages.end(), is_output);
    const auto axes = output == stages.end() ? scan.over : without_ones(output->free);
    const auto rows = value(site_.rows), cols = value(site_.cols);
    if (!rows || !cols || axes.empty() || output == stages.end()) return false;
    if (value(product(output->free)) != *rows * *cols) {
      site_.cols = axes.back().extent;
      groups_ = {{true, site_.rows}, {false, site_.cols}};
    }
    return value(site_.cols).has_value();
  }

  // Axes of a fold's elements as they lie in memory: in the order of the first read that has them
  // all, else the free ones first.
  static std::vector<StageAxis> order_of(const ReferenceStage& fold) {
    const auto all = without_ones(all_of(fold));
    for (const StageRead& read : fold.reads) {
      for (const auto& at : read.at.empty() ? calls_of(read.name, fold.term)
                                            : std::vector<std::vector<std::string>>{read.at}) {
        std::vector<StageAxis> order;
        for (const std::string& place : at) {
          const auto axis = std::find_if(all.begin(), all.end(),
                                         [&](const StageAxis& one) { return one.name == place; });
          if (axis != all.end()) order.push_back(*axis);
        }
        if (order.size() == all.size()) return order;
      }
    }
    return all;
  }

  bool find_groups(const ReferenceStage& fold) {
    const auto free = without_ones(fold.free);
    std::vector<StageAxis> in_order;
    for (const StageAxis& axis : order_of(fold)) {
      const bool row = std::find(free.begin(), free.end(), axis) != free.end();
      if (row) in_order.push_back(axis);
      if (groups_.empty() || groups_.back().row != row)
        groups_.push_back({row, axis.extent});
      else
        groups_.back().extent = product_of({groups_.back().extent, axis.extent});
    }
    site_.rows = product(fold.free);
    site_.cols = product(fold.over);
    if (groups_.empty() || in_order != free || groups_.size() > 3) return false;
    site_.inner = groups_.back().extent;
    if (groups_.back().row)
      site_.form = GraphForm::columns;
    else if (groups_.size() == 3)
      site_.form = GraphForm::parted;
    return true;
  }

  // Tells of each coordinate of an element if it says its row; empty: they do not fit the groups.
  std::vector<bool> in_row(const std::vector<StageAxis>& axes) const {
    std::vector<bool> out;
    std::size_t group = 0;
    std::int64_t left = value(groups_[0].extent).value_or(0);
    for (const StageAxis& axis : axes) {
      while (left == 1 && group + 1 < groups_.size())
        left = value(groups_[++group].extent).value_or(0);
      const std::int64_t extent = value(axis.extent).value_or(0);
      if (extent <= 0 || left % extent != 0) return {};
      left /= extent;
      out.push_back(groups_[group].row);
    }
    return out;
  }

  static std::vector<StageAxis> coordinates_of(const ReferenceStage& stage) {
    if (stage.kind == StageKind::map) return all_of(stage);
    std::vector<StageAxis> out;
    for (const StageAxis& axis : all_of(stage)) {
      if (axis.extent.text == "1") out.push_back(axis);
    }
    const auto order = order_of(stage);
    out.insert(out.end(), order.begin(), order.end());
    return out;
  }

  int source(std::size_t reader, const std::string& name) const {
    for (std::size_t i = reader; i-- > 0;) {
      if (task_.reference.stages[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  bool add(std::size_t number) {
    const ReferenceStage& stage = task_.reference.stages[number];
    SiteStage out;
    out.coordinates = coordinates_of(stage);
    const auto elements = value(product(stage.free));
    const auto rows = *value(site_.rows), cols = *value(site_.cols);
    whole_ = is_whole(stage, number);
    if (whole_)
      out.place = StagePlace::whole;
    else if (stage.kind == StageKind::fold || (elements == rows && cols > 1 && site_.scan < 0))
      out.place = StagePlace::row;
    else if (stage.kind == StageKind::map && elements != rows * cols)
      out.apart = true;
    out.term = stage.term;
    out.finish = stage.finish;
    for (const StageRead& read : stage.reads) {
      if (!out.apart && !add_read(stage, number, read, out)) out.apart = true;
    }
    if (whole_ && (out.apart || !is_joined(out, stage.kind == StageKind::fold))) return false;
    if (out.apart && (!is_pure(number, true) || find_tensor(task_, stage.name) != nullptr))
      return false;
    site_.stages.push_back(std::move(out));
    return true;
  }

  // A fold of what the rows gave, or a map that reads such a one.
  bool is_whole(const ReferenceStage& stage, std::size_t number) const {
    const auto& joins = site_.joins;
    if (std::find(joins.begin(), joins.end(), static_cast<int>(number)) != joins.end()) return true;
    return stage.kind == StageKind::map && without_ones(stage.free).empty() &&
           std::any_of(stage.reads.begin(), stage.reads.end(), [&](const StageRead& read) {
             const int from = source(number, read.source);
             return from >= 0 &&
                    site_.stages[static_cast<std::size_t>(from)].place == StagePlace::whole;
           });
  }

  // Terms read rows, what finishes them reads no row.
  static bool is_joined(const SiteStage& stage, bool fold) {
    return std::all_of(stage.reads.begin(), stage.reads.end(), [&](const SiteRead& read) {
      if (read.kind == SiteRead::Kind::row) return fold && !uses(stage.finish, read.name);
      return read.kind != SiteRead::Kind::whole || !fold || !uses(stage.term, read.name);
    });
  }

  // A map of tensors alone: it has a value anywhere, which what a product gave (`acc`) has not.
  // in_row: anywhere in a row, since it may read the row's scan.
  bool is_pure(std::size_t number, bool in_row = false) const {
    const ReferenceStage& stage = task_.reference.stages[number];
    return stage.kind == StageKind::map && !uses(stage.term, "acc") &&
           std::all_of(stage.reads.begin(), stage.reads.end(), [&](const StageRead& read) {
             const int from = source(number, read.source);
             return from < 0 || (in_row && from == site_.scan) ||
                    is_pure(static_cast<std::size_t>(from), in_row);
           });
  }

  bool add_read(const ReferenceStage& stage, std::size_t number, const StageRead& read,
                SiteStage& out) {
    if (!read.at.empty()) {
      auto made = classified(stage, number, read, read.name, read.at);
      if (!made) return false;
      if (made->kind == SiteRead::Kind::other) find_run(stage, read, read.at, *made);
      out.reads.push_back(std::move(*made));
      return true;
    }
    misplaced_ = false;
    std::map<std::vector<std::string>, std::string> known;
    bool left = false;  // a call that stays one
    for (std::string* text : {&out.term, &out.finish})
      replace_calls(stage, number, read, *text, known, left, out);
    if (!left) return true;
    const int from = source(number, read.source);
    const bool scanned = from >= 0 && from == site_.scan;
    if (from >= 0 && !is_pure(static_cast<std::size_t>(from)) &&
        (misplaced_ || (!scanned && !is_pure(static_cast<std::size_t>(from), true))))
      return false;
    SiteRead called{
        .name = read.name, .source = read.source, .stage = from, .extents = read.extents};
    if (scanned) called.kind = SiteRead::Kind::scanned;
    out.called.push_back(std::move(called));
    return true;
  }

  // Calls by coordinates alone become names of values.
  void replace_calls(const ReferenceStage& stage, std::size_t number, const StageRead& read,
                     std::string& text, std::map<std::vector<std::string>, std::string>& known,
                     bool& left, SiteStage& out) {
    std::string done;
    for (std::size_t at = 0; at < text.size();) {
      const bool begins = at == 0 || !is_identifier_character(text[at - 1]);
      const std::size_t end = at + read.name.size();
      if (!begins || text.compare(at, read.name.size(), read.name) != 0 || end >= text.size() ||
          text[end] != '(') {
        done += text[at++];
        continue;
      }
      std::size_t close = 0;
      const auto arguments = arguments_at(text, end, close);
      const std::string name =
          known.empty() ? read.name + "_" : fmt::format("{}_{}", read.name, known.size() + 1);
      auto found = known.find(arguments);
      if (found == known.end()) {
        auto made = classified(stage, number, read, name, arguments);
        if (!made) misplaced_ = true;
        if (made && made->kind == SiteRead::Kind::other && !is_conditional(stage))
          find_run(stage, read, arguments, *made);
        if (made && made->kind != SiteRead::Kind::other && made->kind != SiteRead::Kind::scanned) {
          found = known.emplace(arguments, name).first;
          out.reads.push_back(std::move(*made));
        }
      }
      left = left || found == known.end();
      done += found == known.end() ? text.substr(at, close + 1 - at) : found->second;
      at = close + 1;
    }
    text = done;
  }

  // True if some of what the text names is not computed at every place.
  static bool is_conditional(const ReferenceStage& stage) {
    const auto conditional = [](const std::string& text) {
      return text.find_first_of("?&|") != std::string::npos;
    };
    return conditional(stage.term) ||
           std::any_of(stage.constants.begin(), stage.constants.end(),
                       [&](const auto& one) { return conditional(one.second); });
  }

  // Makes `made` a run where it is one.
  void find_run(const ReferenceStage& stage, const StageRead& read,
                const std::vector<std::string>& at, SiteRead& made) const {
    const auto axes = without_ones(coordinates_of(stage));
    const bool along =
        stage.kind == StageKind::scan || (!axes.empty() && axes.back().extent == site_.cols);
    if (site_.scan < 0 || !along) return;
    StageRead placed = read;
    placed.at = at;
    const auto source = row_source(task_, stage, placed);
    if (!source) return;
    made.kind = SiteRead::Kind::run;
    made.stage = -1;
    made.source = source->tensor;
    made.pitch = source->pitch;
    made.back = source->place.back;
    made.moved_by = rest_of(source->place);
  }

  std::optional<SiteRead> classified(const ReferenceStage& stage, std::size_t number,
                                     const StageRead& read, const std::string& name,
                                     const std::vector<std::string>& at) const {
    SiteRead out{.name = name, .source = read.source};
    out.stage = source(number, read.source);
    out.extents = read.extents;
    out.at = at;
    if (at.size() != read.extents.size()) return std::nullopt;
    std::vector<StageAxis> asked;
    for (std::size_t d = 0; d < at.size(); ++d) asked.push_back({at[d], read.extents[d]});
    asked = without_ones(asked);
    const auto all = without_ones(coordinates_of(stage)), free = without_ones(stage.free);
    const auto rows = value(site_.rows), cols = value(site_.cols);
    const auto size = value(product(asked));
    if (whole_ && stage.kind == StageKind::map)
      out.kind = SiteRead::Kind::other;
    else if (asked == all && size == *rows * *cols)
      out.kind = SiteRead::Kind::element;
    else if (size == rows && asked == of_row(stage, all, free, true))
      out.kind = SiteRead::Kind::row;
    else if (size == cols && !asked.empty() && asked == of_row(stage, all, free, false))
      out.kind = SiteRead::Kind::column;
    else if (out.stage < 0 && site_.form == GraphForm::rows && is_end(stage, all, asked))
      out.kind = SiteRead::Kind::cycle;
    if (out.stage < 0) return out;
    const SiteStage* from = nullptr;
    const auto at_stage = static_cast<std::size_t>(out.stage);
    if (out.stage != site_.scan) from = &site_.stages[at_stage];
    if (from != nullptr && from->place == StagePlace::whole) {
      if (!whole_ || !asked.empty()) return std::nullopt;
      out.kind = SiteRead::Kind::whole;
      return out;
    }
    const bool full = from != nullptr && from->place == StagePlace::full;
    if (from != nullptr && !from->apart &&
        out.kind == (full ? SiteRead::Kind::element : SiteRead::Kind::row))
      return out;
    if (from == nullptr || !is_pure(at_stage)) {
      // It reads the row's scan, so it must be read in the same row.
      if (stage.kind != StageKind::map || asked.empty() ||
          (from != nullptr && !is_pure(at_stage, true)))
        return std::nullopt;
      asked.pop_back();
      if (asked != of_row(stage, all, free, true)) return std::nullopt;
    }
    out.kind = from == nullptr ? SiteRead::Kind::scanned : SiteRead::Kind::other;
    return out;
  }

  // True if those asked are the last coordinates of a map's elements.
  bool is_end(const ReferenceStage& stage, const std::vector<StageAxis>& all,
              const std::vector<StageAxis>& asked) const {
    return stage.kind == StageKind::map && !whole_ && !asked.empty() && asked.size() < all.size() &&
           std::equal(asked.rbegin(), asked.rend(), all.rbegin()) &&
           value(product(all)) == *value(site_.rows) * *value(site_.cols);
  }

  // Coordinates that say an element's row, or its place in a row.
  std::vector<StageAxis> of_row(const ReferenceStage& stage, const std::vector<StageAxis>& all,
                                const std::vector<StageAxis>& free, bool row) const {
    std::vector<StageAxis> out;
    if (whole_) return row ? all : out;
    if (stage.kind == StageKind::map && value(product(stage.free)) == value(site_.rows) &&
        *value(site_.cols) > 1)
      return row ? all : out;
    const auto says = in_row(all);
    if (says.size() < all.size() && stage.kind == StageKind::map) return out;
    for (std::size_t d = 0; d < all.size(); ++d) {
      const bool own = stage.kind != StageKind::map
                           ? std::find(free.begin(), free.end(), all[d]) != free.end()
                           : says[d];
      if (own == row) out.push_back(all[d]);
    }
    return out;
  }

  const Task& task_;
  const bool given_ = false;  // rows and columns
  bool misplaced_ = false;    // a scan is called elsewhere than in its own row
  bool whole_ = false;        // the stage that is added has one value of all rows
  GraphSite site_;
  struct Group {
    bool row;
    Expr extent;
  };
  std::vector<Group> groups_{};  // of an element's coordinates, outermost first
};

}  // namespace

std::optional<GraphSite> graph_site(const Task& task) { return Sited(task).run(); }

std::optional<GraphSite> graph_site(const Task& task, const Expr& rows, const Expr& cols) {
  return Sited(task, rows, cols).run();
}

}  // namespace cupilot
