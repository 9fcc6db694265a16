// ld and st in all spaces, and prefetches.
#include <cstring>

#include "ptx/machine/older_value.hpp"
#include "ptx/machine/signal.hpp"

namespace cupilot::ptx {
namespace {

template <bool Signed, class R, class E>
R widened(E v) {
  if constexpr (Signed) return static_cast<R>(static_cast<std::make_signed_t<E>>(v));
  return static_cast<R>(v);
}

template <class E, class R, bool Signed>
void move_in(Warp& w, const Step& s, const LanePointers& p) {
  for (std::uint32_t j = 0; j < s.count; ++j) {
    if (s.list[j] == no_slot) continue;
    R* d = w.at<R>(s.list[j]);
    if (w.mask == full_mask) {
      for (int i = 0; i < 32; ++i) {
        E v;
        std::memcpy(&v, p.at[i] + j * sizeof(E), sizeof(E));
        d[i] = widened<Signed, R>(v);
      }
      continue;
    }
    for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_lane(rest);
      E v;
      std::memcpy(&v, p.at[i] + j * sizeof(E), sizeof(E));
      d[i] = widened<Signed, R>(v);
    }
  }
}

template <class E, class R>
void move_out(Warp& w, const Step& s, const LanePointers& p) {
  for (std::uint32_t j = 0; j < s.count; ++j) {
    const R* d = w.at<R>(s.list[j]);
    for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_lane(rest);
      const E v = static_cast<E>(d[i]);
      std::memcpy(p.at[i] + j * sizeof(E), &v, sizeof(E));
    }
  }
}

using U128 = unsigned __int128;

template <class E, class R>
void load(Lanes& lanes, const Step& s) {
  Warp& w = static_cast<Warp&>(lanes);
  LaneAddresses a;
  LanePointers p;
  lane_addresses(w, s, s.o[0], a);
  const std::uint32_t bytes = s.count * static_cast<std::uint32_t>(sizeof(E));
  if (!resolve(w, s, s.flags & space_mask, w.mask, a, bytes, Intent::load, p)) return;
  const bool strong = (s.flags & flag_strong) != 0;
  const std::uint32_t older = strong && sees_blocks(w, s) ? take_older(w, s, a, bytes, p) : 0;
  if (orders(w, s, Intent::load)) after_strong(w, s, a, bytes, Intent::load, older);
  if (strong) give_way_when_asking(w, s);
  if constexpr (sizeof(E) < sizeof(R) && sizeof(E) < 8) {
    if ((s.flags & flag_signed) != 0) return move_in<E, R, true>(w, s, p);
  }
  move_in<E, R, false>(w, s, p);
}

// Lanes that store to one address at once must agree, or the outcome is chance.
template <class E, class R>
bool agree(Warp& w, const Step& s, const LaneAddresses& a) {
  for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t i = first_lane(rest);
    for (std::uint32_t before = w.mask & ((1u << i) - 1); before != 0; before &= before - 1) {
      const std::uint32_t k = first_lane(before);
      if (a.at[k] != a.at[i]) continue;
      for (std::uint32_t j = 0; j < s.count; ++j) {
        const R* d = w.at<R>(s.list[j]);
        if (static_cast<E>(d[k]) == static_cast<E>(d[i])) continue;
        fault(w, s, i, "run.race",
              "two threads of a warp store different values to one address at once");
        return false;
      }
      break;
    }
  }
  return true;
}

template <class E, class R>
void store(Lanes& lanes, const Step& s) {
  Warp& w = static_cast<Warp&>(lanes);
  LaneAddresses a;
  LanePointers p;
  lane_addresses(w, s, s.o[0], a);
  const std::uint32_t bytes = s.count * static_cast<std::uint32_t>(sizeof(E));
  const bool ordering = orders(w, s, Intent::store);
  if (ordering) before_strong(w, s);
  w.storing = true;
  const bool resolved = resolve(w, s, s.flags & space_mask, w.mask, a, bytes, Intent::store, p);
  w.storing = false;
  if (!resolved) return;
  if ((s.flags & flag_strong) != 0 && sees_blocks(w, s)) keep_older(w, s, a, p, bytes);
  if (ordering) after_strong(w, s, a, bytes, Intent::store);
  const std::uint8_t space = s.flags & space_mask;
  if (space == space_shared || space == space_global || space == space_generic) {
    const PatternMemo* memos = &w.block->worker->memos[2 * (w.code->first_count + s.instruction)];
    const auto repeats = [&](const PatternMemo& memo) {
      return memo.launch == w.block->program->launches && (memo.mask & w.mask) != 0 &&
             memo.leaders != memo.mask;
    };
    const bool doubled = (space != space_shared && repeats(memos[0])) ||
                         (space != space_global && repeats(memos[1]));
    if (doubled && w.block->launch->options->check_races && !agree<E, R>(w, s, a)) return;
  }
  move_out<E, R>(w, s, p);
  if (!w.rivals.empty()) settle_rivals(w, s);
}

