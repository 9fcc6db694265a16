// Every scalar form of PTX that the virtual device runs, and what it gives by the arithmetic of
// this folder.
#pragma once

#include <string>
#include <vector>

#include "ptx/conformance/number.hpp"

namespace conformance {

// A second result: the other predicate, or the carry.
struct Pair {
  u64 first = 0, second = 0;
};

struct Form {
  std::string text;  // opcode and modifiers
  // One letter an operand: p predicate; i n 32-bit integer, n a small one; s l 16 and 64 bits; e b
  // f g fp16, bf16, fp32, fp64; E B two of them; t tf32; q two fp8; c carry.
  std::string results, arguments;
  Pair (*run)(const Form&, const u64* v) = nullptr;
  // What `run` may look at.
  int bits = 32, from_bits = 32;
  bool is_signed = false, from_signed = false;
  const Format* format = nullptr;
  const Format* from = nullptr;
  Round round = Round::nearest;
  bool ftz = false, sat = false, relu = false, nan = false, xorsign = false, clamp = false,
       whole = false;
  bool packed = false;    // `run` does one half of a 32-bit register
  bool inverted = false;  // the last argument is !p
  bool assembles = true;  // false: the interpreter takes it, ptxas for sm_90a does not
  int number = 0;         // a comparison, a table, a mode
  u64 yes = 0;            // what set writes where its comparison holds
  std::string suffix{};   // operands behind the registers
};

// Of raw bits, zero-extended; predicates and carries are 0 or 1.
Pair evaluate(const Form& form, const u64* v);

// The instruction over named registers. A carry that comes in or goes out takes an instruction
// before or behind, and a register of 32 bits: %cy.
std::string written(const Form& form, const std::vector<std::string>& results,
                    const std::vector<std::string>& arguments);

// "b32" for 'f'; "pred".
const char* register_type(char kind);
int register_bits(char kind);

// All of them: arithmetic that IEEE 754 or PTX defines to the bit.
const std::vector<Form>& all_forms();
void add_integer_forms(std::vector<Form>& out);
void add_bit_forms(std::vector<Form>& out);
void add_carry_forms(std::vector<Form>& out);
void add_float_forms(std::vector<Form>& out);
void add_compare_forms(std::vector<Form>& out);
void add_convert_forms(std::vector<Form>& out);
void add_video_forms(std::vector<Form>& out);

struct IntegerType {
  const char* name;
  int bits;
  bool is_signed;
  char kind;
};
inline constexpr IntegerType integer_types[] = {{"u16", 16, false, 's'}, {"s16", 16, true, 's'},
                                                {"u32", 32, false, 'i'}, {"s32", 32, true, 'i'},
                                                {"u64", 64, false, 'l'}, {"s64", 64, true, 'l'}};
inline constexpr IntegerType bit_types[] = {
    {"b16", 16, false, 's'}, {"b32", 32, false, 'i'}, {"b64", 64, false, 'l'}};

struct FloatType {
  const char* name;
  const Format* format;
  char kind;
  bool packed = false;
};
inline constexpr FloatType half_types[] = {{"f16", &fp16, 'e'},
                                           {"f16x2", &fp16, 'E', true},
                                           {"bf16", &bf16, 'b'},
                                           {"bf16x2", &bf16, 'B', true}};

struct Rounding {
  const char* name;
  Round round;
};
inline constexpr Rounding roundings[] = {
    {".rn", Round::nearest}, {".rz", Round::zero}, {".rm", Round::down}, {".rp", Round::up}};

inline u64 low_bits(int bits) { return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1; }
inline s128 extended(u64 v, int bits, bool is_signed) {
  v &= low_bits(bits);
  return is_signed && (v >> (bits - 1)) != 0 ? static_cast<s128>(v) - (s128{1} << bits)
                                             : static_cast<s128>(v);
}
// A float argument, flushed if the form says so.
Number argument(const Form& form, const Format& format, u64 bits);

}  // namespace conformance
