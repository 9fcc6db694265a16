// Blocks that run together and see each other's shared memory, their mbarriers, and the
// asynchronous copies under way. Every block belongs to one; without clusters it stands alone in
// it. Internal.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "ptx/machine/machine.hpp"
#include "ptx/machine/mixed.hpp"
#include "ptx/machine/transfer.hpp"

namespace cupilot::ptx {

struct Mbarrier {
  std::uint32_t rank = 0, offset = 0;  // block and place in its shared memory
  std::uint32_t slot = 0;              // of Beyond::seen
  bool live = false;
  std::uint32_t expected = 0, pending = 0,
                phase = 0;        // arrivals a phase, missing of this one; phases completed
  std::int64_t transactions = 0;  // bytes expected less bytes come
  ReleaseClock open, done;        // of arrivals in this phase; in completed ones
  std::uint32_t owner = 0,
                owner_clock = 0;  // warp (32 * rank + index) that initialised it, and when
  bool fenced = false;            // by fence.mbarrier_init of its owner
  std::uint32_t told = ~0u;       // phase of the cluster's barrier that its owner arrived at since
  std::vector<Warp*> waiting;
};

// A write or read of shared memory that a clock of the block's own warps cannot name: ordered
// before a warp that has seen `slot` complete more than `phase` phases, or (far) knows a later
// clock than `phase` of warp `slot` of the cluster.
struct Mark {
  bool far = false;
  std::uint32_t slot = 0, phase = 0;
  std::uint32_t thread = 0;  // 1024 * rank + thread that issued it
};
inline constexpr std::uint32_t phase_open = 0xffffffffu;  // not known yet

struct ClusterBarrier {
  std::uint32_t phase = 0, arrived = 0;
  ReleaseClock open, done;
  std::vector<Warp*> waiting;
};

// Relaxed arrivals at one phase of an mbarrier (its slot) or of the cluster's barrier (0): they
// release nothing, and `clock` is kept for messages alone.
struct RelaxedArrivals {
  std::uint32_t slot = 0, phase = 0;
  const Code* code = nullptr;  // of the first
  const Step* step = nullptr;
  ReleaseClock clock;
};

// A copy into a block's shared memory by another block's thread, and its mark.
struct FarCopy {
  std::uint32_t rank = 0, mark = 0;
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;  // by rank
  LaunchContext* launch = nullptr;
  Worker* worker = nullptr;
  Dim3 position;                    // of the cluster in the grid of clusters
  std::deque<Mbarrier> mbarriers;   // all ever initialised
  std::uint32_t slots = 1;          // of Beyond::seen, given out
  std::vector<Mark> marks;          // 0: ordered for all
  std::vector<FarCopy> far_copies;  // which a block must see complete before it ends
  ClusterBarrier barrier;
  std::deque<RelaxedArrivals> relaxed;  // the latest
  std::deque<Transfer> pending;         // issued, their data not moved yet (late mode)
  std::uint64_t pending_since = 0;
  std::vector<std::uint32_t> order;  // of blocks
  std::uint64_t state = 0;           // of the generator that picks among what may come next
  std::uint32_t idle_rounds = 0;     // rounds of expired waits since anything came of one
  std::vector<std::uint8_t> tile;    // scratch
  bool finished = false;
  std::uint64_t used = 0;  // instructions
};

// Readies the cluster `index` of the grid, storage reused.
void start_cluster(Cluster& cluster, Worker& worker, std::uint64_t index);
// Runs warps in turn until all blocks end, one faults, a warp gives way, or about `fuel`
// instructions are used.
void run_cluster(Cluster& cluster, std::uint64_t fuel);

// A slot of Beyond::seen.
std::uint32_t take_slot(Cluster& cluster);
// The stamp's number of a new mark; 0 when there are too many.
std::uint32_t add_mark(Cluster& cluster, const Mark& mark);
bool mark_ordered(const Warp& warp, const Mark& mark);
// Lanes of the warp have seen `phases` phases of the slot complete.
void observe(Warp& warp, std::uint32_t lanes, std::uint32_t slot, std::uint32_t phases);

// A byte range in the shared memory of a block of the cluster.
struct SharedPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
};
// Finds the place of a shared or generic address (of `space`); false after a fault: no shared
// memory, misaligned, outside, or of a block that has ended. `far_allowed`: the form may name other
// blocks.
bool shared_place(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
                  std::uint8_t space, std::uint64_t bytes, std::uint32_t align, bool far_allowed,
                  SharedPlace& out);
// Notes that the warp touched another block, which must not end before it is told so.
void note_far(Warp& warp, Block& target);
void note_far(Warp& warp, Block& target, std::uint32_t clock);
// The mark of the warp's accesses to other blocks at its present clock.
std::uint32_t far_mark(Warp& warp);

// The mbarrier at a place; nullptr after a fault: none there, its words overwritten, its
// initialisation not ordered before.
Mbarrier* mbarrier_at(Warp& warp, const Step& step, std::uint32_t lane, const SharedPlace& place);
void complete_bytes(Cluster& cluster, Mbarrier& barrier, std::int64_t bytes);
void arrive_for_copies(Cluster& cluster, Mbarrier& barrier);
// "mbarrier full+8 (phase 3: 1 of 2 arrivals and 512 bytes to come)"
std::string describe(const Cluster& cluster, const Mbarrier& barrier);
// Ends every wait on a phase with "not yet".
bool expire_waits(Cluster& cluster);

void note_relaxed(Warp& warp, const Step& step, std::uint32_t slot, std::uint32_t phase);
// Says by which relaxed arrival that the warp has waited for accesses would be ordered, did it
// release: `ordered` tells whether they are; "": by none. For faults alone: the warp knows more
// behind.
std::string relaxed_cause(Warp& warp, const std::function<bool()>& ordered);

// The barrier of the cluster, once a warp has arrived or ended.
void settle_cluster_barrier(Cluster& cluster);
// Warp::barrier beyond the block's own: the cluster's barrier, setmaxnreg, wgmma.wait_group.
inline constexpr std::uint32_t waits_for_cluster = 16, waits_for_registers = 17,
                               waits_for_products = 18;
// Returns the first warp of the warpgroup that has not committed the groups that one of it waits
// for; null: none.
const Warp* behind_in_group(const Warp& warp);
// Returns the reason for which such a wait does not end.
std::string product_wait(const Warp& warp);
// Leaves out what products owe to registers of a frame that is entered anew: nobody reads them.
void forget_frame(Warp& warp, const std::uint8_t* registers);
// Returns the reason for which a warp that waits at neither a block's barrier nor an mbarrier does
// not go on.
std::string waiting_reason(const Warp& warp);

}  // namespace cupilot::ptx
