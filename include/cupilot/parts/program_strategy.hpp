// The strategy of a program: which operations become one kernel, and the strategy of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One kernel of a program.
struct PartStrategy {
  std::vector<std::string> on{};  // the operations that it computes; empty: all of the task
  Strategy strategy{};
  bool operator==(const PartStrategy& other) const {
    return on == other.on && strategy.uses == other.strategy.uses;
  }
};

// The parts in the order of their launches. A plain task has one.
struct ProgramStrategy {
  std::vector<PartStrategy> parts{};
  // Prose and origin, as of a Strategy.
  std::string rationale{};
  std::vector<std::string> parents{};
  std::string origin{};
};

// SHA-256 of canonical JSON: parts in their order, operations of a part sorted. Of one part, the id
// of its strategy.
std::string strategy_id(const ProgramStrategy& program);

// JSON as docs/formats/strategy.md says; of one part, that of its strategy. Error{usage}: the text
// is malformed, or its parts are not its partition.
std::string program_strategy_to_json(const ProgramStrategy& program);
Result<ProgramStrategy> program_strategy_from_json(std::string_view json);

// A program as one strategy, as candidates carry it: for each part a use of `part_technique` that
// names its operations, and the part's techniques, which apply to these. Of one part, its strategy.
inline constexpr std::string_view part_technique = "part";
Strategy as_strategy(const ProgramStrategy& program);
// A part whose only use is one of these is a step of that library: a product with the library's
// epilogue, or a convolution.
inline constexpr std::string_view library_techniques[] = {"cublaslt", "cudnn"};
// The library whose step the part is; "": it is none.
inline std::string_view library_of(const Strategy& strategy) {
  if (strategy.uses.size() != 1) return "";
  for (const std::string_view name : library_techniques)
    if (strategy.uses.front().technique == name) return name;
  return "";
}
inline bool is_library_step(const Strategy& strategy) { return !library_of(strategy).empty(); }
// The parts that a strategy names, in their order; one of all operations where it names none.
ProgramStrategy parts_of(const Strategy& strategy);

}  // namespace cupilot
CUPILOT_EXPORTS_END
