#include <cupilot/evolution.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>

#include <cupilot/parts/rejection.hpp>

#include "base/hash.hpp"
#include "catch.hpp"
#include "evolution/jobs_of.hpp"
#include "evolution/support.hpp"
#include "support/gemm.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

EvolutionOptions small_search(std::uint64_t seed = 7) {
  EvolutionOptions options;
  options.search = small_run("").search;
  options.search.seed = seed;
  for (int i = 0; i < 5; ++i) {
    Technique technique;
    technique.name = "t" + std::to_string(i);
    technique.parameters = {{"x", {0, 1, 2}, {}, 0}};
    options.techniques.push_back(technique);
  }
  return options;
}

Evolution begin(const EvolutionOptions& options, const Task& task = landscape_task()) {
  auto evolution = Evolution::begin(task, *chip("h200"), options);
  REQUIRE_OK(evolution);
  return std::move(*evolution);
}

// A host whose answer is a function of the strategy: a time, a rejection, an equal kernel, or
// silence.
void answer(Evolution& evolution, const Proposal& proposal) {
  const Rng rng = Rng::of(3, strategy_id(proposal.strategy));
  const auto draw = Rng(rng).below(10);
  if (draw == 0) {
    CHECK(evolution.forget(proposal.id) == TellStatus::accepted);
  } else if (draw == 1) {
    REQUIRE_OK(evolution.tell(proposal.id, reject("verify.bound", "wrong")));
  } else {
    const double us = 5 + static_cast<double>(rng.fork(1).below(100));
    const std::string hash = draw == 2 ? "equal" : strategy_id(proposal.strategy);
    REQUIRE_OK(evolution.tell(proposal.id, Reported{us, hash, {}}));
  }
}

// One step of a host that works on up to three jobs at once. False: the search is over.
bool step(Evolution& evolution, Rng& rng) {
  if (evolution.open().size() < 3 && rng.below(2) == 0 && !jobs_of(evolution, 1).empty())
    return true;
  const auto open = evolution.open();
  if (open.empty()) return !jobs_of(evolution, 2).empty();
  const std::uint64_t id =
      open[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(open.size())))];
  auto job = evolution.job(id);
  REQUIRE_OK(job);
  answer(evolution, job->proposal);
  return true;
}

std::string finish(Evolution& evolution, std::uint64_t order) {
  Rng rng(order);
  while (step(evolution, rng)) {
  }
  return evolution.search().fingerprint();
}

std::string save(const Evolution& evolution) {
  auto saved = evolution.save();
  REQUIRE_OK(saved);
  return *saved;
}

}  // namespace

TEST_CASE("a search saved at any moment continues as if nothing had happened") {
  for (std::uint64_t seed = 1; seed <= (sanitized() ? 3 : 12); ++seed) {
    Evolution whole = begin(small_search(seed));
    const std::string last = finish(whole, seed);
    Evolution broken = begin(small_search(seed));
    Rng rng(seed);
    for (Rng when(seed + 100); step(broken, rng);) {
      if (when.below(4) != 0) continue;
      const std::string saved = save(broken);
      auto loaded = Evolution::load(saved);
      REQUIRE_OK(loaded);
      CHECK((save(*loaded) == saved));
      CHECK(loaded->open() == broken.open());
      broken = std::move(*loaded);
    }
    INFO("seed " << seed);
    CHECK(broken.search().fingerprint() == last);
  }
}

// Run by the case below in a process of its own.
TEST_CASE("continues the search saved in a file", "[.continue]") {
  const char* path = std::getenv("CUPILOT_SAVED");
  REQUIRE(path != nullptr);
  auto evolution = Evolution::load(read_all(path));
  REQUIRE_OK(evolution);
  std::ofstream(std::string(path) + ".end") << finish(*evolution, 1);
}

TEST_CASE("another process continues a saved search") {
  const TempDir dir;
  Evolution whole = begin(small_search());
  const std::string last = finish(whole, 1);
  Evolution broken = begin(small_search());
  Rng rng(5);
  for (int i = 0; i < 40; ++i) REQUIRE(step(broken, rng));
  const std::string path = dir / "saved";
  std::ofstream(path) << save(broken);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  REQUIRE(std::system(
              ("CUPILOT_SAVED=" + path + " " + program + " '[.continue]' > /dev/null").c_str()) ==
          0);
  CHECK(read_all(path + ".end") == last);
}

TEST_CASE("kernels come with their launches in numbers, and are made anew on demand") {
  const auto task = gemm_task({.m = 512, .n = 256, .k = 128});
  REQUIRE_OK(task);
  auto evolution = Evolution::begin(*task, *chip("h200"));
  REQUIRE_OK(evolution);
  for (const Job& job : jobs_of(*evolution, 12)) {
    REQUIRE(job.source);
    CHECK(job.source->strategy_id == strategy_id(job.proposal.strategy));
    auto again = evolution->job(job.proposal.id);
    REQUIRE_OK(again);
    CHECK((again->source->text == job.source->text));
    auto resolution =
        resolve(*job.source, *task, task->time_shapes.front(), *chip("h200"), nullptr);
    if (!resolution) {
      CHECK(job.plans.empty());
      continue;
    }
    REQUIRE(job.plans.size() == 1);
    const auto& plan = std::get<ResolvedPlan>(*resolution);
    CHECK(job.plans.front().launches.front().entry == plan.launches.front().entry);
    CHECK(job.plans.front().launches.front().grid == plan.launches.front().grid);
  }
}

