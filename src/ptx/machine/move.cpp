// Moves that are no plain copy: vectors, addresses, clocks, address conversions, policies.
#include <algorithm>
#include <cstring>

#include "ptx/machine/signal.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 lane_value(const Lanes& l, u32 slot, u32 bytes, u32 lane) {
  u64 v = 0;
  std::memcpy(&v, l.regs + slot + lane * bytes, std::min(bytes, 8u));
  return v;
}
void set_lane(const Lanes& l, u32 slot, u32 bytes, u32 lane, u64 v) {
  std::memcpy(l.regs + slot + lane * bytes, &v, std::min(bytes, 8u));
}

template <class T>
void keep(const Lanes& l, u32 slot, const T* values) {
  T* to = l.at<T>(slot);
  if (l.mask == full_mask) {
    std::copy_n(values, 32, to);
  } else {
    for (int i = 0; i < 32; ++i) to[i] = ((l.mask >> i) & 1) != 0 ? values[i] : to[i];
  }
}

// No register is narrower.
u32 register_stride(u32 bytes) { return std::max(bytes, 2u); }

// mov.b64 d, {a, b}: the first part is lowest. Parts are read before anything is written.
void pack(Lanes& l, const Step& s) {
  std::uint8_t whole[32][16] = {};
  const u32 stride = register_stride(s.bytes);
  for (u32 j = 0; j < s.count; ++j) {
    for (u32 i = 0; i < 32; ++i)
      std::memcpy(whole[i] + j * s.bytes, l.regs + s.list[j] + i * stride, s.bytes);
  }
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) != 0) std::memcpy(l.regs + s.o[0] + i * s.width, whole[i], s.width);
  }
}

void unpack(Lanes& l, const Step& s) {
  std::uint8_t whole[32][16];
  for (u32 i = 0; i < 32; ++i) std::memcpy(whole[i], l.regs + s.o[0] + i * s.width, s.width);
  for (u32 j = 0; j < s.count; ++j) {
    if (s.list[j] == no_slot) continue;
    for (u32 i = 0; i < 32; ++i) {
      if (((l.mask >> i) & 1) == 0) continue;
      if (s.bytes == 1) {
        set_lane(l, s.list[j], 2, i, whole[i][j]);
      } else {
        std::memcpy(l.regs + s.list[j] + i * s.bytes, whole[i] + j * s.bytes, s.bytes);
      }
    }
  }
}

// The usual case, a register of two halves: exp of an fp64 is made of them, and so is arithmetic on
// half2.
template <class Whole, class Half>
void pack_halves(Lanes& l, const Step& s) {
  const Half *low = l.at<Half>(s.list[0]), *high = l.at<Half>(s.list[1]);
  alignas(64) Whole whole[32];
  for (int i = 0; i < 32; ++i)
    whole[i] = static_cast<Whole>(low[i] | static_cast<Whole>(high[i]) << 8 * sizeof(Half));
  keep(l, s.o[0], whole);
}

template <class Whole, class Half>
void unpack_halves(Lanes& l, const Step& s) {
  const Whole* whole = l.at<Whole>(s.o[0]);
  alignas(64) Half low[32], high[32];
  for (int i = 0; i < 32; ++i) low[i] = static_cast<Half>(whole[i]);
  for (int i = 0; i < 32; ++i) high[i] = static_cast<Half>(whole[i] >> 8 * sizeof(Half));
  if (s.list[0] != no_slot) keep(l, s.list[0], low);
  if (s.list[1] != no_slot) keep(l, s.list[1], high);
}

Handler move_of_parts(bool packing, u32 count, u32 bytes) {
  if (count == 2 && bytes == 4) return packing ? pack_halves<u64, u32> : unpack_halves<u64, u32>;
  if (count == 2 && bytes == 2) return packing ? pack_halves<u32, u16> : unpack_halves<u32, u16>;
  return packing ? pack : unpack;
}

void copy_wide(Lanes& l, const Step& s) {
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) != 0)
      std::memmove(l.regs + s.o[0] + i * 16, l.regs + s.o[1] + i * 16, 16);
  }
}

void read_clock(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  u64 v = w.block->clock + w.block->worker->instructions;
  const auto special = static_cast<Special>(s.aux);
  if (special == Special::clock_hi || special == Special::globaltimer_hi) v >>= 32;
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) != 0) set_lane(l, s.o[0], s.width, i, v);
  }
}

