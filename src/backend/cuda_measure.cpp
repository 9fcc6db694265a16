// Interleaved timing: in each round every contestant is visited once, the starting one rotating; content changes by round.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <cupilot/gemm.hpp>
#include <cupilot/rejection.hpp>
#include <cupilot/resolved_plan.hpp>
#include <cupilot/rng.hpp>

#include "backend/cuda_library.hpp"
#include "backend/cuda_trials.hpp"

namespace cupilot {
namespace {

constexpr int contents_in_rotation = 3;
constexpr int fewest_rounds = 3;
constexpr std::int64_t elements_compared = 1 << 22;
constexpr double visit_us = 6'000;  // of timed launches a visit, where one takes less
constexpr int most_replays = 10;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The 95 % interval of the median by the sign test: order statistics, the whole range when there are few.
std::pair<double, double> interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto cut = static_cast<std::size_t>(std::max(0.0, std::floor((count - 1.96 * std::sqrt(count)) / 2)));
  return {values[cut], values[values.size() - 1 - cut]};
}

Measurement measurement_of(const std::vector<double>& samples, bool cold) {
  Measurement result;
  result.provenance = Provenance::measured;
  result.samples_us = samples;
  result.time_us = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - result.time_us));
  result.spread_us = median(deviations);
  result.cache = cold ? "cold" : "warm";
  std::tie(result.interval_low_us, result.interval_high_us) = interval(samples);
  return result;
}

// Why times of a visit cannot be believed, or "".
std::string implausible(const RunAnswer& answer) {
  double sum = 0;
  for (const double time : answer.event_us) {
    if (!std::isfinite(time) || time <= 0) return fmt::format("an event time of {} us", time);
    sum += time;
  }
  if (sum > answer.wall_us * 1.01 + 10)
    return fmt::format("events say {:.1f} us, the host clock {:.1f} us for all of it", sum, answer.wall_us);
  return "";
}

// A contestant as it goes through the rounds.
struct Entrant {
  const Contestant* who = nullptr;
  std::optional<PlacedKernel> kernel;
  std::optional<LibraryOrder> library;
  std::optional<Rejected> out;  // why it takes no further part
  int replays = 1;
  std::vector<double> samples;
  std::vector<int> rounds;  // of each sample
  std::vector<CaseReport> proofs;
};

Rejected rejection_of(const RunnerFault& fault) { return reject(fault.code, fault.message, fault.where); }

}  // namespace

class MeasuredRounds {
 public:
  MeasuredRounds(CudaTrials& trials, const Task& task, const std::string& task_key, const Workload& workload,
                 const MeasureOptions& options)
      : trials_(trials), task_(task), task_key_(task_key), workload_(workload), options_(options) {}

  Result<std::vector<ContestantReport>> go(std::span<const Contestant> contestants) {
    auto placement = trials_.place(task_, workload_);
    if (!placement) return placement.error();
    placement_ = std::move(*placement);
    for (const Contestant& contestant : contestants) {
      if (auto entered = enter(contestant); !entered) return entered.error();
    }
    for (Entrant& entrant : entrants_) {
      if (auto warmed = warm_up(entrant); !warmed) return warmed.error();
    }
    const auto begin = Clock::now();
    for (int round = 0; round < std::max(options_.rounds, fewest_rounds); ++round) {
      for (std::size_t i = 0; i < entrants_.size(); ++i) {
        Entrant& entrant = entrants_[(i + static_cast<std::size_t>(round)) % entrants_.size()];
        if (auto visited = visit(entrant, round, true); !visited) return visited.error();
      }
      const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
      if (round + 1 >= fewest_rounds && spent > options_.max_seconds) break;
    }
    return reports();
  }

 private:
  Result<void> enter(const Contestant& contestant) {
    Entrant& entrant = entrants_.emplace_back();
    entrant.who = &contestant;
    if (contestant.kind == Contestant::Kind::library) {
      auto order = library_order(task_, workload_, placement_.tensors);
      if (order.is_error()) return order.error();
      if (order.is_rejected()) {
        entrant.out = order.rejected();
      } else {
        entrant.library = std::move(*order);
      }
      return {};
    }
    if (contestant.kind == Contestant::Kind::plain) {
      auto placed = trials_.place_plain(task_, task_key_, workload_, placement_);
      if (!placed) return placed.error();
      entrant.kernel = std::move(*placed);
      return {};
    }
    auto resolution = resolve(contestant.kernel->source, task_, workload_, trials_.spec_, contestant.kernel);
    if (resolution.is_error()) return resolution.error();
    if (resolution.is_rejected()) {
      entrant.out = resolution.rejected();
    } else if (const auto* not_for = std::get_if<NotForThisShape>(&*resolution)) {
      entrant.out = reject("verify.no_shape", "the kernel is not meant for the timed shape: " + not_for->require);
    } else {
      auto placed = trials_.place_kernel(task_, placement_, *contestant.kernel, std::get<ResolvedPlan>(*resolution));
      if (!placed) return placed.error();
      entrant.kernel = std::move(*placed);
    }
    return {};
  }

