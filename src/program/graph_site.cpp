#include "program/graph_site.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

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

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The arguments of the call whose '(' stands at `open`; `close`: the place of its ')'.
std::vector<std::string> arguments_at(const std::string& text, std::size_t open,
                                      std::size_t& close) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (close = open; close < text.size(); ++close) {
    const char c = text[close];
    if (c == ')' && --depth == 0) break;
    if (c == ',' && depth == 1)
      out.emplace_back();
    else if (close > open)
      out.back() += c;
    if (c == '(') ++depth;
  }
  for (std::string& one : out) one = trimmed(one);
  return out;
}

class Sited {
 public:
  explicit Sited(const Task& task) : task_(task) {}

  std::optional<GraphSite> run() {
    const auto& stages = task_.reference.stages;
    if (stages.empty() || task_.time_shapes.empty()) return std::nullopt;
    if (!find_rows()) return std::nullopt;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (!add(i)) return std::nullopt;
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

  // Rows and columns: those of the folds, else of the output.
  bool find_rows() {
    const auto& stages = task_.reference.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].kind == StageKind::scan) return false;
      if (stages[i].kind != StageKind::fold) continue;
      if (site_.folds.empty())
        site_.rows = product(stages[i].free), site_.cols = product(stages[i].over);
      if (value(product(stages[i].free)) != value(site_.rows) ||
          value(product(stages[i].over)) != value(site_.cols))
        return false;
      site_.folds.push_back(static_cast<int>(i));
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
    return value(site_.rows) && value(site_.cols);
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
    out.coordinates = all_of(stage);
    const auto elements = value(product(stage.free));
    const auto rows = *value(site_.rows), cols = *value(site_.cols);
    if (stage.kind == StageKind::fold || (elements == rows && cols > 1))
      out.place = StagePlace::row;
    else if (elements != rows * cols)
      return false;
    out.term = stage.term;
    out.finish = stage.finish;
    for (const StageRead& read : stage.reads) {
      if (!add_read(stage, number, read, out)) return false;
    }
    site_.stages.push_back(std::move(out));
    return true;
  }

  bool add_read(const ReferenceStage& stage, std::size_t number, const StageRead& read,
                SiteStage& out) {
    if (!read.at.empty()) {
      auto made = classified(stage, number, read, read.name, read.at);
      if (!made) return false;
      out.reads.push_back(std::move(*made));
      return true;
    }
    std::map<std::vector<std::string>, std::string> known;
    bool left = false;  // a call that stays one
    for (std::string* text : {&out.term, &out.finish})
      replace_calls(stage, number, read, *text, known, left, out);
    if (!left) return true;
    if (source(number, read.source) >= 0) return false;
    SiteRead called{.name = read.name, .source = read.source, .extents = read.extents};
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
        if (made && made->kind != SiteRead::Kind::other) {
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
    const auto all = without_ones(all_of(stage)), free = without_ones(stage.free);
    const auto rows = value(site_.rows), cols = value(site_.cols);
    const bool here = asked == all;
    const auto size = value(product(asked));
    if (here && size == *rows * *cols)
      out.kind = SiteRead::Kind::element;
    else if (size == rows && is_row(stage, asked, all, free))
      out.kind = SiteRead::Kind::row;
    else if (!all.empty() && asked.size() == 1 && asked[0] == all.back() && size == cols)
      out.kind = SiteRead::Kind::column;
    if (out.stage >= 0) {
      const bool full = site_.stages[static_cast<std::size_t>(out.stage)].place == StagePlace::full;
      if (out.kind != (full ? SiteRead::Kind::element : SiteRead::Kind::row)) return std::nullopt;
    }
    return out;
  }

  // The leading coordinates of an element, or all of a stage that has one value a row.
  bool is_row(const ReferenceStage& stage, const std::vector<StageAxis>& asked,
              const std::vector<StageAxis>& all, const std::vector<StageAxis>& free) const {
    if (stage.kind == StageKind::fold) return asked == free;
    if (value(product(stage.free)) == value(site_.rows)) return asked == all;
    return asked.size() < all.size() && std::equal(asked.begin(), asked.end(), all.begin());
  }

  const Task& task_;
  GraphSite site_;
};

}  // namespace

std::optional<GraphSite> graph_site(const Task& task) { return Sited(task).run(); }

}  // namespace cupilot
