// Interleaved rounds: every contestant is visited once a round, the starting one rotating. Each
// timed launch finds content that the launch before it did not, at the same addresses, and its
// outputs are compared.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/core.h>
#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/rng.hpp>

#include "backend/cuda/clock.hpp"
#include "backend/cuda/library.hpp"
#include "backend/cuda/library_graph.hpp"
#include "backend/cuda/trials.hpp"
#include "backend/oracle/timed_output.hpp"
#include "base/median.hpp"
#include "base/stop.hpp"
#include "kernel/plan_sentences.hpp"

namespace cupilot {
namespace {

constexpr int contents_in_rotation = 3;
constexpr int fewest_rounds = 3;
// A kernel that takes longer than this, and than the fastest by this factor, is visited in the
// first round alone: it would take nearly all the time, and nobody needs a ratio of hundreds to a
// percent.
constexpr double slow_us = 100'000, slow_factor = 20;
// The share of the time for all rounds that the plain kernel may take beyond its first launch.
constexpr double plain_share = 0.05;
// Loading at first launch is a negligible part of a launch as long as this.
constexpr double long_us = 5'000;
constexpr std::int64_t elements_compared = 1 << 22;  // of a visit's first launch
constexpr std::int64_t elements_sampled = 4096;      // of the others, whose content is used once
constexpr double visit_us = 3'000;  // of timed launches a visit, where one takes less
constexpr int most_launches = 4;
constexpr int burst_attempts = 5;
constexpr double contest_seconds = 60;  // for a launch of a contestant that is warm

// A contestant as it goes through the rounds.
struct Entrant {
  const Subject* who = nullptr;
  std::optional<PlacedKernel> kernel;
  std::optional<StepOrder> library;
  std::string graph;            // of a contestant
  std::string doubt;            // of a contestant's outputs
  std::optional<Rejected> out;  // why it takes no further part
  int launches = 1;             // a visit
  double warm_us = 0;           // a timed launch before the rounds
  double host_us = 0;
  std::vector<std::string> says;      // of its plan
  bool apart = false;                 // its launches could not be captured
  std::optional<Content> set_up_for;  // content that setup launches have read
  std::vector<double> samples;
  std::vector<int> rounds;  // of each sample
  std::vector<CaseReport> proofs;
};

// The content of a launch: the first of a visit rotates among a few whose reference is kept in
// full, the others are new.
Case launch_case(const Workload& workload, const MeasureOptions& options, int round, int launch) {
  const auto number = static_cast<std::uint64_t>(round);
  const Rng rotating = Rng::of(options.seed, "timed content", number % contents_in_rotation);
  const Rng once = Rng::of(options.seed, "content used once",
                           number * most_launches + static_cast<std::uint64_t>(launch));
  Rng rng = launch == 0 ? rotating : once;
  Case what;
  what.workload = workload;
  what.content.seed = rng.next();
  what.compare = launch == 0 ? elements_compared : elements_sampled;
  return what;
}

bool is_foreign(const Entrant& entrant) { return entrant.who->kind == Subject::Kind::contestant; }

Rejected rejection_of(const RunnerFault& fault) {
  return reject(fault.code, fault.message, fault.where);
}

}  // namespace

class MeasuredRounds {
 public:
  MeasuredRounds(CudaTrials& trials, const TaskRef& task, const Workload& workload,
                 const MeasureOptions& options)
      : trials_(trials),
        task_(task),
        workload_(workload),
        options_(options),
        run_seconds_(trials.run_seconds(task, workload)) {}

  Result<std::vector<SubjectReport>> go(std::span<const Subject> contestants) {
    const CardConditions before = card();
    auto placement = trials_.place(task_, case_of(0, 0), Fence::end);
    if (!placement) return placement.error();
    placement_ = std::move(*placement);
    for (const Subject& contestant : contestants) {
      if (auto entered = enter(contestant); !entered) return entered.error();
    }
    for (Entrant& entrant : entrants_) {
      if (auto warmed = warm_up(entrant); !warmed) return warmed.error();
    }
    trials_.device_.settle();
    const auto begin = Clock::now();
    for (int round = 0; round < rounds(); ++round) {
      for (std::size_t i = 0; i < entrants_.size(); ++i) {
        Entrant& entrant = entrants_[(i + static_cast<std::size_t>(round)) % entrants_.size()];
        if (round >= visits(entrant) || (round == 0 && !entrant.samples.empty())) continue;
        if (auto visited = visit(entrant, round); !visited) return visited.error();
      }
      const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
      if (round + 1 >= fewest_rounds && spent > options_.max_seconds) break;
    }
    if (auto told = trials_.orders_.tell(); !told) return told.error();
    return reports(sentences_of(before, card(), trials_.device_.processes()));
  }

