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
// A part whose only use is this one is a step of that library, with the library's epilogue.
inline constexpr std::string_view library_technique = "cublaslt";
inline bool is_library_step(const Strategy& strategy) {
  return strategy.uses.size() == 1 && strategy.uses.front().technique == library_technique;
}
// The parts that a strategy names, in their order; one of all operations where it names none.
ProgramStrategy parts_of(const Strategy& strategy);

}  // namespace cupilot
CUPILOT_EXPORTS_END
