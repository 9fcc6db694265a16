// Programs of several parts, and the one strategy that stands for them.
#include <algorithm>

#include <cupilot/parts/program_strategy.hpp>

namespace cupilot {

Strategy as_strategy(const ProgramStrategy& program) {
  Strategy out{{}, program.rationale, program.parents, program.origin};
  if (program.parts.size() == 1) out.uses = program.parts.front().strategy.uses;
  if (program.parts.size() <= 1) return out;
  for (const PartStrategy& part : program.parts) {
    out.uses.push_back({std::string(part_technique), {}, "", part.on});
    for (Use use : part.strategy.uses) {
      use.on = part.on;
      out.uses.push_back(std::move(use));
    }
  }
  return out;
}

ProgramStrategy parts_of(const Strategy& strategy) {
  ProgramStrategy out{{}, strategy.rationale, strategy.parents, strategy.origin};
  for (const Use& use : strategy.uses) {
    if (use.technique == part_technique) out.parts.push_back({use.on, {}});
  }
  if (out.parts.empty()) {
    out.parts.push_back({{}, {strategy.uses, "", {}, ""}});
    return out;
  }
  for (Use use : strategy.uses) {
    if (use.technique == part_technique) continue;
    const auto part = std::find_if(out.parts.begin(), out.parts.end(),
                                   [&](const PartStrategy& one) { return one.on == use.on; });
    if (part == out.parts.end()) continue;  // of no part
    use.on.clear();
    part->strategy.uses.push_back(std::move(use));
  }
  return out;
}

}  // namespace cupilot
