#include "kernel/plan_scope.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <cupilot/parts/rejection.hpp>

#include "task/borrowed_scope.hpp"

namespace cupilot {
namespace {

ExprFault fault(ExprFault::Kind kind, std::string message) { return {kind, 1, std::move(message)}; }

}  // namespace

namespace {

// Operations an SM a cycle of its sustained clock, at the sustained rate of a precision class; 0:
// unknown. The clock is the boost clock as far as a full multiply-add load lets it be held.
std::optional<std::int64_t> operations_a_cycle(const DeviceSpec& device, std::string_view name) {
  std::string word(name);
  std::replace(word.begin(), word.end(), '_', '-');
  const auto precision = precision_from(word);
  if (!precision) return std::nullopt;
  const double rate = device.sustained_flops[static_cast<std::size_t>(*precision)];
  return std::llround(rate / device.sms / sustained_clock(device));
}

std::int64_t bytes_a_cycle(const DeviceSpec& device, double bytes_per_s) {
  return std::max<std::int64_t>(1, std::llround(bytes_per_s / sustained_clock(device)));
}

}  // namespace

double sustained_clock(const DeviceSpec& device) {
  const auto fp32 = static_cast<std::size_t>(Precision::fp32_strict);
  const bool known = device.peak_flops[fp32] > 0 && device.sustained_flops[fp32] > 0;
  return device.clock_hz * (known ? device.sustained_flops[fp32] / device.peak_flops[fp32] : 1);
}

ExprValue device_name(const DeviceSpec& device, std::string_view name) {
  if (name.starts_with("dev.ops.")) {
    if (const auto rate = operations_a_cycle(device, name.substr(8))) return *rate;
  }
  const std::pair<std::string_view, std::int64_t> names[] = {
      {"dev.sms", device.sms},
      {"dev.shared", device.shared_per_block},
      {"dev.threads", device.threads_per_block},
      {"dev.registers", device.registers_per_sm},
      {"dev.l2", device.l2_bytes},
      {"dev.blocks", device.blocks_per_sm},
      {"dev.shared_sm", device.shared_per_sm},
      {"dev.bytes.dram", bytes_a_cycle(device, device.dram_sustained)},
      {"dev.bytes.l2", bytes_a_cycle(device, device.l2_bytes_per_s)},
      {"dev.cc", device.compute_major * 10 + device.compute_minor},
  };
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  return fault(ExprFault::Kind::unknown_name, fmt::format("unknown name {}", name));
}

PlanScope::PlanScope(const LaunchPlan& plan, const Constants& constants, const Task& task,
                     const Workload& workload, const DeviceSpec& device,
                     const CompiledKernel* compiled)
    : plan_(plan),
      constants_(constants),
      device_(device),
      compiled_(compiled),
      task_(task),
      workload_(workload),
      self_([this](std::string_view name) { return (*this)(name); }) {}

ExprValue PlanScope::value(const Expr& expr) { return evaluate(expr, self_); }

std::optional<std::int64_t> PlanScope::outer_number(std::string_view name) const {
  if (name.starts_with("dev.")) {
    const ExprValue value = device_name(device_, name);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number == nullptr ? std::nullopt : std::optional(*number);
  }
  if (const auto at = constants_.find(std::string(name)); at != constants_.end()) return at->second;
  return task_number(task_, workload_, name);
}

ExprValue PlanScope::outer(std::string_view name) const {
  if (name.starts_with("dev.")) return device_name(device_, name);
  if (const auto number = outer_number(name)) return *number;
  return ExprFault{ExprFault::Kind::unknown_name, 0, fmt::format("unknown name '{}'", name)};
}

ExprValue PlanScope::memo(std::string_view name, const std::function<ExprValue()>& compute) {
  const auto at = known_.find(name);
  if (at != known_.end() && at->second) return *at->second;
  if (at != known_.end())
    return fault(ExprFault::Kind::circular, fmt::format("{} needs its own value", name));
  const auto place = known_.emplace(name, std::nullopt).first;
  place->second = compute();
  return *place->second;
}

ExprValue PlanScope::operator()(std::string_view name) {
  if (known_.contains(name)) return memo(name, {});
  for (const auto& [defined, expr] : plan_.let) {
    if (defined == name) return memo(name, [this, &text = expr] { return value(text); });
  }
  if (name.starts_with("resident.")) {
    const PlanLaunch* launch = launch_called(name.substr(9));
    if (!launch)
      return fault(ExprFault::Kind::unknown_name,
                   fmt::format("{}: the plan has no launch of that name", name));
    return memo(name, [this, launch] { return resident(*launch); });
  }
  if (name.ends_with(".ctas")) {
    if (const PlanLaunch* launch = launch_called(name.substr(0, name.size() - 5))) {
      return memo(name, [this, launch] { return ctas(*launch); });
    }
  }
  const ExprValue value = outer(name);
  if (std::holds_alternative<std::int64_t>(value)) known_.emplace(name, value);
  return value;
}

const PlanLaunch* PlanScope::launch_called(std::string_view name) const {
  for (const PlanLaunch& launch : plan_.launches) {
    if (launch.name == name) return &launch;
  }
  return nullptr;
}

ExprValue PlanScope::product(const std::vector<Expr>& sides) {
  std::int64_t all = 1;
  for (const Expr& side : sides) {
    const ExprValue one = value(side);
    if (std::holds_alternative<ExprFault>(one)) return one;
    if (__builtin_mul_overflow(all, std::get<std::int64_t>(one), &all)) {
      return fault(ExprFault::Kind::overflow, "the product of the sides passes 64 bits");
    }
  }
  return all;
}

ExprValue PlanScope::ctas(const PlanLaunch& launch) { return product(launch.grid); }

ExprValue PlanScope::resident(const PlanLaunch& launch) {
  if (!compiled_)
    return fault(ExprFault::Kind::not_yet,
                 fmt::format("resident.{} is known only after compiling", launch.name));
  const auto entry = fill_entry(launch.entry, self_);
  if (const auto* wrong = std::get_if<ExprFault>(&entry)) return *wrong;
  const EntryFacts* facts = find_entry(*compiled_, std::get<std::string>(entry));
  if (!facts || facts->registers <= 0) {
    return fault(
        ExprFault::Kind::not_yet,
        fmt::format("resident.{}: the registers of {} are not known", launch.name, launch.entry));
  }
  const ExprValue threads = product(launch.block);
  if (std::holds_alternative<ExprFault>(threads)) return threads;
  const ExprValue shared = value(launch.shared);
  if (std::holds_alternative<ExprFault>(shared)) return shared;
  const std::int64_t count = std::get<std::int64_t>(threads);
  if (count < 1 || count > device_.threads_per_block) return std::int64_t{0};
  const std::int64_t bytes = std::get<std::int64_t>(shared) + facts->static_shared;
  return std::int64_t{resident_blocks(device_, static_cast<int>(count), facts->registers, bytes)} *
         device_.sms;
}

std::optional<Rejected> hidden_name(const LaunchPlan& plan, const Task& task,
                                    const PlanScope& scope) {
  for (const auto& [name, expr] : plan.let) {
    if (scope.outer_number(name))
      return reject("plan.name", fmt::format("let {} hides a size or constant of that name", name),
                    "let." + name);
  }
  const auto taken = [&](const std::string& name) {
    const auto called = [&](const auto& one) { return one.name == name; };
    return std::any_of(task.tensors.begin(), task.tensors.end(), called) ||
           std::any_of(task.scalars.begin(), task.scalars.end(), called);
  };
  for (const PlanBuffer& buffer : plan.buffers) {
    if (taken(buffer.name))
      return reject("plan.name", fmt::format("buffer {} hides a tensor or scalar", buffer.name),
                    buffer.name);
  }
  for (const PlanTensorMap& map : plan.maps) {
    if (taken(map.name))
      return reject("plan.name", fmt::format("map {} hides a tensor or scalar", map.name),
                    map.name);
  }
  for (const PlanTexture& texture : plan.textures) {
    if (taken(texture.name))
      return reject("plan.name", fmt::format("texture {} hides a tensor or scalar", texture.name),
                    texture.name);
  }
  return std::nullopt;
}

std::variant<std::string, ExprFault> fill_entry(const std::string& entry, const ExprScope& scope) {
  std::string filled;
  std::size_t from = 0;
  while (true) {
    const std::size_t open = entry.find('{', from);
    filled += entry.substr(from, open == std::string::npos ? open : open - from);
    if (open == std::string::npos) return filled;
    const std::size_t close = entry.find('}', open);
    if (close == std::string::npos)
      return fault(ExprFault::Kind::syntax, fmt::format("entry {} has a '{{' without '}}'", entry));
    const ExprValue value = scope(std::string_view(entry).substr(open + 1, close - open - 1));
    if (const auto* wrong = std::get_if<ExprFault>(&value)) return *wrong;
    filled += std::to_string(std::get<std::int64_t>(value));
    from = close + 1;
  }
}

}  // namespace cupilot
