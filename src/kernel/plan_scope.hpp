// The names an expression of a launch plan may use, with `let` definitions evaluated once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/expr.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// dev.sms, dev.shared (a block), dev.threads (a block), dev.registers (an SM), dev.l2 (bytes),
// dev.blocks (an SM), dev.shared_sm (bytes an SM), dev.cc, dev.ops.CLASS (operations an SM a
// cycle).
ExprValue device_name(const DeviceSpec& device, std::string_view name);

// Hertz: the boost clock as far as a full multiply-add load lets it be held.
double sustained_clock(const DeviceSpec& device);

// Sizes, task constants, elem.T; constants of the strategy; dev.*; let; resident.L; L.ctas.
class PlanScope {
 public:
  // The arguments must outlive it.
  PlanScope(const LaunchPlan& plan, const Constants& constants, const Task& task,
            const Workload& workload, const DeviceSpec& device, const CompiledKernel* compiled);
  PlanScope(const PlanScope&) = delete;
  PlanScope& operator=(const PlanScope&) = delete;

  ExprValue operator()(std::string_view name);
  ExprValue value(const Expr& expr);

  // Value of `name` without the plan's own definitions, where it is a number.
  std::optional<std::int64_t> outer_number(std::string_view name) const;

 private:
  ExprValue memo(std::string_view name, const std::function<ExprValue()>& compute);
  ExprValue outer(std::string_view name) const;
  ExprValue resident(const PlanLaunch& launch);
  ExprValue ctas(const PlanLaunch& launch);
  ExprValue product(const std::vector<Expr>& sides);
  const PlanLaunch* launch_called(std::string_view name) const;

  const LaunchPlan& plan_;
  const Constants& constants_;
  const DeviceSpec& device_;
  const CompiledKernel* compiled_;
  const Task& task_;
  const Workload& workload_;
  ExprScope self_;
  std::map<std::string, std::optional<ExprValue>, std::less<>>
      known_;  // memo; nothing while being computed
};

// The plan's first name that hides one of the task or the strategy, if one does: a reader of the
// plan would see another number.
std::optional<Rejected> hidden_name(const LaunchPlan& plan, const Task& task,
                                    const PlanScope& scope);

// `entry` with every {NAME} replaced by its value; the fault names what has none.
std::variant<std::string, ExprFault> fill_entry(const std::string& entry, const ExprScope& scope);

}  // namespace cupilot
