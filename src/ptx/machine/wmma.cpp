// wmma: matrices in memory to fragments, their product, and back. Fragments are laid out as those
// of mma.sync; where PTX gives a fragment more registers than that needs, the others repeat them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Shape {
  u32 m, n, k;
};

// One matrix of the three: how its elements lie in a warp's registers. A and B hold `per` elements
// along k a register.
struct Fragment {
  char which;         // a, b, c (also d)
  u32 rows, columns;  // of A: m x k; of B: n x k; of C: m x n
  u32 bits;           // of an element; single bits count as words of 32
  u32 width;          // bytes of a register
  u32 registers;      // as PTX has them
  u32 per() const { return 8 * width / bits; }
  u32 used() const { return rows * columns / (32 * per()); }
};

struct Cell {
  u32 row, column;
};
// The first element that a lane holds in register r.
Cell cell_of(const Fragment& f, u32 r, u32 lane) {
  const u32 high = f.rows / 8, per = f.per();
  if (f.which == 'a') return {lane / 4 + 8 * (r % high), (lane % 4 + 4 * (r / high)) * per};
  if (f.which == 'b') {
    const u32 deep = f.columns / (4 * per);
    return {lane / 4 + 8 * (r / deep), (lane % 4 + 4 * (r % deep)) * per};
  }
  const u32 pair = per == 2 ? r : r / 2;
  return {lane / 4 + 8 * (pair % high), lane % 4 * 2 + (per == 2 ? 0 : r % 2) + 8 * (pair / high)};
}

// Registers that PTX gives a fragment of 16-bit floats: more than they need.
constexpr u32 half_registers = 8;

constexpr Shape shapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8},
                            {8, 8, 4},    {8, 8, 32},  {8, 8, 128}};

struct ElementRow {
  Type type;
  u32 bits;
  bool sums;      // may be C and D
  u32 shapes[3];  // indices of those above
  u32 shape_count;
};
constexpr ElementRow elements[] = {
    {Type::f16, 16, true, {0, 1, 2}, 3}, {Type::bf16, 16, false, {0, 1, 2}, 3},
    {Type::tf32, 32, false, {3}, 1},     {Type::f64, 64, true, {4}, 1},
    {Type::s8, 8, false, {0, 1, 2}, 3},  {Type::u8, 8, false, {0, 1, 2}, 3},
    {Type::s4, 4, false, {5}, 1},        {Type::u4, 4, false, {5}, 1},
    {Type::b1, 1, false, {6}, 1},        {Type::f32, 32, true, {}, 0},
    {Type::s32, 32, true, {}, 0},
};

const ElementRow& element_of(const Decoder& d, Type type) {
  for (const ElementRow& row : elements) {
    if (row.type == type) return row;
  }
  d.refuse("has elements of a type that the virtual device does not know");
}

Shape shape_of(const Decoder& d) {
  for (const Shape& s : shapes) {
    if (d.form().has(fmt::format("m{}n{}k{}", s.m, s.n, s.k))) return s;
  }
  d.refuse("has a shape that the virtual device does not know");
}

Fragment fragment_of(const Decoder& d, char which, const Shape& s, Type type) {
  const ElementRow& e = element_of(d, type);
  const bool sum = which == 'c' || which == 'd';
  if (sum && !e.sums) d.refuse("accumulates in a type that it cannot");
  Fragment f{sum ? 'c' : which,      which == 'b' ? s.n : s.m,
             sum ? s.n : s.k,        e.bits,
             e.bits == 64 ? 8u : 4u, 0};
  if (e.bits == 1) {
    f.bits = 32;
    f.columns /= 32;
  }
  f.registers = f.used();
  if (type == Type::f16 && !sum) f.registers = half_registers;
  return f;
}

// The fields of a load or store besides its address: the fragment, and whether rows lie along
// memory.
struct Access {
  Fragment fragment;
  bool along;
  u32 element_bits;
};
constexpr std::size_t access_words = 8;
void keep_access(std::vector<u32>& list, const Access& a) {
  const Fragment& f = a.fragment;
  list.insert(list.end(), {static_cast<u32>(f.which), f.rows, f.columns, f.bits, f.width,
                           f.registers, a.along ? 1u : 0u, a.element_bits});
}
Access access_of(const u32* w) {
  return {{static_cast<char>(w[0]), w[1], w[2], w[3], w[4], w[5]}, w[6] != 0, w[7]};
}

bool aligned_as_needed(Warp& w, const Step& s, const Access& a, u64 base, u64 stride) {
  if (base % 32 != 0) {
    fault(w, s, 0, "run.misaligned",
          fmt::format("the matrix at 0x{:x} is not aligned to 32 bytes", base));
    return false;
  }
  if ((a.element_bits == 16 || a.element_bits == 32) && stride * a.element_bits % 128 != 0) {
    fault(w, s, 0, "run.misaligned",
          fmt::format("the stride of {} elements is no multiple of 16 bytes", stride));
    return false;
  }
  return true;
}