 private:
  Result<void> enter(const Subject& contestant) {
    Entrant& entrant = entrants_.emplace_back();
    entrant.who = &contestant;
    if (contestant.kind == Subject::Kind::library) {
      auto order =
          baseline_order(trials_.library_calls_, task_, workload_, trials_.spec_, placement_);
      if (order.is_error()) return order.error();
      if (order.is_rejected()) {
        entrant.out = order.rejected();
      } else {
        entrant.library = std::move(*order);
      }
      return {};
    }
    if (contestant.kind == Subject::Kind::contestant) {
      auto graph = contestant_graph(task_, workload_);
      const std::string why = graph ? why_not(contestant.name, task_) : graph.error().message;
      if (!why.empty()) entrant.out = reject("measure.failed", why);
      if (graph) entrant.graph = std::move(*graph);
      return {};
    }
    if (contestant.kind == Subject::Kind::plain) {
      auto placed = trials_.place_plain(task_, workload_, placement_);
      if (!placed) return placed.error();
      entrant.kernel = std::move(*placed);
      return {};
    }
    auto resolution =
        resolve(contestant.kernel->source, task_, workload_, trials_.spec_, contestant.kernel);
    if (resolution.is_error()) return resolution.error();
    if (resolution.is_rejected()) {
      entrant.out = resolution.rejected();
    } else if (const auto* not_for = std::get_if<NotForThisShape>(&*resolution)) {
      entrant.out = reject("verify.no_shape",
                           "the kernel is not meant for the timed shape: " + not_for->require);
    } else {
      auto placed = trials_.place_kernel(task_, placement_, *contestant.kernel,
                                         std::get<ResolvedPlan>(*resolution));
      if (placed.is_error()) return placed.error();
      if (placed.is_rejected()) {
        entrant.out = placed.rejected();
      } else {
        entrant.kernel = std::move(*placed);
        entrant.says = sentences_of(std::get<ResolvedPlan>(*resolution));
      }
    }
    return {};
  }

  // A first launch and, unless that was long, a second, then the controller's
  // clock: finds faults, fills caches, says how many launches a visit takes.
  Result<void> warm_up(Entrant& entrant) {
    if (entrant.out) return {};
    const Case what = case_of(0, 0);
    auto time = entrant.kernel ? timed_launch(entrant, what, Looks::if_long)
                               : timed_launch(entrant, what, Looks::closely);
    if (time && *time && entrant.kernel && **time < long_us)
      time = timed_launch(entrant, what, Looks::closely);
    if (!time) return time.error();
    if (!*time) return {};
    if (auto told = trials_.orders_.tell(); !told || entrant.out) return told;
    entrant.warm_us = **time;
    const int most = options_.max_seconds > 0 ? most_launches : 1;
    entrant.launches = std::clamp(static_cast<int>(visit_us / std::max(**time, 1.0)), 1, most);
    const bool plain = entrant.who->kind == Subject::Kind::plain;
    const bool seldom = plain && visits(entrant) < rounds();
    if ((plain && visits(entrant) == 1) || (**time >= long_us && rounds() == fewest_rounds)) {
      entrant.samples.push_back(**time);
      entrant.rounds.push_back(0);
    } else {
      entrant.proofs.clear();
    }
    // The plain kernel is the program's own: a slow one need not be seen by two clocks. A
    // contestant's host has work of its own between launches.
    return seldom || is_foreign(entrant) ? Result<void>() : second_clock(entrant, what, **time);
  }

