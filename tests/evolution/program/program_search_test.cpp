// A graph that no template serves, from the cut to best/, on the virtual device; and the same run
// interrupted between two parts.
#include <atomic>
#include <set>

#include <cupilot/parts/program_strategy.hpp>

#include "catch.hpp"
#include "evolution/journal/program_record.hpp"
#include "evolution/program/support.hpp"
#include "support/graph.hpp"
#include "support/virtual_clock.hpp"

namespace cupilot::testing {
namespace {

// Two reductions over different rows: layer_norm and sum over columns, softmax over rows.
Task two_reductions() {
  Task task;
  task.name = "two_reductions";
  task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
  task.tensors = {Tensor{.name = "x", .role = Role::in, .shape = {"rows", "cols"}},
                  Tensor{.name = "gain", .role = Role::in, .shape = {"cols"}},
                  Tensor{.name = "y", .role = Role::out, .shape = {"rows"}}};
  task.operations = {
      {"norm", "layer_norm", {"x", "gain"}, {"h"}, {}},
      {"total", "sum", {"h"}, {"s"}, {{"dim", Attribute(std::vector<std::int64_t>{1})}}},
      {"share", "softmax", {"s"}, {"y"}, {{"dim", Attribute(std::int64_t{0})}}}};
  task.time_shapes = {{{{"rows", 48}, {"cols", 64}}}};
  REQUIRE_OK(complete(task));
  return task;
}

EvolveOptions options_in(const std::string& dir, std::int64_t evaluations = 16) {
  EvolveOptions options;
  options.search.max_evaluations = evaluations;
  options.run_dir = dir;
  options.pool = "off";
  options.device_name = "virtual:h200";
  return options;
}

// Stops the run at the first result of a part.
struct Stopper final : SearchObserver {
  std::atomic<bool> cancel{false};
  void on_notice(const std::string& notice) override {
    if (notice.find(" after 4 evaluations") != std::string::npos) cancel = true;
  }
};

std::string text_of(const std::string& path) {
  auto text = real_host().read_file(path);
  REQUIRE_OK(text);
  return *text;
}

TEST_CASE("a graph that no template serves is evolved as a program", "[search][long][threads]") {
  const Task task = two_reductions();
  const TempDir dir;
  const auto report = evolve(task, device(), options_in(dir / "whole", 8));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  CHECK(report->stopped == "no program is left that its budget lets it try");
  const Candidate& best = report->best->candidate;
  const ProgramStrategy program = parts_of(best.strategy);
  REQUIRE(program.parts.size() >= 2);
  CHECK(program.parts.back().on == std::vector<std::string>{"share"});
  CHECK(best.source.plan.launches.size() >= program.parts.size());

  const auto record = program_record_from(text_of(dir / "whole/program.json"), "program.json");
  REQUIRE_OK(record);
  CHECK(record->listed);
  CHECK(record->partitions.size() == 2);  // norm+total | share, norm | total | share
  const auto summary = read_run(dir / "whole");
  REQUIRE_OK(summary);
  const auto said = [&](const std::string& what) {
    const auto& notices = summary->report.notices;
    return std::any_of(notices.begin(), notices.end(), [&](const std::string& notice) {
      return notice.find(what) != std::string::npos;
    });
  };
  CHECK(said("program: 2 partitions are legal"));
  CHECK(said("partition norm+total | share: "));
  CHECK(said(" us, each launched alone"));
  CHECK(real_host().exists(dir / "whole/best/Makefile"));
  CHECK(real_host().exists(dir / "whole/parts/share/best/kernel.cu"));
  const auto again = resume(dir / "whole", device(), {});
  REQUIRE_OK(again);
  CHECK(again->best->candidate.kernel_id == best.kernel_id);

  Stopper stopper;
  EvolveOptions cut = options_in(dir / "cut", 8);
  cut.observer = &stopper;
  cut.cancel = &stopper.cancel;
  const auto interrupted = evolve(task, device(), cut);
  REQUIRE_OK(interrupted);
  CHECK_FALSE(interrupted->best);
  const auto resumed = resume(dir / "cut", device(), {});
  REQUIRE_OK(resumed);
  REQUIRE(resumed->best);
  CHECK(text_of(dir / "cut/program.json") == text_of(dir / "whole/program.json"));
  CHECK(resumed->best->candidate.kernel_id == best.kernel_id);
}

TEST_CASE("equal layers are searched once and have one text", "[search][long][threads]") {
  const auto task = support::deep_task(3, 16, 32);
  REQUIRE_OK(task);
  const TempDir dir;
  const auto report = evolve(*task, device(), options_in(dir / "run", 8));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const auto record = program_record_from(text_of(dir / "run/program.json"), "program.json");
  REQUIRE_OK(record);
  std::size_t searches = 0;
  for (const ProgramPartRecord& part : record->parts) searches += part.like ? 0 : 1;
  CHECK(searches < record->parts.size());
  for (const ProgramSlotRecord& slot : record->slots) CHECK_FALSE(record->parts[slot.part].like);
  const Candidate& best = report->best->candidate;
  const std::size_t parts = parts_of(best.strategy).parts.size();
  REQUIRE(parts >= 3);
  std::set<std::string> entries;
  for (const PlanLaunch& launch : best.source.plan.launches) entries.insert(launch.entry);
  CHECK(entries.size() <= parts / 3 + 1);
  CHECK(best.source.text.find("by the kernels of part 1") != std::string::npos);
}

// linear(x, transpose(w)) where w is a constant or an input.
Task turned_weight(Role role) {
  Task task;
  task.name = "turned_weight";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}};
  task.tensors = {Tensor{.name = "x", .role = Role::in, .shape = {"rows", "k"}},
                  Tensor{.name = "w", .role = role, .shape = {"k", "n"}},
                  Tensor{.name = "y", .role = Role::out, .shape = {"rows", "n"}}};
  task.operations = {{"turned", "transpose", {"w"}, {"t"}, {}},
                     {"product", "linear", {"x", "t"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 64}, {"k", 48}, {"n", 40}}}};
  task.check_shapes = {{{{"rows", 3}, {"k", 17}, {"n", 5}}}};
  REQUIRE_OK(complete(task));
  return task;
}

