// Steps of a library: launches whose product a library computes (docs/formats/launch-plan.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// The one library that plans may name.
inline constexpr std::string_view cublaslt_library = "cublaslt";

enum class StepEpilogue { plain, relu, gelu };  // gelu by tanh
enum class StepCompute { full, tf32 };          // sums in fp32; operands rounded to tf32

// D = epilogue(alpha op(A) op(B) + bias), row after row, as a launch's arguments say it.
struct LibraryStep {
  ResolvedArgument a{}, b{}, d{}, bias{};  // bias: a null pointer where there is none
  float alpha = 1;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool trans_a = false, trans_b = false;  // stored transposed
  StepEpilogue epilogue = StepEpilogue::plain;
  DType type_a = DType::f32, type_b = DType::f32, type_d = DType::f32;  // the bias has D's
  StepCompute compute = StepCompute::full;
};

// nullopt: the launch's arguments are no product's.
std::optional<LibraryStep> library_step(const ResolvedLaunch& launch);

// True if some launch of the plan is a library's step.
bool has_library_step(const LaunchPlan& plan);

}  // namespace cupilot
