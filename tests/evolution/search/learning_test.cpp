// A search that learns from the last one: what a run timed waits in the pool, and a later one
// forecasts by it.
#include <cmath>
#include <regex>
#include <span>

#include <cupilot/parts/agents.hpp>

#include "catch.hpp"
#include "evolution/journal/prediction_score.hpp"
#include "evolution/search/knowledge.hpp"
#include "evolution/support.hpp"
#include "support/gemm.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

Task gemm(int size) {
  const std::string edge = std::to_string(size);
  auto task = gemm_of({"m=" + edge, "n=" + edge, "k=" + edge, "dtype=bf16"});
  REQUIRE(task);
  return *task;
}

// A card whose times go by three constants alone, in ways that arithmetic does not know.
class OddCard : public Backend {
 public:
  const DeviceTraits& traits() const override { return traits_; }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh = Fresh::no) override {
    CompiledKernel kernel;
    kernel.source = source;
    kernel.id = kernel_id(source);
    kernel.arch = device().arch;
    kernel.facts.normalized_hash = kernel.id;
    return kernel;
  }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel&,
                          std::span<const Case> cases) override {
    TrialReport report;
    for (const Case& what : cases) {
      CaseReport& entry = report.cases.emplace_back();
      entry.what = what;
      for (const Tensor& tensor : task->tensors) {
        if (tensor.role != Role::out) continue;
        OutputReport& output = entry.outputs.emplace_back();
        output.tensor = tensor.name;
        output.elements = output.compared = shape_of(task, tensor, what.workload)->elements;
      }
    }
    return report;
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload&,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    const double edge = static_cast<double>(task->time_shapes.front().sizes.at("m"));
    std::vector<SubjectReport> reports;
    for (const Subject& contestant : contestants) {
      SubjectReport& report = reports.emplace_back();
      report.name = contestant.name;
      Measurement measured;
      measured.provenance = Provenance::measured;
      measured.time_us = std::pow(edge / 1024, 3) * 40;
      if (contestant.kind == Subject::Kind::candidate)
        measured.time_us *= share_of(contestant.kernel->source.constants);
      measured.samples_us.assign(static_cast<std::size_t>(std::max(1, options.rounds)),
                                 measured.time_us);
      measured.interval_low_us = measured.interval_high_us = measured.time_us;
      report.ratio.assign(measured.samples_us.size(), 1);
      report.measurement = std::move(measured);
    }
    return reports;
  }

 private:
  // Of the plain kernel's time.
  static double share_of(const Constants& constants) {
    const auto value = [&](const char* name) {
      const auto found = constants.find(name);
      return found == constants.end() ? 1.0 : static_cast<double>(found->second);
    };
    return 0.1 * std::sqrt(value("STAGES")) * (1 + value("BLOCK_K") / 64) *
           (1 + value("TILE_N") / 512);
  }

  // Such a device's times took longer than reading them: nothing is waited for.
  DeviceTraits traits_{.spec = *chip("h200"),
                       .provenance = Provenance::measured,
                       .identity = "recorded:a card of a test"};
};

EvolveOptions run_with(const std::string& pool, const std::string& run_dir) {
  EvolveOptions options = small_run(run_dir, 48);
  options.search.initial = 24;
  options.pool = pool;
  options.screening = false;  // there is no text to prove
  return options;
}

RunState state_of(const std::string& run_dir) {
  auto read = read_journal(real_host(), run_dir);
  REQUIRE_OK(read);
  auto state = fold(*read, Evidence::kept);
  REQUIRE_OK(state);
  return std::move(*state);
}

// What the report says of a run's forecasts.
std::string score(const RunState& state) {
  ForecastScore forecasts(state);
  for (const SearchEvent& event : state.events) forecasts.take(event);
  return forecasts.sentence();
}

double median_error(const std::string& sentence) {
  std::smatch found;
  REQUIRE(std::regex_search(sentence, found, std::regex("median error ([0-9]+) %")));
  return std::stod(found[1].str());
}

