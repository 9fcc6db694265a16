#include "kernel/device_limits.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace cupilot {
namespace {

constexpr std::int64_t registers_a_thread = 255;

using Number = std::function<std::optional<std::int64_t>(const Expr&)>;

std::optional<std::string> broken_by(const PlanLaunch& launch, const DeviceSpec& device,
                                     std::int64_t registers, const Number& number) {
  std::int64_t threads = 1;
  for (const Expr& side : launch.block) {
    const auto value = number(side);
    if (value && (*value < 1 || *value > 1024))
      return fmt::format("{}: a block side of {}", launch.name, *value);
    threads = value && threads > 0 ? threads * *value : 0;
  }
  if (threads > device.threads_per_block) {
    return fmt::format("{}: {} threads a block, {} allows {}", launch.name, threads, device.name,
                       device.threads_per_block);
  }
  const auto shared = number(launch.shared);
  if (shared && (*shared < 0 || *shared > device.shared_per_block)) {
    return fmt::format("{}: {} bytes of shared memory, {} allows {}", launch.name, *shared,
                       device.name, device.shared_per_block);
  }
  // A warp gets registers in steps of 8 a thread.
  const std::int64_t rounded = (registers + 7) / 8 * 8;
  if (threads > 0 && (threads + 31) / 32 * 32 * rounded > device.registers_per_sm) {
    return fmt::format("{}: {} threads of about {} registers, an SM has {}", launch.name, threads,
                       registers, device.registers_per_sm);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_limit(const Tunable& tunable, const DeviceSpec& device,
                                        const Number& number) {
  const std::int64_t registers = number(tunable.registers).value_or(0);
  if (registers > registers_a_thread)
    return fmt::format("about {} registers a thread, at most {}", registers, registers_a_thread);
  for (const PlanLaunch& launch : tunable.plan.launches) {
    if (auto broken = broken_by(launch, device, registers, number)) return broken;
  }
  return std::nullopt;
}

DeviceLimits::DeviceLimits(const Tunable& tunable, const Task& task, const DeviceSpec& device)
    : tunable_(tunable),
      device_(device),
      program_(tunable.plan, constant_names(tunable), task, Workload{}, device) {
  const auto add = [&](const Expr& expr) { asked_.emplace_back(&expr, program_.add(expr)); };
  add(tunable.registers);
  for (const PlanLaunch& launch : tunable.plan.launches) {
    for (const Expr& side : launch.block) add(side);
    add(launch.shared);
  }
}

bool DeviceLimits::allow(std::span<const std::int64_t> constants) const {
  const Number number = [&](const Expr& expr) {
    const auto at = std::find_if(asked_.begin(), asked_.end(),
                                 [&](const auto& one) { return one.first == &expr; });
    const PlanProgram::Answer answer = program_.value(at->second, constants);
    return answer.is == PlanProgram::Answer::Is::number ? std::optional(answer.number)
                                                        : std::nullopt;
  };
  return !broken_limit(tunable_, device_, number);
}

}  // namespace cupilot