  // Setup launches, one untimed and one timed run: finds faults, fills caches, says how many launches a visit takes.
  Result<void> warm_up(Entrant& entrant) {
    if (entrant.out) return {};
    if (entrant.kernel && !entrant.kernel->setup.launches.empty()) {
      auto faulted = trials_.run_setup(task_, placement_, *entrant.kernel);
      if (!faulted) return faulted.error();
      if (*faulted) {
        entrant.out = rejection_of(**faulted);
        return {};
      }
    }
    if (entrant.kernel) {
      auto keys = trials_.prepare(task_, task_key_, case_of(0), placement_, &*entrant.kernel);
      if (!keys) return keys.error();
      auto ran = trials_.device_.run(entrant.kernel->image, entrant.kernel->run, trials_.run_seconds(task_, workload_));
      if (!ran) return ran.error();
      if (const auto* fault = std::get_if<RunnerFault>(&*ran)) {
        entrant.out = rejection_of(*fault);
        return {};
      }
    }
    if (auto visited = visit(entrant, 0, false); !visited) return visited;
    if (entrant.samples.empty()) return {};
    entrant.replays = std::clamp(static_cast<int>(visit_us / std::max(entrant.samples[0], 1.0)), 1, most_replays);
    // Work that one run adds up or writes in place cannot be repeated on the same operands.
    for (const Tensor& tensor : task_.tensors) {
      if (tensor.role == Role::in_out) entrant.replays = 1;
    }
    entrant.samples.clear();
    entrant.rounds.clear();
    entrant.proofs.clear();
    return {};
  }

  Case case_of(int round) const {
    const std::uint64_t seed =
        Rng::of(options_.seed, "timed content", static_cast<std::uint64_t>(round % contents_in_rotation)).next();
    Case what{workload_, {seed, ContentKind::ordinary}, elements_compared, false};
    return what;
  }

  Result<void> visit(Entrant& entrant, int round, bool recorded) {
    if (entrant.out) return {};
    const Case what = case_of(round);
    auto keys = trials_.prepare(task_, task_key_, what, placement_, entrant.kernel ? &*entrant.kernel : nullptr);
    if (!keys) return keys.error();
    auto answer = entrant.library ? visit_library(entrant) : visit_kernel(entrant);
    if (!answer) return answer.error();
    if (!*answer) return {};
    if (const std::string why = implausible(**answer); !why.empty()) {
      entrant.out = reject("measure.failed", why);
      return {};
    }
    CaseReport proof;
    proof.what = what;
    proof.seconds = (*answer)->wall_us * 1e-6;
    if (auto checked = trials_.check(task_, what, placement_, entrant.kernel ? &*entrant.kernel : nullptr, *keys, proof);
        !checked)
      return checked;
    for (const OutputReport& output : proof.outputs) {
      if (output.failed > 0 || output.never_written > 0) {
        entrant.out = reject(
            "measure.timed_launch",
            fmt::format("{} of {} compared elements of {} were wrong, {} never written; worst at {}: got {}, want {} within {}",
                        output.failed, output.compared, output.tensor, output.never_written, output.worst_index, output.got,
                        output.want, output.bound));
      }
    }
    if (!proof.faults.empty()) entrant.out = reject(proof.faults[0].code, proof.faults[0].message, proof.faults[0].where);
    entrant.samples.push_back(median((*answer)->event_us));
    entrant.rounds.push_back(recorded ? round : -1);
    entrant.proofs.push_back(std::move(proof));
    return {};
  }

  // Times, or nothing when the entrant left.
  Result<std::optional<RunAnswer>> visit_kernel(Entrant& entrant) {
    RunOrder order = entrant.kernel->run;
    order.timing = {entrant.replays, options_.cold};
    const double seconds = std::min(trials_.run_seconds(task_, workload_) * entrant.replays, trials_.trial_seconds_);
    auto ran = trials_.device_.run(entrant.kernel->image, order, seconds);
    if (!ran) return ran.error();
    if (const auto* fault = std::get_if<RunnerFault>(&*ran)) {
      entrant.out = rejection_of(*fault);
      return std::optional<RunAnswer>();
    }
    return std::optional<RunAnswer>(std::get<RunAnswer>(std::move(*ran)));
  }

  Result<std::optional<RunAnswer>> visit_library(Entrant& entrant) {
    LibraryOrder order = *entrant.library;
    order.timing = {entrant.replays, options_.cold};
    std::vector<Region> poison;
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (task_.tensors[i].role == Role::out) poison.push_back(placement_.tensors[i]);
    }
    auto payload = trials_.device_.judge(DeviceMessage::library, pack(order, poison), 60);
    if (!payload) {
      entrant.out = reject("measure.failed", payload.error().message);
      return std::optional<RunAnswer>();
    }
    auto answer = unpack_run_answer(*payload);
    if (!answer) return Error{ErrorCode::failure, "the judge gave times that cannot be read", ""};
    return std::optional<RunAnswer>(std::move(*answer));
  }

  std::vector<ContestantReport> reports() {
    std::vector<ContestantReport> result;
    for (Entrant& entrant : entrants_) {
      ContestantReport report;
      report.name = entrant.who->name;
      report.proofs = std::move(entrant.proofs);
      if (entrant.out) {
        report.measurement = *entrant.out;
      } else if (entrant.samples.empty()) {
        report.measurement = reject("measure.failed", "no round gave a time");
      } else {
        report.measurement = measurement_of(entrant.samples, options_.cold);
        const Entrant& first = entrants_.front();
        for (std::size_t s = 0; s < entrant.samples.size(); ++s) {
          for (std::size_t f = 0; f < first.samples.size(); ++f) {
            if (first.rounds[f] == entrant.rounds[s]) report.ratio.push_back(entrant.samples[s] / first.samples[f]);
          }
        }
      }
      result.push_back(std::move(report));
    }
    return result;
  }

  CudaTrials& trials_;
  const Task& task_;
  const std::string& task_key_;
  const Workload& workload_;
  const MeasureOptions& options_;
  TaskPlacement placement_;
  std::vector<Entrant> entrants_;
};

Result<std::vector<ContestantReport>> CudaTrials::measure(const Task& task, const std::string& task_key, const Workload& workload,
                                                          std::span<const Contestant> contestants,
                                                          const MeasureOptions& options) {
  return MeasuredRounds(*this, task, task_key, workload, options).go(contestants);
}

}  // namespace cupilot
