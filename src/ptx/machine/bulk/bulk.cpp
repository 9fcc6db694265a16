// Copies and reductions by the asynchronous proxy: cp.async.bulk and its tensor, reduce and
// prefetch forms, st.async, red.async. All checks are made when they are issued; transfer.cpp moves
// the data.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/bulk/bulk.hpp"
#include "ptx/machine/bulk/map_order.hpp"
#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool no(Warp& w, const Step& s, u32 lane, const char* code, std::string message) {
  fault(w, s, lane, code, std::move(message));
  return false;
}

u64 address_of(const Warp& w, const u32* place, u32 lane) {
  LaneAddresses a;
  place_addresses(w, place, a);
  return a.at[lane];
}

BulkStream& stream_of(Warp& w, u32 lane) {
  if (w.streams.empty()) w.streams.resize(32);
  if (w.streams[lane].slot == 0) w.streams[lane].slot = take_slot(*w.block->cluster);
  return w.streams[lane];
}

u32 thread_of(const Warp& w, u32 lane) { return (w.block->rank << 10) | (w.index * 32 + lane); }

bool read_map(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  LaneAddresses a;
  place_addresses(w, f.other, a);
  if (a.at[lane] % 64 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("the tensor map at 0x{:x} is not aligned to 64 bytes", a.at[lane]));
  const u64 window = a.at[lane] & window_mask;
  if (window == shared_window || window == local_window)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("the tensor map of a copy lies in {} memory, not in global, constant or "
                          "parameter memory",
                          window == shared_window ? "shared" : "local"));
  u8 bytes[tensor_map_bytes];
  if (!read_map_bytes(w, s, lane, place_space(f.other), a.at[lane], bytes) ||
      !map_acquired(w, s, lane, a.at[lane], bytes))
    return false;
  const std::optional<TensorMap> map = decode_map(bytes);
  if (!map)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("no tensor map lies at 0x{:x}", a.at[lane]));
  if (map->address % 16 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("the tensor map starts at 0x{:x}, no multiple of 16", map->address));
  if (map->rank != f.rank)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("a {}-dimensional copy with a map of {} dimensions", f.rank, map->rank));
  t.tensor = true;
  t.map = *map;
  t.bytes = tile_bytes(t.map);
  if (t.bytes > w.block->launch->device_shared) {
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("a tile of {} bytes, but the block has {} bytes of shared memory",
                          t.bytes, w.block->launch->device_shared));
  }
  for (u32 i = 0; i < f.rank; ++i) t.at[i] = w.at<std::int32_t>(f.coordinates[i])[lane];
  // On an H200 a tile that starts elsewhere is an illegal instruction.
  if (row_bytes(t.map) % 16 != 0 || std::int64_t{t.at[0]} * element_bytes(t.map) % 16 != 0) {
    return no(w, s, lane, "run.misaligned",
              fmt::format("a tile starts at coordinate {} of dimension 0, {} bytes an element: no "
                          "multiple of 16 bytes",
                          t.at[0], element_bytes(t.map)));
  }
  return true;
}

// Reads the place and the number of the global bytes.
bool read_global_side(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  if (f.rank != 0) return read_map(w, s, lane, f, t);
  t.address = address_of(w, f.other, lane);
  t.bytes = w.at<u32>(f.size)[lane];
  if (t.bytes == 0 || t.bytes % 16 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("a bulk copy of {} bytes: the size must be a positive multiple of 16",
                          t.bytes));
  if (t.address % 16 != 0) {
    return no(
        w, s, lane, "run.misaligned",
        fmt::format("the global address 0x{:x} ({}) of a bulk copy is not aligned to 16 bytes",
                    t.address, w.block->launch->memory->describe(t.address)));
  }
  return true;
}

// Checks every global byte that is touched, and counts sectors.
bool check_global(Warp& w, const Step& s, u32 lane, const Transfer& t) {
  const bool load = t.way == Way::load;
  const Intent intent = load ? Intent::load : t.reduces ? Intent::atomic : Intent::store;
  const u32 wide = t.tensor ? element_bytes(t.map) : 1, rows = t.tensor ? tile_rows(t.map) : 1;
  u64 sectors = 0, bytes = 0;
  for (u32 r = 0; r < rows; ++r) {
    const TileRow row = t.tensor ? tile_row(t.map, t.at, r) : TileRow{0, t.bytes, t.address};
    if (row.count == 0) continue;
    const u64 length = t.tensor && !load ? stored_bytes(t.map, row) : u64{row.count} * wide;
    if (global_span(w, s, lane, row.address, length, intent) == nullptr) return false;
    note_lines(w, intent, row.address, length);
    sectors += (row.address + length - 1) / 32 - row.address / 32 + 1;
    bytes += length;
  }
  count_up(w,
           load        ? Counter::global_load_requests
           : t.reduces ? Counter::atomic_requests
                       : Counter::global_store_requests,
           1);
  count_up(w,
           load        ? Counter::global_load_sectors
           : t.reduces ? Counter::atomic_sectors
                       : Counter::global_store_sectors,
           sectors);
  if (load) count_up(w, Counter::async_copy_bytes, bytes);
  return true;
}

