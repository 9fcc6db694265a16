#include "evolution/run/baselines.hpp"

#include <fmt/format.h>

#include "base/phases.hpp"
#include "evolution/evaluate/timing.hpp"

namespace cupilot {
namespace {

constexpr int baseline_rounds = 7;

// Nothing, or the notice of a baseline that there is none of. Error: the machine failed.
Result<void> take_baseline(SubjectReport report, BaselinesRecord& record) {
  if (report.measurement.is_error())
    return std::move(report.measurement.error()).while_doing("timing baseline " + report.name);
  if (report.measurement.is_rejected()) {
    record.notices.push_back(fmt::format("no {} baseline: {}",
                                         report.name == "plain" ? "plain" : "library",
                                         report.measurement.rejected().message));
    return {};
  }
  record.baselines.push_back(
      {report.name, report.measurement->time_us, report.measurement->provenance, {}});
  return {};
}

}  // namespace

Result<BaselinesRecord> time_baselines(const Pipe& pipe, bool plain,
                                       std::vector<std::string> notices) {
  const Phase phase("baselines");
  auto floor = mean_floor(pipe.task, pipe.backend->device(), pipe.task->precision);
  if (!floor) return floor.error();
  BaselinesRecord record;
  record.floor_us = *floor;
  record.notices = std::move(notices);
  std::vector<Subject> subjects;
  if (plain) subjects.push_back({Subject::Kind::plain, "plain", nullptr});
  subjects.push_back({Subject::Kind::library, library_name(pipe.task), nullptr});
  MeasureOptions rules;
  rules.rounds = baseline_rounds;
  rules.seed = timing_seed(pipe.seed);
  auto reports = measure_all(pipe.task, *pipe.backend, subjects, rules);
  if (!reports && plain) {
    record.notices.push_back("no plain baseline: " + reports.error().message);
    subjects.erase(subjects.begin());
    reports = measure_all(pipe.task, *pipe.backend, subjects, rules);
  }
  if (!reports) return std::move(reports.error()).while_doing("timing the baselines");
  for (Timed& timed : *reports) {
    if (auto taken = take_baseline(std::move(timed.report), record); !taken) return taken.error();
  }
  if (plain && plain_time_us(record.baselines) <= 0)
    record.notices.emplace_back("without a plain baseline no speed-up over it is told");
  return record;
}

}  // namespace cupilot
