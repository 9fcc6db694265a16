// Steps of a library: launches that a library computes (docs/formats/launch-plan.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// A library that plans may name.
struct StepLibrary {
  std::string_view name;            // in plans and strategies
  std::string_view title;           // in sentences
  std::string_view computes;        // "a product": the form of its steps' arguments
  std::string_view header, linked;  // a launcher's include and its linker's word
};
inline constexpr std::string_view cublaslt_library = "cublaslt", cudnn_library = "cudnn";
std::span<const StepLibrary> step_libraries();
// Null: there is no such library.
const StepLibrary* find_step_library(std::string_view name);

enum class StepEpilogue { plain, relu, gelu };  // gelu by tanh
enum class StepCompute { full, tf32 };          // sums in fp32; operands rounded to tf32

// D = epilogue(alpha op(A) op(B) + bias), row after row, as a launch's arguments say it.
struct ProductStep {
  ResolvedArgument a{}, b{}, d{}, bias{};  // bias: a null pointer where there is none
  float alpha = 1;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool trans_a = false, trans_b = false;  // stored transposed
  StepEpilogue epilogue = StepEpilogue::plain;
  DType type_a = DType::f32, type_b = DType::f32, type_d = DType::f32;  // the bias has D's
  StepCompute compute = StepCompute::full;
};

// y = convolution of x by the weight + bias, dense: x batch, channels, size; y batch,
// outputs, places. Three spatial dimensions, absent ones 1 in front. The weight is outputs,
// channels of a group, window; transposed: channels, outputs of a group, window.
struct ConvolutionStep {
  ResolvedArgument x{}, weight{}, y{}, bias{};  // bias: a null pointer where there is none
  std::int64_t batch = 0, channels = 0, outputs = 0, groups = 1;
  using Extents = std::array<std::int64_t, 3>;
  Extents size{}, window{}, places{}, stride{}, padding{}, dilation{};
  bool transposed = false;
  DType type = DType::f32;  // of all operands
  StepCompute compute = StepCompute::full;
};

using LibraryStep = std::variant<ProductStep, ConvolutionStep>;

// nullopt: there is no such library, or the launch's arguments are none of its steps'.
std::optional<LibraryStep> library_step(const ResolvedLaunch& launch);

// True if some launch of the plan is a library's step.
bool has_library_step(const LaunchPlan& plan);
// True if some launch is a step of this library.
bool has_step_of(const LaunchPlan& plan, std::string_view library);

}  // namespace cupilot
