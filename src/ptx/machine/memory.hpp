// Addresses of a warp to host memory, with every check. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/machine/decode.hpp"
#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

enum class Intent : std::uint8_t { load, store, atomic };

// Selects the counting of an access: by the lanes' own addresses, as rows of matrices whose bytes
// are shared out among the lanes (ldmatrix), an atomic as a store, or not at all, for the caller
// does.
enum class CountBy : std::uint8_t { lanes, rows, together, none };

// Bit of Step::aux of ld, st, atom and red: of the block's scope, so that to other blocks it is as
// if weak.
inline constexpr std::uint32_t within_block = 0x2000;

struct LaneAddresses {
  alignas(64) std::uint64_t at[32];
};
// Host memory of each lane; only executing lanes' entries mean anything.
struct LanePointers {
  std::uint8_t* at[32];
};

// base + offset of every lane, by the step's flags; `slot` is the address operand.
void lane_addresses(const Warp& warp, const Step& step, std::uint32_t slot, LaneAddresses& out);

// Resolves `bytes` at each lane's address for the lanes of `mask`; a bad one is a fault and false.
// Counts requests, sectors and wavefronts, and marks what a store initialises.
bool resolve(Warp& warp, const Step& step, std::uint8_t space, std::uint32_t mask,
             const LaneAddresses& addresses, std::uint32_t bytes, Intent intent, LanePointers& out,
             CountBy tally = CountBy::lanes);

bool resolve_shared(Warp& warp, const Step& step, std::uint32_t mask,
                    const LaneAddresses& addresses, std::uint32_t bytes, Intent intent,
                    LanePointers& out, CountBy tally = CountBy::lanes);

// resolve_shared when a lane's address names another block of the cluster.
bool resolve_far(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses,
                 std::uint32_t bytes, Intent intent, LanePointers& out);

// `bytes` of global memory from an address on, for the asynchronous proxy: bounds, access and
// first-read checks, state marked. nullptr after a fault.
std::uint8_t* global_span(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
                          std::uint64_t bytes, Intent intent);

// Shadow of shared memory, used by resolve_shared, ldmatrix and cp.async.
bool check_shared_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                       std::uint32_t bytes, bool strong);
bool check_shared_write(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                        std::uint32_t bytes, bool strong);
void stamp_shared_write(Warp& warp, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes,
                        bool strong);

// The asynchronous proxy reads or writes shared memory of `target` for a thread: ordered after what
// the thread knows, reads after a proxy fence too. The cells carry the mark (cluster.hpp) from then
// on.
bool check_async_read(Warp& warp, const Step& step, std::uint32_t lane, Block& target,
                      std::uint32_t offset, std::uint32_t bytes, std::uint32_t mark);
bool check_async_write(Warp& warp, const Step& step, std::uint32_t lane, Block& target,
                       std::uint32_t offset, std::uint32_t bytes, std::uint32_t mark);
// "smem+16 (shared offset 16)"
std::string place_name(const Block& block, std::uint32_t offset);
// The fault of an access to the gap after a variable; false.
bool past_variable(Warp& warp, const Step& step, std::uint32_t lane, const Block& target,
                   std::uint32_t offset);
// A read of shared memory that nobody wrote: kept until a race explains it.
void suspect_read(Warp& warp, const Step& step, std::uint32_t lane, const Block& target,
                  std::uint32_t offset);
// Stamps that name a mark; what a warp of any block of the cluster knows of a write or read in
// `target`.
bool is_mark(std::uint32_t writer_stamp);
bool write_ordered(const Warp& warp, const Block& target, std::uint32_t stamp);
bool read_ordered(const Warp& warp, std::uint32_t lane, const Block& target, std::uint32_t stamp);
// Names the writer of an unordered write: "the asynchronous copy issued by thread (0,0,0)", "thread
// (3,0,0) of block 1 of the cluster"
std::string writer_name(const Warp& warp, const Block& target, std::uint32_t stamp);
std::string reader_name(const Warp& warp, const Block& target, std::uint32_t stamp);