// Outcomes that the pool holds of a task's kind, by strategy.
std::map<std::string, double> outcomes_in(const std::string& pool, const Task& task) {
  auto open = StrategyPool::open(pool);
  REQUIRE_OK(open);
  auto all = open->outcomes(kind_of_times(task, *chip("h200"), Provenance::measured), 2000);
  REQUIRE_OK(all);
  std::map<std::string, double> times;
  for (const PoolOutcome& outcome : *all) times[strategy_id(outcome.strategy)] = outcome.time_us;
  return times;
}

// Whether the pool was told of a champion, under these tags.
bool entries_in(const std::string& pool, const std::vector<std::string>& tags) {
  if (!std::filesystem::exists(pool)) return false;
  auto open = StrategyPool::open(pool);
  REQUIRE_OK(open);
  auto all = open->find({.family = "gemm", .limit = 100});
  REQUIRE_OK(all);
  return std::any_of(all->begin(), all->end(), [&](const PoolMatch& one) {
    return one.entry.origin == "measured" && one.entry.tags == tags;
  });
}

std::map<std::string, double> times_of(const RunState& state) {
  std::map<std::string, double> times;
  for (const SearchEvent& event : state.events) {
    const auto* result = std::get_if<ResultRecord>(&event);
    const auto* accepted =
        result == nullptr ? nullptr : std::get_if<Accepted>(&result->candidate.outcome);
    if (accepted != nullptr) times[result->candidate.strategy_id] = accepted->measurement.time_us;
  }
  return times;
}

