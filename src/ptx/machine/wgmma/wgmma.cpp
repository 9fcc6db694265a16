// wgmma: a product of 64 x K by K x N spread over four warps, each of which computes its 16 rows
// here. The sums appear when they are issued or (late mode) when the first warp waits for their
// group, which ends the reads of all four. Registers are in use until their own warp waits.
#include "ptx/machine/wgmma/wgmma.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/decode.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t most_groups = 4096;

// The fields of a form, as words of Step::list; the registers of D and A follow.
struct GroupForm {
  u32 n, k;          // of the product, in elements
  u32 element_bits;  // single bits count as words of 32
  u32 sparse, metadata,
      first_lane;         // A holds half of k; slot of the metadata, its first lane in every quad
  u32 sums, a_registers;  // registers; a_registers 0: A in shared memory
  u32 packed;             // two fp16 sums a register
  u32 a, b;               // slots of the descriptors
  u32 scale_d, scale_inverted;
  u32 negate_a, negate_b;  // bits to flip in every element
  u32 transpose_a, transpose_b;
  u32 product;  // Program::products
};
constexpr std::size_t form_words = sizeof(GroupForm) / 4;

GroupForm form_of(const Step& s) {
  GroupForm f;
  std::memcpy(&f, s.list, sizeof(f));
  return f;
}
const u32* sum_slots(const Step& s) { return s.list + form_words; }

GroupMatrix matrix_a(const GroupForm& f, u64 descriptor) {
  return {descriptor, f.transpose_a != 0};
}
GroupMatrix matrix_b(const GroupForm& f, u64 descriptor) {
  return {descriptor, f.transpose_b != 0, f.sparse != 0 ? 2 * k_bytes : k_bytes};
}

// A from registers: K x 16, as fragments of mma.sync hold it.
void gather_registers(const Warp& w, const GroupForm& f, const u32* slots, u32* out) {
  const u32 per = 32 / f.element_bits;
  for (u32 r = 0; r < f.a_registers; ++r) {
    const u32* v = w.at<u32>(slots[r]);
    for (u32 lane = 0; lane < 32; ++lane) {
      for (u32 e = 0; e < per; ++e) {
        const u32 k = (lane % 4 + 4 * (r >> 1)) * per + e,
                  raw = per == 1 ? v[lane]
                                 : (v[lane] >> (f.element_bits * e)) & ((1u << f.element_bits) - 1);
        out[k * 16 + lane / 4 + 8 * (r & 1)] = raw ^ f.negate_a;
      }
    }
  }
}

// Sums of the warp's 16 rows between registers and columns of 16.
template <bool Read>
void move_sums(const Warp& w, const GroupForm& f, const u32* slots, u32* d) {
  for (u32 r = 0; r < f.sums; ++r) {
    u32* v = w.at<u32>(slots[r]);
    const u32 pair = f.packed != 0 ? r : r / 2, column = pair / 2 * 8 + (f.packed != 0 ? 0 : r % 2),
              down = 8 * (pair % 2);
    u32* const at = d + column * 16 + down;
    for (u32 lane = 0; lane < 32; ++lane) {
      u32& x = at[lane % 4 * 32 + lane / 4];
      if (f.packed == 0) {
        if (Read) x = v[lane];
        if (!Read) v[lane] = x;
        continue;
      }
      u32& y = at[lane % 4 * 32 + 16 + lane / 4];
      if (Read) {
        x = v[lane] & 0xffff;
        y = v[lane] >> 16;
      } else {
        v[lane] = x | (y << 16);
      }
    }
  }
}

// Marks elements that a sparse A leaves out; see the lanes' tables.
constexpr u32 hole = 0xffffffffu;

