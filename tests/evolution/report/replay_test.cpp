#include <cupilot/parts/run_report.hpp>

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// The built-in one, but for its say in every third question.
struct Mixed : Strategist {
  Strategist& built_in;
  int* asked;
  explicit Mixed(Strategist& other, int* count) : built_in(other), asked(count) {}
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    ++*asked;
    return built_in.propose(brief, *asked % 3 == 0 ? rng.fork(1) : rng);
  }
};

}  // namespace

TEST_CASE("a run is repeated from its directory, proposal by proposal", "[replay][threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE(device);
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "run", 60)));
  const auto again = replay(dir / "run");
  REQUIRE_OK(again);
  CHECK(again->recorded >= 60);
  CHECK(again->proposed == again->recorded);
  CHECK(again->same == again->recorded);
  CHECK(again->first_other_slot == -1);
  CHECK(again->unknown == 0);
  CHECK(again->best_us == again->run_best_us);
  CHECK(again->best_us > 0);
}

TEST_CASE("a replay takes another policy and says what the run does not know",
          "[replay][threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE(device);
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "run", 60)));
  ReplayOptions random;
  random.random_search = true;
  const auto other = replay(dir / "run", random);
  REQUIRE_OK(other);
  CHECK(other->same < other->proposed);
  CHECK(other->first_other_slot >= 0);
  CHECK(other->unknown > 0);

  ReplayOptions seed;
  seed.change = [](SearchOptions& search) { search.seed = 99; };
  const auto reseeded = replay(dir / "run", seed);
  REQUIRE_OK(reseeded);
  CHECK(reseeded->same < reseeded->proposed);

  int asked = 0;
  ReplayOptions mixed;
  mixed.strategist = [&](const Task&, const DeviceSpec&, const SearchOptions&,
                         Strategist& built_in) {
    return Result<std::unique_ptr<Strategist>>(std::make_unique<Mixed>(built_in, &asked));
  };
  REQUIRE_OK(replay(dir / "run", mixed));
  CHECK(asked > 0);
}

TEST_CASE("what is no run is not replayed", "[replay]") {
  const TempDir dir;
  const auto none = replay(dir / "nothing");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
}