bool says_learnt(const EvolveReport& report, std::size_t kernels) {
  const std::string words = "forecasts learnt from " + std::to_string(kernels) + " kernels";
  return std::any_of(report.notices.begin(), report.notices.end(), [&](const std::string& notice) {
    return notice.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a second search forecasts by what the first one timed at another size", "[threads]") {
  const TempDir dir;
  const std::string pool = dir / "pool.sqlite";
  OddCard card;
  auto first = evolve(gemm(2048), card, run_with(pool, dir / "first"));
  REQUIRE_OK(first);
  const RunState before = state_of(dir / "first");
  CHECK(before.header.learnt.empty());
  CHECK(outcomes_in(pool, gemm(2048)) == times_of(before));
  const std::size_t timed = times_of(before).size();
  REQUIRE(timed > 20);

  auto second = evolve(gemm(4096), card, run_with(pool, dir / "second"));
  REQUIRE_OK(second);
  CHECK(says_learnt(*second, timed));
  const RunState after = state_of(dir / "second");
  CHECK(after.header.learnt.size() == timed);
  CHECK(score(after).find("what " + std::to_string(timed) + " kernels of earlier runs took") !=
        std::string::npos);
  // Predicts the same kernels by arithmetic alone.
  RunState unlearnt = after;
  unlearnt.header.learnt.clear();
  INFO(score(unlearnt) << "; " << score(after));
  CHECK(median_error(score(after)) <= median_error(score(unlearnt)) * 3 / 4);

  // And not where the pool is switched off.
  EvolveOptions without = run_with(pool, "");
  without.search.steering.pool = false;
  auto blind = evolve(gemm(4096), card, without);
  REQUIRE_OK(blind);
  CHECK_FALSE(says_learnt(*blind, timed));
}

TEST_CASE("a recording of measured times leaves them in the pool as the run that measured them did",
          "[threads]") {
  const TempDir dir;
  OddCard card;
  REQUIRE_OK(evolve(gemm(2048), card, run_with(dir / "pool.sqlite", dir / "run")));
  auto recorded = open_recorded(dir / "run", {});
  REQUIRE_OK(recorded);
  REQUIRE_OK(evolve(gemm(2048), **recorded, run_with(dir / "other.sqlite", "")));
  const auto left = outcomes_in(dir / "other.sqlite", gemm(2048)),
             held = outcomes_in(dir / "pool.sqlite", gemm(2048));
  CHECK(left.size() > 20);
  CHECK(left == held);
  // Into the pool that has them they bring nothing new.
  REQUIRE_OK(evolve(gemm(2048), **recorded, run_with(dir / "pool.sqlite", "")));
  CHECK(outcomes_in(dir / "pool.sqlite", gemm(2048)) == held);
}

TEST_CASE("a recording answers for the task that it is of, and names it to any other",
          "[threads]") {
  const TempDir dir;
  OddCard card;
  EvolveOptions options = run_with("", dir / "run");
  options.task_words = {"gemm", "m=2048"};
  REQUIRE_OK(evolve(gemm(2048), card, options));
  auto recorded = open_recorded(dir / "run", {});
  REQUIRE_OK(recorded);
  CHECK_FALSE((*recorded)->traits().runs);
  const Task same = gemm(2048), other = gemm(1024);
  const Case one{same.time_shapes.front()};
  CHECK((*recorded)->run(TaskRef(same), {}, {&one, 1}));
  CHECK((*recorded)->measure(TaskRef(same), one.workload, {}, {}));
  const auto run = (*recorded)->run(TaskRef(other), {}, {&one, 1});
  const auto measured = (*recorded)->measure(TaskRef(other), one.workload, {}, {});
  const auto searched = evolve(other, **recorded, run_with("", ""));
  REQUIRE_FALSE(run);
  REQUIRE_FALSE(measured);
  REQUIRE_FALSE(searched);
  for (const Error& refused : {run.error(), measured.error(), searched.error()}) {
    CHECK(refused.code == ErrorCode::usage);
    CHECK(refused.message.find("holds times of another task than gemm: gemm m=2048 (task " +
                               task_id(same).substr(0, 12) + " of version 1 there, ") !=
          std::string::npos);
    CHECK(refused.message.find("they differ in time_shapes)") != std::string::npos);
    CHECK(refused.hint.find("ask for that one") == 0);
  }
  Task retold = same;
  retold.reference.text += "// told otherwise\n";
  const auto again = (*recorded)->run(TaskRef(retold), {}, {&one, 1});
  REQUIRE_FALSE(again);
  CHECK(again.error().message.find("they differ in reference_text)") != std::string::npos);
  CHECK(again.error().hint.find("record it again") == 0);
}

TEST_CASE("a resumed search teaches the pool that it began with, or the one that it is told",
          "[threads]") {
  struct Stopping : SearchObserver {
    std::atomic<bool> cancel{false};
    int left = 10;
    void on_candidate(const Candidate&) override { cancel = --left <= 0; }
  };
  struct Row {
    std::string begun_with, told;  // pools
    std::vector<std::string> tags;
    bool first, other;  // whether entries are in them in the end
  };
  const std::vector<Row> rows = {{"first", "other", {"trial"}, false, true},
                                 {"first", "", {}, true, false},
                                 {"first", "other", {}, false, true},
                                 {"off", "other", {}, false, true},
                                 {"first", "off", {}, false, false}};
  for (const Row& row : std::span(rows).first(sanitized() ? 2 : rows.size())) {
    const TempDir dir;
    const auto place = [&](const std::string& pool) {
      return pool.empty() || pool == "off" ? pool : dir / pool;
    };
    OddCard card;
    Stopping stopping;
    EvolveOptions options = run_with(place(row.begun_with), dir / "run");
    options.pool_tags = row.tags;
    options.observer = &stopping;
    options.cancel = &stopping.cancel;
    auto stopped = evolve(gemm(2048), card, options);
    REQUIRE_OK(stopped);
    CHECK_FALSE(stopped->best);
    EvolveOptions more;
    more.pool = place(row.told);
    REQUIRE_OK(resume(dir / "run", card, more));
    INFO(row.begun_with << ", then " << row.told);
    CHECK(entries_in(dir / "first", row.tags) == row.first);
    CHECK(entries_in(dir / "other", row.tags) == row.other);
    // An experiment leaves no times, wherever it tells of its champion.
    if (row.tags.empty()) CHECK(outcomes_in(dir / "other", gemm(2048)).empty() != row.other);
    if (!row.tags.empty()) CHECK(outcomes_in(dir / "other", gemm(2048)).empty());
    CHECK_FALSE(std::filesystem::exists("off"));
  }
}
