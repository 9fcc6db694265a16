// A champion taken apart on a landscape, where what each technique is worth is known.
#include <cupilot/parts/explain.hpp>

#include <algorithm>
#include <map>

#include "backend/replayed/landscape.hpp"
#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr const char* additive =
    R"({"cupilot_landscape": 1, "kind": "additive", "variables": 5, "values": 3, "neutral": 2, "seed": 4})";

// Proposes one strategy, whatever it is asked for.
class Single final : public Strategist {
 public:
  explicit Single(Strategy strategy) : strategy_(std::move(strategy)) {}
  Result<std::optional<Strategy>> propose(const StrategyBrief&, Rng) override {
    return std::optional(strategy_);
  }

 private:
  Strategy strategy_;
};

double time_of(const Landscape& landscape, const Strategy& strategy) {
  Constants constants;
  for (const Use& use : strategy.uses) {
    constants[use.technique] = 1;
    for (const auto& [name, value] : use.values) constants[use.technique + "." + name] = value;
  }
  return landscape.time_us(landscape.point_of(constants));
}

Strategy everything(const Landscape& landscape) {
  Strategy strategy;
  for (const Technique& technique : landscape.techniques()) {
    Use use{technique.name, {}, "", {}};
    for (const TechniqueParameter& parameter : technique.parameters)
      use.values[parameter.name] = parameter.domain.front();
    strategy.uses.push_back(std::move(use));
  }
  return strategy;
}

Strategy without_one(Strategy strategy, const std::string& name) {
  std::erase_if(strategy.uses, [&](const Use& use) { return use.technique == name; });
  return strategy;
}

}  // namespace

TEST_CASE("each technique is worth what the kernel loses without it, and idle ones go",
          "[threads]") {
  const TempDir dir;
  const std::string file = write_landscape(dir, additive);
  const auto backend = fake_device(file);
  REQUIRE(backend);
  const auto spec = landscape_from_json(additive, file);
  REQUIRE(spec);
  const auto landscape = Landscape::make(*spec);
  REQUIRE(landscape);
  const Strategy champion = everything(*landscape);
  Single strategist(champion);
  EvolveOptions options = small_run(dir / "run", 1);
  options.strategist = &strategist;
  REQUIRE_OK(evolve(landscape_task(), *backend, options));

  const auto all = explain(dir / "run", *backend);
  REQUIRE_OK(all);
  const double whole = time_of(*landscape, champion);
  CHECK(all->champion_us == Approx(whole));
  REQUIRE(all->techniques.size() == champion.uses.size());
  double last = 1e300;
  int costly = 0;
  Strategy essential = champion;
  for (const TechniqueWorth& worth : all->techniques) {
    INFO(worth.technique << " " << worth.kept_for);
    const double without = time_of(*landscape, without_one(champion, worth.technique));
    CHECK(worth.kept_for.empty());
    CHECK(worth.us == Approx(without - whole).margin(1e-9));
    CHECK(worth.matters == (without > whole * 1.005));
    CHECK(worth.costs == (without < whole * 0.995));
    costly += worth.costs ? 1 : 0;
    CHECK(worth.us <= last);
    last = worth.us;
    const bool gone = std::count(all->dropped.begin(), all->dropped.end(), worth.technique) == 1;
    CHECK(gone == !worth.matters);
    if (gone) essential = without_one(essential, worth.technique);
  }
  CHECK(costly >= 1);  // what makes the kernel slower is no technique that does nothing
  // The two neutral ones at least.
  CHECK(all->dropped.size() >= 2);
  CHECK(strategy_id(all->essential) == strategy_id(essential));
  CHECK(all->essential_ratio == Approx(time_of(*landscape, essential) / whole));
}

TEST_CASE("a run without a champion is not explained") {
  const TempDir dir;
  const auto backend = fake_device(write_landscape(dir));
  REQUIRE(backend);
  const auto none = explain(dir / "nowhere", *backend);
  REQUIRE_FALSE(none);
  CHECK_FALSE(none.error().message.empty());
}
