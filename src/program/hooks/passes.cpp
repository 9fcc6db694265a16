#include "program/hooks/passes.hpp"

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
      const int before = k - 1;
      if (is_second_moment(k) && !has_other(needs, before))
        add_squares(k);
      else if (is_place(k) && !has_other(needs, before))
        add_place(k);
      else if (!passes_.empty() && !has_other(needs, -1))
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
    return site_.form != GraphForm::columns &&
           follows(k, {Combine::sum}, Combine::sum, "({0} - {1}) * ({0} - {1})");
  }

  // The least place where A is m, where m is the fold before it, of terms A, alone in its slot.
  bool is_place(int k) const {
    return follows(k, {Combine::maxn, Combine::minn}, Combine::min,
                   "{0} == {1} || (isnan_({0}) && isnan_({1})) ? real(double(place)) : "
                   "real(double(count))") &&
           sited(site_.folds[static_cast<std::size_t>(k - 1)]).finish.empty();
  }

  // True if fold k combines by `own`, and its term is `form` of the term and the result of the fold
  // before it, which combines by one of `ways`.
  bool follows(int k, const std::vector<Combine>& ways, Combine own, const char* form) const {
    if (k == 0 || passes_.back().members.back().form != FoldPass::Form::terms) return false;
    const int number = site_.folds[static_cast<std::size_t>(k)];
    const int before = site_.folds[static_cast<std::size_t>(k - 1)];
    const auto& stages = task_.reference.stages;
    if (stages[static_cast<std::size_t>(number)].combine != own ||
        std::find(ways.begin(), ways.end(), stages[static_cast<std::size_t>(before)].combine) ==
            ways.end())
      return false;
    const SiteStage &last = sited(number), &first = sited(before);
    const auto result = std::find_if(last.reads.begin(), last.reads.end(),
                                     [&](const SiteRead& read) { return read.stage == before; });
    if (result == last.reads.end() || result->kind != SiteRead::Kind::row) return false;
    if (last.term != fmt::format(fmt::runtime(form), first.term, result->name) ||
        !first.called.empty() || last.coordinates != first.coordinates ||
        !same_names(first.term, stages[static_cast<std::size_t>(before)],
                    stages[static_cast<std::size_t>(number)]))
      return false;
    return std::all_of(first.reads.begin(), first.reads.end(), [&](const SiteRead& read) {
      if (!uses(first.term, read.name)) return true;
      return std::any_of(last.reads.begin(), last.reads.end(), [&](const SiteRead& other) {
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
    last.members.push_back({k, last.size++, FoldPass::Form::terms});
  }
  void add_place(int k) {
    passes_.back().members.push_back({k, passes_.back().size++, FoldPass::Form::place});
  }
  void add_squares(int k) {
    FoldPass& last = passes_.back();
    const int first = last.members.back().slot;
    last.members.back().slot = first + 1;
    last.members.push_back({k, first + 3, FoldPass::Form::squares});
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
