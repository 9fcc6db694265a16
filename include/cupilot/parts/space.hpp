// The feasible strategies of a task on a device: templates x catalogue x constraint graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>
#include <cupilot/rng.hpp>
#include <cupilot/strategy.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// What a parameter may be inside this space, after restriction to what templates realise.
struct Knob {
  std::string technique{};
  std::string parameter{};
  std::vector<std::int64_t> domain{};
  std::int64_t fallback = 0;  // where a search starts; suits the shapes and the device
};

struct Completion {
  Strategy strategy{};                 // feasible
  std::vector<std::string> dropped{};  // each dropped wish and its reason
};

// One primitive serves sampling, mutation, crossover, pins and model replies: complete(wish).
// Immutable; any thread. Every Strategy returned by a member is feasible by construction.
class Space {
 public:
  virtual ~Space() = default;
  virtual const std::vector<Technique>& techniques() const = 0;
  virtual const std::vector<Knob>& knobs() const = 0;
  // Fixes the skeleton, adds closures of "needs … when …" atomically, projects parameters to the
  // nearest legal value. `pinned`: "technique" or "technique.parameter"; everything else moves
  // first.
  virtual Result<Completion> complete(const Strategy& wish,
                                      const std::vector<std::string>& pinned) const = 0;
  Result<Completion> complete(const Strategy& wish) const { return complete(wish, {}); }
  virtual bool feasible(const Strategy& strategy) const = 0;
  // Upper estimate of the number of strategies, saturating.
  virtual double size() const = 0;
};

Strategy sample(const Space& space, Rng rng);  // spread over techniques, then parameters
// Changes `steps` things; `weight(technique)` biases which (1 when empty).
using TechniqueWeight = std::function<double(const std::string& technique)>;
Strategy mutate(const Space& space, const Strategy& parent, int steps,
                const TechniqueWeight& weight, Rng rng);
Strategy cross(const Space& space, const Strategy& a, const Strategy& b, Rng rng);
// All feasible strategies one parameter step or one technique away.
std::vector<Strategy> neighbours(const Space& space, const Strategy& strategy);
// Distance in techniques and normalized parameter steps, 0 for equal ids.
double distance(const Space& space, const Strategy& a, const Strategy& b);

}  // namespace cupilot
CUPILOT_EXPORTS_END
