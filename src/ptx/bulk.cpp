// Copies and reductions by the asynchronous proxy: cp.async.bulk and its tensor, reduce and prefetch forms, st.async, red.async.
// All checks are made when they are issued; transfer.cpp moves the data.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/cluster.hpp"
#include "ptx/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// What a bulk form says, as words of Step::list.
struct BulkForm {
  u32 way;  // Way
  u32 reduces, op, type;
  u32 rank;  // tensor dimensions; 0: none
  u32 prefetch;
  u32 multicast, mask;      // slot of 16 bits
  u32 masked, byte_mask;    // slot of 16 bits
  u32 size;                 // slot of 32 bits
  u32 coordinates[5];       // slots of 32 bits
  u32 shared[place_words];  // destination of a load, source of a store
  u32 other[place_words];   // global address, tensor map, or second shared place
  u32 barrier[place_words];
};
constexpr std::size_t form_words = sizeof(BulkForm) / 4;

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
    return no(w, s, lane, "run.misaligned", fmt::format("the tensor map at 0x{:x} is not aligned to 64 bytes", a.at[lane]));
  u8 bytes[tensor_map_bytes];
  for (u32 i = 0; i < tensor_map_bytes; i += 16) {
    LaneAddresses one = a;
    one.at[lane] += i;
    LanePointers at;
    if (!resolve(w, s, place_space(f.other), 1u << lane, one, 16, Intent::load, at)) return false;
    std::memcpy(bytes + i, at.at[lane], 16);
  }
  const std::optional<TensorMap> map = decode_map(bytes);
  if (!map) return no(w, s, lane, "run.out_of_bounds", fmt::format("no tensor map lies at 0x{:x}", a.at[lane]));
  if (map->address % 16 != 0)
    return no(w, s, lane, "run.misaligned", fmt::format("the tensor map starts at 0x{:x}, no multiple of 16", map->address));
  if (map->rank != f.rank)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("a {}-dimensional copy with a map of {} dimensions", f.rank, map->rank));
  t.tensor = true;
  t.map = *map;
  t.bytes = tile_bytes(t.map);
  for (u32 i = 0; i < f.rank; ++i) t.at[i] = w.at<std::int32_t>(f.coordinates[i])[lane];
  // On an H200 a tile that starts elsewhere is an illegal instruction.
  if (row_bytes(t.map) % 16 != 0 || std::int64_t{t.at[0]} * element_bytes(t.map) % 16 != 0) {
    return no(w, s, lane, "run.misaligned",
              fmt::format("a tile starts at coordinate {} of dimension 0, {} bytes an element: no multiple of 16 bytes", t.at[0],
                          element_bytes(t.map)));
  }
  return true;
}

// Where the global bytes are, and how many.
bool read_global_side(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  if (f.rank != 0) return read_map(w, s, lane, f, t);
  t.address = address_of(w, f.other, lane);
  t.bytes = w.at<u32>(f.size)[lane];
  if (t.bytes == 0 || t.bytes % 16 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("a bulk copy of {} bytes: the size must be a positive multiple of 16", t.bytes));
  if (t.address % 16 != 0) {
    return no(w, s, lane, "run.misaligned",
              fmt::format("the global address 0x{:x} ({}) of a bulk copy is not aligned to 16 bytes", t.address,
                          w.block->launch->memory->describe(t.address)));
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
    sectors += (row.address + length - 1) / 32 - row.address / 32 + 1;
    bytes += length;
  }
  count_up(w, load ? Counter::global_load_requests : t.reduces ? Counter::atomic_requests : Counter::global_store_requests, 1);
  if (load || !t.reduces) count_up(w, load ? Counter::global_load_sectors : Counter::global_store_sectors, sectors);
  if (load) count_up(w, Counter::async_copy_bytes, bytes);
  return true;
}

// Calls f(offset, bytes) for the shared memory of a tile at `offset`, of rows cut to what lies inside the tensor (`clip`),
// until it says no.
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
u32 shared_span(const Transfer& t) { return t.tensor ? tile_rows(t.map) * row_pitch(t.map) : t.bytes; }

