#include "kernel/library_step.hpp"

#include <algorithm>
#include <cstring>

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
  std::int64_t size() {
    const auto value = number<std::int64_t>();
    if (value < 1) fail();
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

}  // namespace

std::optional<LibraryStep> library_step(const ResolvedLaunch& launch) {
  StepArguments read(launch);
  LibraryStep out;
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
  return read.read_all() && taken ? std::optional(std::move(out)) : std::nullopt;
}

bool has_library_step(const LaunchPlan& plan) {
  return std::any_of(plan.launches.begin(), plan.launches.end(),
                     [](const PlanLaunch& launch) { return !launch.library.empty(); });
}

}  // namespace cupilot