TEST_CASE("a host that writes its own kernels gets strategies alone") {
  const auto task = gemm_task({.m = 512, .n = 256, .k = 128});
  REQUIRE_OK(task);
  auto evolution = Evolution::begin(*task, *chip("h200"), {.write = false});
  REQUIRE_OK(evolution);
  for (const Job& job : jobs_of(*evolution, 3)) {
    CHECK_FALSE(job.source);
    CHECK_FALSE(job.proposal.strategy.uses.empty());
  }
}

TEST_CASE("answers that come late, twice, never or for nobody are named") {
  Evolution evolution = begin(small_search());
  const auto jobs = jobs_of(evolution, 3);
  REQUIRE(jobs.size() == 3);
  const auto told = [&](std::uint64_t id) {
    auto receipt = evolution.tell(id, Reported{10, "", {}});
    REQUIRE_OK(receipt);
    return receipt->told;
  };
  CHECK(told(2) == TellStatus::accepted);
  CHECK(told(2) == TellStatus::duplicate);
  CHECK(evolution.forget(2) == TellStatus::duplicate);
  CHECK(evolution.forget(1) == TellStatus::accepted);
  CHECK(told(1) == TellStatus::forgotten);
  CHECK(told(0) == TellStatus::unknown_id);
  CHECK(told(4) == TellStatus::unknown_id);
  CHECK(evolution.forget(99) == TellStatus::unknown_id);
  CHECK(evolution.open() == std::vector<std::uint64_t>{3});
  CHECK_FALSE(evolution.job(4));
  // Never: the search says for whom it waits.
  for (int i = 0; i < 100; ++i) {
    auto asked = evolution.ask(1);
    REQUIRE_OK(asked);
    if (const auto* waiting = std::get_if<Waiting>(&*asked)) {
      CHECK(waiting->ids == std::vector<std::uint64_t>{3});
      return;
    }
    for (const Job& job : std::get<std::vector<Job>>(*asked))
      CHECK(told(job.proposal.id) == TellStatus::accepted);
  }
  FAIL("the search never waited");
}

TEST_CASE("nonsense is refused with its reason and changes nothing") {
  Evolution evolution = begin(small_search());
  REQUIRE(jobs_of(evolution, 1).size() == 1);
  const std::string before = save(evolution);
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinite = std::numeric_limits<double>::infinity();
  const auto refused = [&](const Result<Receipt>& receipt, const std::string& reason) {
    INFO(reason);
    REQUIRE_FALSE(receipt);
    CHECK(receipt.error().code == ErrorCode::usage);
    CHECK(receipt.error().message.find(reason) != std::string::npos);
    CHECK_FALSE(receipt.error().hint.empty());
  };
  for (const double us : {nan, infinite, -infinite, 0.0, -0.0, -3.0}) {
    refused(evolution.tell(1, Reported{us, "", {}}), "is not a positive number");
  }
  for (const double us : {1e11, 1e300})
    refused(evolution.tell(1, Reported{us, "", {}}), "is longer than a day");
  for (const double number : {nan, infinite, -1.0}) {
    for (double Count::*const part : {&Count::value, &Count::low, &Count::high}) {
      Reported counted{5, "", {}};
      counted.counts.source = CounterSource::counters;
      counted.counts[Counter::dram_read_bytes].*part = number;
      refused(evolution.tell(1, counted),
              "the count " + std::string(name_of(Counter::dram_read_bytes)) + " holds");
    }
    for (const bool resident : {true, false}) {
      Reported counted{5, "", {}};
      counted.counts.source = CounterSource::counters;
      (resident ? counted.warps.resident : counted.warps[Stall::barrier]) = number;
      refused(evolution.tell(1, counted),
              std::string("the warps' cycles ") + (resident ? "resident" : "barrier") + " hold");
    }
  }
  refused(evolution.tell(1, Rejected{Stage::run, "no.such", "", ""}),
          "no rejection code 'no.such'");
  Candidate candidate;
  candidate.outcome = Rejected{Stage::run, "", "", ""};
  refused(evolution.tell(1, candidate), "no rejection code ''");
  for (const Provenance provenance : {Provenance::measured, Provenance::modelled}) {
    Accepted accepted;
    accepted.measurement.provenance = provenance;
    accepted.measurement.time_us = 5;
    candidate.outcome = accepted;
    refused(evolution.tell(1, candidate), "this search ranks reported times");
  }
  Accepted counted;
  counted.measurement.provenance = Provenance::reported;
  counted.measurement.time_us = 5;
  counted.measurement.counts[Counter::blocks].value = nan;
  candidate.outcome = counted;
  refused(evolution.tell(1, candidate), "the count blocks holds");
  CHECK((save(evolution) == before));
  EvolutionOptions modelled = small_search();
  modelled.provenance = Provenance::modelled;
  Evolution other = begin(modelled);
  REQUIRE(jobs_of(other, 1).size() == 1);
  refused(other.tell(1, Reported{5, "", {}}), "this search ranks modelled times");
  modelled.plain_us = nan;
  CHECK_FALSE(Evolution::begin(landscape_task(), *chip("h200"), modelled));
}

