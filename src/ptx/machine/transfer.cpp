// Moving the data of asynchronous copies: source to tile, tile to destination, then the barriers
// are told.
#include "ptx/machine/transfer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/memory.hpp"
#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

u8* global_bytes(LaunchContext& launch, u64 address, u64 bytes) {
  Buffer* found = launch.memory->find(address, bytes);
  if (found == nullptr) found = launch.program->constants.find(address, bytes);
  return found == nullptr ? nullptr : found->at(address - found->address, bytes);
}

// Fills the part outside the tensor: zero, or a NaN of every floating type (the pattern that an
// H200 writes).
void fill(const TensorMap& map, std::vector<u8>& tile) {
  std::fill(tile.begin(), tile.end(), u8{0});
  for (std::size_t i = 0; map.fill_nan && i < tile.size(); ++i) tile[i] = i % 2 == 0 ? 0xf7 : 0x7f;
}

// Calls f(offset in the tile, global address, bytes) for every run of bytes inside the tensor.
template <class F>
void for_runs(const Transfer& t, F f) {
  if (!t.tensor) return f(u32{0}, t.address, t.bytes);
  const u32 wide = element_bytes(t.map), rows = tile_rows(t.map);
  for (u32 r = 0; r < rows; ++r) {
    const TileRow row = tile_row(t.map, t.at, r);
    if (row.count == 0) continue;
    f((r * t.map.box[0] + row.first) * wide, row.address,
      t.way == Way::store ? stored_bytes(t.map, row) : row.count * wide);
  }
}

void read_global(LaunchContext& launch, const Transfer& t, std::vector<u8>& tile) {
  if (t.tensor) fill(t.map, tile);
  for_runs(t, [&](u32 at, u64 address, u32 bytes) {
    if (const u8* from = global_bytes(launch, address, bytes))
      std::memcpy(tile.data() + at, from, bytes);
  });
}

void combine(const Transfer& t, u8* to, const u8* from, u32 bytes) {
  if (!t.reduces) {
    if (t.byte_mask == 0xffff) {
      std::memcpy(to, from, bytes);
      return;
    }
    for (u32 i = 0; i < bytes; ++i) {
      if (((t.byte_mask >> (i % 16)) & 1) != 0) to[i] = from[i];
    }
    return;
  }
  const u32 wide = bytes_of(t.type);
  for (u32 i = 0; i + wide <= bytes; i += wide) {
    u64 old = 0, b = 0;
    std::memcpy(&old, to + i, wide);
    std::memcpy(&b, from + i, wide);
    const u64 fresh = apply_atomic(t.op, t.type, old, b, 0);
    std::memcpy(to + i, &fresh, wide);
  }
}

void write_global(LaunchContext& launch, const Transfer& t, const std::vector<u8>& tile) {
  const Spin hold(launch.atomics, launch.parallel && t.reduces);
  for_runs(t, [&](u32 at, u64 address, u32 bytes) {
    if (u8* to = global_bytes(launch, address, bytes)) combine(t, to, tile.data() + at, bytes);
  });
}

// Calls f(offset in the tile, offset in shared memory, bytes) for the pieces of a tile that lie
// together there: 16-byte units where a pattern exchanges them.
template <class F>
void for_pieces(const Transfer& t, u32 offset, std::size_t bytes, F f) {
  if (!t.tensor || t.map.swizzle == 0) return f(std::size_t{0}, offset, bytes);
  const std::size_t row = row_bytes(t.map);
  for (std::size_t i = 0; i < bytes; i += 16)
    f(i, shared_offset(t.map, offset, i / row, i % row), std::size_t{16});
}

void read_shared(const Transfer& t, std::vector<u8>& tile) {
  for_pieces(t, t.from_offset, tile.size(), [&](std::size_t at, u32 place, std::size_t bytes) {
    std::memcpy(tile.data() + at, t.from->shared.data() + place, bytes);
  });
}

void write_shared(const Landing& to, const Transfer& t, const std::vector<u8>& tile) {
  for_pieces(t, to.offset, tile.size(), [&](std::size_t at, u32 place, std::size_t bytes) {
    combine(t, to.block->shared.data() + place, tile.data() + at, static_cast<u32>(bytes));
  });
}

void tell(Cluster& cluster, const Transfer& t, const Landing& to, std::size_t bytes) {
  if (to.barrier == nullptr) return;
  if (to.mark != 0) cluster.marks[to.mark].phase = to.barrier->phase;
  if (t.way == Way::arrive) {
    arrive_for_copies(cluster, *to.barrier);
  } else {
    complete_bytes(cluster, *to.barrier, static_cast<std::int64_t>(bytes));
  }
}

void capture(Transfer& t) {
  if (t.captured) return;
  t.captured = true;
  t.tile.resize(t.bytes);
  read_shared(t, t.tile);
}

void finish_store(Cluster& cluster, Transfer& t) {
  capture(t);
  write_global(*cluster.launch, t, t.tile);
}