  // The controller's own clock: a warm launch cannot take much longer by it than a cold one by the
  // runner's events.
  Result<void> second_clock(Entrant& entrant, const Case& what, double event_us) {
    // Work that one run adds up or writes in place cannot be repeated on the same operands.
    const bool adds_up = std::any_of(task_->tensors.begin(), task_->tensors.end(),
                                     [](const Tensor& t) { return t.role == Role::in_out; });
    std::string doubt;
    for (int attempt = 0; attempt < burst_attempts; ++attempt) {
      const int replays = adds_up ? 1 : burst_launches(event_us, attempt);
      double spent[2] = {0, 0};  // without launches, with them
      for (int with = 0; with < 2; ++with) {
        CudaTrials::Trial trial = trial_of(entrant, what);
        auto answer =
            order(entrant, trial, {VisitTiming::Mode::burst, with * replays, options_.cold});
        if (!answer) return answer.error();
        if (!*answer) return {};
        spent[with] = (*answer)->controller_us;
        // Work left out takes no time, so the last launch's outputs are compared too.
        if (with == 0) continue;
        CaseReport proof;
        if (auto checked = trials_.check(trial, proof); !checked) return checked;
        if (auto told = trials_.orders_.tell(); !told) return told;
        judge_launch(entrant, proof);
        if (entrant.out) return {};
      }
      const double one = std::max(spent[1] - spent[0], 0.0) / replays;
      if (attempt == 0 || one < entrant.host_us) entrant.host_us = one;
      doubt = undercut(event_us, one, replays);
      if (doubt.empty()) return {};
    }
    entrant.out = reject("measure.failed", doubt);
    return {};
  }

  int rounds() const { return std::max(options_.rounds, fewest_rounds); }

  // Rounds that an entrant takes part in.
  int visits(const Entrant& entrant) const {
    if (entrant.who->kind == Subject::Kind::plain && options_.max_seconds > 0) {
      const double affordable =
          plain_share * options_.max_seconds * 1e6 / std::max(entrant.warm_us, 1.0);
      return static_cast<int>(std::clamp<double>(affordable, 1, rounds()));
    }
    double fastest = entrant.warm_us;
    for (const Entrant& other : entrants_) {
      if (!other.out && other.warm_us > 0) fastest = std::min(fastest, other.warm_us);
    }
    return entrant.warm_us > std::max(slow_us, slow_factor * fastest) ? 1 : rounds();
  }

  Case case_of(int round, int launch) const {
    return launch_case(workload_, options_, round, launch);
  }

  Result<void> visit(Entrant& entrant, int round) {
    std::vector<double> times;
    // If a visit is one launch, every second one has new content.
    const int first = entrant.launches == 1 ? round % 2 : 0;
    for (int launch = first; launch < first + entrant.launches && !entrant.out; ++launch) {
      auto time = timed_launch(entrant, case_of(round, launch),
                               launch == 0 ? Looks::closely : Looks::briefly);
      if (!time) return time.error();
      if (*time) times.push_back(**time);
    }
    if (entrant.out) return {};
    entrant.samples.push_back(median(times));
    entrant.rounds.push_back(round);
    // The number of entrants decides how often each is visited.
    return entrants_.size() > 1 ? trials_.orders_.tell() : Result<void>();
  }

  // Selects the comparison of a launch's outputs: as the judge says, and some also here; `if_long`:
  // none after a short launch, which another follows.
  enum class Looks { briefly, closely, if_long };

  // One launch between events; nothing when the entrant left. What is wrong with its outputs makes
  // it leave when that is told: with the next launch's preparation.
  Result<std::optional<double>> timed_launch(Entrant& entrant, const Case& what, Looks looks) {
    if (entrant.out) return std::optional<double>();
    CudaTrials::Trial trial = trial_of(entrant, what);
    auto ran = order(entrant, trial, {VisitTiming::Mode::timed, 1, options_.cold});
    if (!ran) return ran.error();
    if (!*ran) return std::optional<double>();
    if (const std::string why = implausible((*ran)->answer, 1, (*ran)->controller_us,
                                            trials_.device_.empty_launch_us());
        !why.empty()) {
      entrant.out = reject("measure.failed", why);
      return std::optional<double>();
    }
    entrant.apart = (*ran)->answer.apart;
    const double us = (*ran)->answer.event_us[0];
    if (looks == Looks::if_long && us < long_us) return std::optional(us);
    const auto proof = std::make_shared<CaseReport>();
    proof->what = what;
    proof->seconds = (*ran)->controller_us * 1e-6;
    if (auto checked = trials_.check(trial, *proof); !checked) return checked.error();
    if (looks != Looks::briefly) {
      if (auto looked = trials_.look(trial, *proof); !looked) return looked.error();
    }
    trials_.orders_.afterwards([this, &entrant, proof] {
      judge_launch(entrant, *proof);
      entrant.proofs.push_back(std::move(*proof));
      return Result<void>();
    });
    return std::optional(us);
  }

