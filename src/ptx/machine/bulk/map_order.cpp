#include "ptx/machine/bulk/map_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/tensor_map.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using MapBytes = std::array<u8, tensor_map_bytes>;

constexpr u32 unit = 16;  // bytes of one access to a map

bool is_global(u64 address) {
  const u64 window = address & window_mask;
  return window != shared_window && window != local_window && window != param_window;
}

bool write_map_bytes(Warp& w, const Step& s, u32 lane, u8 space, u64 address,
                     const MapBytes& bytes) {
  for (u32 i = 0; i < tensor_map_bytes; i += unit) {
    LaneAddresses one{};
    one.at[lane] = address + i;
    LanePointers to;
    if (!resolve(w, s, space, 1u << lane, one, unit, Intent::store, to, CountBy::none))
      return false;
    std::memcpy(to.at[lane], bytes.data() + i, unit);
  }
  return true;
}

bool map_aligned(Warp& w, const Step& s, u32 lane, u64 address) {
  if (address % 64 == 0) return true;
  fault(w, s, lane, "run.misaligned",
        fmt::format("the tensor map at 0x{:x} is not aligned to 64 bytes", address));
  return false;
}

// Notes a write to a map in global memory: no release (0) or one of a content covers it.
void note_edit(Warp& w, u64 address, u64 released) {
  LaunchContext& launch = *w.block->launch;
  const std::lock_guard<std::mutex> hold(launch.lock);
  launch.map_edits[address] = {released, w.block->index};
}

// list: the place of the map, slot of the value; aux: MapField; offset: the ordinal; width: bytes
// of the value.
void run_replace(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  LaneAddresses at;
  place_addresses(w, s.list, at);
  const u8 space = place_space(s.list);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest), slot = s.list[place_words];
    const u64 value = s.width == 8 ? w.at<u64>(slot)[lane] : w.at<u32>(slot)[lane];
    MapBytes bytes{};
    if (!map_aligned(w, s, lane, at.at[lane]) ||
        !read_map_bytes(w, s, lane, space, at.at[lane], bytes))
      return;
    const std::string why =
        replace_field(bytes, static_cast<MapField>(s.aux), static_cast<u32>(s.offset), value);
    if (!why.empty())
      return fault(w, s, lane, "run.out_of_bounds",
                   fmt::format("the tensor map at 0x{:x} is given {}", at.at[lane], why));
    if (!write_map_bytes(w, s, lane, space, at.at[lane], bytes)) return;
    if (space != space_shared) note_edit(w, at.at[lane], 0);
  }
}

// list: the places in global and in shared memory. The instruction waits for all lanes and orders
// nothing that they did before.
void run_copy_fence(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  LaneAddresses to, from;
  place_addresses(w, s.list, to);
  place_addresses(w, s.list + place_words, from);
  // Which lane copies is the device's choice; the last edits maps least often, so what the lanes
  // left unordered shows.
  const u32 lane = 31u - static_cast<u32>(std::countl_zero(w.mask));
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 one = first_lane(rest);
    if (to.at[one] == to.at[lane] && from.at[one] == from.at[lane]) continue;
    return fault(w, s, one, "run.launch", "the lanes of a warp copy a tensor map as one");
  }
  MapBytes bytes{};
  if (!map_aligned(w, s, lane, to.at[lane]) || !map_aligned(w, s, lane, from.at[lane]) ||
      !read_map_bytes(w, s, lane, space_shared, from.at[lane], bytes) ||
      !write_map_bytes(w, s, lane, space_global, to.at[lane], bytes))
    return;
  warp_ordered(w);
  note_edit(w, to.at[lane], content_of(bytes));
}

// The block's edits so far are released as they stand.
void run_release(Lanes& l, const Step&) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  LaunchContext& launch = *w.block->launch;
  const std::lock_guard<std::mutex> hold(launch.lock);
  launch.map_released = true;
  for (auto& [address, edit] : launch.map_edits) {
    const Buffer* buffer = launch.memory->find(address, tensor_map_bytes);
    if (edit.block == w.block->index && buffer != nullptr)
      edit.released =
          content_of({buffer->data.get() + (address - buffer->address), tensor_map_bytes});
  }
}

// True if a release covers the content of a map. One that plain stores wrote is nobody's edit: any
// release of the launch will do.
bool is_released(LaunchContext& launch, u64 address, u64 content) {
  const std::lock_guard<std::mutex> hold(launch.lock);
  const auto edit = launch.map_edits.find(address);
  if (edit != launch.map_edits.end() && edit->second.released == content) return true;
  return edit == launch.map_edits.end() && launch.map_released;
}

// list: the place of the map.
void run_acquire(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  LaneAddresses at;
  place_addresses(w, s.list, at);
  for (u32 rest = w.mask; rest != 0;) {
    const u32 lane = first_lane(rest);
    u32 alike = 0;
    for (u32 more = rest; more != 0; more &= more - 1)
      alike |= at.at[first_lane(more)] == at.at[lane] ? 1u << first_lane(more) : 0;
    rest &= ~alike;
    if (!is_global(at.at[lane])) continue;  // nobody writes a parameter
    MapBytes bytes{};
    if (!read_map_bytes(w, s, lane, space_generic, at.at[lane], bytes)) return;
    const u64 content = content_of(bytes);
    if (!is_released(*w.block->launch, at.at[lane], content)) continue;
    std::vector<MapAcquired>& maps = w.block->maps;
    const MapAcquired made{at.at[lane], content, w.index, alike, w.clock};
    const auto same = std::find_if(maps.begin(), maps.end(), [&](const MapAcquired& one) {
      return one.address == made.address && one.warp == made.warp && one.lanes == made.lanes;
    });
    if (same == maps.end())
      maps.push_back(made);
    else
      *same = made;
  }
}

