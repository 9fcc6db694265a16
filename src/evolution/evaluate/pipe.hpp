// The straight pipe with what a search wants to say in it.
#pragma once

#include <functional>
#include <optional>

#include <cupilot/evolve.hpp>

#include "evolution/evaluate/count_work.hpp"
#include "evolution/evaluate/places.hpp"

namespace cupilot {

struct EvaluationOptions {
  // For the writer; task, strategy and device are filled in.
  WriterBrief brief;
  // Written already: no writer is asked.
  const KernelSource* source = nullptr;
  ProofLevel level = ProofLevel::candidate;
  std::uint64_t proof_seed = 1;
  MeasureOptions measure{3, 1.0, true, 1};
  // Seconds for the rounds, asked when timing begins; empty: MeasureOptions::max_seconds.
  std::function<double()> round_seconds;
  // Asked after the gate: a reason not to run the kernel, such as that its PTX ran before.
  std::function<std::optional<Rejected>(const CompiledKernel&)> admit;
  // A candidate faster than this (0: none) gets the elite's proof too before it is believed.
  double elite_below_us = 0;
  // Asked once a kernel is accepted, with whether it took the lead: how its work is counted;
  // nullopt: not at all.
  std::function<std::optional<CountPlan>(bool leads)> count;
  // Compiled already, of this source, by a process of its own; null: it is compiled here.
  const CompiledKernel* compiled = nullptr;
  bool anew = false;  // compiled by the compiler, whatever was kept
  // The screen let the same kernel pass at a lower level: it may look again while the device runs.
  bool screened_before = false;
  bool proof_only = false;  // accepted once it is proved, without a time
  // Told each stage that begins: "writing", "compiling", "proving", "timing". Any thread.
  std::function<void(const char* stage)> begins;
  // Places on the device, waited for; null: it is entered at once.
  DevicePlaces* places = nullptr;
  std::int64_t slot = 0;  // of proofs that wait for a place, the lowest goes first
  // Timed with it, in one call; the candidate stands first.
  std::vector<Subject> others;
};

struct Passed {
  Candidate candidate;
  bool given_up = false;  // its time was over before it was judged: it has no outcome
  CompiledKernel kernel;
  std::vector<SubjectReport> others;  // in the order of EvaluationOptions::others
};

// Error only when the machine failed.
Result<Passed> pass(const Pipe& pipe, const Strategy& strategy, const EvaluationOptions& rules);
Result<Passed> pass_source(const Pipe& pipe, const KernelSource& source,
                           const EvaluationOptions& rules);

}  // namespace cupilot
