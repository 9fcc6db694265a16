#include "evolution/report/page_events.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace cupilot {
namespace {

constexpr std::size_t most_ancestors = 60, most_relatives = 120;  // limits of a picture

PageKernel page_kernel(const Candidate& candidate, const Accepted& accepted, int generation) {
  return {candidate.id,
          generation,
          accepted.measurement.time_us,
          accepted.measurement.provenance,
          accepted.verdict.intensity,
          accepted.verdict.achieved_flops,
          describe(candidate.strategy)};
}

std::string outcome_text(const Outcome& outcome) {
  if (const auto* accepted = std::get_if<Accepted>(&outcome))
    return fmt::format("{:.4g} us {}", accepted->measurement.time_us,
                       name_of(accepted->measurement.provenance));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected == nullptr ? "lost" : rejected->code;
}

}  // namespace

PageGatherer::Bred PageGatherer::bred_of(const ResultRecord& result, const Accepted& accepted) {
  const Candidate& c = result.candidate;
  return {page_kernel(c, accepted, result.generation), c.strategy_id, c.strategy.parents};
}

void PageGatherer::take(const SearchEvent& event, const FramedRecord& record) {
  roofline_.take(event);
  const auto* result = std::get_if<ResultRecord>(&event);
  if (result == nullptr) return;
  const Candidate& candidate = result->candidate;
  const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
  if (candidate.source.template_name.empty())
    written_.add({candidate.id, outcome_text(candidate.outcome), describe(candidate.strategy)},
                 false);
  if (accepted == nullptr) return;
  places_.insert(result->candidate.strategy_id, record.at);
  const double us = accepted->measurement.time_us;
  const bool fastest = best_ == 0 || us < best_;
  if (fastest) best_ = us;
  kernels_.add(bred_of(*result, *accepted), fastest);
}

// The champion first, each read where the journal has it.
std::vector<PageGatherer::Bred> PageGatherer::ancestors(Host& host, const std::string& run_dir,
                                                        const std::string& champion) const {
  std::vector<std::string> queue = {champion};
  std::vector<Bred> found;
  std::set<std::string> met;
  for (std::size_t i = 0; i < queue.size() && met.size() < most_ancestors; ++i) {
    const std::int64_t at = places_.find(queue[i]);
    if (at < 0 || !met.insert(queue[i]).second) continue;
    const auto record = record_at(host, run_dir, at);
    const auto result =
        record ? result_without_cases(record->payload) : Result<ResultRecord>(record.error());
    const auto* accepted = result ? std::get_if<Accepted>(&result->candidate.outcome) : nullptr;
    if (accepted == nullptr) continue;
    const Bred& bred = found.emplace_back(bred_of(*result, *accepted));
    queue.insert(queue.end(), bred.parents.begin(), bred.parents.end());
  }
  return found;
}

std::vector<PageRelative> PageGatherer::lineage(Host& host, const std::string& run_dir,
                                                const std::string& champion) const {
  std::vector<Bred> shown = ancestors(host, run_dir, champion);
  const std::size_t ancestor_count = shown.size();
  std::map<std::string, std::uint64_t> candidate_of;
  for (const Bred& bred : shown) candidate_of[bred.id] = bred.kernel.candidate;
  // The fastest children of those.
  std::vector<Bred> others = kernels_.taken();
  std::erase_if(others, [&](const Bred& bred) {
    return candidate_of.count(bred.id) > 0 ||
           std::none_of(bred.parents.begin(), bred.parents.end(),
                        [&](const std::string& parent) { return candidate_of.count(parent) > 0; });
  });
  std::stable_sort(others.begin(), others.end(), [](const Bred& a, const Bred& b) {
    return a.kernel.time_us < b.kernel.time_us;
  });
  if (others.size() > most_relatives - ancestor_count)
    others.resize(most_relatives - ancestor_count);
  shown.insert(shown.end(), others.begin(), others.end());
  for (const Bred& bred : kernels_.taken()) candidate_of[bred.id] = bred.kernel.candidate;
  std::vector<PageRelative> relatives;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    PageRelative& relative = relatives.emplace_back();
    relative.kernel = shown[i].kernel;
    relative.ancestor = i < ancestor_count;
    for (const std::string& parent : shown[i].parents) {
      if (const auto found = candidate_of.find(parent); found != candidate_of.end())
        relative.parents.push_back(found->second);
    }
  }
  std::sort(relatives.begin(), relatives.end(), [](const PageRelative& a, const PageRelative& b) {
    return a.kernel.candidate < b.kernel.candidate;
  });
  return relatives;
}

PageData PageGatherer::data(Host& host, const std::string& run_dir, const RunWalk& walk) const {
  const EvolveReport& report = walk.summary.report;
  PageData data;
  data.task = walk.summary.task.name;
  data.device = report.device;
  data.proposed = report.proposed;
  for (Bred& bred : kernels_.taken()) data.kernels.push_back(std::move(bred.kernel));
  std::sort(data.kernels.begin(), data.kernels.end(),
            [](const PageKernel& a, const PageKernel& b) { return a.candidate < b.candidate; });
  data.baselines = report.baselines;
  if (auto chart = roofline(walk); chart && chart->floor) data.roofline = std::move(*chart);
  data.rejections = report.rejected;
  data.phases = report.phase_seconds;
  if (!report.best) return data;
  const Candidate& best = report.best->candidate;
  data.lineage = lineage(host, run_dir, best.strategy_id);
  const auto found = std::find_if(
      data.lineage.begin(), data.lineage.end(),
      [&](const PageRelative& relative) { return relative.kernel.candidate == best.id; });
  const int generation = found == data.lineage.end() ? 0 : found->kernel.generation;
  data.champion = page_kernel(best, std::get<Accepted>(best.outcome), generation);
  return data;
}

}  // namespace cupilot
