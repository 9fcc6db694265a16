#include "agents/propose/untried.hpp"

namespace cupilot {
namespace {

constexpr int draws = 256;

class RandomStrategist final : public Strategist {
 public:
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    if (Result<void> checked = check_brief(brief); !checked) return checked.error();
    std::optional<Strategy> strategy = untried_sample(brief, draws, rng);
    if (strategy) strategy->origin = name_of(brief.kind);
    return strategy;
  }
};

}  // namespace

std::unique_ptr<Strategist> random_strategist() { return std::make_unique<RandomStrategist>(); }

}  // namespace cupilot
