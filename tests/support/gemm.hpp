// Tasks of the family gemm from C++ values instead of words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cupilot/family.hpp>

namespace cupilot {

enum class Activation { none, relu, gelu, silu, tanh, sigmoid };
enum class Scaling { none, tensor, block };

struct GemmSpec {
  std::int64_t m = 1024, n = 1024, k = 1024, batch = 1;
  DType dtype = DType::f32;
  std::optional<DType> out{};
  std::optional<Precision> precision{};
  std::string layout = "nn";
  double alpha = 1.0, beta = 0.0;
  bool bias = false;
  Activation act = Activation::none;
  Scaling scale = Scaling::none;
};

// {"m=512", "dtype=bf16", …}
inline Result<Task> gemm_of(std::vector<std::string> words) {
  words.insert(words.begin(), "gemm");
  return task_from_words(words);
}

inline Result<Task> gemm_task(const GemmSpec& spec) {
  constexpr const char* activations[] = {"none", "relu", "gelu", "silu", "tanh", "sigmoid"};
  constexpr const char* scalings[] = {"none", "tensor", "block"};
  std::vector<std::string> words = {
      fmt::format("m={}", spec.m),
      fmt::format("n={}", spec.n),
      fmt::format("k={}", spec.k),
      fmt::format("batch={}", spec.batch),
      fmt::format("dtype={}", name_of(spec.dtype)),
      "layout=" + spec.layout,
      fmt::format("alpha={}", spec.alpha),
      fmt::format("beta={}", spec.beta),
      fmt::format("bias={}", spec.bias ? 1 : 0),
      fmt::format("act={}", activations[static_cast<std::size_t>(spec.act)]),
      fmt::format("scale={}", scalings[static_cast<std::size_t>(spec.scale)])};
  if (spec.out) words.push_back(fmt::format("out={}", name_of(*spec.out)));
  if (spec.precision) words.push_back(fmt::format("precision={}", name_of(*spec.precision)));
  return gemm_of(words);
}

}  // namespace cupilot
