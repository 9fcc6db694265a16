#include "kernel/parameter_check.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kernel/plan_arguments.hpp"

namespace cupilot {
namespace {

constexpr ParameterSize pointer{8, 8};
constexpr ParameterSize tensor_map{128, 64};

template <class List>
bool holds(const List& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

}  // namespace

std::vector<ParameterSize> expected_parameters(const LaunchPlan& plan, const PlanLaunch& launch) {
  std::vector<ParameterSize> all;
  for (const PlanArgument& argument : launch.args) {
    if (const NumberType* number = number_type(argument.kind)) {
      all.push_back({number->bytes, number->bytes});
    } else if (argument.kind == PlanArgument::Kind::record) {
      all.push_back({argument.bytes, 0});
    } else if (holds(plan.maps, argument.name)) {
      all.push_back(tensor_map);
    } else if (holds(plan.buffers, argument.name) || holds(plan.textures, argument.name) ||
               argument.name.ends_with('?')) {
      all.push_back(pointer);
    } else {
      all.push_back({0, 0});
    }
  }
  return all;
}

std::vector<ParameterSize> expected_parameters(const ResolvedLaunch& launch) {
  std::vector<ParameterSize> all;
  for (const ResolvedArgument& argument : launch.args) {
    if (argument.kind == ResolvedArgument::Kind::map) {
      all.push_back(tensor_map);
    } else if (argument.kind == ResolvedArgument::Kind::immediate) {
      const int bytes = static_cast<int>(argument.bytes.size());
      all.push_back({bytes, bytes});
    } else if (argument.kind == ResolvedArgument::Kind::record) {
      all.push_back({static_cast<int>(argument.bytes.size()), 0});
    } else {
      all.push_back(pointer);
    }
  }
  return all;
}

std::optional<std::string> parameter_mismatch(const std::vector<ParameterSize>& expected,
                                              const EntryFacts& entry) {
  if (expected.size() != entry.parameter_bytes.size()) {
    return fmt::format("{} declares {} parameters, the plan passes {}", entry.source_name,
                       entry.parameter_bytes.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int bytes = entry.parameter_bytes[i];
    const bool fits =
        expected[i].bytes == 0 ? bytes >= 1 && bytes <= 8 : bytes == expected[i].bytes;
    if (!fits) {
      const std::string want =
          expected[i].bytes == 0 ? "1 to 8" : std::to_string(expected[i].bytes);
      return fmt::format("parameter {} of {} has {} bytes, the plan passes {}", i,
                         entry.source_name, bytes, want);
    }
    // A kernel may ask for less alignment than the value has, never for more.
    if (i < entry.parameter_alignment.size() && expected[i].alignment > 0 && bytes <= 8 &&
        entry.parameter_alignment[i] > expected[i].alignment) {
      return fmt::format("parameter {} of {} is aligned to {} bytes, the plan's value to {}", i,
                         entry.source_name, entry.parameter_alignment[i], expected[i].alignment);
    }
  }
  return std::nullopt;
}

}  // namespace cupilot
