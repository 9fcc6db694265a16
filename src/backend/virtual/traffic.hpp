// L2 and DRAM bytes of launches, between what must move and what is asked for.
#pragma once

#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

namespace cupilot {

// Fills l2_bytes, dram_read_bytes and dram_write_bytes of every run launch; `launches` are those of
// `plan` in order.
//
// L2 to SM: the sectors asked for. DRAM reads lie between the launch's unique bytes and its
// requests. The estimate takes the blocks of a wave (as many as are resident) to lie in a square of
// the output, so that a wave asks DRAM for its requests over the square's side, but never less than
// the unique bytes once and what blocks read again where L2 no longer has it, nor more than all of
// them once a wave.
Result<void> estimate_traffic(const DeviceSpec& device, const Task& task, const Workload& workload,
                              const ResolvedPlan& plan, std::vector<ModelInput>& launches);

// Bytes of what a launch's arguments name, which it may read.
Result<double> readable_bytes(const Task& task, const Workload& workload, const ResolvedPlan& plan,
                              const ResolvedLaunch& launch);

// True if a launch loads more than L2 has room for, and some of it several times: what lies between
// two loads of a block tells what comes from DRAM again.
Result<bool> rereads_beyond_l2(const DeviceSpec& device, const Task& task, const Workload& workload,
                               const ResolvedPlan& plan, const ResolvedLaunch& launch,
                               const Counts& counts);

}  // namespace cupilot