  void judge_launch(Entrant& entrant, const CaseReport& proof) const {
    for (const OutputReport& output : proof.outputs) {
      auto wrong = wrong_when_timed(output);
      // A contestant need not keep the task's bounds: its time stands, with what was seen.
      if (wrong && is_foreign(entrant)) entrant.doubt = "of its outputs: " + wrong->message;
      if (wrong && !is_foreign(entrant)) entrant.out = std::move(*wrong);
    }
    if (proof.faults.empty()) return;
    const Fault& fault = proof.faults[0];
    const bool judged = fault.code == "verify.judge";
    if (judged && is_foreign(entrant)) {
      entrant.doubt = "of its outputs: " + fault.message;
    } else {
      entrant.out =
          reject(judged ? "measure.timed_launch" : fault.code, fault.message, fault.where);
    }
  }

  // Runs setup launches, untimed, where they have not read this content: once where the task has no
  // constant tensors.
  Result<void> set_up(Entrant& entrant, const CudaTrials::Trial& trial) {
    if (!entrant.kernel || entrant.kernel->setup.launches.empty()) return {};
    const bool constants =
        std::any_of(task_->tensors.begin(), task_->tensors.end(),
                    [](const Tensor& tensor) { return tensor.role == Role::constant; });
    const Content& content = trial.what.content;
    if (entrant.set_up_for && (!constants || *entrant.set_up_for == content)) return {};
    auto faulted = trials_.run_setup(trial);
    if (!faulted) return faulted.error();
    entrant.set_up_for = content;
    if (*faulted && !entrant.out) entrant.out = rejection_of(**faulted);
    return {};
  }

  CudaTrials::Trial trial_of(const Entrant& entrant, const Case& what) const {
    return {task_, what, placement_, entrant.kernel ? &*entrant.kernel : nullptr};
  }

  // Prepares and runs; nothing when the entrant left, perhaps for what the launch before it was
  // found to have done.
  Result<std::optional<DeviceRun>> order(Entrant& entrant, CudaTrials::Trial& trial,
                                         const VisitTiming& timing) {
    if (auto ready = set_up(entrant, trial); !ready) return ready.error();
    if (entrant.out) return std::optional<DeviceRun>();
    if (auto prepared = trials_.prepare(trial); !prepared) return prepared.error();
    if (entrant.out) return std::optional<DeviceRun>();
    if (entrant.library) return visit_library(entrant, timing);
    if (is_foreign(entrant)) return visit_contestant(entrant, trial.what, timing);
    RunOrder run = entrant.kernel->run;
    run.timing = timing;
    const double seconds =
        std::min(run_seconds_ * std::max(timing.replays, 1), trials_.trial_seconds_);
    auto ran = trials_.run_prepared(trial, run, seconds);
    if (!ran) return ran.error();
    if (auto* fault = std::get_if<RunnerFault>(&*ran)) {
      if (auto told = trials_.tell_input_writes(trial, *fault, seconds); !told) return told.error();
      entrant.out = rejection_of(*fault);
      return std::optional<DeviceRun>();
    }
    return std::optional<DeviceRun>(std::get<DeviceRun>(std::move(*ran)));
  }

  Result<std::optional<DeviceRun>> visit_library(Entrant& entrant, const VisitTiming& timing) {
    StepOrder order = *entrant.library;
    order.timing = timing;
    std::vector<Region> poison;
    for (std::size_t i = 0; i < task_->tensors.size(); ++i) {
      if (task_->tensors[i].role == Role::out) poison.push_back(placement_.tensors[i]);
    }
    const auto begin = Clock::now();
    auto payload = trials_.device_.judge(DeviceMessage::library, pack(order, poison));
    const double spent = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (!payload && stop_flags().cancelled()) return stopped_error();
    if (!payload) {
      entrant.out = reject("measure.failed", payload.error().message);
      return std::optional<DeviceRun>();
    }
    auto answer = unpack_run_answer(*payload);
    if (!answer) return Error{ErrorCode::failure, "the judge gave times that cannot be read", ""};
    return std::optional<DeviceRun>(DeviceRun{std::move(*answer), spent});
  }