// Four bits of metadata a group of four say which two are kept; of 32-bit elements, which one of
// two. A quad of lanes holds what mma.sp's does: of 16 bits or more both rows 8 apart, of fewer
// eight groups of one row.
void expand_rows(const GroupForm& f, const u32* metadata, const u32* packed, u32* a) {
  const u32 group = f.element_bits == 32 ? 2 : 4, kept = group / 2;
  std::fill_n(a, f.k * 16, hole);
  for (u32 g = 0; g < f.k / group; ++g) {
    for (u32 row = 0; row < 16; ++row) {
      const bool wide = f.element_bits >= 16;
      const u32 lane = wide ? g / 4 : g / 8 * 2 + row / 8,
                shift = wide ? 16 * (row / 8) + 4 * (g % 4) : 4 * (g % 8);
      const u32 where = metadata[row % 8 * 4 + lane + f.first_lane] >> shift;
      for (u32 j = 0; j < kept; ++j) {
        const u32 at = (where >> (2 * j)) & 3;
        a[(g * group + (kept == 1 ? at / 2 : at)) * 16 + row] = packed[(g * kept + j) * 16 + row];
      }
    }
  }
}

void compute(Warp& w, const GroupItem& item) {
  const bool products = w.block->launch->options->products;
  if (!products && item.adds) return;
  const GroupForm f = form_of(*item.step);
  const u32* sums = sum_slots(*item.step);
  alignas(64) std::array<u32, most_k * 16> a;
  alignas(64) std::array<u32, most_k / 2 * 16> packed;
  alignas(64) std::array<u32, most_columns * most_k> b;
  alignas(64) std::array<u32, most_columns * 16> d;
  if (!products) {
    std::fill_n(d.begin(), f.n * 16, 0u);
    return move_sums<false>(w, f, sums, d.data());
  }
  u32* const held = f.sparse != 0 ? packed.data() : a.data();
  if (f.a_registers != 0) {
    gather_registers(w, f, sums + f.sums, held);
  } else {
    gather_matrix(w, matrix_a(f, item.a),
                  {f.element_bits, f.negate_a, 16 * (w.index % 4), 16, 1, 16}, held);
  }
  if (f.sparse != 0) expand_rows(f, item.metadata.data(), held, a.data());
  gather_matrix(w, matrix_b(f, item.b), {f.element_bits, f.negate_b, 0, f.n, f.k, 1}, b.data());
  if (item.adds) {
    move_sums<true>(w, f, sums, d.data());
  } else {
    std::fill_n(d.begin(), f.n * 16, 0u);
  }
  w.block->program->products[f.product]({a.data(), b.data(), d.data(), 1, static_cast<int>(f.n)});
  move_sums<false>(w, f, sums, d.data());
}

bool in_use(Warp& w, const Step& s, const std::string& why) {
  fault(w, s, 0, "run.race", why);
  return false;
}

// Registers may pass from other instructions to wgmma only over a wgmma.fence, and from wgmma to
// wgmma of the same shape.
bool take_registers(Warp& w, const Step& s, const GroupForm& f, Products& p) {
  const u32* slots = sum_slots(s);
  for (u32 i = 0; i < f.sums + f.a_registers; ++i) {
    const bool sum = i < f.sums;
    RegisterUse& use = p.use[slots[i] / 64];
    const char* role = sum ? "accumulator" : "A";
    if (use.dirty)
      return in_use(
          w, s,
          fmt::format(
              "a register of {} was touched by another instruction since the last wgmma.fence",
              role));
    const bool busy = use.group > p.completed;
    if (busy && sum && (!use.sum || use.shape != f.n))
      return in_use(w, s,
                    "an accumulator is still in use by a wgmma of another shape, or as its A");
    if (busy && !sum && use.sum)
      return in_use(w, s,
                    "a register of A is the accumulator of a wgmma that has not been waited for");
  }
  for (u32 i = 0; i < f.sums + f.a_registers; ++i)
    p.use[slots[i] / 64] = {false, i < f.sums, p.committed + 1, f.n};
  return true;
}

bool whole_group(Warp& w, const Step& s) {
  if (!whole_warp(w, s)) return false;
  if ((w.index | 3) < w.block->warps.size()) return true;
  fault(w, s, 0, "run.divergence", "a warpgroup instruction in a group of fewer than four warps");
  return false;
}