// The address of a local variable, which depends on the frame; aux: as a generic address.
void local_address(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const u64 v = static_cast<u64>(s.offset) + w.frames[w.depth].local_at;
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) != 0) set_lane(l, s.o[0], s.width, i, v);
  }
}

void set_predicate(Lanes& l, const Step& s) {
  u32& p = l.predicate(s.o[0]);
  p = s.aux != 0 ? p | l.mask : p & ~l.mask;
}

// Writes 1 if the launch or the kernel asked for clusters; the clusters of one block that every
// launch has do not count.
void ask_cluster(Lanes& l, const Step& s) {
  const Dim3& cluster = static_cast<Warp&>(l).block->launch->cluster;
  u32& p = l.predicate(s.o[0]);
  p = cluster.x * cluster.y * cluster.z > 1 ? p | l.mask : p & ~l.mask;
}

// cvta: adds or removes the window of a space.
void convert_address(Lanes& l, const Step& s) {
  if (s.aux == 0 && l.mask == full_mask) {
    std::memmove(l.regs + s.o[0], l.regs + s.o[1], std::size_t{32} * s.width);
    return;
  }
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) == 0) continue;
    u64 v = lane_value(l, s.o[1], s.width, i);
    if (s.aux == 1) v = (v & ~window_mask) | static_cast<u64>(s.offset);
    if (s.aux == 2) v &= ~window_mask;
    set_lane(l, s.o[0], s.width, i, v);
  }
}

// aux: only the block's own shared memory counts, not what mapa names in other blocks.
void is_space(Lanes& l, const Step& s) {
  u32 bits = 0;
  const u64 own = static_cast<Warp&>(l).block->rank + 1;
  for (u32 i = 0; i < 32; ++i) {
    const u64 address = lane_value(l, s.o[1], s.width, i), window = address & window_mask,
              rank = (address >> rank_shift) & 0xff;
    const bool special =
        window == shared_window || window == local_window || window == param_window;
    const bool mine = s.aux == 0 || rank == 0 || rank == own;
    const bool yes = s.offset != 0 ? window == static_cast<u64>(s.offset) && mine : !special;
    bits |= static_cast<u32>(yes) << i;
  }
  u32& p = l.predicate(s.o[0]);
  p = (p & ~l.mask) | (bits & l.mask);
}

void nothing(Lanes&, const Step&) {}

void proxy_fence(Lanes& l, const Step&) {
  if (l.mask != 0) fence_proxy(static_cast<Warp&>(l));
}

void mbarrier_fence(Lanes& l, const Step&) {
  if (l.mask != 0) fence_mbarriers(static_cast<Warp&>(l));
}

bool decode_predicate_move(Decoder& d, Step& step) {
  const Operand &to = d.operand(0), &from = d.operand(1);
  const bool explicit_cluster = from.kind == OperandKind::special &&
                                static_cast<Special>(from.index) == Special::is_explicit_cluster;
  if (from.kind != OperandKind::immediate && !explicit_cluster) return false;
  step.o[0] = d.target_predicate(to);
  if (step.o[0] == 0) d.refuse("the result cannot be left out");
  step.aux = from.bits != 0 ? 1 : 0;
  step.run = explicit_cluster ? ask_cluster : set_predicate;
  return true;
}

// A vector of registers into a register of `bytes`, or back.
bool decode_parts(Decoder& d, Step& step, u32 bytes) {
  const Operand &to = d.operand(0), &from = d.operand(1);
  const bool packing = from.kind == OperandKind::vector;
  if (packing && to.kind == OperandKind::vector) return false;
  const std::vector<Operand> parts = d.parts(packing ? from : to);
  if (parts.empty() || parts.size() > 8 || bytes % parts.size() != 0)
    d.refuse("the vector's parts do not fill the register");
  step.bytes = static_cast<u8>(bytes / parts.size());
  step.width = static_cast<u8>(bytes);
  step.count = static_cast<u8>(parts.size());
  std::vector<u32> list;
  for (const Operand& p : parts)
    list.push_back(packing ? d.source(p, register_stride(step.bytes))
                           : d.target(p, register_stride(step.bytes)));
  step.list = d.list(std::move(list));
  step.o[0] = packing ? d.target(to, bytes) : d.source(from, bytes);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  step.run = move_of_parts(packing, step.count, step.bytes);
  return true;
}

