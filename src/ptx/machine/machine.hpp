// The running state of the virtual device: decoded steps, warps, blocks. Internal to the
// interpreter.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/lanes/lanes.hpp"
#include "ptx/machine/execute.hpp"
#include "ptx/machine/kept_sectors.hpp"
#include "ptx/machine/shared_layout.hpp"
#include "ptx/machine/stamp.hpp"
#include "ptx/machine/unwritten.hpp"

namespace cupilot::ptx {

inline constexpr std::uint32_t shared_base =
    1024;  // shared addresses below it are the system's, as on sm_90
inline constexpr std::uint64_t shared_window = 0x00007f0000000000ull;
inline constexpr std::uint64_t local_window = 0x00007e0000000000ull;
inline constexpr std::uint64_t param_window = 0x00007d0000000000ull;
inline constexpr std::uint64_t window_mask = 0xffffffff00000000ull;
// A shared address that mapa gave names a block of the cluster above this bit, by its rank + 1; one
// of the block's own has 0.
inline constexpr std::uint32_t rank_shift = 24;

struct Code;
struct Block;
struct Cluster;
struct Warp;
struct Worker;
struct PatternMemo;
struct Products;
struct Signals;
struct Foreign;
struct Tellings;
struct OlderValues;

// The counts derived from a step's executions.
struct Work {
  Counter counter = Counter::count_;  // count_: nothing
  std::uint32_t per_thread = 0;
  std::uint32_t per_warp = 0;
  Counter also = Counter::count_;  // counted besides by the machine's own instructions for it
  std::uint32_t also_per_thread = 0;
};

// A place that holds lanes' values filled when a warp starts.
struct SpecialSlot {
  Special special = Special::other;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 4;
};

// A step that touches registers of a wgmma: what it does, and the slots of those.
struct Watched {
  Handler run = nullptr;
  std::vector<std::uint32_t> reads, writes;
  bool moves = false;   // a plain mov
  bool copies = false;  // of one such register to another
};

struct Code {
  std::uint32_t function = 0;  // Module::functions
  std::vector<Step> steps;     // one an instruction, and one last that leaves the function
  std::vector<std::uint32_t> reconverge;         // immediate post-dominator of every step
  std::deque<std::vector<std::uint32_t>> lists;  // of steps with many operands
  std::vector<Work> work;
  std::vector<std::uint8_t>
      image;  // a frame's constants at their places, which lie before and after its registers
  std::uint32_t first_register = 0, first_constant = 0;
  std::vector<SpecialSlot> specials;
  std::uint32_t frame_bytes = 0;
  std::uint32_t lane_bytes = 0;                // param-space and local variables of one thread
  std::vector<std::uint32_t> variable_offset;  // of Function::variables in them
  std::uint32_t first_count = 0;               // of this code's steps in a worker's counts
  std::vector<std::uint32_t> product_slots;    // registers of wgmma, as often as named
  std::vector<Watched> watched;
  std::vector<std::uint32_t> watch_of;  // step -> watched, none_index
};

// A branch back to an earlier instruction, or a side of a forward branch: then `target` is the
// side's first instruction. Rounds: how often a warp took it, up to a few.
struct LoopBranch {
  std::uint32_t function = 0, instruction = 0, target = 0;
  bool back() const { return target <= instruction; }
};
inline constexpr std::uint8_t most_rounds = 3;

// Shared, constant and global variables of the module at their addresses.
class Program {
 public:
  std::shared_ptr<const Module> module;
  std::deque<Code> codes;
  std::vector<std::uint32_t> code_of;  // function -> code, none_index
  std::uint32_t entry_code = 0;
  std::vector<std::uint64_t> variable_address;
  std::vector<std::pair<std::size_t, std::size_t>>
      variable_buffer;             // variable, buffer of `constants`
  std::uint64_t grid_barrier = 0;  // address of a cooperative grid's; 0: nobody asks
  SharedLayout shared;
  DeviceMemory constants{1ull << 30, 0x0100'0000'0000ull};  // .const and .global variables
  ParameterLayout layout;
  std::uint32_t step_count = 0;
  // Steps, by their places in a worker's counts, that may change more than registers and what an
  // atomic says that it changed.
  std::vector<std::uint32_t> changing;
  std::vector<LoopBranch> loops;
  std::vector<Multiply> products;  // of wmma and wgmma steps
  std::uint32_t shadow_shift = 2;  // log2 of the bytes that one cell of shared shadow covers
  std::uint32_t global_shift = 2;  // the same of what is written to global memory
  std::uint64_t local_bytes = 0;   // a thread, all frames but recursion
  bool orders_blocks =
      false;  // holds an instruction that could order one block's accesses after another's
  bool orders_proxies = false;  // holds one that could have the asynchronous proxy see what threads
                                // wrote to global memory
  bool reads_strongly = false;  // holds strong loads of memory that blocks share
  bool updates_global = false;  // holds atomics on memory that blocks share
  bool orders_threads =
      false;           // holds fences, acquires or releases that could order threads of a block
  bool async = false;  // uses mbarriers or the asynchronous proxy
  bool meets_in_part = false;  // has barriers that not all warps of a block pass
  bool lanes_in_part = false;  // has barriers that not all lanes of a warp may pass
  // Clusters that former launches ran, a list a host thread: the next one runs its own in their
  // memory.
  std::vector<std::vector<std::unique_ptr<Cluster>>> spare;
  // Patterns that former launches met, a list a host thread.
  std::vector<std::vector<PatternMemo>> memos;
  std::uint32_t launches = 0;
};

// Gives the module's variables their first values.
void reset_variables(Program& program);

struct StepCount {
  std::uint64_t warps = 0, missing = 0;  // missing lanes of 32 a warp
};

struct StackEntry {
  std::uint32_t pc = 0, reconverge = 0, mask = 0;
  bool parked = false;  // before an instruction that needs lanes of the warp that are elsewhere
};

struct Frame {
  std::uint32_t code = 0;
  std::uint32_t return_pc = 0;
  std::uint32_t mask = 0;  // lanes that called
  std::uint32_t stack_base = 0;
  const Step* call = nullptr;
  std::unique_ptr<std::uint64_t[]> storage;  // registers, 64-byte aligned within
  std::size_t words = 0;                     // of storage
  std::uint8_t* regs = nullptr;
  std::uint32_t local_at = 0;  // of this frame in a thread's local memory
};

// cp.async: `size` bytes from `from` and zeros up to `bytes`, to an offset in shared memory.
struct AsyncCopy {
  std::uint32_t lane = 0, offset = 0, bytes = 0, size = 0;
  const std::uint8_t* from = nullptr;
};

// Copies that lanes committed in one instruction, each lane its own. `lanes`: those that have not
// waited for the group.
struct CopyGroup {
  std::uint32_t lanes = 0;
  std::vector<AsyncCopy> copies;
};

// Knowledge of the past that only kernels with asynchronous copies or clusters need; empty
// vectors know nothing.
struct Beyond {
  std::vector<std::uint32_t>
      far;  // clock of every warp of the cluster (32 a block) up to which its accesses are known
  std::vector<std::uint32_t> proxied;  // the same, with a proxy fence since
  std::vector<std::uint32_t>
      drained;  // the same of its reads, with a proxy fence or a barrier of warps since
  std::vector<std::uint32_t>
      seen;  // phases seen to complete, of every mbarrier and stream of groups (their slots)
};

// Excepts accesses of `lanes` at clocks from `from` to before `to`: they are not known after all,
// for others of the warp spoke for themselves. `one`: just one lane did.
struct Doubt {
  std::uint32_t from = 0, to = 0, lanes = 0;
  bool one = false;
};

// Clocks of the warps of a block.
using Clocks = std::array<std::uint32_t, 32>;

// The knowledge that a releasing side leaves for those that acquire.
struct ReleaseClock {
  Clocks known{};
  std::vector<Doubt> doubts{};  // of warps; empty: none
  Beyond beyond{};
  std::shared_ptr<const Foreign> foreign{};  // of other blocks; null: nothing
  std::shared_ptr<const Foreign> assumed{};  // the same by results of atomics alone
};

// The knowledge of a warp's lanes of each other since some of them, and not all, were ordered.
struct Peers {
  std::array<std::array<std::uint32_t, 32>, 32>
      known;  // of each lane, clock of every lane up to which it knows its accesses
  std::array<std::uint32_t, 32>
      last;                // of lanes in `held`: clock of the last access that may be known
  std::uint32_t held = 0;  // lanes that touched shared memory before they were ordered with some
};

// Groups of bulk copies of one thread.
struct BulkStream {
  std::uint32_t slot = 0;  // 0: none issued yet
  std::uint32_t committed = 0;
  std::uint32_t
      issued = 0,
      waited = 0;  // groups that hold a copy out of shared memory, and those that a wait covered
};

// A store over what another thread stored, nothing ordering them: a race unless it stores what
// stands there.
struct Rival {
  std::uint32_t lane = 0, bytes = 0;
  const std::uint8_t* at = nullptr;
  std::uint64_t before = 0;
  std::string message;
};

// polling: a wait on an mbarrier whose phase is not complete.
enum class WarpState : std::uint8_t { ready, waiting, polling, done };

struct Warp : Lanes {
  Block* block = nullptr;
  const Code* code = nullptr;
  const Step* steps = nullptr;  // of `code`
  std::uint32_t pc = 0, reconverge = 0, active = 0, live = 0, present = 0, exited = 0;
  bool stop = false;      // leaves the inner loop
  bool branched = false;  // its lanes have parted at a branch
  bool gave_way = false;  // after a strong access; its next turn may be put off
  WarpState state = WarpState::ready;
  std::uint32_t index = 0;
  std::uint32_t depth = 0;
  std::vector<StackEntry> stack;
  std::vector<Frame> frames;
  std::vector<std::uint8_t> local;  // lane-major
  std::vector<std::uint8_t> local_written;
  std::uint32_t local_stride = 0;
  // Clock of every warp of the block up to which its accesses are ordered before ours; of its own
  // lanes, before each other's.
  std::array<std::uint32_t, 32> known{};
  std::vector<Doubt> doubts;               // of them; empty: none
  std::shared_ptr<const Foreign> foreign;  // of other blocks' accesses to global memory
  std::shared_ptr<const Foreign> assumed;  // the same by results of atomics, which do not acquire
  std::uint32_t clock = 1;                 // of its accesses
  std::uint32_t heard = 0;    // its own clock from which on it has learnt nothing of other warps
  std::uint32_t touched = 0;  // lanes that touched shared memory since the lanes were last ordered
  std::uint32_t behind = 0;   // lanes that know only what stands in `before`: others waited, and
                              // nothing ordered them since
  ReleaseClock before;
  std::unique_ptr<Peers> peers;       // null: never needed
  std::unique_ptr<KeptSectors> kept;  // null: no load took parts of sectors
  bool parted = false;                // `peers` says more than `known`
  std::uint32_t undefined =
      0;  // shuffles so far, each of which may give values of its own where none is defined
  Doubt unfenced;                       // its own writes that a proxy fence by other lanes left out
  std::vector<AsyncCopy> open_copies;   // issued, not committed
  std::vector<AsyncCopy> spare_copies;  // memory for them
  std::deque<CopyGroup> groups;         // of a lane those that name it, oldest first
  std::uint32_t barrier = 0;            // waiting at
  std::uint32_t barrier_result =
      0;  // slot that takes a reduction's result; of a predicate or a register
  bool barrier_predicate = false;
  std::uint8_t barrier_reduce = 0;   // 0 none, 1 popc, 2 and, 3 or
  const Step* asked = nullptr;       // the strong load or exchange that ran last
  std::uint32_t asked_again = 0;     // times in a row
  bool storing = false;              // a store is under way that settles its rivals
  std::vector<Rival> rivals;         // of it
  StepCount* counts = nullptr;       // of the code being run
  std::vector<std::uint8_t> rounds;  // of Program::loops
  std::uint32_t local_top = 0;       // bytes of a thread's local memory in use
  std::uint32_t frames_bytes = 0;    // of all frames in use
  Beyond beyond;
  std::vector<BulkStream> streams;  // of lanes; empty: no bulk copies yet
  std::uint64_t polled = 0;         // the wait that failed last: slot and phase; 0: none
  std::uint8_t polls = 0;           // answers "not yet" to it
  std::uint32_t poll_at = 0;        // index of its mbarrier in the cluster
  bool timed_out = false;           // the next failing wait says so instead of sleeping
  std::uint32_t cluster_owed =
      0;  // lanes that arrived at the cluster's barrier and have not waited
  std::uint32_t cluster_phase = 0;  // of their arrival
  std::uint32_t cluster_seen = 0;   // phases that it waited for
  std::uint32_t far_mark = 0,
                far_clock = 0;  // the mark of its last access to another block, and its clock
  std::shared_ptr<Products> products;  // of wgmma; null: none yet
  std::uint32_t registers = 0;         // a thread, as setmaxnreg left them; 0: unknown
  std::uint64_t drawn = 0;  // choices that the device leaves open are taken from here; 0: none are
  Unwritten unwritten;
};

struct Barrier {
  std::uint32_t expected = 0, arrived = 0;
  ReleaseClock released;  // the knowledge of those that arrived
  std::vector<Warp*> waiting;
  const Step* step = nullptr;  // the first to arrive
  std::uint32_t true_count = 0,
                seen = 0;  // barrier.red: threads with a true predicate, of those seen
};

// Selects the count of a pattern: sectors of a load or store or of an atomic on global memory;
// wavefronts on shared memory.
enum class PatternKind : std::uint8_t { none, sectors, atomic_sectors, load, store, atomic, rows };

// Sectors or wavefronts of the address pattern a step met last.
struct PatternMemo {
  std::array<std::uint32_t, 32> delta{};
  std::uint32_t mask = 0, residue = 0, bytes = 0;
  PatternKind kind = PatternKind::none;
  std::uint32_t passes = 0, ideal = 0;
  std::uint32_t leaders = 0;         // lanes whose address no lower lane has
  std::uint32_t doubled = 0;         // leaders whose address a higher lane has
  std::int32_t least = 0, most = 0;  // bytes from the first lane's address, of addresses below 2^32
  std::uint32_t odd = 0;             // bits set in the distance of any address from the first
  bool rising = false;               // no lane's address is below that of a lane before it
  bool gapless = false;              // rising, and what the lanes touch is one stretch of bytes
  Buffer* buffer = nullptr;          // global: the one met last
  std::uint32_t launch = 0;          // Program::launches, of the last access
};
inline constexpr std::uint32_t residue_unknown = ~0u;

// A tensor map in global memory that this launch wrote: the content that a release by a proxy fence
// covers (0: none), and the block that edited it last.
struct MapEdit {
  std::uint64_t released = 0, block = 0;
};
// A content of a tensor map that lanes of a warp acquired by a proxy fence.
struct MapAcquired {
  std::uint64_t address = 0, content = 0;
  std::uint32_t warp = 0, lanes = 0, clock = 0;
};

// State shared by all blocks of a launch.
struct LaunchContext {
  Program* program = nullptr;
  DeviceMemory* memory = nullptr;
  const Launch* launch = nullptr;
  const ExecuteOptions* options = nullptr;
  std::uint32_t threads = 0, warps = 0;
  std::uint32_t shared_bytes = 0,
                device_shared = 0;  // of a block: with the gaps between its variables, and without
  Dim3 cluster{};                   // blocks
  std::atomic<std::int64_t> budget{
      0};  // warp instructions left; below zero when several threads end it at once
  std::atomic<bool> halt{false};
  std::atomic<bool> stopped{false};         // by ExecuteOptions::stop
  std::atomic<bool> stuck{false};           // Report::stuck
  std::atomic<bool> took_undefined{false};  // a shuffle did, from lanes that take no part
  std::mutex lock;                          // faults, remarks and dependence
  std::atomic_flag atomics = ATOMIC_FLAG_INIT;
  std::shared_ptr<Tellings> tellings;  // block_order.hpp; null: not kept
  std::shared_ptr<OlderValues> older;  // older_value.hpp; null: not kept
  std::vector<Fault> faults;
  std::unordered_map<std::uint64_t, MapEdit> map_edits;  // of addresses; bulk/map_order.hpp
  bool map_released = false;                             // by a proxy fence of any thread
  std::vector<Fault> remarks;                            // the first of each code
  std::atomic<bool> independent{true};
  std::string dependence;
  bool parallel = false;
  std::atomic<bool> conflict{
      false};  // parallel: two blocks touched one word, and one of them wrote it
};

// One host thread's totals.
struct Worker {
  LaunchContext* launch = nullptr;
  std::vector<StepCount> counts;
  std::vector<std::uint8_t> rounds;  // of Program::loops, by any warp
  std::vector<PatternMemo> memos;    // two a step: global, shared
  std::array<std::uint64_t, counter_count> totals{};
  std::vector<LineTraffic> traffic;  // a step; empty: not asked for
  std::uint64_t kept_sectors = 0;    // of the loads' that the first level of caches still holds
  std::vector<std::uint64_t> loaded, stored;  // Report's; no line twice in a row
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t changed = 0;  // atomics that left another value than they found
};

// A read of shared memory that nobody has written yet: a race when somebody writes it before the
// next barrier.
struct Suspect {
  Warp* warp = nullptr;
  const Step* step = nullptr;
  const Code* code = nullptr;
  std::uint32_t lane = 0;
  std::string message;
};

// Warps that read cells since their last write, each (clock << 6) | who; reader_stamp.hpp.
struct ReaderSets {
  std::uint32_t first = 0;  // number of the first of them
  std::vector<std::array<std::uint32_t, 32>> clocks;
  std::unordered_map<std::uint64_t, std::uint32_t> made;  // stamp and reader -> stamp
};

struct Block {
  Worker* worker = nullptr;
  LaunchContext* launch = nullptr;
  Program* program = nullptr;
  Cluster* cluster = nullptr;
  std::uint32_t rank = 0;  // in the cluster
  bool beyond = false;     // warps keep Beyond
  bool gives_way = false;  // warps end their turn with a strong access
  std::uint64_t index = 0;
  Dim3 position;
  std::vector<Warp> warps;
  std::uint32_t thread_count = 0;
  std::vector<std::uint8_t> shared;   // from shared_base on; 16 spare bytes
  std::vector<std::uint32_t> writer;  // shadow: stamp of the last write
  std::vector<std::uint32_t> reader;  // stamp of the last read
  std::vector<std::uint32_t>
      lanes;  // that read, where the stamp names several of a warp; empty unless lanes_in_part
  ReaderSets readers;
  std::shared_ptr<Signals> signals;  // signal.hpp; null: none yet
  std::vector<std::uint16_t>
      mbarrier_at;  // of every 8 bytes: 1 + index in the cluster's; empty before the first
  std::array<Barrier, 16> barriers;
  std::vector<std::vector<std::uint64_t>>
      products_issued;  // hashes, of each warpgroup's wgmma in order
  std::vector<std::uint32_t> order;
  std::uint32_t exited_threads = 0;
  std::uint32_t done_warps = 0;
  bool faulted = false;
  bool finished = false;
  Suspect suspect;
  std::uint64_t clock = 0;
  std::vector<std::uint32_t>
      far_users;  // clock of the last access by every warp of the cluster from another block
  std::vector<MapAcquired> maps;     // by proxy fences; bulk/map_order.hpp
  std::uint32_t registers_free = 0;  // given back by setmaxnreg, for all threads
};

// Records a fault of `thread` (lane of the warp) at the current step and stops the block.
void fault(Warp& warp, const Step& step, std::uint32_t lane, const char* code, std::string message);
// Notes what is no fault, one of a code and launch.
enum class Kept { first, last };
void remark(Warp& warp, const Step& step, std::uint32_t lane, const char* code, std::string message,
            Kept kept = Kept::first);
// Has other lanes of the warp run while the executing ones stand at `pc`: those that wait where
// branches meet, or at the other side of one. `parked`: the executing ones cannot go on without
// others, which run until they end or cannot either. False: there are none.
bool let_others_run(Warp& warp, std::uint32_t pc, bool parked);
// Lanes that parted before and met again need not run together from here on: in half of the warps
// every second one executes the instruction and goes on; the others execute it later.
void part_lanes(Warp& warp, const Step& step);
// The fault of lanes that a barrier or a warp-wide instruction needs and that never come.
void lanes_missing(Warp& warp, const Step& step, const char* what, std::uint32_t missing);
// After a strong load or exchange: a warp that asks the same again lets others run.
void give_way_when_asking(Warp& warp, const Step& step);
// Judges a write over what another thread wrote unordered: a race, or for a store a rival to
// be settled. False after a fault. `at`: null where it cannot be told.
bool may_agree(Warp& warp, const Step& step, std::uint32_t lane, const std::uint8_t* at,
               std::uint32_t bytes, std::string message);
// After a store: rivals that stored another value are a race.
void settle_rivals(Warp& warp, const Step& step);
// A fault of a launch that cannot go on, at the place where the warp waits.
void fault_here(Warp& warp, const char* code, std::string message);
// Reports the suspect as the fault it is once no race explains it.
void settle_suspect(Block& block);
// Makes frame `depth` of a warp ready for a code: constants and special registers filled, the rest
// unwritten.
void enter_frame(Warp& warp, std::uint32_t code, std::uint32_t depth);
void return_from_call(Warp& warp);
// Releases the warps waiting at a barrier when all have come.
void settle_barrier(Block& block, std::uint32_t id);

// Hands what the executing lanes know and did to a barrier; has them take what a barrier was given.
// order.cpp.
void release_to(Warp& warp, ReleaseClock& to);
void acquire_from(Warp& warp, const ReleaseClock& from);
void merge_knowledge(ReleaseClock& into, const ReleaseClock& from);
// fence.proxy.async: writes known so far may be read by the asynchronous proxy, what was read so
// far it may overwrite.
void fence_proxy(Warp& warp);
// Lets any arrival at the cluster's barrier tell of the mbarriers that the warp initialised.
void fence_mbarriers(Warp& warp);
// A barrier of warps: it waits for the warp's own reads, and the asynchronous proxy may overwrite
// what they read.
void drain_reads(Warp& warp);
// True if all 32 lanes execute a warp-wide instruction; else a fault.
bool whole_warp(Warp& warp, const Step& step);

// Separates the warp's further accesses from its earlier ones.
inline void tick(Warp& warp) {
  if (warp.clock < clock_max) ++warp.clock;
}
// After an instruction that orders the lanes of a warp.
inline void warp_ordered(Warp& warp) {
  tick(warp);
  warp.known[warp.index] = warp.clock;
  if (!warp.doubts.empty()) warp.doubts[warp.index] = {};
  warp.touched = warp.behind = 0;
  warp.parted = false;
}
// After one that orders the executing lanes. order.cpp.
void lanes_ordered(Warp& warp);
// True if a lane knows of another's accesses at a clock though the warp as a whole does not.
inline bool lane_knows(const Warp& warp, std::uint32_t lane, std::uint32_t other,
                       std::uint32_t clock) {
  return warp.parted && clock < warp.peers->known[lane][other];
}
// True if a lane knows of the write that a stamp names, if a lane of the warp made it.
inline bool lane_knows_write(const Warp& warp, std::uint32_t lane, std::uint32_t stamp) {
  return ((stamp >> 5) & 31) == warp.index &&
         lane_knows(warp, lane, stamp & 31, stamp_clock(stamp));
}

// While it lives, the warp knows what the lane does.
class AsLane {
 public:
  AsLane(Warp& warp, std::uint32_t lane) : AsLane(warp, ((warp.behind >> lane) & 1) != 0) {}
  AsLane(Warp& warp, bool behind) : warp_(behind ? &warp : nullptr) {
    if (warp_ != nullptr) change();
  }
  ~AsLane() {
    if (warp_ != nullptr) change();
  }
  AsLane(const AsLane&) = delete;
  AsLane& operator=(const AsLane&) = delete;

 private:
  void change();
  Warp* warp_;
};

}  // namespace cupilot::ptx