TEST_CASE("what constants alone give is computed once, before the clock", "[search][threads]") {
  const Task task = turned_weight(Role::constant);
  const TempDir dir;
  const auto report = evolve(task, device(), options_in(dir / "run"));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const Candidate& best = report->best->candidate;
  REQUIRE(parts_of(best.strategy).parts.size() == 2);
  const auto& launches = best.source.plan.launches;
  CHECK(launches.front().when == When::setup);
  CHECK(launches.back().when == When::run);
  const auto& conditions = std::get<Accepted>(best.outcome).measurement.conditions;
  const auto is_said = [](const std::string& one) { return one.starts_with("not timed: setup"); };
  CHECK(std::any_of(conditions.begin(), conditions.end(), is_said));
  const auto summary = read_run(dir / "run");
  REQUIRE_OK(summary);
  const auto& notices = summary->report.notices;
  CHECK(std::any_of(report->notices.begin(), report->notices.end(), is_said));
  CHECK(std::any_of(notices.begin(), notices.end(), [](const std::string& one) {
    return one.ends_with("of constants alone: run once before and not timed");
  }));
  const std::string launcher = text_of(dir / "run/best/main.cpp");
  CHECK_THAT(launcher, Catch::Contains("Setup launches run once, before the clock starts"));
  CHECK_THAT(text_of(dir / "run/best/launch.json"), Catch::Contains("\"setup\""));

  // An input is prepared by nothing.
  const auto other = evolve(turned_weight(Role::in), device(), options_in(dir / "input"));
  REQUIRE_OK(other);
  REQUIRE(other->best);
  for (const PlanLaunch& launch : other->best->candidate.source.plan.launches)
    CHECK(launch.when == When::run);
}

TEST_CASE("a cat that other parts write in place takes no launch and no search",
          "[views][search][threads]") {
  using support::input;
  const auto task = support::graph_task(
      {input("x", {"rows", "cols"}), input("w", {"g", "cols"}), input("v", {"g", "cols + g"}),
       support::output("y", {"rows", "cols + g + g"})},
      {{"stem", "relu", {"x"}, {"s"}, {}},
       {"grow1", "linear", {"s", "w"}, {"a"}, {}},
       {"join1", "cat", {"s", "a"}, {"c"}, {{"dim", Attribute(std::int64_t{1})}}},
       {"grow2", "linear", {"c", "v"}, {"b"}, {}},
       {"join2", "cat", {"c", "b"}, {"y"}, {{"dim", Attribute(std::int64_t{1})}}}},
      {{"rows", 48}, {"cols", 64}, {"g", 32}});
  REQUIRE_OK(task);
  const TempDir dir;
  const auto report = evolve(*task, device(), options_in(dir / "run"));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const Candidate& best = report->best->candidate;
  const auto parts = parts_of(best.strategy).parts;
  REQUIRE(parts.size() == 5);
  CHECK(parts[2].on == std::vector<std::string>{"join1"});
  CHECK(parts[2].strategy.uses.empty());
  CHECK(parts[4].strategy.uses.empty());
  CHECK(best.source.plan.launches.size() == 3);
  for (const PlanBuffer& buffer : best.source.plan.buffers)
    CHECK_FALSE(buffer.name.starts_with("edge_"));
  const auto& notices = report->notices;
  for (const char* line :
       {"part join2: no kernel, other parts write its inputs where its result has them",
        "view c: lies in y, from element 0 on", "view b: lies in y, from element cols + g on"})
    CHECK(std::find(notices.begin(), notices.end(), line) != notices.end());
  CHECK_FALSE(real_host().exists(dir / "run/parts/join2"));
  // The launcher passes y, and how far behind it b begins.
  CHECK_THAT(text_of(dir / "run/best/main.cpp"), Catch::Contains("std::int64_t{96}, 8}"));
}