// The four warps must issue the same products in the same order, and in the same groups: a commit
// is an item without a step.
bool same_in_group(Warp& w, const Step& s, const GroupItem& item, u64 number) {
  const u64 what[] = {reinterpret_cast<std::uintptr_t>(item.step), item.a, item.b,
                      item.adds ? 1u : 0u};
  u64 hash = 0;
  for (const u64 v : what) hash = mixed(hash ^ v) + 1;
  Block& block = *w.block;
  block.products_issued.resize(block.warps.size() / 4);
  std::vector<u64>& log = block.products_issued[w.index / 4];
  if (log.size() <= number) {
    log.push_back(hash);
    return true;
  }
  if (log[number] == hash) return true;
  fault(w, s, 0, "run.divergence",
        "the four warps of a warpgroup execute different wgmma instructions, or with different "
        "descriptors");
  return false;
}

void issue(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  if (!whole_group(w, s)) return;
  Products& p = products_of(w);
  const GroupForm f = form_of(s);
  if (!p.fenced) return void(in_use(w, s, "wgmma.mma_async before the first wgmma.fence"));
  if (!take_registers(w, s, f, p)) return;
  const u32 scale = w.predicate(f.scale_d) ^ (f.scale_inverted != 0 ? full_mask : 0);
  GroupItem item{
      &s,    f.a_registers != 0 ? 0 : w.at<u64>(f.a)[0], w.at<u64>(f.b)[0], scale != 0, 0, 0, {},
      w.regs};
  if (f.sparse != 0) item.metadata.assign(w.at<u32>(f.metadata), w.at<u32>(f.metadata) + 32);
  for (u32 lane = 1; lane < 32; ++lane) {
    const bool same =
        w.at<u64>(f.b)[lane] == item.b && (f.a_registers != 0 || w.at<u64>(f.a)[lane] == item.a);
    if (!same || (scale != 0 && scale != full_mask)) {
      fault(w, s, lane, "run.divergence",
            "the lanes of a warp give wgmma different descriptors or scales");
      return;
    }
  }
  if (!same_in_group(w, s, item, p.issued++)) return;
  if (p.slot == 0) p.slot = take_slot(*w.block->cluster);
  if (p.mark == 0)
    p.mark = add_mark(*w.block->cluster, {.far = false,
                                          .slot = p.slot,
                                          .phase = p.committed,
                                          .thread = (w.block->rank << 10) | (w.index * 32)});
  if (f.a_registers == 0 &&
      !check_matrix(w, s, "A", matrix_a(f, item.a), 16 * (w.index % 4), 16, p.mark))
    return;
  const GroupMatrix b = matrix_b(f, item.b);
  if (!check_matrix(w, s, "B", b, 0, f.n, p.mark)) return;
  // Each warp reads its rows of A, the warpgroup B once: 128 bytes a pass, whatever the swizzle.
  count_up(
      w, Counter::shared_load_wavefronts,
      (f.a_registers == 0 ? 16 * k_bytes / 128 : 0) + (w.index % 4 == 0 ? f.n * b.bytes / 128 : 0));
  if (w.block->launch->options->late) {
    p.open.push_back(std::move(item));
  } else {
    compute(w, item);
  }
}

void fence(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0 || !whole_group(w, s)) return;
  Products& p = products_of(w);
  p.fenced = true;
  for (RegisterUse& use : p.use) use.dirty = false;
}

// Does what the first groups still owe to registers, whatever frame the warp is in by now.
void settle_groups(Warp& w, Products& p, u32 groups) {
  u8* const registers = w.regs;
  for (u32 i = 0; p.completed + i < groups; ++i) {
    for (const GroupItem& item : p.groups[i]) {
      w.regs = item.registers;
      if (item.step != nullptr) {
        compute(w, item);
      } else {
        std::memcpy(w.at<u32>(item.to), w.at<u32>(item.from), 128);
      }
    }
    p.groups[i].clear();
  }
  w.regs = registers;
}

// The groups are over for the whole warpgroup: nobody's part of them reads shared memory any
// longer. Only this warp may touch its registers, the others wait for theirs.
void leave_wait(Warp& w) {
  const u32 groups = w.products->awaited;
  for (u32 i = w.index & ~3u; i <= (w.index | 3); ++i) {
    Warp& other = w.block->warps[i];
    Products& p = *other.products;
    settle_groups(other, p, groups);
    if (p.slot != 0) observe(w, full_mask, p.slot, groups);
  }
  for (Products& p = *w.products; p.completed < groups; ++p.completed) p.groups.pop_front();
}