// One destination: the block's shared memory and the mbarrier at the same place in it.
bool add_landing(Warp& w, const Step& s, u32 lane, Transfer& t, SharedPlace at, SharedPlace barrier) {
  if (at.block->finished)
    return no(w, s, lane, "run.race", fmt::format("copies to block {} of the cluster, which has ended", at.block->rank));
  if (at.block != w.block) note_far(w, *at.block);
  Mbarrier* b = mbarrier_at(w, s, lane, barrier);
  if (b == nullptr) return false;
  Cluster& cluster = *w.block->cluster;
  const u32 mark = add_mark(cluster, {.slot = b->slot, .phase = phase_open, .thread = thread_of(w, lane)});
  const bool free = each_shared_run(
      t, at.offset, false, [&](u32 offset, u32 bytes) { return check_async_write(w, s, lane, *at.block, offset, bytes, mark); });
  if (!free) return false;
  t.to.push_back({at.block, at.offset, b, mark});
  return true;
}

bool add_landings(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  SharedPlace to, barrier;
  const u32 align = f.rank != 0 ? 128 : 16;
  if (!shared_place(w, s, lane, address_of(w, f.shared, lane), place_space(f.shared), shared_span(t), align, true, to))
    return false;
  if (!shared_place(w, s, lane, address_of(w, f.barrier, lane), place_space(f.barrier), 8, 8, true, barrier)) return false;
  if (to.block != barrier.block)
    return no(w, s, lane, "run.out_of_bounds",
              "the mbarrier of a bulk copy lies in another block's shared memory than its destination");
  if (f.multicast == 0) return add_landing(w, s, lane, t, to, barrier);
  const u32 mask = w.at<u16>(f.mask)[lane];
  const Cluster& cluster = *w.block->cluster;
  if (mask == 0 || (mask >> cluster.blocks.size()) != 0)
    return no(w, s, lane, "run.out_of_bounds",
              fmt::format("a multicast to blocks 0x{:x} of a cluster of {}", mask, cluster.blocks.size()));
  for (u32 rank = 0; rank < cluster.blocks.size(); ++rank) {
    if (((mask >> rank) & 1) == 0) continue;
    Block* block = cluster.blocks[rank].get();
    if (!add_landing(w, s, lane, t, {block, to.offset}, {block, barrier.offset})) return false;
  }
  return true;
}

bool add_source(Warp& w, const Step& s, u32 lane, const u32* place, u32 align, Transfer& t, u32 mark) {
  SharedPlace from;
  if (!shared_place(w, s, lane, address_of(w, place, lane), place_space(place), shared_span(t), align, false, from)) return false;
  t.from = from.block;
  t.from_offset = from.offset;
  return each_shared_run(t, t.from_offset, true,
                         [&](u32 offset, u32 bytes) { return check_async_read(w, s, lane, *t.from, offset, bytes, mark); });
}

bool prepare_store(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  if (!read_global_side(w, s, lane, f, t)) return false;
  if (t.reduces && t.tensor) t.type = t.map.type;
  if (t.reduces && !atomic_allowed(t.op, t.type))
    return no(w, s, lane, "run.unsupported", "a reduction that the type of the tensor map does not have");
  const BulkStream& stream = stream_of(w, lane);
  t.group = stream.committed;
  if (f.masked != 0) t.byte_mask = w.at<u16>(f.byte_mask)[lane];
  const u32 mark = add_mark(*w.block->cluster, {.slot = stream.slot, .phase = t.group, .thread = thread_of(w, lane)});
  return add_source(w, s, lane, f.shared, t.tensor ? 128 : 16, t, mark) && check_global(w, s, lane, t);
}

bool prepare_between(Warp& w, const Step& s, u32 lane, const BulkForm& f, Transfer& t) {
  t.bytes = w.at<u32>(f.size)[lane];
  if (t.bytes == 0 || t.bytes % 16 != 0)
    return no(w, s, lane, "run.misaligned",
              fmt::format("a bulk copy of {} bytes: the size must be a positive multiple of 16", t.bytes));
  if (!add_landings(w, s, lane, f, t)) return false;
  return add_source(w, s, lane, f.other, 16, t, t.to.front().mark);
}