TEST_CASE("parts of a run in seconds are confirmed with their program", "[search][threads]") {
  const Task task = turned_weight(Role::constant);
  const TempDir dir;
  constexpr const char* stands =
      "is not confirmed: parts of a search in seconds are not, but in the program that wins";
  for (const double seconds : {0.0, 600.0}) {
    INFO(seconds);
    const std::string run = dir / (seconds > 0 ? "timed" : "free");
    EvolveOptions options = options_in(run, 8);
    options.max_seconds = seconds;
    const auto report = evolve(task, device(), options);
    REQUIRE_OK(report);
    REQUIRE(report->best);
    const auto says = [&](const std::vector<std::string>& texts) {
      return std::any_of(texts.begin(), texts.end(), [&](const std::string& one) {
        return one.find(stands) != std::string::npos;
      });
    };
    const auto part = read_run(run + "/parts/product");
    REQUIRE_OK(part);
    CHECK(says(part->report.notices) == (seconds > 0));
    CHECK_FALSE(says(report->notices));
    const auto& accepted = std::get<Accepted>(report->best->candidate.outcome);
    const auto& unproved = accepted.verification.unproved;
    CHECK(std::none_of(unproved.begin(), unproved.end(), [](const std::string& one) {
      return one.starts_with("a confirmation by processes");
    }));
  }
}

TEST_CASE("a graph with an operator that nothing serves is refused by name", "[threads]") {
  Task task = two_reductions();
  // No template scans over another dimension than the last.
  task.axes = {{"rows"}, {"cols"}};
  task.tensors[2].shape = {"rows", "cols"};
  task.operations = {task.operations[0],
                     {"share", "cumsum", {"h"}, {"y"}, {{"dim", Attribute(std::int64_t{0})}}}};
  task.edges = {};
  task.reference = {};
  task.work = {};
  REQUIRE_OK(complete(task));
  const auto report = evolve(task, device(), {});
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::usage);
  CHECK_THAT(report.error().message, Catch::Contains("none serves share (cumsum) alone") &&
                                         Catch::Contains("no template serves task two_reductions"));
}

TEST_CASE("a graph that updates a tensor as no template can is told so", "[threads]") {
  Task task = two_reductions();
  task.axes = {{"rows"}, {"cols"}};
  task.tensors = {{.name = "x", .shape = {"rows", "cols"}},
                  {.name = "held", .role = Role::in_out, .shape = {"rows", "cols"}}};
  task.operations = {
      {"act", "relu", {"x"}, {"h"}, {}},
      {"turned", "flip", {"held"}, {"back"}, {{"dims", std::vector<std::int64_t>{1}}}},
      {"more", "add", {"back", "h"}, {"held"}, {}}};
  task.edges = {};
  task.reference = {};
  task.work = {};
  REQUIRE_OK(complete(task));
  const auto report = evolve(task, device(), {});
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::usage);
  CHECK_THAT(report.error().message,
             Catch::Contains("none serves turned (flip), more (add) alone; held is in_out"));
  CHECK_THAT(report.error().hint,
             Catch::Contains("give held the role in, and its new value an out"));
}

// Lets the time end with the first result of a part.
struct Ending final : SearchObserver {
  VirtualClock clock;
  void on_notice(const std::string& notice) override {
    if (notice.find(" after 4 evaluations") != std::string::npos) clock.sleep(2000);
  }
};

TEST_CASE("a program search out of time names the parts that have no kernel", "[threads]") {
  const TempDir dir;
  Ending ending;
  EvolveOptions options = options_in(dir / "short");
  options.max_seconds = 1000;
  options.observer = &ending;
  options.host = &ending.clock;
  const auto report = evolve(two_reductions(), device(), options);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::no_candidate);
  CHECK_THAT(report.error().message, Catch::Contains("the nearest lacks share"));
  CHECK(report.error().hint == "give more seconds");
}

}  // namespace
}  // namespace cupilot::testing
