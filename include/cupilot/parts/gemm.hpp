// The built-in family: D = act(alpha * op(A) op(B) + beta * C + bias), row-major storage, fp32
// accumulate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

enum class Activation { none, relu, gelu, silu, tanh, sigmoid };

// Scale factors of quantised operands, in fp32. tensor: one for A, one for B. block: one for each
// row of A and each column block of 128 of B, and each 128 of K.
enum class Scaling { none, tensor, block };

struct GemmSpec {
  std::int64_t m = 1024, n = 1024, k = 1024;
  std::int64_t batch = 1;
  DType dtype = DType::f32;    // type of A and B
  std::optional<DType> out{};  // type of C and D; default: dtype, bf16 if that has 8 bits
  std::optional<Precision>
      precision{};            // default: strict class of dtype; fp8-promoted with block scales
  std::string layout = "nn";  // first letter op(A), second op(B): n as stored, t transposed
  double alpha = 1.0, beta = 0.0;
  bool bias = false;  // one value per column, in the output type
  Activation act = Activation::none;
  Scaling scale = Scaling::none;  // for 8-bit operands
};

// Makes the task. Shapes: A: batch x m x k (layout t: batch x k x m), B: batch x k x n (t: batch x
// n x k), C, D: batch x m x n, bias: n. scale_a, scale_b: 1 each (tensor); batch x ceil(k / 128) x
// m and batch x ceil(n / 128) x ceil(k / 128) (block).
Result<Task> gemm_task(const GemmSpec& spec);

// Parses command-line words `m=4096 dtype=bf16 …`. Error usage: an unknown key (the message names
// the nearest one) or a bad value.
Result<GemmSpec> gemm_spec_from(const std::vector<std::string>& words);

}  // namespace cupilot
CUPILOT_EXPORTS_END
