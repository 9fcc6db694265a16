#include "evolution/evaluate/local_evaluator.hpp"

#include <algorithm>

#include "base/counting_seconds.hpp"
#include "base/guard.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/timing.hpp"

namespace cupilot {

int capacity_of(const Backend& backend) {
  const DeviceTraits& traits = backend.traits();
  return std::max(traits.parallel_compiles + traits.parallel_compiles / 2,
                  traits.parallel_compiles + traits.parallel_trials);
}

void LocalEvaluator::submit(EvaluationJob job) {
  workers_.submit([this, job = std::move(job), stop = stop_flags()] {
    const StopScope stopped(stop);
    return evaluated(job);
  });
}

Evaluated LocalEvaluator::evaluated(const EvaluationJob& job) const {
  const PhaseLog phases([this] { return host_.monotonic_seconds(); },
                        [this] { return host_.thread_cpu_seconds(); });
  const double began = host_.monotonic_seconds();
  bool granted = false;
  EvaluationOptions rules;
  rules.brief = job.brief;
  rules.proof_seed = pipe_.seed;
  rules.measure.seed = timing_seed(pipe_.seed);
  rules.elite_below_us = job.elite_below_us;
  rules.begins = job.begins;
  rules.places = &places_;
  rules.slot = job.proposal.slot;
  rules.count = [&](bool leads) {
    return leads ? counting_.plan(job.proposal.slot, granted) : std::nullopt;
  };
  rules.admit = [&](const CompiledKernel& kernel) {
    return job.refuse ? job.refuse(kernel.facts.normalized_hash) : std::nullopt;
  };
  auto passed = guarded([&] {
    const Phase phase("search");
    return pass(pipe_, job.proposal.strategy, rules);
  });
  counting_.settle(counting_seconds(phases.seconds()), granted);
  CpuSpent cpu = phases.cpu();
  Evaluated done{
      job.proposal,
      Candidate{},
      {host_.monotonic_seconds() - began, phases.seconds(), std::move(cpu.own), cpu.as_device}};
  if (!passed) {
    const std::atomic<bool>* over = stop_flags().over;
    done.given_up = over != nullptr && over->load();
    done.candidate = std::move(passed.error());
  } else {
    done.given_up = passed->given_up;
    done.candidate = std::move(passed->candidate);
    done.candidate->id = job.proposal.id;
  }
  if (job.begins) job.begins("done");
  return done;
}

}  // namespace cupilot