// list: a BulkForm.
void bulk(Lanes& l, const Step& s) {
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
                           : read_global_side(w, s, lane, f, t) && check_global(w, s, lane, t) && add_landings(w, s, lane, f, t);
    if (!ready) return;
    start_transfer(*w.block->cluster, std::move(t));
  }
}

void commit(Lanes& l, const Step&) {
  Warp& w = static_cast<Warp&>(l);
  if (w.streams.empty()) w.streams.resize(32);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) ++w.streams[first_lane(rest)].committed;
}

// aux: groups that may stay open; flags 1: .read.
void wait_groups(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) finish_groups(w, first_lane(rest), s.aux, (s.flags & 1) != 0);
}

// st.async and red.async. list: a BulkForm, then slots of the values; count, bytes, width as of a store.
void send(Lanes& l, const Step& s) {
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
      std::memcpy(t.tile.data() + j * s.bytes, w.regs + s.list[form_words + j] + lane * s.width, s.bytes);
    SharedPlace to, barrier;
    if (!shared_place(w, s, lane, address_of(w, f.shared, lane), place_space(f.shared), t.bytes, t.bytes, true, to)) return;
    if (!shared_place(w, s, lane, address_of(w, f.barrier, lane), place_space(f.barrier), 8, 8, true, barrier)) return;
    if (to.block != barrier.block)
      return fault(w, s, lane, "run.out_of_bounds", "the mbarrier lies in another block's shared memory than the destination");
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

constexpr struct {
  const char* name;
  AtomicOp op;
} reductions[] = {{"add", AtomicOp::add}, {"min", AtomicOp::min},  {"max", AtomicOp::max}, {"inc", AtomicOp::inc},
                  {"dec", AtomicOp::dec}, {"and", AtomicOp::and_}, {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_}};

void decode_reduction(const Decoder& d, BulkForm& f) {
  f.reduces = 1;
  for (const auto& row : reductions) {
    if (!d.form().has(row.name)) continue;
    f.op = static_cast<u32>(row.op);
    if (f.rank != 0) return;  // the map tells the type
    if (d.form().types.size() != 1 || !atomic_allowed(row.op, d.form().types[0])) d.refuse("has no such reduction");
    f.type = static_cast<u32>(d.form().types[0]);
    return;
  }
  d.refuse("lacks a reduction");
}

void keep_place(Decoder& d, u32* out, const Operand& o, MemorySpace space) {
  std::vector<u32> words;
  add_place(d, words, o, space);
  std::copy(words.begin(), words.end(), out);
}

// [map, {x, y}]: the map's generic address and the slots of the coordinates.
void keep_map(Decoder& d, BulkForm& f, const Operand& o) {
  if (o.kind != OperandKind::address || o.count != f.rank)
    d.refuse(fmt::format("needs a tensor map with {} coordinates", f.rank));
  keep_place(d, f.other, o, space_generic);
  for (u32 i = 0; i < f.rank; ++i) f.coordinates[i] = d.source(d.function.operands[o.coordinates + i], 4);
}

u32 dimensions(const Form& form) {
  for (u32 i = 1; i <= 5; ++i) {
    const char name[] = {static_cast<char>('0' + i), 'd', 0};
    if (form.has(name)) return i;
  }
  return 0;
}

// Operands from `next` on that follow the places: a multicast mask, a cache policy, a byte mask.
void keep_rest(Decoder& d, BulkForm& f, std::size_t next) {
  const Form& form = d.form();
  f.multicast = form.has("multicast::cluster") ? 1 : 0;
  f.masked = form.has("cp_mask") ? 1 : 0;
  const std::size_t policy = form.has("L2::cache_hint") ? 1 : 0;
  const std::size_t wanted = next + f.multicast + policy + f.masked;
  d.want_operands(wanted, wanted);
  if (f.multicast != 0) f.mask = d.source(d.operand(next++), 2);
  if (policy != 0) d.source(d.operand(next++), 8);
  if (f.masked != 0) f.byte_mask = d.source(d.operand(next), 2);
}

bool decode_copy(Decoder& d, Step& step, bool reduces) {
  const Form& form = d.form();
  BulkForm f{};
  f.rank = form.has("tensor") ? dimensions(form) : 0;
  if (form.has("tensor") && f.rank == 0) return false;
  for (const char* lacking : {"im2col", "im2col::w", "im2col::w::128", "im2col_no_offs", "tile::gather4", "tile::scatter4",
                              "cta_group::1", "cta_group::2"}) {
    if (form.has(lacking)) return false;
  }
  const auto first = std::find_if(form.modifiers.begin(), form.modifiers.end(), [](const std::string& m) {
    return m == "global" || m == "shared::cta" || m == "shared::cluster";
  });
  if (first == form.modifiers.end()) return false;
  const std::string to = *first, from = first + 1 == form.modifiers.end() ? "" : *(first + 1);
  if (reduces) decode_reduction(d, f);
  std::size_t next = 0;
  if (form.has("prefetch")) {
    f.prefetch = 1;
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0) keep_place(d, f.other, d.operand(next++), space_global);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
  } else if (to == "global" && from == "shared::cta" && form.has("bulk_group")) {
    f.way = static_cast<u32>(Way::store);
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0) keep_place(d, f.other, d.operand(next++), space_global);
    keep_place(d, f.shared, d.operand(next++), space_shared);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
  } else if (form.has("mbarrier::complete_tx::bytes") && to != "global" &&
             (from == "global" || (from == "shared::cta" && f.rank == 0))) {
    f.way = static_cast<u32>(from == "global" ? Way::load : Way::between);
    if (reduces != (reduces && from == "shared::cta")) return false;
    keep_place(d, f.shared, d.operand(next++), space_shared);
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0) keep_place(d, f.other, d.operand(next++), from == "global" ? space_global : space_shared);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
    keep_place(d, f.barrier, d.operand(next++), space_shared);
  } else {
    return false;
  }
  keep_rest(d, f, next);
  std::vector<u32> list(form_words);
  std::memcpy(list.data(), &f, sizeof(f));
  step.list = d.list(std::move(list));
  step.run = bulk;
  return true;
}

