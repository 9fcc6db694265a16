// atom and red in global, shared and generic memory: lanes act one after the other, in an order
// drawn anew for each instruction.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/mixed.hpp"
#include "ptx/machine/older_value.hpp"
#include "ptx/machine/signal.hpp"

namespace cupilot::ptx {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

double half_value(u16 h, bool bf16) {
  if (bf16) return static_cast<double>(std::bit_cast<float>(static_cast<u32>(h) << 16));
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  double m = exponent == 0    ? std::ldexp(fraction, -24)
             : exponent == 31 ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                              : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -m : m;
}

u16 half_bits(double x, bool bf16) {
  if (std::isnan(x)) return 0x7fff;
  const u16 sign = std::signbit(x) ? 0x8000 : 0;
  const double m = std::fabs(x);
  const int fraction = bf16 ? 7 : 10, least = bf16 ? -126 : -14, bias = bf16 ? 127 : 15;
  if (m == 0) return sign;
  const u16 infinity = static_cast<u16>((bf16 ? 255 : 31) << fraction);
  if (std::isinf(m)) return sign | infinity;
  int exponent = std::max(std::ilogb(m), least);
  double units = std::nearbyint(std::ldexp(m, fraction - exponent));
  if (units >= std::ldexp(2.0, fraction)) {
    units /= 2;
    ++exponent;
  }
  if (exponent > bias) return sign | infinity;
  const auto whole = static_cast<u32>(units);
  const u32 bits = whole < (1u << fraction) ? whole
                                            : (static_cast<u32>(exponent + bias) << fraction) |
                                                  (whole & ((1u << fraction) - 1));
  return static_cast<u16>(sign | bits);
}

namespace {

template <class T>
T integer_op(AtomicOp op, T old, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case AtomicOp::add:
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
    case AtomicOp::min:
      return std::min(old, b);
    case AtomicOp::max:
      return std::max(old, b);
    case AtomicOp::inc:
      return static_cast<U>(old) >= static_cast<U>(b) ? T{0} : static_cast<T>(old + 1);
    case AtomicOp::dec:
      return old == 0 || static_cast<U>(old) > static_cast<U>(b) ? b : static_cast<T>(old - 1);
    case AtomicOp::and_:
      return old & b;
    case AtomicOp::or_:
      return old | b;
    case AtomicOp::xor_:
      return old ^ b;
    case AtomicOp::exch:
      return b;
    default:
      return old == b ? c : old;
  }
}

u16 half_op(AtomicOp op, u16 old, u16 b, bool bf16) {
  const double x = half_value(old, bf16), y = half_value(b, bf16);
  if (op == AtomicOp::add) return half_bits(x + y, bf16);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return old;
  return op == AtomicOp::min ? (y < x ? b : old) : (y > x ? b : old);
}

}  // namespace

u64 apply_atomic(AtomicOp op, Type type, u64 old, u64 b, u64 c) {
  switch (type) {
    case Type::f32: {
      float x = std::bit_cast<float>(static_cast<u32>(old)),
            y = std::bit_cast<float>(static_cast<u32>(b));
      // The device flushes subnormal sums of atomic fp32 additions in memory to nothing of note;
      // IEEE addition is used.
      const float r = x + y;
      return r != r ? 0x7fffffffu : std::bit_cast<u32>(r);
    }
    case Type::f64:
      return std::bit_cast<u64>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case Type::f16:
      return half_op(op, static_cast<u16>(old), static_cast<u16>(b), false);
    case Type::bf16:
      return half_op(op, static_cast<u16>(old), static_cast<u16>(b), true);
    case Type::f16x2:
    case Type::bf16x2: {
      const bool bf16 = type == Type::bf16x2;
      const u32 low = half_op(op, static_cast<u16>(old), static_cast<u16>(b), bf16);
      const u32 high = half_op(op, static_cast<u16>(old >> 16), static_cast<u16>(b >> 16), bf16);
      return low | (high << 16);
    }
    case Type::s32:
      return static_cast<u32>(integer_op<std::int32_t>(op, static_cast<std::int32_t>(old),
                                                       static_cast<std::int32_t>(b),
                                                       static_cast<std::int32_t>(c)));
    case Type::s64:
      return static_cast<u64>(integer_op<std::int64_t>(op, static_cast<std::int64_t>(old),
                                                       static_cast<std::int64_t>(b),
                                                       static_cast<std::int64_t>(c)));
    case Type::b16:
    case Type::u16:
      return integer_op<u16>(op, static_cast<u16>(old), static_cast<u16>(b), static_cast<u16>(c));
    case Type::u64:
    case Type::b64:
      return integer_op<u64>(op, old, b, c);
    default:
      return integer_op<u32>(op, static_cast<u32>(old), static_cast<u32>(b), static_cast<u32>(c));
  }
}

