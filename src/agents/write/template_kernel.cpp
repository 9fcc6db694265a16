#include "agents/write/template_kernel.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/agents.hpp>

#include "agents/write/template_text.hpp"
#include "kernel/tunable_values.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

const TunableParameter* parameter_named(const Tunable& tunable, const std::string& name) {
  for (const TunableParameter& parameter : tunable.parameters) {
    if (parameter.constant == name) return &parameter;
  }
  for (const TunableParameter& parameter : tunable.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

Error unknown_name(const Tunable& tunable, const std::string& name) {
  std::vector<std::string_view> known;
  for (const TunableParameter& parameter : tunable.parameters) known.push_back(parameter.constant);
  if (known.empty())
    return {ErrorCode::usage, fmt::format("{}: '{}': it has no parameters", tunable.file, name),
            "leave the setting out"};
  return {ErrorCode::usage, fmt::format("{}: it has no parameter '{}'", tunable.file, name),
          fmt::format("nearest: {}; known: {}", nearest(name, known), listed(known))};
}

Error outside_domain(const Tunable& tunable, const TunableParameter& parameter,
                     std::int64_t value) {
  return {
      ErrorCode::usage,
      fmt::format("{}: {}={} is outside its domain", tunable.file, parameter.constant, value),
      fmt::format("give one of {}; plain: {}", fmt::join(parameter.domain, ", "), parameter.plain)};
}

// The techniques that the template stands on, each at its default.
Strategy bare_strategy(const Tunable& tunable) {
  Strategy strategy;
  for (const std::string& technique : tunable.requires_techniques)
    strategy.uses.push_back({technique, {}, "", {}});
  strategy.origin = "user";
  return strategy;
}

// Names the techniques that the constants use: those of which a value is not the plain one.
Strategy strategy_at(const Tunable& tunable, const Constants& constants) {
  Strategy strategy = bare_strategy(tunable);
  for (const TunableParameter& parameter : tunable.parameters) {
    const std::string& technique = parameter.technique.empty() ? tunable.name : parameter.technique;
    const std::int64_t value = constants.at(parameter.constant);
    auto use = std::find_if(strategy.uses.begin(), strategy.uses.end(),
                            [&](const Use& one) { return one.technique == technique; });
    const bool used = use != strategy.uses.end();
    if (!used && !parameter.technique.empty() && value == parameter.plain) continue;
    if (!used) use = strategy.uses.insert(use, {technique, {}, "", {}});
    use->values[parameter.name] = value;
  }
  return strategy;
}

}  // namespace

Result<KernelSource> template_kernel(const Tunable& tunable, const Task& task,
                                     const Strategy& strategy, const Constants& constants) {
  auto text = template_text(tunable, task, strategy, constants);
  if (!text) return text.error();
  KernelSource source;
  source.text = std::move(*text);
  source.plan = tunable.plan;
  source.constants = constants;
  source.template_name = tunable.name;
  source.strategy_id = strategy_id(strategy);
  return source;
}

Result<KernelSource> instantiate(const Tunable& tunable, const Task& task, const DeviceSpec& device,
                                 const std::map<std::string, std::int64_t>& values) {
  auto constants = constants_for(tunable, task, bare_strategy(tunable));
  if (!constants) return constants.error();
  for (const auto& [name, value] : values) {
    const TunableParameter* parameter = parameter_named(tunable, name);
    if (parameter == nullptr) return unknown_name(tunable, name);
    const auto& domain = parameter->domain;
    const bool allowed =
        value == parameter->plain || std::find(domain.begin(), domain.end(), value) != domain.end();
    if (!allowed) return outside_domain(tunable, *parameter, value);
    (*constants)[parameter->constant] = value;
  }
  if (const auto broken = broken_restriction(tunable, task, device, *constants)) {
    std::string setting;
    for (const auto& [constant, value] : *constants)
      setting += fmt::format("{}{}={}", setting.empty() ? "" : " ", constant, value);
    return Error{
        ErrorCode::usage,
        fmt::format("{}: the setting {} breaks the restriction {}", tunable.file, setting, *broken),
        "give other values of its parameters"};
  }
  return template_kernel(tunable, task, strategy_at(tunable, *constants), *constants);
}

}  // namespace cupilot
