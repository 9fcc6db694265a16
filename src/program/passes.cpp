#include "program/passes.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "task/identifiers.hpp"

namespace cupilot {
namespace {

class Passes {
 public:
  Passes(const Task& task, const GraphSite& site) : task_(task), site_(site) {}

  std::vector<FoldPass> run() {
    for (int k = 0; k < static_cast<int>(site_.folds.size()); ++k) {
      std::set<int> needs;
      results_read(site_.folds[static_cast<std::size_t>(k)], needs);
      const int mean = k - 1;
      if (is_second_moment(k) && !has_other(needs, mean))
        add_squares(k);
      else if (!passes_.empty() && site_.form != GraphForm::columns && !has_other(needs, -1))
        add(k);
      else
        passes_.emplace_back(), add(k);
    }
    return std::move(passes_);
  }

 private:
  const SiteStage& sited(int number) const {
    return site_.stages[static_cast<std::size_t>(number)];
  }

  // Folds whose results a stage needs, by stage.
  void results_read(int number, std::set<int>& out) const {
    for (const SiteRead& read : sited(number).reads) {
      if (read.stage < 0) continue;
      const auto& stage = task_.reference.stages[static_cast<std::size_t>(read.stage)];
      if (stage.kind == StageKind::fold)
        out.insert(read.stage);
      else
        results_read(read.stage, out);
    }
  }

  // True if a fold of the last pass, but `allowed`, is among those.
  bool has_other(const std::set<int>& needs, int allowed) const {
    const auto& members = passes_.back().members;
    return std::any_of(members.begin(), members.end(), [&](const FoldPass::Member& one) {
      return one.number != allowed &&
             needs.contains(site_.folds[static_cast<std::size_t>(one.number)]);
    });
  }

  // (A - c) * (A - c), where c is the fold before it, of terms A, alone in its slot.
  bool is_second_moment(int k) const {
    if (k == 0 || site_.form == GraphForm::columns || passes_.back().members.back().squares)
      return false;
    const int number = site_.folds[static_cast<std::size_t>(k)];
    const int before = site_.folds[static_cast<std::size_t>(k - 1)];
    const auto& stages = task_.reference.stages;
    if (stages[static_cast<std::size_t>(number)].combine != Combine::sum ||
        stages[static_cast<std::size_t>(before)].combine != Combine::sum)
      return false;
    const SiteStage &squares = sited(number), &sum = sited(before);
    const auto center = std::find_if(squares.reads.begin(), squares.reads.end(),
                                     [&](const SiteRead& read) { return read.stage == before; });
    if (center == squares.reads.end() || center->kind != SiteRead::Kind::row) return false;
    if (squares.term != fmt::format("({0} - {1}) * ({0} - {1})", sum.term, center->name) ||
        !sum.called.empty() || squares.coordinates != sum.coordinates ||
        !same_names(sum.term, stages[static_cast<std::size_t>(before)],
                    stages[static_cast<std::size_t>(number)]))
      return false;
    return std::all_of(sum.reads.begin(), sum.reads.end(), [&](const SiteRead& read) {
      if (!uses(sum.term, read.name)) return true;
      return std::any_of(squares.reads.begin(), squares.reads.end(), [&](const SiteRead& other) {
        return other.name == read.name && other.source == read.source && other.kind == read.kind &&
               other.at == read.at;
      });
    });
  }

  // Sizes and constants that the term uses mean the same in both.
  static bool same_names(const std::string& term, const ReferenceStage& one,
                         const ReferenceStage& other) {
    const auto all_same = [&](const auto& names, const auto& others, auto name_of) {
      return std::all_of(names.begin(), names.end(), [&](const auto& name) {
        const auto same = std::find_if(others.begin(), others.end(), [&](const auto& known) {
          return name_of(known) == name_of(name);
        });
        return same == others.end() ? !uses(term, name_of(name)) : *same == name;
      });
    };
    return all_same(one.sizes, other.sizes, [](const StageAxis& axis) { return axis.name; }) &&
           all_same(one.constants, other.constants, [](const auto& pair) { return pair.first; });
  }

  void add(int k) {
    FoldPass& last = passes_.back();
    last.members.push_back({k, last.size++, false});
  }
  void add_squares(int k) {
    FoldPass& last = passes_.back();
    const int first = last.members.back().slot;
    last.members.back().slot = first + 1;
    last.members.push_back({k, first + 3, true});
    last.size = first + 4;
  }

  const Task& task_;
  const GraphSite& site_;
  std::vector<FoldPass> passes_{};
};

}  // namespace

std::vector<FoldPass> passes_of(const Task& task, const GraphSite& site) {
  return Passes(task, site).run();
}

}  // namespace cupilot