// Passes that the pattern of addresses needs, where they are counted; remembered for the step.
PatternMemo& pattern_of(Warp& warp, const Step& step, std::uint32_t mask,
                        const LaneAddresses& addresses, std::uint32_t bytes, PatternKind kind);

// A warp's cp.async: `sizes` bytes from each source, 0 for lanes of `mask` that only clear their
// destination.
struct CopyPattern {
  const LaneAddresses &from, &to;
  const std::uint32_t* sizes = nullptr;
  std::uint32_t mask = 0, bytes = 0;  // the lanes that take part, of a destination
  bool bypass = false;                // .cg: past the first level
};
void count_copy(Warp& warp, const CopyPattern& copy);

// An atomic on global memory whose result is used makes blocks depend on each other.
void note_returning_atomic(Warp& warp, const Step& step, const LaneAddresses& addresses);

// Adds to the traffic of the step that the warp executes: its pc stands behind it.
void count_at_step(Warp& warp, Counter counter, std::uint64_t by);

inline void count_up(Warp& warp, Counter counter, std::uint64_t by) {
  Worker& worker = *warp.block->worker;
  worker.totals[static_cast<std::size_t>(counter)] += by;
  if (!worker.traffic.empty()) count_at_step(warp, counter, by);
}
// An address among an instruction's operands, kept as four words of its list: base, flags, offset.
inline constexpr std::size_t place_words = 4;
void add_place(Decoder& decoder, std::vector<std::uint32_t>& list, const Operand& operand,
               MemorySpace space);
void place_addresses(const Warp& warp, const std::uint32_t* place, LaneAddresses& out);
inline std::uint8_t place_space(const std::uint32_t* place) {
  return static_cast<std::uint8_t>(place[1] & space_mask);
}

inline std::uint32_t first_lane(std::uint32_t mask) {
  return static_cast<std::uint32_t>(__builtin_ctz(mask));
}

// The quick way of most accesses to writable global memory: neighbouring lanes touch neighbouring
// words that nobody touched before.
// Marks what the lanes of `mask` store or load from `offset` of the buffer on, as the slow way
// would. False: nothing is done, the slow way must ask lane by lane. `memo`: of this access.
bool take_stretch(Warp& warp, const Step& step, std::uint32_t mask, const PatternMemo& memo,
                  Buffer& buffer, std::uint64_t offset, Intent intent);

// Keeps the lines that a load from global memory reads, or a store writes, where they are asked
// for.
inline bool notes_lines(const Warp& warp, Intent intent) {
  const ExecuteOptions& options = *warp.block->launch->options;
  return intent == Intent::load    ? options.note_loads
         : intent == Intent::store ? options.note_stores
                                   : false;
}
inline void note_lines(Warp& warp, Intent intent, std::uint64_t address, std::uint64_t bytes) {
  if (!notes_lines(warp, intent) || bytes == 0) return;
  std::vector<std::uint64_t>& loaded = warp.block->worker->loaded;
  std::vector<std::uint64_t>& stored = warp.block->worker->stored;
  for (std::uint64_t line = address / 128; line <= (address + bytes - 1) / 128; ++line) {
    if ((line * 0x9e3779b97f4a7c15u) >> 61 != 0) continue;
    if (intent == Intent::load) {
      if (loaded.empty() || loaded.back() != line) loaded.push_back(line);
      continue;
    }
    const std::uint64_t first = std::max(address, line * 128) / 32 % 4,
                        last = std::min(address + bytes - 1, line * 128 + 127) / 32 % 4,
                        sectors = (2u << last) - (1u << first);
    if (stored.empty() || stored.back() / 16 != line) stored.push_back(line * 16);
    stored.back() |= sectors;
  }
}

}  // namespace cupilot::ptx
