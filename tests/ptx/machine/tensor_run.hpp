// Runs tensor-core forms on the interpreter, for tests and for the comparison with a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ptx/machine/runner.hpp"
#include "ptx/machine/tensor_forms.hpp"

namespace support {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint64_t operand_seed = 2024;
inline constexpr int hashed_trials = 64;  // of the trials on a device, those that a hash is kept of

inline int trials_of(const TensorForm& f) {
  if (f.kind == TensorForm::scalar) return 2048;
  const bool integers = f.in_a == Element::raw;
  return (f.threads() == 128 ? 512 : 1024) / (integers ? 4 : 1);
}

inline std::string name_of(const TensorForm& f) {
  const char* kinds[] = {
      "", " sparse, selector ", " A in registers, ", " A in shared memory, ", " ", ""};
  return f.text + kinds[f.kind] + (f.kind == TensorForm::matrices ? "" : f.tail);
}

inline Bytes bytes_of_words(const std::vector<std::uint64_t>& words) {
  Bytes out(words.size() * 8);
  std::memcpy(out.data(), words.data(), out.size());
  return out;
}

// Results of a kernel `run` that takes the addresses of its inputs and of `bytes` of results.
inline Bytes interpret(const std::string& ptx, unsigned blocks, unsigned threads,
                       const std::vector<const Bytes*>& inputs, std::size_t bytes) {
  Device d;
  std::vector<std::size_t> at;
  for (const Bytes* in : inputs) at.push_back(d.input(fmt::format("in{}", at.size()), *in));
  const std::size_t out = d.output("d", bytes);
  d.memory.mark_written(out);
  using P = Device::Pointer;
  const auto module = module_of(ptx);
  const auto report = at.size() == 1
                          ? d.run(module, "run", {blocks}, {threads}, 0, P{at[0]}, P{out})
                          : d.run(module, "run", {blocks}, {threads}, 0, P{at[0]}, P{at[1]},
                                  P{at[2]}, P{at[3]}, P{out});
  if (!report.faults.empty()) throw std::runtime_error(faults_of(report));
  return d.values<std::uint8_t>(out);
}

inline Bytes interpret(const TensorForm& f, int trials) {
  const TensorOperands in = operands_of(f, trials, operand_seed);
  return interpret(ptx_of(f), static_cast<unsigned>(trials), static_cast<unsigned>(f.threads()),
                   {&in.a, &in.b, &in.c, &in.e}, in.d_bytes);
}

inline Bytes interpret_descriptors(bool matrix_a, bool transposed) {
  const auto list = descriptors(transposed);
  const Bytes in = bytes_of_words(list);
  return interpret(descriptor_ptx(matrix_a, transposed), static_cast<unsigned>(list.size()), 128,
                   {&in}, list.size() * descriptor_results * 2);
}

// FNV-1a of the first `bytes`.
inline std::string hash_of(const Bytes& results, std::size_t bytes) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < std::min(bytes, results.size()); ++i)
    h = (h ^ results[i]) * 0x100000001b3ull;
  return fmt::format("{:016x}", h);
}
inline std::size_t hashed_bytes(const TensorForm& f) {
  return static_cast<std::size_t>(f.d) * static_cast<std::size_t>(f.threads()) *
         static_cast<std::size_t>(f.width) * hashed_trials;
}

}  // namespace support
