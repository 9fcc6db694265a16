// Asynchronous copies between memories: what is to be moved, and its moving. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/machine.hpp"
#include "ptx/machine/tensor_map.hpp"

namespace cupilot::ptx {

struct Mbarrier;

// The place at which bytes land in shared memory, and the barrier told of it.
struct Landing {
  Block* block = nullptr;
  std::uint32_t offset = 0;
  Mbarrier* barrier = nullptr;
  std::uint32_t mark = 0;
};

enum class Way : std::uint8_t {
  load,     // global to shared
  store,    // shared to global
  between,  // shared to shared, or registers to shared
  arrive,   // cp.async.mbarrier.arrive: copies of one thread, then an arrival
};

struct Transfer {
  Way way = Way::load;
  Warp* warp = nullptr;
  std::uint32_t lane = 0;
  bool tensor = false;
  bool reduces = false;
  bool captured = false;  // of a store: its bytes have been read
  TensorMap map;          // tensor
  std::array<std::int32_t, 5> at{};
  std::uint64_t address = 0;  // global, not tensor
  std::uint32_t bytes = 0;    // of the whole tile
  Block* from = nullptr;      // shared source
  std::uint32_t from_offset = 0;
  std::vector<Landing> to;
  std::uint32_t group = 0;  // of a store, within its thread's stream
  AtomicOp op = AtomicOp::add;
  Type type = Type::none;
  std::uint16_t byte_mask = 0xffff;  // of every 16 bytes of a masked store
  std::vector<std::uint8_t> tile;    // captured or given bytes
  std::vector<AsyncCopy> copies;     // Way::arrive
};

// Returns the place in shared memory of byte `at` of row `row` of a tile that starts at `offset`.
inline std::uint32_t shared_offset(const TensorMap& map, std::uint32_t offset, std::size_t row,
                                   std::size_t at) {
  const std::uint64_t plain = std::uint64_t{shared_base} + offset + row * row_pitch(map) + at;
  return static_cast<std::uint32_t>(swizzled(plain, map.swizzle) - shared_base);
}

// Starts a transfer that has passed its checks: moves it now, or keeps it for later in late mode.
void start_transfer(Cluster& cluster, Transfer&& transfer);
// Moves the data, tells the barriers.
void finish_transfer(Cluster& cluster, Transfer& transfer);
// Finishes one pending transfer, the generator's choice; false: there is none.
bool finish_some(Cluster& cluster);
// Finishes all but `open` groups of the thread's bulk copies, for a wait; `reads_only`: only reads
// of sources.
void finish_groups(Warp& warp, std::uint32_t lane, std::uint32_t open, bool reads_only);
// Finishes transfers that name the block, which is about to end, and (arrive) those of the
// executing lanes' cp.async.
void finish_block(Block& block);
void finish_copies(Warp& warp);

// Moves the bytes of one cp.async.
void move_copy(Block& block, const AsyncCopy& copy);

}  // namespace cupilot::ptx