// Moves every register of a fragment from or to memory, elements that lie side by side at once.
template <bool Load>
void transfer(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  const Access a = access_of(s.list);
  const Fragment& f = a.fragment;
  const u32* registers = s.list + access_words;
  LaneAddresses base;
  lane_addresses(w, s, s.o[0], base);
  const u64 stride = w.at<u32>(s.o[1])[0];
  if (!aligned_as_needed(w, s, a, base.at[0], stride)) return;
  const u32 per = f.per(), step = a.along ? per : 1, bytes = step * f.bits / 8;
  // Loaded registers may hold the address, so they change last.
  std::array<std::array<u64, 32>, 16> value{};
  for (u32 r = 0; r < f.used(); ++r) {
    for (u32 e = 0; e < per; e += step) {
      LaneAddresses at;
      LanePointers p;
      for (u32 lane = 0; lane < 32; ++lane) {
        const Cell c = cell_of(f, r, lane);
        const u64 unit = f.bits / std::min(a.element_bits, f.bits);
        const u64 index =
            a.along ? c.row * stride + (c.column + e) * unit : (c.column + e) * stride + c.row;
        at.at[lane] = base.at[lane] + index * a.element_bits / 8;
      }
      if (!resolve(w, s, s.flags & space_mask, full_mask, at, bytes,
                   Load ? Intent::load : Intent::store, p))
        return;
      for (u32 lane = 0; lane < 32; ++lane) {
        if constexpr (Load) {
          u64 piece = 0;
          std::memcpy(&piece, p.at[lane], bytes);
          value[r][lane] |= piece << (e * f.bits);
        } else {
          const u64 whole =
              f.width == 8 ? w.at<u64>(registers[r])[lane] : w.at<u32>(registers[r])[lane];
          const u64 piece = whole >> (e * f.bits);
          std::memcpy(p.at[lane], &piece, bytes);
        }
      }
    }
  }
  if (!Load) return;
  for (u32 r = 0; r < f.registers; ++r) {
    for (u32 lane = 0; lane < 32; ++lane) {
      const u64 v = value[r % f.used()][lane];
      if (f.width == 8) w.at<u64>(registers[r])[lane] = v;
      if (f.width == 4) w.at<u32>(registers[r])[lane] = static_cast<u32>(v);
    }
  }
}

// Calls visit(register word, bit offset, row, column) of every element.
template <class Visit>
void each_element(const Warp& w, const Fragment& f, const u32* registers, Visit visit) {
  for (u32 r = 0; r < f.used(); ++r) {
    u32* v = w.at<u32>(registers[r]);
    for (u32 lane = 0; lane < 32; ++lane) {
      const Cell c = cell_of(f, r, lane);
      for (u32 e = 0; e < f.per(); ++e) visit(v[lane], e * f.bits, c.row, c.column + e);
    }
  }
}

// Between fp16 and the fp32 that sums are kept in when D and C are not of one type.
void widen(u32* sums, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = std::bit_cast<u32>(
        static_cast<float>(half_value(static_cast<std::uint16_t>(sums[i]), false)));
}
void narrow(u32* sums, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = half_bits(static_cast<double>(std::bit_cast<float>(sums[i])), false);
}

// list: the four fragments, then the registers of D, A, B, C.
void multiply(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  const Fragment d = access_of(s.list).fragment, a = access_of(s.list + access_words).fragment,
                 b = access_of(s.list + 2 * access_words).fragment,
                 c = access_of(s.list + 3 * access_words).fragment;
  const u32 *dl = s.list + 4 * access_words, *al = dl + d.registers, *bl = al + a.registers,
            *cl = bl + b.registers;
  const u32 k = a.columns, n = b.rows;
  alignas(64) std::array<u32, 32 * 32> ea{}, eb{}, ed{};
  const auto bits = [](u32 word, u32 at, u32 count) {
    return count == 32 ? word : (word >> at) & ((1u << count) - 1);
  };
  each_element(w, a, al, [&](u32& word, u32 at, u32 row, u32 column) {
    ea[(row / 16 * k + column) * 16 + row % 16] = bits(word, at, a.bits);
  });
  each_element(w, b, bl, [&](u32& word, u32 at, u32 row, u32 column) {
    eb[row * k + column] = bits(word, at, b.bits);
  });
  each_element(w, c, cl, [&](u32& word, u32 at, u32 row, u32 column) {
    ed[(row / 16 * n + column) * 16 + row % 16] = bits(word, at, c.bits);
  });
  if (c.bits < d.bits) widen(ed.data(), ed.size());
  w.block->program->products[s.aux](
      {ea.data(), eb.data(), ed.data(), static_cast<int>((a.rows + 15) / 16), static_cast<int>(n)});
  if (d.bits < c.bits) narrow(ed.data(), ed.size());
  each_element(w, d, dl, [&](u32& word, u32 at, u32 row, u32 column) {
    const u32 v = ed[(row / 16 * n + column) * 16 + row % 16];
    word = d.bits == 32 ? v : (word & ~(0xffffu << at)) | (v << at);
  });
}

