#include <cmath>
#include <filesystem>
#include <memory>

#include <cupilot/evolution.hpp>
#include <cupilot/parts/rejection.hpp>

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

TEST_CASE("stop rules compose") {
  const auto history = [](std::vector<double> best) {
    std::vector<Progress> all;
    for (const double us : best) {
      Progress progress;
      progress.best_us = us;
      progress.generation = static_cast<int>(all.size());
      all.push_back(progress);
    }
    return all;
  };
  struct Row {
    std::vector<double> best;
    bool stagnates;
  };
  for (const Row& row : std::vector<Row>{{{}, false},
                                         {{10}, false},
                                         {{10, 10}, false},
                                         {{10, 10, 10}, true},
                                         {{10, 9.95, 9.95}, true},
                                         {{10, 9.8, 9.8}, false},
                                         {{0, 0, 10}, false},
                                         {{10, 8, 8, 8}, true}}) {
    INFO(row.best.size());
    CHECK(!stagnation(2, 0.01)(history(row.best)).empty() == row.stagnates);
  }
  const auto always = [](std::string reason) {
    return [reason](std::span<const Progress>) { return reason; };
  };
  CHECK(any_of({always(""), always("b"), always("c")})({}) == "b");
  CHECK(any_of({})({}).empty());
  CHECK(all_of({always("a"), always("")})({}).empty());
  CHECK(all_of({always("a"), always("b")})({}) == "a; b");
  CHECK(all_of({})({}).empty());
  CHECK(any_of({StopRule(), always("b")})({}) == "b");
  CHECK(any_of({StopRule()})({}).empty());
  CHECK(all_of({StopRule(), always("b")})({}) == "b");
  CHECK(all_of({StopRule()})({}).empty());
}

TEST_CASE("a run directory is refused to a judge of the program's own before the search",
          "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  Task task = landscape_task();
  for (Tensor& tensor : task.tensors) {
    if (tensor.role == Role::out)
      tensor.check = {
          .kind = CheckKind::custom, .of = "mine 1", .judge = [](auto&&...) { return ""; }};
  }
  const auto report = evolve(task, *device, small_run(dir / "run", 4));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::usage);
  CHECK(report.error().message.find("whose judge is the program's own") != std::string::npos);
  CHECK(report.error().hint == "leave EvolveOptions::run_dir empty");
  CHECK_FALSE(std::filesystem::exists(dir / "run"));
}

TEST_CASE("a search begins with the files that its task names", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  Task task = landscape_task();
  task.tensors[0].fill = {.kind = FillKind::file,
                          .file = {dir / "gone.bin", 0, 64, std::string(64, 'e')}};
  const auto report = evolve(task, *device, small_run("", 4));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::usage);
  CHECK(report.error().message.find("gone.bin: content of a tensor cannot be read") !=
        std::string::npos);
  CHECK(report.error().hint.find("put it back at that path") == 0);
}

TEST_CASE("evolve obeys the host's stop rule, and the resumed run stays ended", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "run", 200);
  options.stop = [](std::span<const Progress> all) -> std::string {
    return all.size() >= 3 ? "three are enough" : "";
  };
  auto report = evolve(landscape_task(), *device, options);
  REQUIRE_OK(report);
  CHECK(report->stopped == "three are enough");
  CHECK(report->evaluations < 60);
  auto resumed = resume(dir / "run", *device, {});
  REQUIRE_OK(resumed);
  CHECK(resumed->stopped == "three are enough");
  CHECK(resumed->evaluations == report->evaluations);
}

TEST_CASE("evolve takes the host's strategist and writer", "[threads]") {
  struct Counting : Strategist {
    std::unique_ptr<Strategist> inner = random_strategist();
    int calls = 0;
    Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
      ++calls;
      return inner->propose(brief, rng);
    }
  };
  struct Constant : KernelWriter {
    std::optional<std::string> lacks(const Task&, const Strategy&) const override {
      return std::nullopt;
    }
    Attempt<KernelSource> write(const WriterBrief&) override {
      return reject("write.failed", "this one writes nothing");
    }
  };
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  Counting strategist;
  EvolveOptions options = small_run("", 20);
  options.strategist = &strategist;
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  CHECK(strategist.calls > 0);
  Constant writer;
  options.writer = &writer;
  auto nothing = evolve(landscape_task(), *device, options);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code == ErrorCode::no_candidate);
}

