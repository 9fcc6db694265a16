// Which techniques that a kernel does not use would relieve what holds it back.
#pragma once

#include <optional>
#include <vector>

#include <cupilot/parts/agents.hpp>

namespace cupilot {

struct Relief {
  const Technique* technique = nullptr;  // of the brief's space
  Resource resource = Resource::dram;    // that it relieves most
  double share = 0;                      // of the time that it may take away, 0..1, by the verdict
  std::optional<double>
      log2_gain{};  // expected speed with it over that without; nothing: no forecast
};

// The most promising first: by what is expected of the strategy with the technique, then by share.
// Empty without a verdict.
std::vector<Relief> reliefs(const StrategyBrief& brief, const Individual& individual,
                            std::size_t most);

}  // namespace cupilot
