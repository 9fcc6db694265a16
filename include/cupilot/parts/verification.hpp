// The proof of a kernel, concluded by the controller from reports.
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

// Depth of a proof. candidate: shapes that reach every path, random and boundary content. elite:
// adds probes and special content. finalist: adds new seeds, more repeats, and the time shapes in
// full on a real device.
enum class ProofLevel { candidate, elite, finalist };

struct Verification {
  ProofLevel level = ProofLevel::candidate;
  std::vector<CaseReport> cases{};
  double worst_ratio = 0;     // error / bound over all outputs
  std::int64_t compared = 0;  // elements
  Precision proved = Precision::fp32_strict;
  bool full_size = false;  // every time shape that the kernel takes ran in full
  bool sampled = false;    // blocks of the grid of every time shape ran that did not run in full
  // The largest sizes met, "rows 1024, cols 4096", where a time shape neither ran nor was sampled.
  std::string up_to{};
  // Sizes among the task's that the code asks for and at which it was not judged, "rows=4097
  // cols=37"; "" where there are none.
  std::string but_for{};
  int processes = 1;          // independent processes that agreed
  std::string battery = "5";  // version of the battery
  int repeats = 0;            // launches whose bits were compared with another's on the same inputs
  bool deterministic = false;            // all repeats were equal; no meaning while repeats is 0
  std::vector<std::string> proved_by{};  // proved properties, one sentence each
  std::vector<std::string> unproved{};   // unproved properties, one sentence each with the reason
};

// Returns the cases of a level. Shapes depend on the source's constants: they reach tile - 1, tile,
// tile + 1, K tails, splits.
std::vector<Case> battery(const Task& task, const KernelSource& source, const DeviceSpec& device,
                          ProofLevel level, std::uint64_t seed, bool real_device);

// Returns the Verification, or Rejected{verify | run} with the first failure in battery order.
Attempt<Verification> conclude(const Task& task, const CompiledKernel& kernel, ProofLevel level,
                               const TrialReport& report);

// Returns a smaller workload that keeps every `require`, the residues modulo the plan's constants,
// at least `tiles` tiles per side and more K tiles than stages.
Workload shrink(const Task& task, const KernelSource& source, const Workload& workload,
                const DeviceSpec& device, int tiles, int slabs);

}  // namespace cupilot
CUPILOT_EXPORTS_END
