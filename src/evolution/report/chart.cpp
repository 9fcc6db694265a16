#include "evolution/report/chart.hpp"

#include <fmt/core.h>

#include "base/guard.hpp"

namespace cupilot {
namespace {

RooflinePoint point_of(const std::string& name, const Accepted& accepted) {
  return {accepted.verdict.intensity, accepted.verdict.achieved_flops,
          fmt::format("{}: {:.4g} us {}", name, accepted.measurement.time_us,
                      name_of(accepted.measurement.provenance))};
}

}  // namespace

void RooflineGatherer::take(const SearchEvent& event) {
  const auto* result = std::get_if<ResultRecord>(&event);
  const auto* accepted =
      result == nullptr ? nullptr : std::get_if<Accepted>(&result->candidate.outcome);
  if (accepted == nullptr) return;
  const bool fastest = best_ == 0 || accepted->measurement.time_us < best_;
  const RooflinePoint point = point_of(fmt::format("#{}", result->slot + 1), *accepted);
  population_.add(point, fastest);
  if (!fastest) return;
  best_ = accepted->measurement.time_us;
  path_.push_back(point);
}

Result<RooflineChart> RooflineGatherer::chart(const RunWalk& walk) const {
  if (!walk.state.header.techniques.empty()) {
    return Error{ErrorCode::usage,
                 walk.state.header.identity + " runs no kernel, so its times have no roofline", ""};
  }
  auto chart = roofline_of(walk.summary.task, walk.state.header.device);
  if (!chart) return chart.error();
  chart->population = population_.taken();
  chart->path = path_;
  if (const auto& best = walk.summary.report.best) {
    if (const auto* accepted = std::get_if<Accepted>(&best->candidate.outcome))
      chart->champion = point_of("best", *accepted);
  }
  return chart;
}

Result<RooflineChart> roofline_of_run(const std::string& run_dir) {
  return guarded([&]() -> Result<RooflineChart> {
    RooflineGatherer gatherer;
    const auto walk =
        walk_run(real_host(), run_dir,
                 [&](const SearchEvent& event, const FramedRecord&) { gatherer.take(event); });
    if (!walk) return walk.error();
    return gatherer.chart(*walk);
  });
}

}  // namespace cupilot
