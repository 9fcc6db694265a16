// A host that drives a search itself gets what `evolve` makes.
#include <map>
#include <vector>

#include "catch.hpp"
#include "evolution/jobs_of.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/search/known_kernels.hpp"
#include "evolution/support.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// Slot -> strategy and how it ended, as the search takes it.
using Ends = std::map<std::int64_t, std::string>;

std::string end_of(const std::string& strategy, const Score& score) {
  return strategy + (score.accepted ? " " + std::to_string(score.time_us) : " " + score.rejection);
}

Ends ends_of_run(const std::string& run_dir) {
  auto read = read_journal(real_host(), run_dir);
  REQUIRE_OK(read);
  auto state = fold(*read);
  REQUIRE_OK(state);
  Ends ends;
  for (const SearchEvent& event : state->events) {
    if (const auto* result = std::get_if<ResultRecord>(&event)) {
      ends[result->slot] = end_of(result->candidate.strategy_id, score_of(result->candidate));
    }
  }
  return ends;
}

// Drives a search with evaluate() on a backend, answering in an order drawn from `order`.
Ends ends_by_hand(Evolution& evolution, const Pipe& pipe, int width, std::uint64_t order) {
  Ends ends;
  std::vector<Job> open;
  Rng rng(order);
  while (true) {
    auto fresh = jobs_of(evolution, width);
    for (Job& job : fresh) open.push_back(std::move(job));
    if (open.empty()) return ends;
    const auto pick = rng.below(static_cast<std::int64_t>(open.size()));
    const Job job = std::move(open[static_cast<std::size_t>(pick)]);
    open.erase(open.begin() + pick);
    auto candidate = evaluate(pipe, job);
    REQUIRE_OK(candidate);
    auto receipt = evolution.tell(job.proposal.id, *candidate);
    REQUIRE_OK(receipt);
    REQUIRE(receipt->told == TellStatus::accepted);
    Score score = score_of(*candidate);
    if (receipt->counts_as) {
      score.accepted = false;
      score.rejection = receipt->counts_as->code;
    }
    ends[job.proposal.slot] = end_of(candidate->strategy_id, score);
  }
}

double plain_us(const EvolveReport& report) {
  for (const Baseline& baseline : report.baselines) {
    if (baseline.name == "plain") return baseline.time_us;
  }
  return 0;
}

void same_as_evolve(const Task& task, Backend& backend, const EvolveOptions& run, int width,
                    std::uint64_t order) {
  auto report = evolve(task, backend, run);
  REQUIRE_OK(report);
  EvolutionOptions options;
  options.search = run.search;
  options.provenance = backend.provenance();
  options.plain_us = plain_us(*report);
  options.techniques = backend.traits().techniques;
  auto evolution = Evolution::begin(task, backend.device(), options);
  REQUIRE_OK(evolution);
  const Ends by_hand =
      ends_by_hand(*evolution, {TaskRef(task), &backend, nullptr, run.search.seed}, width, order);
  const Ends by_evolve = ends_of_run(run.run_dir);
  CHECK(by_hand.size() == by_evolve.size());
  for (const auto& [slot, end] : by_evolve) {
    INFO("slot " << slot);
    CHECK((by_hand.contains(slot) ? by_hand.at(slot) : "nothing") == end);
  }
}

}  // namespace

TEST_CASE("a host's loop makes the search that evolve makes", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  int number = 0;
  const std::vector<std::uint64_t> seeds =
      sanitized() ? std::vector<std::uint64_t>{7} : std::vector<std::uint64_t>{1, 7, 12};
  for (const std::uint64_t seed : seeds) {
    for (const int width : {1, 4}) {
      EvolveOptions run = small_run(dir / std::to_string(++number), 40);
      run.search.seed = seed;
      same_as_evolve(landscape_task(), *device, run, width, seed + 5);
    }
  }
}

// Interpreting kernels takes long under a sanitizer: ThreadSanitizer sees a whole pipe at work
// here, AddressSanitizer in test_cli.
TEST_CASE("a host's loop makes the search that evolve makes on kernels", "[threads]") {
  if (sanitized_for_addresses()) return;
  const TempDir dir;
  const std::int64_t size = sanitized() ? 16 : 32;
  const auto task = gemm_task({.m = size, .n = size, .k = size});
  REQUIRE_OK(task);
  auto device = open_backend("virtual:h200", testing::kept_images());
  REQUIRE_OK(device);
  same_as_evolve(*task, **device, small_run(dir / "run", sanitized() ? 2 : 10), 3, 2);
}

TEST_CASE("a job that would be the best is proved as an elite", "[threads]") {
  if (sanitized()) return;
  const auto task = gemm_task({.m = 32, .n = 32, .k = 32});
  REQUIRE_OK(task);
  auto device = open_backend("virtual:h200", testing::kept_images());
  REQUIRE_OK(device);
  auto evolution =
      Evolution::begin(*task, (*device)->device(), {.provenance = Provenance::modelled});
  REQUIRE_OK(evolution);
  for (Job& job : jobs_of(*evolution, 12)) {
    const auto level = [&](double elite_below_us) {
      job.elite_below_us = elite_below_us;
      auto candidate = evaluate({TaskRef(*task), device->get(), nullptr, 1}, job);
      REQUIRE_OK(candidate);
      const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
      return accepted != nullptr ? std::optional(accepted->verification.level) : std::nullopt;
    };
    if (level(1e6) != ProofLevel::elite) continue;
    CHECK(level(0) == ProofLevel::candidate);
    return;
  }
  FAIL("no job was proved as an elite");
}