namespace {

u64 lane_bits(const Warp& w, u32 slot, u32 bytes, u32 lane) {
  u64 v = 0;
  std::memcpy(&v, w.regs + slot + lane * bytes, bytes);
  return v;
}

constexpr u32 counts_lanes = 0x200, reduces_first = 0x400;  // bits of Step::aux

// Adding one in shared memory counts the lanes of a word at once; a 32-bit reduction by a warp on
// one address is made in registers first, so that one lane is left.
CountBy tally_of(const Warp& w, const Step& s, const LaneAddresses& a) {
  if ((s.aux & counts_lanes) != 0) return CountBy::together;
  if ((s.aux & reduces_first) == 0 || w.mask == 0) return CountBy::lanes;
  const u64 first = a.at[first_lane(w.mask)];
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    if (a.at[first_lane(rest)] != first) return CountBy::lanes;
  }
  return CountBy::together;
}

// PTX leaves the order of a warp's lanes open. An odd factor and a start reach all 32 lanes.
template <class Act>
void each_lane(Warp& w, Act act) {
  if (w.drawn == 0 || std::has_single_bit(w.mask)) {
    for (u32 rest = w.mask; rest != 0; rest &= rest - 1) act(first_lane(rest));
    return;
  }
  w.drawn = mixed(w.drawn) | 1;
  const auto factor = static_cast<u32>(w.drawn >> 20) | 1, start = static_cast<u32>(w.drawn >> 40);
  for (u32 i = 0; i < 32; ++i) {
    const u32 lane = (i * factor + start) % 32;
    if (((w.mask >> lane) & 1) != 0) act(lane);
  }
}

// A compare-and-swap that finds another value than it wants writes nothing.
bool writes_any(const Warp& w, const Step& s, const LanePointers& p) {
  if (static_cast<AtomicOp>(s.aux & 0xff) != AtomicOp::cas) return true;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    for (u32 j = 0; j < s.count; ++j) {
      const u32 wanted = s.list[s.count + j] + lane * s.width;
      if (std::memcmp(p.at[lane] + j * s.bytes, w.regs + wanted, s.bytes) == 0) return true;
    }
  }
  return false;
}

void keep_value(Warp& w, const Step& s, const LaneAddresses& a, const LanePointers& p) {
  if (!sees_blocks(w, s)) return;
  const u32 bytes = s.count * s.bytes;
  if (writes_any(w, s, p)) return keep_older(w, s, a, p, bytes);
  note_seen(w, a, bytes);
}

// o[0] result (aux bit 8: none), o[1] address; list: count results, count b, count c.
void atomic(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const auto op = static_cast<AtomicOp>(s.aux & 0xff);
  const bool returns = (s.aux & 0x100) != 0;
  const auto type = static_cast<Type>((s.aux >> 16) & 0xff);
  LaneAddresses a;
  LanePointers p;
  lane_addresses(w, s, s.o[1], a);
  LaunchContext& launch = *w.block->launch;
  const Spin hold(launch.atomics, launch.parallel);
  const bool ordering = orders(w, s, Intent::atomic);
  if (ordering) before_strong(w, s);
  if (!resolve(w, s, s.flags & space_mask, w.mask, a, s.bytes * s.count, Intent::atomic, p,
               tally_of(w, s, a)))
    return;
  keep_value(w, s, a, p);
  if (ordering) after_strong(w, s, a, s.bytes * s.count, Intent::atomic);
  if (returns && launch.independent.load(std::memory_order_relaxed)) note_returning_atomic(w, s, a);
  bool asks = true;  // no lane changes what it finds
  each_lane(w, [&](u32 lane) {
    for (u32 j = 0; j < s.count; ++j) {
      u64 old = 0;
      std::memcpy(&old, p.at[lane] + j * s.bytes, s.bytes);
      const u64 b = lane_bits(w, s.list[s.count + j], s.width, lane);
      const u64 c = op == AtomicOp::cas ? lane_bits(w, s.list[2 * s.count + j], s.width, lane) : 0;
      const u64 fresh = apply_atomic(op, type, old, b, c);
      std::memcpy(p.at[lane] + j * s.bytes, &fresh, s.bytes);
      asks = asks && std::memcmp(&fresh, &old, s.bytes) == 0;
      if (returns && s.list[j] != no_slot)
        std::memcpy(w.regs + s.list[j] + lane * s.width, &old, s.width);
    }
  });
  if (!asks) ++w.block->worker->changed;
  if (op >= AtomicOp::exch || (returns && asks)) give_way_when_asking(w, s);
}

