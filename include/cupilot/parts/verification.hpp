// What was proved about a kernel, concluded by the controller from reports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// How much to run. candidate: shapes that reach every path, random and boundary content. elite: and
// probes, special content. finalist: new seeds, more repeats, the time shapes in full where the
// device is real.
enum class ProofLevel { candidate, elite, finalist };

struct Verification {
  ProofLevel level = ProofLevel::candidate;
  std::vector<CaseReport> cases{};
  double worst_ratio = 0;     // error / bound over all outputs
  std::int64_t compared = 0;  // elements
  Precision proved = Precision::fp32_strict;
  bool full_size = false;     // a time shape ran in full
  int processes = 1;          // independent processes that agreed
  std::string battery = "3";  // version of the battery
  int repeats = 0;            // launches whose bits were compared with another's on the same inputs
  bool deterministic = false;            // all of them were equal; says nothing while repeats is 0
  std::vector<std::string> proved_by{};  // what was shown, a sentence each
  std::vector<std::string> unproved{};   // what was not, a sentence each with the reason
};

// The cases of a level. `constants` are the strategy's numbers: shapes reach tile - 1, tile, tile +
// 1, K tails, splits.
std::vector<Case> battery(const Task& task, const KernelSource& source, const DeviceSpec& device,
                          ProofLevel level, std::uint64_t seed, bool real_device);

// Verification, or Rejected{verify | run} with the first failure in battery order.
Attempt<Verification> conclude(const Task& task, const CompiledKernel& kernel, ProofLevel level,
                               const TrialReport& report);

// A smaller workload that keeps every `require`, the residues modulo the plan's constants, at least
// `tiles` tiles a side and more slabs than stages.
Workload shrink(const Task& task, const KernelSource& source, const Workload& workload,
                const DeviceSpec& device, int tiles, int slabs);

}  // namespace cupilot
CUPILOT_EXPORTS_END