bool written_here(const LaunchContext& launch, u64 address) {
  const Buffer* buffer = launch.memory->find(address, tensor_map_bytes);
  if (buffer == nullptr || !buffer->state) return false;
  const u64 first = (address - buffer->address) / 4;
  for (u64 i = first; i < first + tensor_map_bytes / 4; ++i) {
    if ((std::atomic_ref<u32>(buffer->state[i]).load() & ~whole_word) != 0) return true;
  }
  return false;
}

bool decode_replace(Decoder& d, Step& step) {
  static constexpr const char* fields[] = {
      "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
      "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"};
  const Form& form = d.form();
  if (!form.has("tile") || !form.has("b1024")) return false;
  const auto* named = std::find_if(std::begin(fields), std::end(fields),
                                   [&](const char* field) { return form.has(field); });
  if (named == std::end(fields)) return false;
  const auto field = static_cast<MapField>(named - std::begin(fields));
  const bool side = field >= MapField::box_dim && field <= MapField::element_stride;
  const bool wide = field == MapField::global_address || field == MapField::global_stride;
  if (!form.has(wide ? "b64" : "b32")) d.refuse("has a value of another width");
  d.want_operands(side ? 3 : 2, side ? 3 : 2);
  std::vector<u32> list;
  add_place(d, list, d.operand(0),
            form.space == Space::shared   ? space_shared
            : form.space == Space::global ? space_global
                                          : space_generic);
  if (side && d.operand(1).kind != OperandKind::immediate) d.refuse("needs a number of dimension");
  step.offset = side ? static_cast<std::int64_t>(d.operand(1).bits) : 0;
  step.width = wide ? 8 : 4;
  const Operand& value = d.operand(side ? 2 : 1);
  if (field >= MapField::elemtype && value.kind != OperandKind::immediate)
    d.refuse("needs a number as the value");
  list.push_back(d.source(value, step.width));
  step.aux = static_cast<u32>(field);
  step.list = d.list(std::move(list));
  step.run = run_replace;
  d.note_shared_unit(unit);
  return true;
}

void want_whole_map(const Decoder& d, const Operand& size) {
  if (size.kind != OperandKind::immediate || size.bits != tensor_map_bytes)
    d.refuse("takes 128 bytes");
}

}  // namespace

bool read_map_bytes(Warp& w, const Step& s, u32 lane, u8 space, u64 address, std::span<u8> bytes) {
  for (u32 i = 0; i < tensor_map_bytes; i += unit) {
    LaneAddresses one{};
    one.at[lane] = address + i;
    LanePointers at;
    if (!resolve(w, s, space, 1u << lane, one, unit, Intent::load, at)) return false;
    std::memcpy(bytes.data() + i, at.at[lane], unit);
  }
  return true;
}

bool map_acquired(Warp& w, const Step& s, u32 lane, u64 address, std::span<const u8> bytes) {
  LaunchContext& launch = *w.block->launch;
  if (!is_global(address) || !launch.options->check_races || !written_here(launch, address))
    return true;
  const u64 content = content_of(bytes);
  for (const MapAcquired& one : w.block->maps) {
    if (one.address != address || one.content != content) continue;
    const bool own = one.warp == w.index && ((one.lanes >> lane) & 1) != 0;
    if (own || one.clock < w.known[one.warp]) return true;
  }
  const bool released = is_released(launch, address, content);
  fault(
      w, s, lane, "run.race",
      fmt::format("has the asynchronous proxy use the tensor map at 0x{:x} ({}), which this launch "
                  "wrote, without {} between",
                  address, launch.memory->describe(address),
                  released ? "fence.proxy.tensormap::generic.acquire"
                           : "a tensormap::generic.release (fence.proxy or cp_fenceproxy)"));
  return false;
}

bool decode_tensormap(Decoder& d, Step& step) {
  const Form& form = d.form();
  std::vector<u32> list;
  if (form.opcode == Opcode::op_tensormap && form.has("replace")) return decode_replace(d, step);
  if (form.opcode == Opcode::op_tensormap && form.has("cp_fenceproxy")) {
    if (!form.has("tensormap::generic") || !form.has("release") || !form.has("aligned"))
      return false;
    d.want_operands(3, 3);
    want_whole_map(d, d.operand(2));
    add_place(d, list, d.operand(0), space_global);
    add_place(d, list, d.operand(1), space_shared);
    step.list = d.list(std::move(list));
    step.run = run_copy_fence;
    return true;
  }
  if (form.opcode != Opcode::op_fence || !form.has("tensormap::generic")) return false;
  if (form.has("release")) {
    d.want_operands(0, 0);
    step.run = run_release;
    return true;
  }
  if (!form.has("acquire")) return false;
  d.want_operands(2, 2);
  want_whole_map(d, d.operand(1));
  add_place(d, list, d.operand(0), space_generic);
  step.list = d.list(std::move(list));
  step.run = run_acquire;
  return true;
}

}  // namespace cupilot::ptx
