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

// A parameter's values inside this space, restricted to those that templates realise.
struct Knob {
  std::string technique{};
  std::string parameter{};
  std::vector<std::int64_t> domain{};
  std::int64_t fallback = 0;  // start of a search; suits the shapes and the device
};

struct Completion {
  Strategy strategy{};                 // feasible
  std::vector<std::string> dropped{};  // each dropped technique with its reason
};

// One primitive serves sampling, mutation, crossover, pins and model replies: complete(wish).
// Immutable; any thread. Every Strategy returned by a member is feasible by construction.
class Space {
 public:
  virtual ~Space() = default;
  virtual const std::vector<Technique>& techniques() const = 0;
  virtual const std::vector<Knob>& knobs() const = 0;
  // Repairs a strategy: fixes the skeleton, adds closures of "needs … when …" atomically,
  // projects parameters to the nearest legal value. `pinned`: "technique" or
  // "technique.parameter"; everything else changes first.
  virtual Result<Completion> complete(const Strategy& wish,
                                      const std::vector<std::string>& pinned) const = 0;
  Result<Completion> complete(const Strategy& wish) const { return complete(wish, {}); }
  virtual bool feasible(const Strategy& strategy) const = 0;
  // Returns an upper estimate of the number of strategies, saturating.
  virtual double size() const = 0;
};

Strategy sample(const Space& space, Rng rng);  // spread over techniques, then parameters
// Changes `steps` techniques or parameters, drawn by `weight(technique)` (1 when empty).
using TechniqueWeight = std::function<double(const std::string& technique)>;
Strategy mutate(const Space& space, const Strategy& parent, int steps,
                const TechniqueWeight& weight, Rng rng);
Strategy cross(const Space& space, const Strategy& a, const Strategy& b, Rng rng);
// Returns all feasible strategies one parameter step or one technique away.
std::vector<Strategy> neighbours(const Space& space, const Strategy& strategy);
// Returns the distance in techniques and normalised parameter steps, 0 for equal ids.
double distance(const Space& space, const Strategy& a, const Strategy& b);

}  // namespace cupilot
CUPILOT_EXPORTS_END