void commit(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0 || !whole_group(w, s)) return;
  Products& p = products_of(w);
  if (p.groups.size() >= most_groups)
    return fault(w, s, 0, "run.unsupported", "too many wgmma groups without a wait");
  if (!same_in_group(w, s, {}, p.issued++)) return;
  p.groups.push_back(std::move(p.open));
  p.open.clear();
  ++p.committed;
  p.mark = 0;
  for (u32 i = w.index & ~3u; i <= (w.index | 3); ++i) {
    Warp& other = w.block->warps[i];
    if (other.state != WarpState::waiting || other.barrier != waits_for_products ||
        behind_in_group(other) != nullptr)
      continue;
    leave_wait(other);
    other.state = WarpState::ready;
    w.block->cluster->idle_rounds = 0;
  }
}

void wait(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0 || !whole_group(w, s)) return;
  Products& p = products_of(w);
  if (p.groups.size() <= s.aux) return;
  p.awaited = p.committed - s.aux;
  if (behind_in_group(w) == nullptr) return leave_wait(w);
  w.state = WarpState::waiting;
  w.barrier = waits_for_products;
  w.stop = true;
}

u32 number_operand(Decoder& d, std::size_t i) {
  if (d.operand(i).kind != OperandKind::immediate)
    d.refuse("a scale or transposition must be a number");
  return static_cast<u32>(d.operand(i).bits);
}

// Bits to flip for an imm-scale of -1.
u32 negation(Decoder& d, std::size_t i, u32 sign_bit) {
  const auto v = static_cast<std::int32_t>(number_operand(d, i));
  if (v != 1 && v != -1) d.refuse("scales A and B by 1 or -1");
  return v < 0 ? sign_bit : 0;
}

// Integers have fewer widths.
u32 columns_of(Decoder& d, const std::string& shape, u32 k, bool integers) {
  const std::string tail = fmt::format("k{}", k);
  const std::size_t at = shape.find('k');
  const u32 n = shape.rfind("m64n", 0) == 0
                    ? static_cast<u32>(std::strtoul(shape.c_str() + 4, nullptr, 10))
                    : 0;
  const u32 step = integers && n > 32 ? 16 : 8;
  if (n == 0 || n % step != 0 || n > 256 || at == std::string::npos || shape.substr(at) != tail)
    d.refuse("has a shape that does not exist");
  return n;
}

void take_slots(Decoder& d, const Operand& o, u32 count, bool result, std::vector<u32>& list) {
  const std::vector<Operand> parts = d.parts(o);
  if (parts.size() != count)
    d.refuse(fmt::format("a fragment has {} registers, not {}", parts.size(), count));
  for (const Operand& p : parts) {
    list.push_back(result ? d.target(p, 4) : d.source(p, 4));
    if (list.back() == no_slot || p.kind != OperandKind::reg)
      d.refuse("a fragment must be registers");
    d.code.product_slots.push_back(list.back());
  }
}

// Metadata and its selector: lanes 0 and 1 of a quad hold it or lanes 2 and 3, of 8-bit elements
// all four.
void take_metadata(Decoder& d, GroupForm& f) {
  f.metadata = d.source(d.operand(3), 4);
  const u32 selector = number_operand(d, 4);
  if (selector > (f.element_bits == 8 ? 0u : 1u)) d.refuse("there is no such selector of metadata");
  f.first_lane = 2 * selector;
}