TEST_CASE("a time below the floor is never best, nor is its kernel again") {
  const auto task = gemm_task({.m = 4096, .n = 4096, .k = 4096});
  REQUIRE_OK(task);
  EvolutionOptions options;
  options.search.lookahead = 1;
  auto evolution = Evolution::begin(*task, *chip("h200"), options);
  REQUIRE_OK(evolution);
  const auto told = [&](double us, const std::string& hash) -> std::string {
    const auto jobs = jobs_of(*evolution, 1);
    REQUIRE(jobs.size() == 1);
    auto receipt = evolution->tell(jobs.front().proposal.id, Reported{us, hash, {}});
    REQUIRE_OK(receipt);
    return receipt->counts_as ? receipt->counts_as->code : "accepted";
  };
  CHECK(told(1, "a") == "floor.impossible");
  CHECK(told(9000, "a") == "floor.banned");
  CHECK_FALSE(evolution->best());
  CHECK(told(9000, "b") == "accepted");
  CHECK(told(8000, "b") == "gate.duplicate");
  CHECK(told(8500, "") == "accepted");
  REQUIRE(evolution->best());
  CHECK(evolution->best()->time_us == 8500);
}

// A mask may leave most of a tensor that is updated in place as it is.
TEST_CASE("an update in place is told below the floor that counts its tensor twice") {
  const DeviceSpec device = *chip("h200");
  Task task = landscape_task();
  task.tensors[1].role = Role::in_out;
  task.time_shapes = {{{{"n", 100'000'000}}, 1.0}};
  const auto twice = floor_us(task, task.time_shapes[0], device, task.precision);
  REQUIRE_OK(twice);
  Evolution evolution = begin(small_search(), task);
  const auto told = [&](double us) -> std::string {
    const auto jobs = jobs_of(evolution, 1);
    REQUIRE(jobs.size() == 1);
    auto receipt = evolution.tell(jobs.front().proposal.id, Reported{us, "", {}});
    REQUIRE_OK(receipt);
    return receipt->counts_as ? receipt->counts_as->code : "accepted";
  };
  CHECK(told(0.8 * *twice) == "accepted");
  CHECK(told(0.5 * *twice) == "floor.impossible");
}

TEST_CASE("text that save did not write is refused") {
  Evolution evolution = begin(small_search());
  Rng rng(1);
  for (int i = 0; i < 30; ++i) REQUIRE(step(evolution, rng));
  const std::string saved = save(evolution);
  for (std::size_t length = 0; length < saved.size(); length += 97) {
    auto loaded = Evolution::load(saved.substr(0, length));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == ErrorCode::usage);
    CHECK(loaded.error().message.find("json.exception") == std::string::npos);
  }
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = saved;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"cupilot_evolution\":1", "\"cupilot_evolution\":2"},
           {"\"status\":\"told\"", "\"status\":\"lost\""},
           {"\"own_strategist\":false", "\"own_strategist\":true"},
           {"\"slot\":3", "\"slot\":4"},
           {"\"time_us\":", "\"time_us\":-"},
           {"\"provenance\":\"reported\"", "\"provenance\":\"guessed\""},
           {"\"time_us\":", "\"time_us\":1"},  // another time
           {"\"seed\":", "\"seed\":1"},
       }) {
    INFO(from);
    CHECK_FALSE(Evolution::load(edited(from, to)));
  }
  // As a program wrote it that knew no digest.
  const auto at = saved.find("\"digest\":");
  REQUIRE(at != std::string::npos);
  auto earlier = Evolution::load(std::string(saved).erase(at, saved.find(',', at) + 1 - at));
  REQUIRE_OK(earlier);
  CHECK(save(*earlier) == saved);
  const auto other = random_strategist();
  auto loaded = Evolution::load(saved, other.get());
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message.find("had the built-in strategist") != std::string::npos);
}

TEST_CASE("jobs made before an error are given first, then the error") {
  struct Failing : Strategist {
    std::unique_ptr<Strategist> inner = random_strategist();
    int calls = 0;
    Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
      if (++calls == 4) return Error{ErrorCode::failure, "the model fell silent", "ask again"};
      return inner->propose(brief, rng);
    }
  };
  Failing strategist;
  EvolutionOptions options = small_search();
  options.strategist = &strategist;
  Evolution evolution = begin(options);
  const auto jobs = jobs_of(evolution, 50);
  CHECK(!jobs.empty());
  CHECK(evolution.open().size() == jobs.size());
  auto failed = evolution.ask(1);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("fell silent") != std::string::npos);
  CHECK(evolution.ask(1));
}