TEST_CASE("numbers that no journal can hold are refused before anything is made") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  struct Row {
    const char* name;
    std::function<void(EvolveOptions& options, double value)> set;
  };
  const Row rows[] = {
      {"--seconds", [](EvolveOptions& o, double value) { o.max_seconds = value; }},
      {"--target", [](EvolveOptions& o, double value) { o.search.target_us = value; }},
      {"tune_share", [](EvolveOptions& o, double value) { o.search.tune_share = value; }},
      {"utilisation_weight",
       [](EvolveOptions& o, double value) { o.search.utilisation_weight = value; }},
      {"--model-share", [](EvolveOptions& o, double value) { o.seats.share = value; }}};
  for (const Row& row : rows) {
    for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      INFO(row.name << " " << value);
      EvolveOptions options = small_run(dir / "run");
      row.set(options, value);
      for (const auto& report :
           {evolve(Task{}, *device, options), resume(dir / "run", *device, options)}) {
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::usage);
        CHECK(report.error().message.find(row.name) != std::string::npos);
      }
      CHECK_FALSE(std::filesystem::exists(dir / "run"));
    }
  }
}

TEST_CASE("numbers below what a search can be made of are refused by name") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  struct Row {
    const char* name;
    std::function<void(SearchOptions&)> set;
  };
  const Row rows[] = {
      {"population", [](SearchOptions& o) { o.population = 0; }},
      {"initial", [](SearchOptions& o) { o.initial = -1; }},
      {"children", [](SearchOptions& o) { o.children = 0; }},
      {"elites", [](SearchOptions& o) { o.elites = -4; }},
      {"tournament", [](SearchOptions& o) { o.tournament = 0; }},
      {"generations_per_epoch", [](SearchOptions& o) { o.generations_per_epoch = 0; }},
      {"lookahead", [](SearchOptions& o) { o.lookahead = -1; }},
      {"brood", [](SearchOptions& o) { o.offspring_per_slot = 0; }},
      {"repairs", [](SearchOptions& o) { o.repairs = -1; }},
      {"max_evaluations", [](SearchOptions& o) { o.max_evaluations = -200; }},
      {"max_generations", [](SearchOptions& o) { o.max_generations = -1; }},
      {"parallel", [](SearchOptions& o) { o.parallel = -1; }},
      {"target_us", [](SearchOptions& o) { o.target_us = -0.5; }},
      {"tune_share", [](SearchOptions& o) { o.tune_share = -0.1; }}};
  const auto named = [](const auto& made, const char* name) {
    return !made && made.error().code == ErrorCode::usage &&
           made.error().message.find(name) != std::string::npos;
  };
  for (const Row& row : rows) {
    INFO(row.name);
    EvolveOptions options = small_run(dir / "run");
    row.set(options.search);
    CHECK(named(evolve(landscape_task(), *device, options), row.name));
    CHECK(named(Evolution::begin(landscape_task(), device->device(), {.search = options.search}),
                row.name));
  }
  EvolveOptions options = small_run(dir / "run");
  options.raise_evaluations = -1;
  CHECK(named(resume(dir / "run", *device, options), "raise_evaluations"));
  options = small_run(dir / "run");
  options.max_seconds = -1;
  CHECK(named(evolve(landscape_task(), *device, options), "--seconds"));
  CHECK_FALSE(std::filesystem::exists(dir / "run"));
}

TEST_CASE("a budget that nobody will spend is a budget", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "run", 500'000'000'000'000'000);
  options.search.max_generations = 3;
  const auto report = evolve(Task{}, *device, options);
  REQUIRE_OK(report);
  CHECK(report->stopped == "generations spent");
}

TEST_CASE("a small budget has small generations, and a large one those that were asked for",
          "[threads]") {
  struct Row {
    std::int64_t evaluations;
    int first;  // slots of generation 0
  };
  for (const Row& row : {Row{30, 10}, Row{60, 20}, Row{96, 32}, Row{200, 32}, Row{0, 32}}) {
    CAPTURE(row.evaluations);
    const TempDir dir;
    const auto device = fake_device(write_landscape(dir));
    EvolveOptions options;
    options.search.max_evaluations = row.evaluations;
    options.search.max_generations = 2;
    options.run_dir = dir / "run";
    REQUIRE_OK(evolve(landscape_task(), *device, options));
    auto read = read_journal(real_host(), dir / "run");
    REQUIRE_OK(read);
    int first = 0;
    for (const FramedRecord& record : read->records) {
      if (record.type != static_cast<std::uint32_t>(RecordType::proposal)) continue;
      const auto proposal = proposal_from(record.payload);
      REQUIRE_OK(proposal);
      first += proposal->generation == 0 ? 1 : 0;
    }
    CHECK(first == row.first);
  }
}