struct MoveRow {
  std::uint32_t element, width;
  Handler load, store;
};
#define MOVE(E, R) \
  { sizeof(E), sizeof(R), load<E, R>, store<E, R> }
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr MoveRow move_rows[] = {MOVE(u8, u16),  MOVE(u8, u32),   MOVE(u8, u64),  MOVE(u16, u16),
                                 MOVE(u16, u32), MOVE(u16, u64),  MOVE(u32, u32), MOVE(u32, u64),
                                 MOVE(u64, u64), MOVE(U128, U128)};

// A kernel parameter at a known place: the same for every lane.
template <class E, class R>
void load_parameter(Lanes& lanes, const Step& s) {
  Warp& w = static_cast<Warp&>(lanes);
  const std::vector<u8>& block = w.block->launch->launch->parameters;
  const u8* at = block.data() + (static_cast<u64>(s.offset) - param_window);
  for (u32 j = 0; j < s.count; ++j) {
    if (s.list[j] == no_slot) continue;
    E v;
    std::memcpy(&v, at + j * sizeof(E), sizeof(E));
    R wide = static_cast<R>(v);
    if constexpr (sizeof(E) < sizeof(R) && sizeof(E) < 8) {
      if ((s.flags & flag_signed) != 0)
        wide = static_cast<R>(static_cast<std::make_signed_t<E>>(v));
    }
    R* d = w.at<R>(s.list[j]);
    for (u32 i = 0; i < 32; ++i) d[i] = ((w.mask >> i) & 1) != 0 ? wide : d[i];
  }
}
struct ParameterRow {
  u32 element, width;
  Handler load;
};
#define PARAMETER(E, R) \
  { sizeof(E), sizeof(R), load_parameter<E, R> }
constexpr ParameterRow parameter_rows[] = {
    PARAMETER(u8, u16),  PARAMETER(u8, u32),   PARAMETER(u8, u64),  PARAMETER(u16, u16),
    PARAMETER(u16, u32), PARAMETER(u16, u64),  PARAMETER(u32, u32), PARAMETER(u32, u64),
    PARAMETER(u64, u64), PARAMETER(U128, U128)};

void nothing(Lanes&, const Step&) {}

bool decode_access(Decoder& d, Step& step, bool is_load) {
  const Form& form = d.form();
  // A cache policy may follow.
  const bool policy = form.has("L2::cache_hint");
  d.want_operands(policy ? 3 : 2, policy ? 3 : 2);
  if (form.types.empty()) d.refuse("lacks a type");
  const Type type = form.types.back();
  const u32 bytes = bytes_of(type);
  if (bytes == 0) d.refuse("has a type that memory cannot hold");
  for (const char* strong : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (form.has(strong)) step.flags |= flag_strong;
  }
  step.aux = order_bits(d);
  if (is_load && form.has("nc")) step.flags |= flag_read_only;
  if (is_signed(type)) step.flags |= flag_signed;
  const std::vector<Operand> values = d.parts(d.operand(is_load ? 0 : 1));
  if (values.size() != form.vector) d.refuse("the vector has the wrong number of parts");
  u32 width = 0;
  for (const Operand& v : values) width = std::max(width, d.width_of(v));
  if (width == 0) width = std::max(2u, bytes);
  std::vector<u32> list;
  for (const Operand& v : values)
    list.push_back(is_load ? d.target(v, width) : d.source(v, width, is_float(type)));
  step.list = d.list(std::move(list));
  step.count = static_cast<u8>(values.size());
  d.address(step, d.operand(is_load ? 1 : 0), d.memory_space(), 0);
  d.note_shared_unit(bytes);
  if (!is_load) d.note_written_unit(bytes);
  if (step.count * bytes > 32) d.refuse("moves more than 32 bytes a thread");
  if (is_load && (step.flags & space_mask) == space_param &&
      d.operand(1).base == OperandKind::formal) {
    const u64 at = static_cast<u64>(step.offset) - param_window, all = d.program.layout.bytes;
    if (at % bytes != 0 || at > all ||
        u64{step.count} * bytes > all - at)  // before them: `at` is huge
      d.refuse("reads outside the kernel's parameters");
    for (const ParameterRow& row : parameter_rows) {
      if (row.element == bytes && row.width == width) step.run = row.load;
    }
  } else {
    for (const MoveRow& row : move_rows) {
      if (row.element == bytes && row.width == width) step.run = is_load ? row.load : row.store;
    }
  }
  if (step.run == nullptr) d.refuse("the registers are too narrow");
  return true;
}

}  // namespace

bool decode_memory(Decoder& d, Step& step) {
  switch (d.form().opcode) {
    case Opcode::op_ld:
    case Opcode::op_ldu:
      return decode_access(d, step, true);
    case Opcode::op_st:
      return !d.form().has("async") && decode_access(d, step, false);
    case Opcode::op_prefetch:
    case Opcode::op_prefetchu:
    case Opcode::op_applypriority:
      // Hints: an address outside every buffer is no fault on the device either.
      step.run = nothing;
      return true;
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