void take_registers(Decoder& d, const Operand& o, const Fragment& f, bool result,
                    std::vector<u32>& list) {
  const std::vector<Operand> parts = d.parts(o);
  if (parts.size() != f.registers)
    d.refuse(fmt::format("a fragment has {} registers, not {}", parts.size(), f.registers));
  for (const Operand& p : parts) {
    list.push_back(result ? d.target(p, f.width) : d.source(p, f.width));
    if (list.back() == no_slot) d.refuse("a result cannot be left out");
  }
}

bool decode_transfer(Decoder& d, Step& step, bool load) {
  const Form& form = d.form();
  d.want_operands(2, 3);
  const std::string& which = form.modifiers.at(1);
  if (form.types.size() != 1 || which.size() != 1 || which[0] < 'a' || which[0] > 'd') return false;
  const Type type = form.types[0];
  const Fragment f = fragment_of(d, which[0], shape_of(d), type);
  const bool row = form.has("row");
  const Access a{f, f.which == 'b' ? !row : row, element_of(d, type).bits};
  if (a.element_bits < 8 && !a.along)
    d.refuse("elements below a byte need A by rows and B by columns");
  std::vector<u32> list;
  keep_access(list, a);
  take_registers(d, d.operand(load ? 0 : 1), f, load, list);
  step.list = d.list(std::move(list));
  d.address(step, d.operand(load ? 1 : 0), d.memory_space(), 0);
  d.note_shared_unit(std::max(1u, a.along ? 4u : f.bits / 8));
  if (!load) d.note_written_unit(std::max(1u, a.along ? 4u : f.bits / 8));
  Operand densest{};
  densest.kind = OperandKind::immediate;
  densest.bits = a.along ? f.columns * (f.bits / std::min(a.element_bits, f.bits)) : f.rows;
  step.o[1] = d.source(d.operand_count() == 3 ? d.operand(2) : densest, 4);
  step.run = load ? transfer<true> : transfer<false>;
  return true;
}

// fp16 spells only D and C; the others D, A, B, C.
bool decode_product(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(4, 4);
  const bool halves = form.types.size() == 2;
  if (!halves && form.types.size() != 4) return false;
  const Type td = form.types.front(), tc = form.types.back(),
             ta = halves ? Type::f16 : form.types[1], tb = halves ? Type::f16 : form.types[2];
  const Shape shape = shape_of(d);
  const Fragment f[] = {fragment_of(d, 'd', shape, td), fragment_of(d, 'a', shape, ta),
                        fragment_of(d, 'b', shape, tb), fragment_of(d, 'c', shape, tc)};
  std::vector<u32> list;
  if (td == Type::f64) {
    for (std::size_t i = 0; i < 4; ++i) take_registers(d, d.operand(i), f[i], i == 0, list);
    step.list = d.list(std::move(list));
    step.run = run_mma;
    std::string rounding;
    for (const char* mode : {"rz", "rm", "rp"})
      rounding += form.has(mode) ? std::string(mode) + "." : "";
    step.inner = handler_of("mma.sync.aligned.m8n8k4.row.col." + rounding + "f64.f64.f64.f64");
    return true;
  }
  if (td != tc && (!halves || bytes_of(td) + bytes_of(tc) != 6))
    d.refuse("has types that do not go together");
  const Type sums = td == tc ? td : Type::f32;
  std::string name = fmt::format("{}{}.{}.{}", form.has("satfinite") ? "satfinite." : "",
                                 name_of(sums), name_of(ta), name_of(tb));
  if (ta == Type::b1) name += form.has("and") ? ".and" : ".xor";
  name += fmt::format(".k{}", shape.k);
  const Multiply own = product_of("wmma." + name), run = own != nullptr ? own : product_of(name);
  if (run == nullptr) return false;
  step.aux = static_cast<u32>(d.program.products.size());
  d.program.products.push_back(run);
  for (const Fragment& one : f) keep_access(list, {one, true, one.bits});
  for (std::size_t i = 0; i < 4; ++i) take_registers(d, d.operand(i), f[i], i == 0, list);
  step.list = d.list(std::move(list));
  step.run = multiply;
  return true;
}

}  // namespace

bool decode_wmma(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_wmma || form.modifiers.size() < 4) return false;
  if (form.modifiers[0] == "load") return decode_transfer(d, step, true);
  if (form.modifiers[0] == "store") return decode_transfer(d, step, false);
  return form.modifiers[0] == "mma" && decode_product(d, step);
}

}  // namespace cupilot::ptx
