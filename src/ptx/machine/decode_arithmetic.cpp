// Forms whose meaning is a row of the lanes' tables.
#include <atomic>
#include <cstring>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "ptx/lanes/set.hpp"
#include "ptx/machine/decode.hpp"

namespace cupilot::ptx {
namespace {

using RowMap = std::unordered_map<std::string_view, const Row*>;

RowMap build_rows(RowLists lists) {
  RowMap out;
  for (; lists->rows != nullptr; ++lists) {
    for (unsigned i = 0; i < lists->count; ++i) out.emplace(lists->rows[i].form, &lists->rows[i]);
  }
  return out;
}

std::atomic<int> preferred{-1};

LaneSet chosen_set() {
  static const LaneSet best = lane_sets().back();
  const int chosen = preferred.load();
  return chosen < 0 ? best : static_cast<LaneSet>(chosen);
}

const Row* row_of(std::string_view spelling) {
  static const RowMap maps[] = {build_rows(base_rows()), build_rows(avx2_rows()),
                                build_rows(avx512_rows())};
  const RowMap& map = maps[static_cast<int>(chosen_set())];
  const auto found = map.find(spelling);
  return found == map.end() ? nullptr : found->second;
}

std::uint32_t bytes_of_letter(char c) { return c == 'h' ? 2 : c == 'w' ? 4 : c == 'd' ? 8 : 16; }

// "w:ww#": results, then sources; '#' is a number kept in aux.
void by_letters(Decoder& d, Step& step, const Row& row) {
  const std::size_t count = std::strlen(row.operands) - 1;
  d.want_operands(count, count);
  const bool as_float = !d.form().types.empty() && is_float(d.form().types[0]);
  bool result = true;
  std::size_t i = 0;
  for (const char* c = row.operands; *c != '\0'; ++c) {
    if (*c == ':') {
      result = false;
      continue;
    }
    const Operand& o = d.operand(i);
    if (*c == '#') {
      if (o.kind != OperandKind::immediate) d.refuse("the last operand must be a number");
      step.aux = static_cast<std::uint32_t>(o.bits);
    } else if (*c == 'p') {
      bool inverted = false;
      step.o[i] = result ? d.target_predicate(o) : d.source_predicate(o, inverted);
      if (inverted) d.refuse("a negated predicate has no place here");
      if (result && step.o[i] == 0) step.o[i] = 4;  // a slot nobody reads
    } else if (result) {
      step.o[i] = d.target(o, bytes_of_letter(*c));
      if (step.o[i] == no_slot) d.refuse("the result cannot be left out");
    } else {
      step.o[i] = d.source(o, bytes_of_letter(*c), as_float);
    }
    ++i;
  }
}

// Returns the value that set writes where the comparison holds: 1.0 of a float, else all ones; of
// one half when two are compared. 0: no such form.
std::int64_t yes_of(Type to, bool packed) {
  switch (to) {
    case Type::f16:
      return 0x3c00;
    case Type::bf16:
      return 0x3f80;
    case Type::f16x2:
      return packed ? 0x3c00 : 0;
    case Type::bf16x2:
      return packed ? 0x3f80 : 0;
    case Type::u16:
    case Type::s16:
      return 0xffff;
    case Type::f32:
      return packed ? 0 : 0x3f800000;
    case Type::u32:
    case Type::s32:
      return packed ? 0xffff : 0xffffffff;
    default:
      return 0;
  }
}

// setp.lt[.and].s32 p|q, a, b[, {!}c] and set.lt[.and].u32.s32 d, a, b[, c]
bool decode_compare(Decoder& d, Step& step) {
  const Form& form = d.form();
  const bool is_set = form.opcode == Opcode::op_set;
  if (form.types.empty() || form.modifiers.empty()) d.refuse("lacks a type");
  const Type type = form.types.back();
  std::string spelling = "setp." + form.modifiers[0];
  for (const std::string& m : form.modifiers) {
    if (m == "and") step.aux = 1;
    if (m == "or") step.aux = 2;
    if (m == "xor") step.aux = 3;
    if (m == "ftz") spelling += ".ftz";
  }
  spelling += "." + std::string(name_of(type));
  const Row* row = row_of(spelling);
  if (row == nullptr) return false;
  step.run = row->run;
  d.want_operands(step.aux == 0 ? 3 : 4, step.aux == 0 ? 3 : 4);
  if (is_set) {
    if (form.types.size() != 2) return false;
    const Type to = form.types[0];
    const bool packed = type == Type::f16x2 || type == Type::bf16x2;
    step.width = static_cast<std::uint8_t>(bytes_of(to));
    step.offset = yes_of(to, packed);
    if (step.offset == 0 || (packed && step.width != 4)) return false;
    step.o[0] = d.target(d.operand(0), step.width);
    if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  } else {
    const std::vector<Operand> results = d.parts(d.operand(0));
    if (results.size() > 2) d.refuse("has more than two results");
    step.o[0] = d.target_predicate(results[0]);
    if (results.size() == 2) step.o[1] = d.target_predicate(results[1]);
  }
  const std::uint32_t bytes = std::max(2u, bytes_of(type));
  step.o[2] = d.source(d.operand(1), bytes, is_float(type));
  step.o[3] = d.source(d.operand(2), bytes, is_float(type));
  if (step.aux != 0) {
    bool inverted = false;
    step.o[4] = d.source_predicate(d.operand(3), inverted);
    step.flags = inverted ? 1 : 0;
  }
  return true;
}

bool decode_selp(Decoder& d, Step& step) {
  const Row* row = row_of(d.form().text);
  if (row == nullptr || d.form().types.empty()) return false;
  d.want_operands(4, 4);
  const Type type = d.form().types[0];
  const std::uint32_t bytes = std::max(2u, bytes_of(type));
  bool inverted = false;
  step.o[0] = d.target(d.operand(0), bytes);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  const std::uint32_t p = d.source_predicate(d.operand(3), inverted);
  step.o[1] = d.source(d.operand(inverted ? 2 : 1), bytes, is_float(type));
  step.o[2] = d.source(d.operand(inverted ? 1 : 2), bytes, is_float(type));
  step.o[3] = p;
  step.run = row->run;
  return true;
}

struct Rounding {
  const char* name;
  std::uint32_t mode;
  bool integral;
};
constexpr Rounding roundings[] = {{"rn", 0, false}, {"rz", 1, false},  {"rm", 2, false},
                                  {"rp", 3, false}, {"rna", 4, false}, {"rni", 0, true},
                                  {"rzi", 1, true}, {"rmi", 2, true},  {"rpi", 3, true}};

// Sets the step's flags by the modifiers, and returns how it rounds.
std::uint32_t convert_mode(const Form& form, Step& step) {
  const Type to = form.types[0];
  std::uint32_t mode =
      to == Type::f16 || to == Type::bf16 || to == Type::f32 || to == Type::f64 ? 0 : 1;
  for (const std::string& m : form.modifiers) {
    for (const Rounding& r : roundings) {
      if (m != r.name) continue;
      mode = r.mode;
      if (r.integral) step.flags |= 8;
    }
    if (m == "sat") step.flags |= 1;
    if (m == "satfinite") step.flags |= 16;
    if (m == "ftz") step.flags |= 2;
    if (m == "relu") step.flags |= 4;
  }
  return mode;
}

// Returns what each of two floats becomes; none: no such conversion.
Type element_of_pair(Type to, Type from, std::uint32_t to_bytes) {
  if (from != Type::f32 || to_bytes != std::max(2u, bytes_of(to))) return Type::none;
  return to == Type::f16x2    ? Type::f16
         : to == Type::bf16x2 ? Type::bf16
         : to == Type::e4m3x2 ? Type::e4m3
         : to == Type::e5m2x2 ? Type::e5m2
                              : Type::none;
}

// Returns `to`; none: no such conversion.
Type scalar_result(Type to, Type from, std::uint32_t to_bytes, std::uint32_t from_bytes) {
  const auto scalar = [](Type t) {
    return (t >= Type::u8 && t <= Type::s64) || t == Type::f16 || t == Type::bf16 ||
           t == Type::f32 || t == Type::f64 || t == Type::tf32;
  };
  const bool fits =
      to_bytes >= bytes_of(to) && from_bytes >= bytes_of(from) && to_bytes <= 8 && from_bytes <= 8;
  return scalar(to) && scalar(from) && fits ? to : Type::none;
}

bool decode_convert(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.has("pack")) {
    const Row* row = row_of(form.text);
    if (row == nullptr) return false;
    step.run = row->run;
    by_letters(d, step, *row);
    return true;
  }
  if (form.types.size() != 2) return false;
  const Type to = form.types[0], from = form.types[1];
  const bool pair = d.operand_count() == 3;
  d.want_operands(2, 3);
  const std::uint32_t to_bytes = d.width_of(d.operand(0)),
                      from_bytes = pair ? 4
                                        : std::max(d.width_of(d.operand(1)),
                                                   d.operand(1).kind == OperandKind::reg
                                                       ? 0u
                                                       : std::max(2u, bytes_of(from)));
  if (d.operand(0).kind != OperandKind::reg || to_bytes == 0) d.refuse("the result is no register");
  if (const Row* row = row_of(form.text)) {
    const std::size_t count = std::strlen(row->operands);
    const bool fits = count == (pair ? 4u : 3u) && bytes_of_letter(row->operands[0]) == to_bytes &&
                      bytes_of_letter(row->operands[2]) == from_bytes;
    if (fits) {
      step.run = row->run;
      by_letters(d, step, *row);
      return true;
    }
  }
  const std::uint32_t mode = convert_mode(form, step);
  const Type single =
      pair ? element_of_pair(to, from, to_bytes) : scalar_result(to, from, to_bytes, from_bytes);
  if (single == Type::none) return false;
  step.run = row_of(pair ? "cvt.pair" : "cvt")->run;
  step.aux =
      static_cast<std::uint32_t>(single) | (static_cast<std::uint32_t>(from) << 8) | (mode << 16);
  step.width = static_cast<std::uint8_t>(to_bytes);
  step.bytes = static_cast<std::uint8_t>(from_bytes);
  step.o[0] = d.target(d.operand(0), to_bytes);
  step.o[1] = d.source(d.operand(1), from_bytes, is_float(from));
  if (pair) step.o[2] = d.source(d.operand(2), 4, true);
  return true;
}

// D, A, B, C are vectors of registers, as many as the row says; with an s in front metadata and its
// selector follow.
bool decode_mma(Decoder& d, Step& step, const Row& row) {
  const bool sparse = row.operands[0] == 's';
  const std::uint32_t bytes = row.operands[0] == 'n' ? 8 : 4;
  d.want_operands(sparse ? 6 : 4, sparse ? 6 : 4);
  std::vector<std::uint32_t> list;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<Operand> parts = d.parts(d.operand(i));
    if (parts.size() != static_cast<std::size_t>(row.operands[i + 1] - '0'))
      d.refuse("a fragment has the wrong number of registers");
    for (const Operand& p : parts) {
      list.push_back(i == 0 ? d.target(p, bytes) : d.source(p, bytes));
      if (list.back() == no_slot) d.refuse("a result cannot be left out");
    }
  }
  if (sparse) {
    const auto lanes = static_cast<std::uint32_t>(row.operands[5] - '0');
    list.push_back(d.source(d.operand(4), 4));
    const Operand& selector = d.operand(5);
    if (selector.kind != OperandKind::immediate || selector.bits >= 4 / lanes)
      d.refuse(fmt::format("the selector must be below {}", 4 / lanes));
    step.aux = static_cast<std::uint32_t>(selector.bits) * lanes;
  }
  step.list = d.list(std::move(list));
  step.run = run_mma;
  step.inner = row.run;
  return true;
}

}  // namespace

