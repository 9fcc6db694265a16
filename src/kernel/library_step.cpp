#include "kernel/library_step.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace cupilot {
namespace {

// Reads a launch's arguments in their order.
class StepArguments {
 public:
  explicit StepArguments(const ResolvedLaunch& launch) : args_(launch.args) {}

  ResolvedArgument pointer(bool optional = false) {
    using Kind = ResolvedArgument::Kind;
    if (at_ >= args_.size()) return fail(), ResolvedArgument{};
    const ResolvedArgument& one = args_[at_++];
    const bool none = one.kind == Kind::null_pointer;
    if (one.kind != Kind::tensor && one.kind != Kind::buffer && !(none && optional)) fail();
    return one;
  }
  template <class T>
  T number() {
    T value{};
    if (at_ >= args_.size()) return fail(), value;
    const ResolvedArgument& one = args_[at_++];
    if (one.kind != ResolvedArgument::Kind::immediate || one.bytes.size() != sizeof value)
      return fail(), value;
    std::memcpy(&value, one.bytes.data(), sizeof value);
    return value;
  }
  // One of an enumeration's values up to `last`.
  template <class T>
  T choice(T last) {
    const auto value = number<std::int32_t>();
    if (value < 0 || value > static_cast<std::int32_t>(last)) return fail(), T{};
    return static_cast<T>(value);
  }
  std::int64_t size() { return within(1, std::numeric_limits<std::int64_t>::max()); }
  std::int64_t within(std::int64_t least, std::int64_t most) {
    const auto value = number<std::int64_t>();
    if (value < least || value > most) fail();
    return value;
  }
  void fail() { failed_ = true; }
  bool read_all() const { return !failed_ && at_ == args_.size(); }

 private:
  const std::vector<ResolvedArgument>& args_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

bool is_taken(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

std::optional<LibraryStep> product_step(StepArguments& read) {
  ProductStep out;
  out.a = read.pointer();
  out.b = read.pointer();
  out.d = read.pointer();
  out.bias = read.pointer(true);
  out.alpha = read.number<float>();
  out.m = read.size();
  out.n = read.size();
  out.k = read.size();
  out.batch = read.size();
  out.trans_a = read.choice(1) != 0;
  out.trans_b = read.choice(1) != 0;
  out.epilogue = read.choice(StepEpilogue::gelu);
  out.type_a = read.choice(DType::boolean);
  out.type_b = read.choice(DType::boolean);
  out.type_d = read.choice(DType::boolean);
  out.compute = read.choice(StepCompute::tf32);
  const bool taken = is_taken(out.type_a) && is_taken(out.type_b) && is_taken(out.type_d);
  return read.read_all() && taken ? std::optional<LibraryStep>(std::move(out)) : std::nullopt;
}

// True if windows over `whole`, which is padded, have `places` places.
bool are_places(const ConvolutionStep& step, std::size_t d, std::int64_t whole,
                std::int64_t places) {
  const std::int64_t reach = step.dilation[d] * (step.window[d] - 1) + 1,
                     free = whole + 2 * step.padding[d] - reach;
  return free >= 0 && free / step.stride[d] + 1 == places;
}

// True if extents and channels fit one another.
bool fits(const ConvolutionStep& step) {
  if (step.channels % step.groups != 0 || step.outputs % step.groups != 0) return false;
  for (std::size_t d = 0; d < step.size.size(); ++d) {
    const bool fit = step.transposed ? are_places(step, d, step.places[d], step.size[d])
                                     : are_places(step, d, step.size[d], step.places[d]);
    if (!fit) return false;
  }
  return true;
}

// The library's extents are ints.
constexpr std::int64_t most_extent = std::numeric_limits<std::int32_t>::max();

std::optional<LibraryStep> convolution_step(StepArguments& read) {
  ConvolutionStep out;
  out.x = read.pointer();
  out.weight = read.pointer();
  out.y = read.pointer();
  out.bias = read.pointer(true);
  for (std::int64_t* one : {&out.batch, &out.channels, &out.outputs, &out.groups})
    *one = read.within(1, most_extent);
  for (auto* extents : {&out.size, &out.window, &out.places, &out.stride, &out.dilation})
    for (std::int64_t& one : *extents) one = read.within(1, most_extent);
  for (std::int64_t& one : out.padding) one = read.within(0, most_extent);
  out.transposed = read.choice(1) != 0;
  out.type = read.choice(DType::boolean);
  out.compute = read.choice(StepCompute::tf32);
  const bool taken = read.read_all() && is_taken(out.type) && fits(out);
  return taken ? std::optional<LibraryStep>(std::move(out)) : std::nullopt;
}

struct LibraryRow {
  StepLibrary library;
  std::optional<LibraryStep> (*step)(StepArguments& read);
};
constexpr LibraryRow rows[] = {
    {{cublaslt_library, "cuBLASLt", "a product", "cublasLt.h", "-lcublasLt"}, product_step},
    {{cudnn_library, "cuDNN", "a convolution", "cudnn.h", "-l:libcudnn.so.9"}, convolution_step}};

}  // namespace

std::span<const StepLibrary> step_libraries() {
  static const std::vector<StepLibrary> all = [] {
    std::vector<StepLibrary> libraries;
    for (const LibraryRow& row : rows) libraries.push_back(row.library);
    return libraries;
  }();
  return all;
}

const StepLibrary* find_step_library(std::string_view name) {
  for (const StepLibrary& library : step_libraries()) {
    if (library.name == name) return &library;
  }
  return nullptr;
}

std::optional<LibraryStep> library_step(const ResolvedLaunch& launch) {
  for (const LibraryRow& row : rows) {
    StepArguments read(launch);
    if (row.library.name == launch.library) return row.step(read);
  }
  return std::nullopt;
}

bool has_library_step(const LaunchPlan& plan) {
  return std::any_of(plan.launches.begin(), plan.launches.end(),
                     [](const PlanLaunch& launch) { return !launch.library.empty(); });
}

bool has_step_of(const LaunchPlan& plan, std::string_view library) {
  return std::any_of(plan.launches.begin(), plan.launches.end(),
                     [&](const PlanLaunch& launch) { return launch.library == library; });
}

}  // namespace cupilot