void finish_arrival(Cluster& cluster, Transfer& t) {
  Block& block = *t.warp->block;
  if (cluster.launch->options->late) {
    for (const AsyncCopy& copy : t.copies) move_copy(block, copy);
  }
  const Landing& to = t.to.front();
  if (!block.writer.empty() && to.mark != 0) {
    const u32 shift = block.program->shadow_shift;
    for (const AsyncCopy& copy : t.copies) {
      const u32 pending = (clock_pending << 10) | (t.warp->index * 32 + t.lane);
      for (u32 c = copy.offset >> shift; c < (copy.offset + copy.bytes) >> shift; ++c) {
        if (block.writer[c] == pending) block.writer[c] = mark_base + to.mark;
      }
    }
  }
  tell(cluster, t, to, 0);
}

bool is_store(const Transfer& t) { return t.way == Way::store; }

}  // namespace

void move_copy(Block& block, const AsyncCopy& copy) {
  u8* to = block.shared.data() + copy.offset;
  if (copy.size != 0) std::memcpy(to, copy.from, copy.size);
  std::memset(to + copy.size, 0, copy.bytes - copy.size);
}

void finish_transfer(Cluster& cluster, Transfer& t) {
  cluster.idle_rounds = 0;
  if (t.way == Way::store) return finish_store(cluster, t);
  if (t.way == Way::arrive) return finish_arrival(cluster, t);
  std::vector<u8>& tile = t.way == Way::between && t.from == nullptr ? t.tile : cluster.tile;
  tile.resize(t.bytes);
  if (t.way == Way::load) read_global(*cluster.launch, t, tile);
  if (t.from != nullptr) read_shared(t, tile);
  for (const Landing& to : t.to) {
    if (!to.block->finished) write_shared(to, t, tile);
  }
  for (const Landing& to : t.to) tell(cluster, t, to, tile.size());
}

void start_transfer(Cluster& cluster, Transfer&& t) {
  // One instruction may move much: it is charged for what a warp's own loads would take.
  cluster.launch->budget.fetch_sub(static_cast<std::int64_t>(t.bytes / 512),
                                   std::memory_order_relaxed);
  if (!cluster.launch->options->late) return finish_transfer(cluster, t);
  if (cluster.pending.empty()) cluster.pending_since = cluster.used;
  cluster.pending.push_back(std::move(t));
}

// Stores wait for their group's wait, which forces them; they are taken here only when nothing else
// is left.
bool finish_some(Cluster& cluster) {
  if (cluster.pending.empty()) return false;
  cluster.pending_since = cluster.used;
  cluster.state = mixed(cluster.state + 0x9e3779b97f4a7c15ull);
  const std::size_t count = cluster.pending.size(), first = cluster.state % count;
  std::size_t chosen = first;
  for (std::size_t i = 0; i < count; ++i) {
    chosen = (first + i) % count;
    if (!is_store(cluster.pending[chosen])) break;
  }
  Transfer t = std::move(cluster.pending[chosen]);
  cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(chosen));
  finish_transfer(cluster, t);
  return true;
}

void finish_groups(Warp& w, u32 lane, u32 open, bool reads_only) {
  if (w.streams.empty()) return;
  BulkStream& stream = w.streams[lane];
  if (stream.slot == 0) return;
  const u32 past = stream.committed > open ? stream.committed - open : 0;
  stream.waited = std::max(stream.waited, past);
  Cluster& cluster = *w.block->cluster;
  for (std::size_t i = 0; i < cluster.pending.size();) {
    Transfer& t = cluster.pending[i];
    if (!is_store(t) || t.warp != &w || t.lane != lane || t.group >= past) {
      ++i;
      continue;
    }
    if (reads_only) {
      capture(t);
      ++i;
      continue;
    }
    Transfer taken = std::move(t);
    cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(i));
    finish_transfer(cluster, taken);
  }
  observe(w, 1u << lane, stream.slot, past);
}

void finish_block(Block& block) {
  Cluster& cluster = *block.cluster;
  for (std::size_t i = 0; i < cluster.pending.size();) {
    Transfer& t = cluster.pending[i];
    const bool lands = std::any_of(t.to.begin(), t.to.end(),
                                   [&](const Landing& to) { return to.block == &block; });
    if (t.warp->block != &block && t.from != &block && !lands) {
      ++i;
      continue;
    }
    Transfer taken = std::move(t);
    cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(i));
    finish_transfer(cluster, taken);
  }
}

void finish_copies(Warp& w) {
  Cluster& cluster = *w.block->cluster;
  for (std::size_t i = 0; i < cluster.pending.size();) {
    const Transfer& t = cluster.pending[i];
    if (t.way != Way::arrive || t.warp != &w || ((w.mask >> t.lane) & 1) == 0) {
      ++i;
      continue;
    }
    Transfer taken = std::move(cluster.pending[i]);
    cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(i));
    finish_transfer(cluster, taken);
  }
}

}  // namespace cupilot::ptx