// Calls f(offset, bytes) for the shared memory of a tile at `offset`, of rows cut to what lies
// inside the tensor (`clip`), until it says no.
template <class F>
bool each_shared_run(const Transfer& t, u32 offset, bool clip, F f) {
  if (!t.tensor || (!clip && row_pitch(t.map) == row_bytes(t.map))) return f(offset, t.bytes);
  const u32 wide = element_bytes(t.map), rows = tile_rows(t.map);
  for (u32 r = 0; r < rows; ++r) {
    const TileRow row = clip ? tile_row(t.map, t.at, r) : TileRow{0, t.map.box[0], 0};
    for (u32 at = row.first * wide, end = at + stored_bytes(t.map, row); at < end;) {
      const u32 piece = t.map.swizzle == 0 ? end - at : std::min(end - at, 16 - at % 16);
      if (!f(shared_offset(t.map, offset, r, at), piece)) return false;
      at += piece;
    }
  }
  return true;
}

// From its first to past its last byte in shared memory.
u32 shared_span(const Transfer& t) {
  return t.tensor ? tile_rows(t.map) * row_pitch(t.map) : t.bytes;
}

// One destination: the block's shared memory and the mbarrier at the same place in it.
bool add_landing(Warp& w, const Step& s, u32 lane, Transfer& t, SharedPlace at,
                 SharedPlace barrier) {
  if (at.block->finished)
    return no(w, s, lane, "run.race",
              fmt::format("copies to block {} of the cluster, which has ended", at.block->rank));
  if (at.block != w.block && w.block->cluster->barrier.phase == 0)
    return no(w, s, lane, "run.race",
              fmt::format("copies to block {} of the cluster, which may not have begun: no barrier "
                          "of the cluster stands before",
                          at.block->rank));
  Mbarrier* b = mbarrier_at(w, s, lane, barrier);
  if (b == nullptr) return false;
  Cluster& cluster = *w.block->cluster;
  const u32 mark =
      add_mark(cluster, {.slot = b->slot, .phase = phase_open, .thread = thread_of(w, lane)});
  if (at.block != w.block && mark == 0) note_far(w, *at.block);
  if (at.block != w.block && mark != 0) cluster.far_copies.push_back({at.block->rank, mark});
  const bool free = each_shared_run(t, at.offset, false, [&](u32 offset, u32 bytes) {
    return check_async_write(w, s, lane, *at.block, offset, bytes, mark);
  });
  if (!free) return false;
  t.to.push_back({at.block, at.offset, b, mark});
  return true;
}

bool add_landings(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  SharedPlace to, barrier;
  const u32 align = f.rank != 0 ? 128 : 16;
  if (!shared_place(w, s, lane, address_of(w, f.shared, lane), place_space(f.shared),
                    shared_span(t), align, true, to))
    return false;
  if (!shared_place(w, s, lane, address_of(w, f.barrier, lane), place_space(f.barrier), 8, 8, true,
                    barrier))
    return false;
  if (to.block != barrier.block)
    return no(
        w, s, lane, "run.out_of_bounds",
        "the mbarrier of a bulk copy lies in another block's shared memory than its destination");
  if (f.multicast == 0) return add_landing(w, s, lane, t, to, barrier);
  const u32 mask = w.at<u16>(f.mask)[lane];
  const Cluster& cluster = *w.block->cluster;
  if (mask == 0 || (mask >> cluster.blocks.size()) != 0)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("a multicast to blocks 0x{:x} of a cluster of {}", mask,
                          cluster.blocks.size()));
  for (u32 rank = 0; rank < cluster.blocks.size(); ++rank) {
    if (((mask >> rank) & 1) == 0) continue;
    Block* block = cluster.blocks[rank].get();
    if (!add_landing(w, s, lane, t, {block, to.offset}, {block, barrier.offset})) return false;
  }
  return true;
}

