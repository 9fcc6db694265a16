// The roofline of a run, from its journal.
#include <fmt/core.h>

#include <cupilot/roofline_chart.hpp>

#include "evolution/journal.hpp"
#include "evolution/run_state.hpp"

namespace cupilot {
namespace {

RooflinePoint point_of(const std::string& name, const Accepted& accepted) {
  return {accepted.verdict.intensity, accepted.verdict.achieved_flops,
          fmt::format("{}: {:.4g} us", name, accepted.measurement.time_us)};
}

void add_population(const RunState& state, RooflineChart& chart) {
  double best = 0;
  for (const SearchEvent& event : state.events) {
    const auto* result = std::get_if<ResultRecord>(&event);
    if (result == nullptr) continue;
    const auto* accepted = std::get_if<Accepted>(&result->candidate.outcome);
    if (accepted == nullptr) continue;
    chart.population.push_back(point_of(fmt::format("slot {}", result->slot), *accepted));
    if (best > 0 && accepted->measurement.time_us >= best) continue;
    best = accepted->measurement.time_us;
    chart.path.push_back(chart.population.back());
  }
}

}  // namespace

Result<RooflineChart> roofline_of_run(const std::string& run_dir) {
  const auto read = read_journal(real_host(), run_dir);
  if (!read) return read.error();
  const auto state = fold(*read);
  if (!state) return state.error();
  const auto summary = read_run(run_dir);
  if (!summary) return summary.error();
  auto chart = roofline_of(summary->task, state->header.device);
  if (!chart) return chart.error();
  add_population(*state, *chart);
  if (const auto& best = summary->report.best) {
    if (const auto* accepted = std::get_if<Accepted>(&best->candidate.outcome)) chart->champion = point_of("best", *accepted);
  }
  return chart;
}

}  // namespace cupilot
