#include "evolution/run/baselines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <cupilot/rng.hpp>

#include "base/phases.hpp"
#include "evolution/evaluate/timing.hpp"

namespace cupilot {
namespace {

constexpr int baseline_rounds = 7;

std::string without(const std::string& name, const Rejected& why) {
  return fmt::format("no baseline {}: refused, {}: {}{}{}", name, why.code, why.message,
                     why.where.empty() ? "" : " at ", why.where);
}

// `said`: null but of the user's own kernels. Nothing, or the notice of a baseline that there is
// none of. Error: the machine failed.
Result<void> take_baseline(SubjectReport report, const OwnBaseline* said, BaselinesRecord& record) {
  if (report.measurement.is_error())
    return std::move(report.measurement.error()).while_doing("timing baseline " + report.name);
  if (report.measurement.is_rejected()) {
    record.notices.push_back(said != nullptr
                                 ? without(report.name, report.measurement.rejected())
                                 : fmt::format("no {} baseline: {}",
                                               report.name == "plain" ? "plain" : "library",
                                               report.measurement.rejected().message));
    return {};
  }
  record.baselines.push_back(
      {report.name, report.measurement->time_us, report.measurement->provenance, {}});
  if (said != nullptr) record.baselines.back().says = said->says;
  return {};
}

}  // namespace

const OwnBaseline* own_named(std::span<const OwnBaseline> own, const std::string& name) {
  const auto at = std::find_if(own.begin(), own.end(),
                               [&](const OwnBaseline& one) { return one.name == name; });
  return at == own.end() ? nullptr : &*at;
}

Result<std::vector<OwnKernel>> prove_own(const Pipe& pipe, std::span<const OwnBaseline> own,
                                         std::vector<std::string>& notices) {
  std::vector<OwnKernel> proved;
  for (const OwnBaseline& one : own) {
    EvaluationOptions rules;
    rules.level = ProofLevel::finalist;
    rules.proof_seed = Rng::of(pipe.seed, "own baseline", proved.size()).next();
    rules.proof_only = true;
    auto passed = pass_source(pipe, one.source, rules);
    if (!passed) return std::move(passed.error()).while_doing("proving baseline " + one.name);
    if (const auto* refused = std::get_if<Rejected>(&passed->candidate.outcome)) {
      notices.push_back(without(one.name, *refused));
    } else if (const auto* lost = std::get_if<Lost>(&passed->candidate.outcome)) {
      notices.push_back(fmt::format("no baseline {}: {}", one.name, lost->reason));
    } else {
      proved.push_back({&one, std::move(passed->kernel)});
    }
  }
  return proved;
}

Result<BaselinesRecord> time_baselines(const Pipe& pipe, bool plain, bool library,
                                       std::span<const OwnKernel> own,
                                       std::vector<std::string> notices) {
  const Phase phase("baselines");
  auto floor = mean_floor(pipe.task, pipe.backend->device(), pipe.task->precision);
  if (!floor) return floor.error();
  BaselinesRecord record;
  record.floor_us = *floor;
  record.notices = std::move(notices);
  std::vector<Subject> subjects;
  if (plain) subjects.push_back({Subject::Kind::plain, "plain", nullptr});
  if (library) subjects.push_back({Subject::Kind::library, library_name(pipe.task), nullptr});
  for (const OwnKernel& one : own)
    subjects.push_back({Subject::Kind::candidate, one.baseline->name, &one.kernel});
  if (subjects.empty()) return record;
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
    const auto at = std::find_if(own.begin(), own.end(), [&](const OwnKernel& one) {
      return one.baseline->name == timed.report.name;
    });
    const OwnBaseline* const said = at == own.end() ? nullptr : at->baseline;
    if (auto taken = take_baseline(std::move(timed.report), said, record); !taken)
      return taken.error();
  }
  if (plain && plain_time_us(record.baselines) <= 0)
    record.notices.emplace_back("without a plain baseline no speed-up over it is told");
  return record;
}

}  // namespace cupilot
