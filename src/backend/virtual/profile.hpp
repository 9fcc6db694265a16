// A profile on the virtual device.
#pragma once

#include <cupilot/parts/profile.hpp>

#include "backend/virtual/run.hpp"

namespace cupilot {

// Work of instructions by place: function, instruction of the module.
using WorkByPlace = std::map<std::pair<std::uint32_t, std::uint32_t>, InstructionWork>;

// Adds a report's lines, `weight` times.
void add_lines(WorkByPlace& sum, const ptx::Report& report, double weight);

// Fills total, kinds and lines from work by place, scaled so that the warp instructions are those
// of profile.counts.
void summarize(LaunchProfile& profile, const ptx::Module& module, const WorkByPlace& work);

// The counts are count_launches(). Lines come from the whole launches where those are cheap at
// `workload`, else from sampled blocks or columns of them, and for launches whose blocks wait for
// one another from whole runs at a smaller workload. What runs whole runs first, every access
// checked: a fault there is the rejection.
Attempt<Profile> profile_kernel(const VirtualContext& context, const TaskRef& task,
                                const CompiledKernel& kernel, const Workload& workload);

}  // namespace cupilot