bool decode_send(Decoder& d, Step& step, bool reduces) {
  const Form& form = d.form();
  if (!form.has("mbarrier::complete_tx::bytes") || !form.has("shared::cluster") || form.types.size() != 1) return false;
  d.want_operands(3, 3);
  d.program.async = true;
  BulkForm f{};
  if (reduces) decode_reduction(d, f);
  const u32 bytes = bytes_of(form.types[0]);
  if (bytes != 4 && bytes != 8) d.refuse("sends values of 32 or 64 bits");
  keep_place(d, f.shared, d.operand(0), space_shared);
  keep_place(d, f.barrier, d.operand(2), space_shared);
  const std::vector<Operand> values = d.parts(d.operand(1));
  if (values.size() != form.vector || (reduces && values.size() != 1)) d.refuse("the vector has the wrong number of parts");
  std::vector<u32> list(form_words);
  std::memcpy(list.data(), &f, sizeof(f));
  for (const Operand& v : values) list.push_back(d.source(v, bytes, is_float(form.types[0])));
  step.list = d.list(std::move(list));
  step.count = static_cast<u8>(values.size());
  step.bytes = step.width = static_cast<u8>(bytes);
  if (step.count * bytes > 16) d.refuse("sends more than 16 bytes");
  step.run = send;
  return true;
}

}  // namespace

bool decode_bulk(Decoder& d, Step& step) {
  const Form& form = d.form();
  const bool async = form.has("async");
  if (form.opcode == Opcode::op_st && async) return decode_send(d, step, false);
  if (form.opcode == Opcode::op_red && async) return decode_send(d, step, true);
  if (form.opcode != Opcode::op_cp || !async || !form.has("bulk")) return false;
  d.program.async = true;
  if (form.has("commit_group")) {
    d.want_operands(0, 0);
    step.run = commit;
    return true;
  }
  if (form.has("wait_group")) {
    d.want_operands(1, 1);
    if (d.operand(0).kind != OperandKind::immediate) d.refuse("needs a number");
    step.aux = static_cast<u32>(std::min<u64>(d.operand(0).bits, 1u << 20));
    step.flags = form.has("read") ? 1 : 0;
    step.run = wait_groups;
    return true;
  }
  return decode_copy(d, step, form.has("reduce"));
}

}  // namespace cupilot::ptx
