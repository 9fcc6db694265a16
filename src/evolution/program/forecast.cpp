#include "evolution/program/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <cupilot/parts/space.hpp>
#include <cupilot/rng.hpp>

#include "evolution/run/context.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t settings_drawn = 256;

}  // namespace

double least_forecast_us(const Task& task, const DeviceSpec& device, const Families& families,
                         std::uint64_t seed) {
  const auto components = find_components(task, device, {}, {}, families, true);
  if (!components || !components->knowledge.forecast) return 0;
  const Rng rng(seed);
  std::optional<double> least;
  for (std::uint64_t draw = 0; draw < settings_drawn; ++draw) {
    const auto expected =
        components->knowledge.forecast(sample(*components->space, rng.fork(draw)));
    if (expected) least = std::min(least.value_or(expected->log2_us), expected->log2_us);
  }
  return least ? std::exp2(*least) : 0;
}

}  // namespace cupilot
