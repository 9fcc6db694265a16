#include "evolution/run/finals.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <tuple>

#include <fmt/format.h>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/rejection.hpp>

#include "base/guard.hpp"
#include "base/median.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/evaluate/workers.hpp"
#include "evolution/run/baselines.hpp"
#include "evolution/run/waiting.hpp"

namespace cupilot {
namespace {

// `before`: what the baselines took before the search.
Baseline baseline_from(const SubjectReport& report, const std::vector<Baseline>& before) {
  Baseline now{report.name, report.measurement->time_us, report.measurement->provenance,
               report.ratio};
  for (const Baseline& earlier : before) {
    if (earlier.name == now.name && earlier.time_us > 0)
      now.drift = now.time_us / earlier.time_us - 1;
  }
  return now;
}

// Says what a contestant is, and what was seen while it was timed.
void tell_contestant(const Pipe& pipe, const SubjectReport& report, FinalRecord& record) {
  if (auto says = pipe.backend->inspector().contestant(report.name))
    record.baselines.back().says = std::move(*says);
  for (const std::string& condition : report.measurement->conditions) {
    if (condition.starts_with("of its outputs"))
      record.notices.push_back(report.name + ", " + condition);
  }
}

// True for what no mean and no gain counts.
bool is_aside(const Baseline& baseline) {
  for (const Contestant& one : contestants()) {
    if (one.name == baseline.name) return !one.counts;
  }
  return false;
}

// The champion against the strongest of the baselines beside it. A gain is claimed above twice its
// noise only: the standard error of the median ratio, from the ratios' median absolute deviation;
// of one measured round, the champion's own spread.
void compare(FinalRecord& record) {
  const auto strongest = std::min_element(
      record.baselines.begin(), record.baselines.end(), [](const Baseline& a, const Baseline& b) {
        return std::pair(is_aside(a), a.time_us) < std::pair(is_aside(b), b.time_us);
      });
  if (strongest == record.baselines.end() || strongest->ratio.empty() || is_aside(*strongest))
    return;
  std::tie(record.ratio_low, record.ratio_high) = median_interval(strongest->ratio);
  const double middle = median(strongest->ratio);
  std::vector<double> deviations;
  for (const double ratio : strongest->ratio) deviations.push_back(std::abs(ratio - middle));
  constexpr double mad_to_sigma = 1.4826, mean_to_median = 1.2533;
  record.gain_noise = mean_to_median * mad_to_sigma * median(deviations) /
                      std::sqrt(static_cast<double>(deviations.size()));
  const auto* accepted = std::get_if<Accepted>(&record.candidate.outcome);
  if (deviations.size() == 1 && accepted != nullptr && accepted->measurement.time_us > 0) {
    record.gain_noise =
        mad_to_sigma * middle * accepted->measurement.spread_us / accepted->measurement.time_us;
  }
  if (middle - 1 > 2 * record.gain_noise) record.gain = middle - 1;
}

Attempt<KernelSource> written(const Pipe& pipe, const Finalist& finalist) {
  if (finalist.source != nullptr) return *finalist.source;
  WriterBrief brief;
  brief.task = pipe.task;
  brief.strategy = &finalist.strategy;
  brief.device = &pipe.backend->device();
  return pipe.writer->write(brief);
}

Attempt<CompiledKernel> compile_anew(const Pipe& pipe, const Finalist& finalist) {
  auto source = written(pipe, finalist);
  if (!source) return source.failure();
  return pipe.backend->compile(*source, Fresh::yes);
}

}  // namespace

Attempt<std::vector<CompiledKernel>> compile_finalists(const Pipe& pipe, Host& host,
                                                       std::span<const Finalist> finalists,
                                                       const std::function<void()>& waiting) {
  const Phase phase("compile");
  struct Compiled {
    std::size_t place = 0;
    Attempt<CompiledKernel> kernel;
    CpuSpent cpu;
  };
  Workers<Compiled> workers(host, static_cast<int>(finalists.size()));
  for (std::size_t place = 0; place < finalists.size(); ++place) {
    workers.submit([&pipe, place, &finalist = finalists[place], stop = stop_flags()] {
      const StopScope stopped(stop);
      const PhaseLog log;
      auto kernel = guarded([&] { return compile_anew(pipe, finalist); });
      return Compiled{place, std::move(kernel), log.cpu()};
    });
  }
  std::vector<Compiled> all;
  while (all.size() < finalists.size()) {
    for (Compiled& one : workers.collect(wait_seconds)) all.push_back(std::move(one));
    waiting();
  }
  std::sort(all.begin(), all.end(),
            [](const Compiled& a, const Compiled& b) { return a.place < b.place; });
  std::vector<CompiledKernel> kernels;
  for (const Compiled& one : all) credit(one.cpu);
  for (Compiled& one : all) {
    if (!one.kernel) return one.kernel.failure();
    kernels.push_back(std::move(*one.kernel));
  }
  return kernels;
}

Result<void> time_finalists(const Pipe& pipe, std::span<Finalist> finalists,
                            const MeasureOptions& rules) {
  const Phase timing("again");
  std::vector<Subject> subjects;
  for (const Finalist& one : finalists)
    subjects.push_back({Subject::Kind::candidate, fmt::format("slot {}", one.slot), &*one.kernel});
  auto reports = measure_all(pipe.task, *pipe.backend, subjects, rules);
  if (!reports) return reports.error();
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const SubjectReport& report = (*reports)[i].report;
    finalists[i].time_us = report.measurement ? report.measurement->time_us : HUGE_VAL;
  }
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const Finalist& a, const Finalist& b) { return a.time_us < b.time_us; });
  return {};
}