  Result<std::optional<DeviceRun>> visit_contestant(Entrant& entrant, const Case& what,
                                                    const VisitTiming& timing) {
    ContestOrder order{entrant.who->name, entrant.graph,       placement_.tensors, {},
                       timing.cold,       entrant.warm_us == 0};
    for (std::size_t i = 0; i < task_->tensors.size(); ++i) {
      if (!is_input(task_->tensors[i])) continue;
      auto recipe = layout_of(task_, i, what.workload, what.content);
      if (!recipe) return recipe.error();
      order.digests.push_back(content_digest(*recipe, i, what.content.seed));
    }
    auto ran = trials_.device_.contest(order, std::max(run_seconds_, contest_seconds));
    if (!ran) return ran.error();
    if (const auto* fault = std::get_if<RunnerFault>(&*ran)) {
      entrant.out = rejection_of(*fault);
      return std::optional<DeviceRun>();
    }
    return std::optional<DeviceRun>(std::get<DeviceRun>(std::move(*ran)));
  }

  // The card's clocks as the judge sees them; a note instead where it cannot.
  CardConditions card() {
    auto payload = trials_.device_.judge(DeviceMessage::conditions, "");
    auto seen = payload ? unpack_conditions(*payload) : std::nullopt;
    if (seen) return std::move(*seen);
    CardConditions unknown;
    unknown.note = payload ? "the judge's answer cannot be read" : payload.error().message;
    return unknown;
  }

  std::vector<SubjectReport> reports(const std::vector<std::string>& conditions) {
    std::vector<SubjectReport> result;
    for (Entrant& entrant : entrants_) {
      SubjectReport report;
      report.name = entrant.who->name;
      report.proofs = std::move(entrant.proofs);
      if (entrant.out) {
        report.measurement = *entrant.out;
      } else if (entrant.samples.empty()) {
        report.measurement = reject("measure.failed", "no round gave a time");
      } else {
        Measurement measured = measurement_of(entrant.samples, options_.cold, entrant.host_us,
                                              trials_.device_.empty_launch_us());
        measured.conditions.insert(measured.conditions.end(), conditions.begin(), conditions.end());
        measured.conditions.insert(measured.conditions.end(), entrant.says.begin(),
                                   entrant.says.end());
        if (entrant.kernel && entrant.kernel->run.launches.size() > 1)
          measured.conditions.push_back(
              launched_sentence(entrant.kernel->run.launches.size(),
                                entrant.apart ? Launched::apart : Launched::captured));
        if (!entrant.doubt.empty()) measured.conditions.push_back(entrant.doubt);
        report.measurement = std::move(measured);
        report.ratio = ratios(entrant);
      }
      result.push_back(std::move(report));
    }
    return result;
  }

  std::vector<double> ratios(const Entrant& entrant) const {
    std::vector<double> all;
    const Entrant& first = entrants_.front();
    for (std::size_t s = 0; s < entrant.samples.size(); ++s) {
      for (std::size_t f = 0; f < first.samples.size(); ++f) {
        if (first.rounds[f] == entrant.rounds[s])
          all.push_back(entrant.samples[s] / first.samples[f]);
      }
    }
    return all;
  }

  CudaTrials& trials_;
  const TaskRef& task_;
  const Workload& workload_;
  const MeasureOptions& options_;
  double run_seconds_;
  TaskPlacement placement_;
  std::vector<Entrant> entrants_;
};

std::vector<Case> CudaTrials::cases_of(const Workload& workload, const MeasureOptions& options) {
  std::vector<Case> cases;
  for (int content = 0; content < contents_in_rotation; ++content)
    cases.push_back(launch_case(workload, options, content, 0));
  return cases;
}

Result<std::vector<SubjectReport>> CudaTrials::measure_once(const TaskRef& task,
                                                            const Workload& workload,
                                                            std::span<const Subject> contestants,
                                                            const MeasureOptions& options) {
  orders_.forget();  // of what ended by an Error
  auto reports = MeasuredRounds(*this, task, workload, options).go(contestants);
  device_.rest_contestants();
  return reports;
}

Result<std::vector<SubjectReport>> CudaTrials::measure(const TaskRef& task,
                                                       const Workload& workload,
                                                       std::span<const Subject> contestants,
                                                       const MeasureOptions& options) {
  const auto bare = [](const SubjectReport& report) {
    return std::any_of(report.proofs.begin(), report.proofs.end(), leaves_poison);
  };
  for (bool replaced = false;; replaced = true) {
    auto reports = measure_once(task, workload, contestants, options);
    if (!reports || std::none_of(reports->begin(), reports->end(), bare)) return reports;
    auto lost = replace_if_stores_are_lost(task, launch_case(workload, options, 0, 0), replaced);
    if (!lost) return lost.error();
    if (!*lost) return reports;
  }
}

}  // namespace cupilot