bool decode_mov(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(2, 2);
  if (form.types.size() != 1) return false;
  const Type type = form.types[0];
  const u32 bytes = bytes_of(type);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (type == Type::pred) return decode_predicate_move(d, step);
  if (bytes < 2) return false;
  if (to.kind == OperandKind::vector || from.kind == OperandKind::vector)
    return decode_parts(d, step, bytes);
  step.o[0] = d.target(to, bytes);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  step.width = static_cast<u8>(bytes);
  if (bytes == 16) {
    step.o[1] = d.source(from, 16);
    step.run = copy_wide;
    return true;
  }
  if (from.kind == OperandKind::special) {
    const auto special = static_cast<Special>(from.index);
    if (special >= Special::clock && special <= Special::globaltimer_hi) {
      step.aux = static_cast<u32>(special);
      step.run = read_clock;
      return true;
    }
  }
  if (from.kind == OperandKind::formal) {
    const Variable& v = d.function.variables[from.index];
    const bool parameter =
        d.function.is_entry && v.space == Space::param && from.index < d.function.parameter_count;
    if (parameter) {
      step.o[1] = d.constant(param_window + d.program.layout.offsets[from.index], bytes);
      step.run = convert_address;  // aux 0: a copy
      return true;
    }
    step.offset = d.code.variable_offset[from.index];
    step.run = local_address;
    return true;
  }
  if (from.kind == OperandKind::function) d.refuse("function pointers are not supported");
  if (bytes == 2 && from.kind != OperandKind::special) return false;
  step.o[1] = d.source(from, bytes);
  step.run = convert_address;
  return true;
}

bool decode_cvta(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(2, 2);
  if (form.types.size() != 1) return false;
  const u32 bytes = bytes_of(form.types[0]);
  if (bytes != 8) d.refuse("only 64-bit addresses are supported");
  step.width = 8;
  step.o[0] = d.target(d.operand(0), bytes);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  const bool from_generic = form.has("to");
  const Operand& from = d.operand(1);
  if (from.kind == OperandKind::formal) {
    const bool parameter = d.function.is_entry && from.index < d.function.parameter_count;
    if (!parameter) d.refuse("the address of a parameter of a function");
    step.o[1] = d.constant(param_window + d.program.layout.offsets[from.index], bytes);
  } else {
    step.o[1] = d.source(from, bytes);
  }
  if (form.space == Space::shared || form.space == Space::local) {
    step.aux = from_generic ? 2 : 1;
    step.offset =
        static_cast<std::int64_t>(form.space == Space::shared ? shared_window : local_window);
  }
  step.run = convert_address;
  return true;
}

}  // namespace

bool decode_move(Decoder& d, Step& step) {
  const Form& form = d.form();
  switch (form.opcode) {
    case Opcode::op_mov:
      return decode_mov(d, step);
    case Opcode::op_cvta:
      return decode_cvta(d, step);
    case Opcode::op_isspacep:
      d.want_operands(2, 2);
      step.o[0] = d.target_predicate(d.operand(0));
      if (step.o[0] == 0) d.refuse("the result cannot be left out");
      step.width = 8;
      step.o[1] = d.source(d.operand(1), 8);
      step.offset = static_cast<std::int64_t>(form.space == Space::shared  ? shared_window
                                              : form.space == Space::local ? local_window
                                              : form.space == Space::param ? param_window
                                                                           : 0);
      if (form.space == Space::constant) step.offset = 1;  // no address is of it
      step.aux = form.space == Space::shared && !form.has("shared::cluster") ? 1 : 0;
      step.run = is_space;
      return true;
    case Opcode::op_createpolicy:
      // A policy only steers caches; its value is opaque.
      if (d.operand_count() < 1) return false;
      step.o[0] = d.target(d.operand(0), 8);
      if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
      step.o[1] = d.constant(0, 8);
      step.width = 8;
      step.run = convert_address;
      return true;
    case Opcode::op_fence:
      step.run =
          form.has("proxy") && form.has("async") && !form.has("global") ? proxy_fence : nothing;
      if (form.has("mbarrier_init")) {
        step.run = mbarrier_fence;
        return form.has("release") && form.has("cluster");
      }
      if (!form.has("proxy")) return decode_fence(d, step);
      return true;
    case Opcode::op_membar:
      return form.has("proxy") ? (step.run = nothing, true) : decode_fence(d, step);
    case Opcode::op_nanosleep:
    case Opcode::op_griddepcontrol:
    case Opcode::op_pmevent:
      step.run = nothing;
      return true;
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