Multiply product_of(std::string_view name) {
  const ProductRow* const tables[] = {base_products(), avx2_products(), avx512_products()};
  for (const ProductRow* row = tables[static_cast<int>(chosen_set())]; row->name != nullptr;
       ++row) {
    if (name == row->name) return row->run;
  }
  return nullptr;
}

Handler handler_of(std::string_view form) {
  const Row* row = row_of(form);
  return row == nullptr ? nullptr : row->run;
}

std::vector<LaneSet> lane_sets() {
  std::vector<LaneSet> out{LaneSet::base};
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return out;
  out.push_back(LaneSet::avx2);
#ifndef CUPILOT_NARROW_LANES
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (wide) out.push_back(LaneSet::avx512);
#endif
#endif
  return out;
}

void prefer(LaneSet set) { preferred = static_cast<int>(set); }

bool decode_arithmetic(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode == Opcode::op_setp || form.opcode == Opcode::op_set)
    return decode_compare(d, step);
  if (form.opcode == Opcode::op_selp) return decode_selp(d, step);
  if (form.opcode == Opcode::op_cvt) return decode_convert(d, step);
  if (form.opcode == Opcode::op_mov) {
    // Vectors, addresses, parameters and clocks are moved elsewhere.
    d.want_operands(2, 2);
    const Operand &to = d.operand(0), &from = d.operand(1);
    const bool plain = to.kind == OperandKind::reg &&
                       (from.kind == OperandKind::reg || from.kind == OperandKind::immediate);
    if (!plain || (from.kind == OperandKind::reg && from.negated)) return false;
    if (form.types.size() == 1 && form.types[0] == Type::pred && from.kind != OperandKind::reg)
      return false;
  }
  const Row* row = row_of(form.text);
  if (row == nullptr || row->operands[0] == '\0') return false;
  if (form.opcode == Opcode::op_mma) return decode_mma(d, step, *row);
  step.run = row->run;
  by_letters(d, step, *row);
  return true;
}

}  // namespace cupilot::ptx
