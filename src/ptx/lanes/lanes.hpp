// Registers of a warp and one decoded instruction: all that arithmetic needs. Kept free of library
// code, because the files that include it are compiled once for every instruction set of the host.
#pragma once

#include <cstdint>

namespace cupilot::ptx {

inline constexpr std::uint32_t full_mask = 0xffffffffu;

// A register of b bits is 32 values side by side at a byte offset of `regs`, aligned to 64; a
// predicate is one 32-bit mask.
struct Lanes {
  std::uint8_t* regs = nullptr;
  std::uint32_t mask = 0;   // lanes that execute the current instruction
  std::uint32_t carry = 0;  // CC.CF of every lane

  template <class T>
  T* at(std::uint32_t offset) const {
    return static_cast<T*>(__builtin_assume_aligned(regs + offset, 64));
  }
  std::uint32_t& predicate(std::uint32_t offset) const {
    return *reinterpret_cast<std::uint32_t*>(regs + offset);
  }
};

struct Step;
using Handler = void (*)(Lanes&, const Step&);

struct Step {
  Handler run = nullptr;
  Handler inner = nullptr;              // called by `run` after its checks
  std::uint32_t o[5] = {};              // byte offsets of operands, results first
  std::uint32_t guard = 0;              // predicate slot; slot 0 holds all ones
  std::uint32_t guard_invert = 0;       // all ones for @!p
  std::uint32_t aux = 0;                // a table, a rounding, a target
  std::int64_t offset = 0;              // of an address, or a second number
  const std::uint32_t* list = nullptr;  // operands of an instruction with many
  std::uint8_t count = 0;               // of them
  std::uint8_t bytes = 0;               // one element in memory
  std::uint8_t width = 0;               // one element in a register
  std::uint8_t flags = 0;
  std::uint32_t instruction = 0;  // Function::instructions
};

// A row of a semantics table: a spelling, the widths of its operands and its meaning. Widths: p
// predicate, h 16, w 32, d 64, q 128 bits; results before ':'; '|' marks an optional second
// predicate result.
struct Row {
  const char* form;
  const char* operands;
  Handler run;
};

struct RowList {
  const Row* rows;
  unsigned count;
};

// All arithmetic of this build of the tables; the end is a list without rows.
using RowLists = const RowList*;
RowLists base_rows();
RowLists avx2_rows();
RowLists avx512_rows();

// Matrices as raw elements for a product of a tensor core: a is `tiles` x K x 16 rows, b `columns`
// x K, d (the sum so far, then the result) `tiles` x `columns` x 16. Single bits come in words
// of 32.
struct Product {
  const std::uint32_t* a;
  const std::uint32_t* b;
  std::uint32_t* d;
  int tiles, columns;
};
inline constexpr int most_columns = 256;
using Multiply = void (*)(const Product&);

// One way to multiply: "f32.bf16.bf16.k16" (result, factors, depth). Ends with a row without a
// name.
struct ProductRow {
  const char* name;
  Multiply run;
};
const ProductRow* base_products();
const ProductRow* avx2_products();
const ProductRow* avx512_products();

}  // namespace cupilot::ptx