// exch and cas of 16 bytes; operands as above.
void atomic_wide(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const bool cas = static_cast<AtomicOp>(s.aux & 0xff) == AtomicOp::cas,
             returns = (s.aux & 0x100) != 0;
  LaneAddresses a;
  LanePointers p;
  lane_addresses(w, s, s.o[1], a);
  LaunchContext& launch = *w.block->launch;
  const Spin hold(launch.atomics, launch.parallel);
  const bool ordering = orders(w, s, Intent::atomic);
  if (ordering) before_strong(w, s);
  if (!resolve(w, s, s.flags & space_mask, w.mask, a, 16, Intent::atomic, p)) return;
  keep_value(w, s, a, p);
  if (ordering) after_strong(w, s, a, 16, Intent::atomic);
  if (returns && launch.independent.load(std::memory_order_relaxed)) note_returning_atomic(w, s, a);
  each_lane(w, [&](u32 lane) {
    std::uint8_t old[16];
    std::memcpy(old, p.at[lane], 16);
    const std::uint8_t* b = w.regs + s.list[1] + lane * 16;
    if (!cas) {
      std::memcpy(p.at[lane], b, 16);
    } else if (std::memcmp(old, b, 16) == 0) {
      std::memcpy(p.at[lane], w.regs + s.list[2] + lane * 16, 16);
    }
    if (returns) std::memcpy(w.regs + s.list[0] + lane * 16, old, 16);
  });
  ++w.block->worker->changed;
}

struct OpRow {
  const char* name;
  AtomicOp op;
};
constexpr OpRow op_rows[] = {{"add", AtomicOp::add},   {"min", AtomicOp::min},
                             {"max", AtomicOp::max},   {"inc", AtomicOp::inc},
                             {"dec", AtomicOp::dec},   {"and", AtomicOp::and_},
                             {"or", AtomicOp::or_},    {"xor", AtomicOp::xor_},
                             {"exch", AtomicOp::exch}, {"cas", AtomicOp::cas}};

}  // namespace

bool atomic_allowed(AtomicOp op, Type type) {
  switch (type) {
    case Type::f32:
    case Type::f64:
      return op == AtomicOp::add;
    case Type::f16:
    case Type::bf16:
    case Type::f16x2:
    case Type::bf16x2:
      return op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max;
    case Type::b16:
    case Type::u16:
      return op == AtomicOp::cas;
    case Type::b32:
    case Type::b64:
      return op >= AtomicOp::and_;
    case Type::b128:
      return op >= AtomicOp::exch;
    case Type::u32:
    case Type::s32:
    case Type::u64:
    case Type::s64:
      return true;
    default:
      return false;
  }
}

bool decode_atomic(Decoder& d, Step& step) {
  const Form& form = d.form();
  const bool returns = form.opcode == Opcode::op_atom;
  if (!returns && form.opcode != Opcode::op_red) return false;
  if (form.has("async")) return false;
  const OpRow* found = nullptr;
  for (const OpRow& row : op_rows) {
    if (form.has(row.name)) found = &row;
  }
  if (found == nullptr || form.types.empty()) return false;
  const Type type = form.types.back();
  if (!atomic_allowed(found->op, type)) return false;
  const bool cas = found->op == AtomicOp::cas;
  const bool policy = form.has("L2::cache_hint");
  const std::size_t wanted = (returns ? 3u : 2u) + (cas ? 1u : 0u) + (policy ? 1u : 0u);
  d.want_operands(wanted, wanted);
  step.bytes = static_cast<std::uint8_t>(bytes_of(type));
  step.width = static_cast<std::uint8_t>(std::max<u32>(2, bytes_of(type)));
  step.count = form.vector;
  std::size_t next = 0;
  std::vector<u32> list;
  const auto take = [&](bool target) {
    const std::vector<Operand> parts = d.parts(d.operand(next++));
    if (parts.size() != step.count) d.refuse("the vector has the wrong number of parts");
    for (const Operand& o : parts)
      list.push_back(target ? d.target(o, step.width) : d.source(o, step.width, is_float(type)));
  };
  bool used = false;
  if (returns) {
    take(true);
    used = std::any_of(list.begin(), list.end(), [](u32 slot) { return slot != no_slot; });
  } else {
    list.assign(step.count, no_slot);
  }
  d.address(step, d.operand(next++), d.memory_space(), 1);
  const Operand& by = d.operand(next);
  const bool one = by.kind == OperandKind::immediate && by.bits == 1;
  take(false);
  if (cas) take(false);
  step.list = d.list(std::move(list));
  step.aux = static_cast<u32>(found->op) | (used ? 0x100u : 0u) | order_bits(d) |
             (static_cast<u32>(type) << 16);
  const bool word = bytes_of(type) == 4 && !is_float(type) && step.count == 1;
  const bool in_shared = d.memory_space() == space_shared;
  if (word && in_shared && one && found->op == AtomicOp::add) step.aux |= counts_lanes;
  if (word && found->op != AtomicOp::inc && found->op != AtomicOp::dec &&
      found->op < AtomicOp::exch)
    step.aux |= reduces_first;
  d.note_shared_unit(step.bytes);
  d.note_written_unit(step.bytes);
  if (step.count * step.bytes > 16) d.refuse("moves more than 16 bytes a thread");
  step.run = type == Type::b128 ? atomic_wide : atomic;
  return true;
}

}  // namespace cupilot::ptx