Result<FinalRecord> confirm_finalist(const Pipe& pipe, const Finalist& finalist,
                                     EvaluationOptions rules,
                                     const std::vector<Baseline>& baselines,
                                     const std::vector<std::string>& against,
                                     std::span<const OwnBaseline> own, CompiledKernel& kernel) {
  rules.source = finalist.source;
  std::list<CompiledKernel> owned;
  for (const Baseline& baseline : baselines) {
    if (const OwnBaseline* one = own_named(own, baseline.name)) {
      auto compiled = pipe.backend->compile(one->source, Fresh::yes);
      if (compiled.is_error()) return compiled.error();
      if (compiled.is_rejected()) continue;
      owned.push_back(std::move(*compiled));
      rules.others.push_back({Subject::Kind::candidate, baseline.name, &owned.back()});
      continue;
    }
    const bool plain = baseline.name == "plain";
    rules.others.push_back(
        {plain ? Subject::Kind::plain : Subject::Kind::library, baseline.name, nullptr});
  }
  FinalRecord record;
  for (const std::string& name : against) {
    if (const std::string why = why_not(name, *pipe.task); !why.empty()) {
      record.notices.push_back("no time of " + name + ": " + why);
    } else {
      rules.others.push_back({Subject::Kind::contestant, name, nullptr});
    }
  }
  auto passed = pass(pipe, finalist.strategy, rules);
  if (!passed) return passed.error();
  record.stage = "confirm";
  record.slot = finalist.slot;
  record.candidate = std::move(passed->candidate);
  record.candidate.id = static_cast<std::uint64_t>(finalist.slot) + 1;
  kernel = std::move(passed->kernel);
  if (std::holds_alternative<Rejected>(record.candidate.outcome)) return record;
  if (auto* accepted = std::get_if<Accepted>(&record.candidate.outcome)) {
    accepted->verification.processes = 2;
    for (const std::string& condition : accepted->measurement.conditions) {
      for (const char* of_its_time : {"not timed", "timed as", "modelled as", "counts"}) {
        if (condition.starts_with(of_its_time)) record.notices.push_back(condition);
      }
    }
  }
  for (const SubjectReport& report : passed->others) {
    const bool foreign = is_contestant(report.name);
    if (report.measurement) record.baselines.push_back(baseline_from(report, baselines));
    if (const OwnBaseline* one = own_named(own, report.name); one != nullptr && report.measurement)
      record.baselines.back().says = one->says;
    if (report.measurement && foreign) tell_contestant(pipe, report, record);
    if (report.measurement.is_rejected() && foreign)
      record.notices.push_back("no time of " + report.name + ": " +
                               report.measurement.rejected().message);
  }
  compare(record);
  return record;
}

FinalRecord unconfirmed_leader(Candidate leader, const std::vector<Baseline>& baselines,
                               const std::string& why) {
  FinalRecord record;
  record.stage = "confirm";
  record.slot = static_cast<std::int64_t>(leader.id) - 1;
  record.baselines = baselines;
  record.notices.push_back(
      fmt::format("#{} is not confirmed: {}; it stands as the search proved it", leader.id, why));
  if (auto* accepted = std::get_if<Accepted>(&leader.outcome)) {
    accepted->verification.unproved.push_back("a confirmation by processes of its own: " + why);
    for (Baseline& baseline : record.baselines)
      baseline.ratio = {baseline.time_us / accepted->measurement.time_us};
  }
  record.candidate = std::move(leader);
  compare(record);
  return record;
}

}  // namespace cupilot
