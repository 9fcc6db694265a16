// The profile of a kernel: its work and modelled time by launch, instruction and line
// (Inspector::profile).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Instructions of one kind ("fp32 fma", "load shared"), of one source line, or of a launch, at full
// size. Sampled or fitted where the launch's counts are.
struct InstructionWork {
  double warps = 0;                  // warp instructions
  double threads = 0;                // active lanes of those, predicated-off ones left out
  double requests = 0, sectors = 0;  // global memory; a sector is 32 bytes
  double wavefronts = 0,
         conflicts = 0;    // 128-byte passes of shared memory; passes beyond the least possible
  double divergences = 0;  // divergent branches
  // Returns the time model's input: warp instructions plus one for each bank conflict.
  double issue_slots() const { return warps + conflicts; }
};

struct InstructionKind {
  std::string name{};
  InstructionWork work{};
};

struct ProfiledLine {
  // File name: "kernel.cu" is KernelSource::text; "": no line information, then a line of
  // CompiledKernel::ptx.
  std::string file{};
  int line = 0;          // from 1
  int instructions = 0;  // executed PTX instructions that come from it
  InstructionWork work{};
};

struct LaunchProfile {
  std::string name{}, entry{};
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<int, 3> block{1, 1, 1}, cluster{1, 1, 1};
  int registers = 0;                                // a thread; 0: not assembled
  std::int64_t shared_bytes = 0;                    // a block, static and dynamic
  int spill_store_bytes = 0, spill_load_bytes = 0;  // static, a thread
  Residency residency{};
  Counts counts{};
  ModelledTime time{};               // this launch as the plan's only one
  std::vector<StallShare> stalls{};  // empty: not counted
  double measured_us = 0;  // This launch under the hardware counters, cold L2; 0: not measured.
  InstructionWork total{};
  std::vector<InstructionKind> kinds{};  // descending by issue slots
  std::vector<ProfiledLine> lines{};     // descending by issue slots
  // The executed part that lines were counted in: "all 64 blocks", "4 of 1024 blocks", "cols=64
  // rows=64".
  std::string lines_from{};
};

struct Profile {
  std::string device{};  // Backend::identity(): "virtual:h200", or device UUID and driver
  // Origin of the counts: "hardware counters of a GH100, 8 passes", or the virtual device; names
  // missing parts.
  std::string counted{};
  Workload workload{};
  std::vector<LaunchProfile> launches{};  // launches of the timed region, in order
  ModelledTime time{};  // The whole plan, buffers cleared in the timed region included.
  double floor_us = 0;  // floor of the task's class; 0: unknown
  // Restrict the modelled time: counts below half of the textbook's operations, or a time held at
  // the floor.
  std::vector<std::string> conditions{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
