// Derives the time model's inputs of a launch beside its counts.
#pragma once

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/verdict.hpp>

#include "backend/virtual/run.hpp"
#include "ptx/machine/chain.hpp"

namespace cupilot {

// Its grid, and what a block takes of an SM.
ModelInput geometry(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedLaunch& launch);

// Returns the rounds of asynchronous copies that stay in flight over a wait (cp.async.wait_group N:
// N, and one more unless a loop waits at once for what it has just begun); -1 when there are none.
double rounds_ahead(const ptx::Module& module, const ptx::Function& entry);

// The loads in flight of a launch that was counted, from its longest way through a block.
void put_chain(ModelInput& input, const ptx::Chain& chain);
// The rounds of a ring; its mbarriers are half of them for full stages, half for empty ones.
// `times`: how much more a block does than where the chain was seen.
void put_ring(ModelInput& input, const ptx::Chain& chain, double times);
// Adds the bytes that the assembler spills, once a round.
void add_spills(ModelInput& input, double bytes_a_thread);
// True if no block of a launch follows another.
bool fits_at_once(const ModelInput& input, const DeviceSpec& device);
// Prices such a launch as so many blocks like the busiest as make up the work. `uneven`: its work
// over the mean.
void price_as_busiest(ModelInput& input, const DeviceSpec& device, double uneven);
// Clearing a buffer inside the timed region, as a launch that stores it.
ModelInput clearing(std::int64_t bytes);

}  // namespace cupilot