bool decode_product(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.types.size() != 3 || form.modifiers.size() < 5) return false;
  const Type td = form.types[0], ta = form.types[1], tb = form.types[2];
  const bool bits = ta == Type::b1, integers = !is_float(ta), halves = bytes_of(ta) == 2;
  GroupForm f{};
  f.sparse = form.has("sp") ? 1 : 0;
  f.element_bits = bits ? 32 : 8 * bytes_of(ta);
  f.k = (f.sparse != 0 ? 16 : 8) * k_bytes / f.element_bits;
  const u32 k = bits ? 256 : f.k, more = f.sparse != 0 ? 2 : 0;
  if (bits && f.sparse != 0) return false;
  f.n = columns_of(d, form.modifiers[f.sparse != 0 ? 4 : 3], k, integers);
  const Multiply run =
      product_of(fmt::format("{}{}.{}.{}{}.k{}", form.has("satfinite") ? "satfinite." : "",
                             name_of(td), name_of(ta), name_of(tb), bits ? ".and" : "", k));
  if (run == nullptr) return false;
  const bool in_registers = d.operand(1).kind == OperandKind::vector;
  const std::size_t fixed = (integers ? 4u : 6u) + more,
                    extra = halves ? (in_registers ? 1 : 2) : 0;
  d.want_operands(fixed + extra, fixed + extra);
  f.packed = td == Type::f16 ? 1 : 0;
  f.sums = f.n / (f.packed != 0 ? 4 : 2);
  f.a_registers = in_registers ? 4 : 0;
  std::vector<u32> list(form_words);
  take_slots(d, d.operand(0), f.sums, true, list);
  if (in_registers) take_slots(d, d.operand(1), 4, false, list);
  if (!in_registers) f.a = d.source(d.operand(1), 8);
  f.b = d.source(d.operand(2), 8);
  bool inverted = false;
  if (f.sparse != 0) take_metadata(d, f);
  f.scale_d = d.source_predicate(d.operand(3 + more), inverted);
  f.scale_inverted = inverted ? 1 : 0;
  if (!integers) {
    const u32 sign_bit = 1u << (f.element_bits - 1);
    f.negate_a = negation(d, 4 + more, sign_bit);
    f.negate_b = negation(d, 5 + more, sign_bit);
  }
  if (halves && !in_registers) f.transpose_a = number_operand(d, 6 + more) & 1;
  if (halves) f.transpose_b = number_operand(d, (in_registers ? 6u : 7u) + more) & 1;
  f.product = static_cast<u32>(d.program.products.size());
  d.program.products.push_back(run);
  std::memcpy(list.data(), &f, sizeof(f));
  step.list = d.list(std::move(list));
  step.run = issue;
  return true;
}

}  // namespace

Products& products_of(Warp& w) {
  if (!w.products) w.products = std::make_shared<Products>();
  Products& p = *w.products;
  if (p.code != w.code) {
    p.code = w.code;
    p.use.assign(w.code->frame_bytes / 64 + 1, {});
  }
  return p;
}

void forget_frame(Warp& w, const std::uint8_t* registers) {
  if (!w.products || registers == nullptr) return;
  const auto forget = [&](std::vector<GroupItem>& items) {
    std::erase_if(items, [&](const GroupItem& item) { return item.registers == registers; });
  };
  forget(w.products->open);
  for (std::vector<GroupItem>& group : w.products->groups) forget(group);
}

const Warp* behind_in_group(const Warp& w) {
  for (u32 i = w.index & ~3u; i <= (w.index | 3); ++i) {
    const Warp& other = w.block->warps[i];
    if (!other.products || other.products->committed < w.products->awaited) return &other;
  }
  return nullptr;
}

std::string product_wait(const Warp& w) {
  const Warp& other = *behind_in_group(w);
  return fmt::format("wgmma.wait_group waits for group {} of the warpgroup, but warp {} {} {}",
                     w.products->awaited, other.index,
                     other.state == WarpState::done ? "ended after" : "has committed",
                     other.products ? other.products->committed : 0);
}

bool decode_wgmma(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_wgmma || form.modifiers.empty()) return false;
  d.program.async = true;
  const std::string& verb = form.modifiers[0];
  if (verb == "mma_async") return decode_product(d, step);
  step.run = verb == "fence"          ? fence
             : verb == "commit_group" ? commit
             : verb == "wait_group"   ? wait
                                      : nullptr;
  if (step.run == nullptr) return false;
  if (verb != "wait_group") return true;
  d.want_operands(1, 1);
  step.aux = number_operand(d, 0);
  return true;
}

}  // namespace cupilot::ptx
