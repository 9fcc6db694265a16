// Some blocks of a launch, run to stand for its grid.
#pragma once

#include <array>
#include <cstdint>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/verdict.hpp>

#include "backend/virtual/run.hpp"
#include "backend/virtual/timed.hpp"
#include "ptx/machine/chain.hpp"

namespace cupilot {

std::uint64_t block_count(const ResolvedLaunch& launch);
// The first of each cluster's: a block brings its whole cluster along, and one that adds to what it
// read may run only once.
std::vector<std::uint64_t> one_a_cluster(const ResolvedLaunch& launch,
                                         const std::vector<std::uint64_t>& blocks);

// The observed work of a sampled launch.
struct Sampled {
  bool too_long = false;
  bool idle = false;    // a sample stored nothing
  bool silent = false;  // nor did any other, nor blocks drawn from all of the grid
  bool unlike = false;  // another block has more work than any sample
  bool bare = false;    // the grid leaves outputs unwritten
  bool mixed = false;   // samples of a grid of one dimension, whose order is the kernel's, differ
  Counts counts;
  ptx::Chain chain;         // of the sample with the longest
  double stored_lines = 0;  // ModelInput's
  double uneven = 1;        // instructions of the sample's block that has most over the mean
  double last_block_requests =
      0;  // global load requests of a column's last block beyond those of its others
};

// Runs samples of a launch, whose grid is `full` at full size, as far as the budget reaches; the
// first is always run, within all of it. block_budget: warp instructions of a block. `coverage`: of
// the outputs that this launch alone writes, each element by one block; null: others write them
// too.
Attempt<Sampled> sample(const VirtualContext& context, const CompiledKernel& kernel,
                        KernelPrograms& programs, VirtualMemory& memory,
                        const ResolvedLaunch& launch, const std::array<std::int64_t, 3>& full,
                        bool columns, Coverage* coverage, std::uint64_t block_budget);

// Counts blocks drawn from all of a grid whose samples differ, where the budget reaches enough:
// places do not tell how often a kind of block, one at an edge, stands in it. Products of matrices
// are left out, so that outputs hold no results afterwards. False: `seen` is as it was.
Attempt<bool> count_mixed(const VirtualContext& context, const CompiledKernel& kernel,
                          KernelPrograms& programs, VirtualMemory& memory,
                          const ResolvedLaunch& launch, const std::array<std::int64_t, 3>& full,
                          Sampled& seen);

// Rounds of a ring by the blocks of a grid.
struct RingRounds {
  double most = 0, mean = 0;
};
// Those of blocks drawn from all of a grid, products of matrices left out; zeros: there is no ring,
// the budget reaches too few, or blocks draw their work from a counter.
Attempt<RingRounds> drawn_rounds(const VirtualContext& context, const CompiledKernel& kernel,
                                 KernelPrograms& programs, VirtualMemory& memory,
                                 const ResolvedLaunch& launch);

// The loads of blocks side by side.
struct SideBySide {
  double distinct_loads = 0;                 // ModelInput's
  double reread_bytes = 0, reread_span = 0;  // the same
  double loaded_bytes = 0;                   // by a block, of each load
  // Distinct bytes that a block loads and none beside it does, and those that several do.
  double own_bytes = 0, shared_bytes = 0;
};
// Takes what blocks load again. `read`: bytes that a launch of `blocks` may read. Where it is less
// than all of them have alone, blocks further away load the same at the same time.
void take_rereads(const SideBySide& seen, double read, double blocks, ModelInput& input);
// The outputs of the launch hold no results afterwards. 0: unknown.
Attempt<SideBySide> loads_side_by_side(const VirtualContext& context, const CompiledKernel& kernel,
                                       KernelPrograms& programs, VirtualMemory& memory,
                                       const ResolvedLaunch& launch);

}  // namespace cupilot
