// Every tensor-core form with random and adversarial operands, as PTX that a device and the
// interpreter run alike: the same text and the same operands on both sides make their results
// comparable bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace support {

// What one operand's elements are, for drawing them.
enum class Element : std::uint8_t {
  raw,
  f16,
  bf16,
  tf32,
  e4m3,
  e5m2,
  f32,
  f64,
  pairs_of_four,
  one_of_two
};

struct TensorForm {
  enum Kind : std::uint8_t { warp, sparse, group_registers, group_shared, scalar, matrices };
  std::string text;                // the instruction's spelling
  Kind kind = warp;                // who runs it, and where A lies
  int d = 0, a = 0, b = 0, c = 0;  // registers of a thread; of a group's B: words in shared memory
  Element in_a = Element::raw, in_b = Element::raw, in_c = Element::raw;
  int width = 4;     // bytes of a register
  std::string tail;  // operands after the fragments; of `matrices`: the kernel's body
  int threads() const { return kind == group_registers || kind == group_shared ? 128 : 32; }
};

const std::vector<TensorForm>& tensor_forms();
// A kernel `run` that takes the addresses of A, B, C, metadata and D; block = trial, registers of a
// thread `threads` apart.
std::string ptx_of(const TensorForm& form);

struct TensorOperands {
  std::vector<std::uint8_t> a, b, c, e;
  std::size_t d_bytes = 0;
};
// Operands of `trials` blocks, equal for equal arguments.
TensorOperands operands_of(const TensorForm& form, int trials, std::uint64_t seed);

// Where a descriptor's matrix lies: a kernel `run` (descriptors, results) that gives, for element
// (row, k) of each of them, the 16-bit unit of shared memory it came from. Descriptors hold
// addresses from the start of the array.
std::string descriptor_ptx(bool matrix_a, bool transposed);
std::vector<std::uint64_t> descriptors(bool transposed);
inline constexpr int descriptor_results = 1024;  // of one descriptor, u16 each

}  // namespace support