bool add_source(Warp& w, const Step& s, u32 lane, const u32* place, u32 align, Transfer& t,
                u32 mark) {
  SharedPlace from;
  if (!shared_place(w, s, lane, address_of(w, place, lane), place_space(place), shared_span(t),
                    align, false, from))
    return false;
  t.from = from.block;
  t.from_offset = from.offset;
  return each_shared_run(t, t.from_offset, true, [&](u32 offset, u32 bytes) {
    return check_async_read(w, s, lane, *t.from, offset, bytes, mark);
  });
}

bool prepare_store(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  if (!read_global_side(w, s, lane, f, t)) return false;
  if (t.reduces && t.tensor) t.type = t.map.type;
  if (t.reduces && !atomic_allowed(t.op, t.type))
    return no(w, s, lane, "run.unsupported",
              "a reduction that the type of the tensor map does not have");
  BulkStream& stream = stream_of(w, lane);
  t.group = stream.committed;
  stream.issued = t.group + 1;
  if (f.masked != 0) t.byte_mask = w.at<u16>(f.byte_mask)[lane];
  const u32 mark = add_mark(*w.block->cluster,
                            {.slot = stream.slot, .phase = t.group, .thread = thread_of(w, lane)});
  return add_source(w, s, lane, f.shared, t.tensor ? 128 : 16, t, mark) &&
         check_global(w, s, lane, t);
}

bool prepare_between(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  t.bytes = w.at<u32>(f.size)[lane];
  if (t.bytes == 0 || t.bytes % 16 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("a bulk copy of {} bytes: the size must be a positive multiple of 16",
                          t.bytes));
  if (!add_landings(w, s, lane, f, t)) return false;
  return add_source(w, s, lane, f.other, 16, t, t.to.front().mark);
}

}  // namespace

void run_bulk(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  BulkForm f;
  std::memcpy(&f, s.list, sizeof(f));
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Transfer t;
    t.way = static_cast<Way>(f.way);
    t.warp = &w;
    t.lane = lane;
    t.reduces = f.reduces != 0;
    t.op = static_cast<AtomicOp>(f.op);
    t.type = static_cast<Type>(f.type);
    if (f.prefetch != 0) {
      // A hint, but its operands must make sense.
      if (!read_global_side(w, s, lane, f, t)) return;
      continue;
    }
    const bool ready = t.way == Way::store ? prepare_store(w, s, lane, f, t)
                       : t.way == Way::between
                           ? prepare_between(w, s, lane, f, t)
                           : read_global_side(w, s, lane, f, t) && check_global(w, s, lane, t) &&
                                 add_landings(w, s, lane, f, t);
    if (!ready) return;
    start_transfer(*w.block->cluster, std::move(t));
  }
}

void run_bulk_commit(Lanes& l, const Step&) {
  Warp& w = static_cast<Warp&>(l);
  if (w.streams.empty()) w.streams.resize(32);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) ++w.streams[first_lane(rest)].committed;
}

void run_bulk_wait(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1)
    finish_groups(w, first_lane(rest), s.aux, (s.flags & 1) != 0);
}

void run_send(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  BulkForm f;
  std::memcpy(&f, s.list, sizeof(f));
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Transfer t;
    t.way = Way::between;
    t.warp = &w;
    t.lane = lane;
    t.reduces = f.reduces != 0;
    t.op = static_cast<AtomicOp>(f.op);
    t.type = static_cast<Type>(f.type);
    t.bytes = s.count * s.bytes;
    t.tile.resize(t.bytes);
    for (u32 j = 0; j < s.count; ++j)
      std::memcpy(t.tile.data() + j * s.bytes,
                  w.regs + s.list[bulk_form_words + j] + lane * s.width, s.bytes);
    SharedPlace to, barrier;
    if (!shared_place(w, s, lane, address_of(w, f.shared, lane), place_space(f.shared), t.bytes,
                      t.bytes, true, to))
      return;
    if (!shared_place(w, s, lane, address_of(w, f.barrier, lane), place_space(f.barrier), 8, 8,
                      true, barrier))
      return;
    if (to.block != barrier.block)
      return fault(w, s, lane, "run.out_of_bounds",
                   "the mbarrier lies in another block's shared memory than the destination");
    if (t.reduces) {
      // Reductions of one phase do not race with each other.
      Mbarrier* b = mbarrier_at(w, s, lane, barrier);
      if (b == nullptr) return;
      t.to.push_back({to.block, to.offset, b, 0});
    } else if (!add_landing(w, s, lane, t, to, barrier)) {
      return;
    }
    start_transfer(*w.block->cluster, std::move(t));
  }
}

}  // namespace cupilot::ptx
