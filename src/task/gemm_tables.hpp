// What the gemm family offers, by name.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/dtype.hpp>

#include "base/embedded.hpp"

namespace cupilot {

// kernels/reference/*.cu as compiled in.
std::span<const EmbeddedFile> reference_files();

inline constexpr std::array<DType, 5> gemm_types = {DType::f32, DType::bf16, DType::f16,
                                                    DType::e4m3, DType::e5m2};  // of A, B
inline constexpr std::array<DType, 3> gemm_out_types = {DType::f32, DType::bf16, DType::f16};
// Sums of 8-bit products do not fit 8 bits.
inline DType gemm_out(DType operands) { return size_of(operands) == 1 ? DType::bf16 : operands; }

// A class is offered for a type when its products can hold it: 16-bit operands enter tensor cores
// exactly in their own class.
struct GemmClass {
  DType type;
  Precision precision;
};
inline constexpr std::array<GemmClass, 14> gemm_classes = {{
    {DType::f32, Precision::fp32_strict},
    {DType::f32, Precision::fp32_emulated},
    {DType::f32, Precision::bf16x3},
    {DType::f32, Precision::tf32},
    {DType::f32, Precision::bf16},
    {DType::f32, Precision::fp16},
    {DType::bf16, Precision::bf16},
    {DType::bf16, Precision::fp32_strict},
    {DType::f16, Precision::fp16},
    {DType::f16, Precision::fp32_strict},
    {DType::e4m3, Precision::fp8},
    {DType::e4m3, Precision::fp8_promoted},
    {DType::e5m2, Precision::fp8},
    {DType::e5m2, Precision::fp8_promoted},
}};

// Ways of arithmetic that people ask for by name; both are of the class fp32-emulated, and which is
// used is the search's.
inline constexpr std::array<std::string_view, 2> gemm_emulations = {"tf32x3", "bf16x6"};

inline constexpr std::array<std::string_view, 4> gemm_layouts = {"nn", "nt", "tn", "tt"};
// In the order of Activation.
inline constexpr std::array<std::string_view, 6> activation_names = {"none", "relu", "gelu",
                                                                     "silu", "tanh", "sigmoid"};

// In the order of Scaling.
inline constexpr std::array<std::string_view, 3> scaling_names = {"none", "tensor", "block"};

inline std::string gemm_type_names(std::span<const DType> types) {
  std::string out;
  for (const DType type : types) out += (out.empty() ? "" : ", ") + std::string(name_of(type));
  return out;
}

inline std::vector<std::string_view> gemm_precision_names() {
  std::vector<std::string_view> out;
  for (const GemmClass& row : gemm_classes) {
    if (row.type == DType::f32 || row.type == DType::e4m3) out.push_back(name_of(row.precision));
  }
  return out;
}

}  // namespace cupilot
