#include <chrono>
#include <thread>

#include <cupilot/parts/run_report.hpp>

#include "catch.hpp"
#include "evolution/hooked.hpp"
#include "evolution/support.hpp"
#include "support/gemm.hpp"

using namespace cupilot;
using namespace cupilot::testing;

TEST_CASE("a run on the fake device finds the optimum and leaves its directory", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE(device);
  auto report = evolve(Task{}, *device, small_run(dir / "run", 60));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const auto& accepted = std::get<Accepted>(report->best->candidate.outcome);
  CHECK(accepted.measurement.time_us < 20);
  CHECK(accepted.verification.level == ProofLevel::finalist);
  CHECK(report->evaluations == 60);
  CHECK(report->rejected.count("verify.bound") == 1);
  CHECK(report->rejected.count("gate.duplicate") == 1);
  for (const char* name : {"/best/kernel.cu", "/best/launch.json", "/best/strategy.json",
                           "/best/evidence.json", "/report.html"}) {
    INFO(name);
    CHECK(real_host().exists(dir / "run" + name));
  }
  CHECK(read_all(dir / "run/report.html").find("cupilot-data") != std::string::npos);
  CHECK(read_all(dir / "run/report.html").find("search/timing") != std::string::npos);
  for (const char* phase :
       {"baselines", "search/proof", "search/timing", "confirm/proof", "confirm/timing"}) {
    INFO(phase);
    CHECK(report->phase_seconds.count(phase) == 1);
  }
  auto run = read_run(dir / "run");
  REQUIRE_OK(run);
  auto kept = report->phase_seconds;
  CHECK(kept.count("propose") == 1);
  CHECK(run->report.phase_seconds == kept);

  const auto& parts = report->controller_cpu_phases;
  for (const char* phase : {"propose", "tell", "search/proof", "search/timing", "page"}) {
    INFO(phase);
    CHECK(parts.count(phase) == 1);
  }
  double sum = 0;
  for (const auto& [path, seconds] : parts) sum += seconds;
  CHECK(sum == Approx(report->controller_cpu_seconds));
  // A page is made of a run that has ended: what it takes is in no journal.
  CHECK(run->report.controller_cpu_phases.count("page") == 0);
  CHECK(run->report.controller_cpu_phases.at("propose") == parts.at("propose"));

  auto best = read_candidate(dir / "run", "best");
  REQUIRE_OK(best);
  CHECK(best->candidate.strategy_id == report->best->candidate.strategy_id);
  CHECK(best->evidence_json.find("\"verification\"") != std::string::npos);
  auto again = read_candidate(dir / "run", std::to_string(best->candidate.id));
  REQUIRE_OK(again);
  CHECK(again->candidate.kernel_id == best->candidate.kernel_id);
  auto none = read_candidate(dir / "run", "99999");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
}

TEST_CASE("threads and the order of completion change no journal", "[threads]") {
  const TempDir dir;
  const std::string slow =
      R"({"cupilot_landscape": 1, "kind": "additive", "variables": 5, "values": 3, "neutral": 2, "seed": 4, "reject": 0.2, "delay_us": 2000})";
  const auto device = fake_device(write_landscape(dir, slow));
  std::vector<std::vector<std::string>> journals;
  for (const int threads : {1, 4}) {
    EvolveOptions options = small_run(dir / std::to_string(threads), 50);
    options.search.parallel = threads;
    REQUIRE_OK(evolve(Task{}, *device, options));
    journals.push_back(comparable(options.run_dir));
  }
  CHECK(journals[0].size() > 100);
  CHECK(journals[0] == journals[1]);
}

TEST_CASE("a search looks as far ahead as keeps a measuring device's compilers busy", "[threads]") {
  struct Row {
    Provenance kind;
    int compiles, given, used;
  };
  const Row rows[] = {{Provenance::modelled, 16, 0, 12},
                      {Provenance::measured, 16, 0, 24},
                      {Provenance::measured, 2, 0, 12},
                      {Provenance::measured, 16, 5, 5}};
  for (const Row& row : rows) {
    INFO(name_of(row.kind) << " " << row.compiles << " " << row.given);
    const TempDir dir;
    Hooked device(fake_device(write_landscape(dir)));
    device.own().provenance = row.kind;
    device.own().parallel_compiles = row.compiles;
    EvolveOptions options = small_run(dir / "run", 4);
    options.search.lookahead = row.given;
    static_cast<void>(evolve(
        Task{}, device, options));  // the journal's header is written whatever becomes of the run
    auto read = read_journal(real_host(), options.run_dir);
    REQUIRE_OK(read);
    auto header = header_from(read->records.front().payload);
    REQUIRE_OK(header);
    CHECK(header->search.lookahead == row.used);
  }
}

TEST_CASE("another seed is another run", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "a");
  REQUIRE_OK(evolve(Task{}, *device, options));
  options.run_dir = dir / "b";
  options.search.seed = 8;
  REQUIRE_OK(evolve(Task{}, *device, options));
  CHECK(essence(dir / "a") != essence(dir / "b"));
}

TEST_CASE("one reading of a run tells what three do", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "run");
  options.device_name = "a device";
  REQUIRE_OK(evolve(Task{}, *device, options));
  const auto all = report_run(dir / "run");
  REQUIRE_OK(all);
  const auto summary = read_run(dir / "run");
  REQUIRE_OK(summary);
  CHECK(all->summary.lines == summary->lines);
  CHECK(all->summary.report.evaluations == summary->report.evaluations);
  REQUIRE_OK(all->page);
  const std::string page = read_all(*all->page);
  CHECK(page.find("</html>") != std::string::npos);
  CHECK(*write_report(dir / "run") == *all->page);
  CHECK(read_all(*all->page) == page);
  const auto chart = roofline_of_run(dir / "run");
  REQUIRE(static_cast<bool>(chart) == static_cast<bool>(all->chart));
  if (chart) CHECK(roofline_text(*chart) == roofline_text(*all->chart));
  const auto beginning = read_beginning(dir / "run");
  REQUIRE_OK(beginning);
  CHECK(beginning->device_name == "a device");
  CHECK(beginning->seed == options.search.seed);
  CHECK(beginning->task.name == summary->task.name);
  CHECK_FALSE(beginning->models);
  // A page that cannot be written costs the page.
  std::filesystem::remove(*all->page);
  std::filesystem::create_directories(*all->page + "/in the way");
  const auto without = report_run(dir / "run");
  REQUIRE_OK(without);
  CHECK_FALSE(without->page);
  CHECK(without->summary.lines == summary->lines);
  CHECK(read_beginning(dir / "nowhere").error().message ==
        read_run(dir / "nowhere").error().message);
}

TEST_CASE("a run directory is used once and by one process", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "run", 12)));
  SECTION("evolve refuses it") {
    auto again = evolve(Task{}, *device, small_run(dir / "run", 12));
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::usage);
    CHECK(again.error().hint.find("resume") != std::string::npos);
  }
  SECTION("a second process is told the first one's id") {
    auto held = Journal::open(real_host(), dir / "run");
    REQUIRE(held);
    auto second = resume(dir / "run", *device, {});
    REQUIRE_FALSE(second);
    CHECK(second.error().code == ErrorCode::usage);
    CHECK(second.error().message.find(std::to_string(::getpid())) != std::string::npos);
  }
  SECTION("resume of a finished run answers from the journal") {
    const std::string before = read_all(dir / "run/journal");
    auto report = resume(dir / "run", *device, {});
    REQUIRE_OK(report);
    CHECK(report->best);
    CHECK(read_all(dir / "run/journal") == before);
  }
  SECTION("raised limits continue it") {
    EvolveOptions more;
    more.raise_evaluations = 40;
    auto report = resume(dir / "run", *device, more);
    REQUIRE_OK(report);
    CHECK(report->evaluations == 40);
  }
  SECTION("raised limits hold for a run that was interrupted") {
    const std::string journal = read_all(dir / "run/journal");
    REQUIRE(::truncate((dir / "run/journal").c_str(), static_cast<off_t>(journal.size() / 2)) == 0);
    EvolveOptions more;
    more.raise_evaluations = 40;
    auto report = resume(dir / "run", *device, more);
    REQUIRE_OK(report);
    CHECK(report->evaluations == 40);
    CHECK(read_all(dir / "run/journal").find("\"max_evaluations\":40") != std::string::npos);
  }
  SECTION("another device is refused") {
    const TempDir other;
    const auto stranger = fake_device(
        write_landscape(other, R"({"cupilot_landscape": 1, "kind": "additive", "seed": 9})"));
    auto report = resume(dir / "run", *stranger, {});
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::usage);
  }
}

TEST_CASE("limits end a run and say so", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "run", 500);
  SECTION("generations") {
    options.search.max_generations = 3;
    auto report = evolve(Task{}, *device, options);
    REQUIRE_OK(report);
    CHECK(report->stopped == "generations spent");
    CHECK(report->proposed == 16);
  }
  SECTION("target") {
    options.search.target_us = 200;
    auto report = evolve(Task{}, *device, options);
    REQUIRE_OK(report);
    CHECK(report->stopped == "target reached");
  }
  SECTION("cancel leaves a run that resume ends as if nothing had been") {
    std::atomic<bool> cancel{true};
    options.search.max_evaluations = 30;
    options.cancel = &cancel;
    auto report = evolve(Task{}, *device, options);
    REQUIRE_OK(report);
    CHECK(report->stopped == "interrupted");
    CHECK_FALSE(report->best);
    REQUIRE_OK(resume(dir / "run", *device, {}));
    REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "whole")));
    CHECK(essence(dir / "run") == essence(dir / "whole"));
  }
}

TEST_CASE("without a valid candidate a run ends with the reason", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(
      dir, R"({"cupilot_landscape": 1, "kind": "additive", "variables": 12, "reject": 1})"));
  EvolveOptions options = small_run(dir / "run", 2);
  options.search.seed = 3;
  auto report = evolve(Task{}, *device, options);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::budget);
  CHECK(report.error().message.find("verify.bound") != std::string::npos);
  auto again = resume(options.run_dir, *device, {});
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ErrorCode::budget);
  CHECK(again.error().message == report.error().message);
}

TEST_CASE("a recorded landscape answers a search with any seed", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  auto kept = record_landscape(Task{}, *device, dir / "recording", {.count = 40});
  REQUIRE_OK(kept);
  CHECK(*kept == 40);
  auto replay = open_recorded(dir / "recording", {});
  REQUIRE_OK(replay);
  CHECK((*replay)->identity().rfind("recorded:fake:", 0) == 0);
  std::vector<std::vector<std::string>> journals;
  for (const int threads : {1, 4}) {
    EvolveOptions options = small_run(dir / ("replay" + std::to_string(threads)), 60);
    options.search.parallel = threads;
    auto report = evolve(Task{}, **replay, options);
    REQUIRE_OK(report);
    CHECK(report->best);
    // What the recording lacks is refused and counted.
    CHECK(report->rejected["measure.failed"] > 0);
    journals.push_back(comparable(options.run_dir));
  }
  CHECK(journals[0] == journals[1]);
}

TEST_CASE("a recording that was stopped goes on by the same words", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  struct Stopping : SearchObserver {
    std::atomic<bool> cancel{false};
    int left = 10;
    void on_candidate(const Candidate&) override { cancel = --left <= 0; }
  } stopping;
  const RecordOptions whole{.count = 40, .task_words = {"gemm"}, .device_name = "fake:somewhere"};
  RecordOptions part = whole;
  part.observer = &stopping;
  part.cancel = &stopping.cancel;
  auto kept = record_landscape(Task{}, *device, dir / "recording", part);
  REQUIRE_OK(kept);
  CHECK(*kept < 40);
  const auto lines = [&] {
    const std::string table = read_all(dir / "recording/table.csv");
    return std::count(table.begin(), table.end(), '\n');
  };
  CHECK(lines() == *kept + 1);
  auto run = read_run(dir / "recording");
  REQUIRE_OK(run);
  CHECK(run->device_name == whole.device_name);

  RecordOptions other = whole;
  other.seed = 2;
  auto refused = record_landscape(Task{}, *device, dir / "recording", other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().hint.find("--out") != std::string::npos);

  kept = record_landscape(Task{}, *device, dir / "recording", whole);
  REQUIRE_OK(kept);
  CHECK(*kept == 40);
  CHECK(lines() == 41);
  REQUIRE_OK(record_landscape(Task{}, *device, dir / "at once", whole));
  CHECK(comparable(dir / "recording") == comparable(dir / "at once"));
}

TEST_CASE("finalists are compiled anew, what is searched is not", "[threads]") {
  const TempDir dir;
  Hooked device(fake_device(write_landscape(dir)));
  auto report = evolve(Task{}, device, small_run("", 20));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  CHECK(device.anew > 0);
  CHECK(device.anew < 20);
}

TEST_CASE("times that were measured when they were recorded are replayed at once", "[threads]") {
  const TempDir dir;
  Hooked device(fake_device(write_landscape(dir)));
  device.own().provenance = Provenance::measured;
  device.on_measure = [](std::span<const Subject>, std::vector<SubjectReport>&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // longer than its samples
  };
  REQUIRE_OK(record_landscape(Task{}, device, dir / "recording", {.count = 40}));
  auto replay = open_recorded(dir / "recording", {});
  REQUIRE_OK(replay);
  auto report = evolve(Task{}, **replay, small_run("", 60));
  REQUIRE_OK(report);
  REQUIRE(report->best);
  CHECK(std::get<Accepted>(report->best->candidate.outcome).measurement.provenance ==
        Provenance::measured);
}

TEST_CASE("a search that a recording cannot answer is told to record more", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE_OK(record_landscape(Task{}, *device, dir / "recording", {.count = 1}));
  auto replay = open_recorded(dir / "recording", {});
  REQUIRE_OK(replay);
  auto report = evolve(Task{}, **replay, small_run("", 4));
  REQUIRE_FALSE(report);
  CHECK(report.error().message.find("measure.failed") != std::string::npos);
  CHECK(report.error().hint.find("--all") != std::string::npos);
}

TEST_CASE(
    "a torn recording is replayed and says so, a damaged one is neither replayed nor gone on with",
    "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE_OK(record_landscape(Task{}, *device, dir / "recording", {.count = 20}));
  const std::string whole = read_all(dir / "recording/journal");
  const auto put = [&](const std::string& bytes) {
    std::ofstream(dir / "recording/journal", std::ios::binary) << bytes;
  };
  put(whole.substr(0, whole.size() - 5));
  auto torn = open_recorded(dir / "recording", {});
  REQUIRE_OK(torn);
  REQUIRE((*torn)->traits().notices.size() == 2);
  CHECK((*torn)->traits().notices.back().find("recording/journal ended in a torn record") !=
        std::string::npos);
  std::string damaged = whole;
  damaged[static_cast<std::size_t>(read_records(whole).records[1].at) + 30] ^= 1;
  put(damaged);
  auto replayed = open_recorded(dir / "recording", {});
  REQUIRE_FALSE(replayed);
  auto gone_on = record_landscape(Task{}, *device, dir / "recording", {.count = 20});
  REQUIRE_FALSE(gone_on);
  for (const Error& error : {replayed.error(), gone_on.error()}) {
    CHECK(error.code == ErrorCode::usage);
    CHECK(error.message.find(
              "recording/journal is damaged: a record with a wrong checksum at byte") !=
          std::string::npos);
  }
  CHECK(read_all(dir / "recording/journal") == damaged);
}

TEST_CASE("what is no recording is refused") {
  const TempDir dir;
  CHECK_FALSE(open_recorded(dir / "nowhere", {}));
  REQUIRE_OK(real_host().make_directories(dir / "run"));
  std::ofstream(dir / "run/journal") << "text";
  auto opened = open_recorded(dir / "run", {});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::usage);
}

TEST_CASE("what a host's device says of its confinement stands in the evidence", "[threads]") {
  const TempDir dir;
  Hooked device(fake_device(write_landscape(dir)));
  device.on_compile = [](CompiledKernel& kernel) {
    kernel.confinement = "unconfined: compiled in this process";
  };
  device.on_run = [](const CompiledKernel&, TrialReport& report) {
    report.confinement = "unconfined: runs in this process";
  };
  REQUIRE_OK(evolve(Task{}, device, small_run(dir / "run", 20)));
  auto best = read_candidate(dir / "run", "best");
  REQUIRE_OK(best);
  CHECK(best->evidence_json.find("unconfined: compiled in this process") != std::string::npos);
  CHECK(best->evidence_json.find("unconfined: runs in this process") != std::string::npos);
}

TEST_CASE("a task that the device cannot hold is refused before a run begins") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  const auto task = gemm_task({.m = 1'000'000, .n = 1'000'000, .k = 1'000'000});
  REQUIRE_OK(task);
  const auto report = evolve(*task, *device, small_run(dir / "run", 4));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::usage);
  CHECK(report.error().message.find(" take 11175.9 GiB, and ") != std::string::npos);
  CHECK_FALSE(real_host().exists(dir / "run"));
}

// A recorded device that says that it is a card of its own.
class Card final : public ForwardingDevice {
 public:
  Card(const std::string& landscape, std::string identity)
      : ForwardingDevice(fake_device(landscape)), traits_(inner().traits()) {
    traits_.provenance = Provenance::measured;
    traits_.identity = std::move(identity);
  }
  const DeviceTraits& traits() const override { return traits_; }
  DeviceTraits traits_;
};

TEST_CASE("a run goes on with another card of its model where it is told to", "[threads]") {
  const TempDir dir;
  const std::string landscape = write_landscape(dir);
  Card first(landscape, "GPU-1"), second(landscape, "GPU-2"), other(landscape, "GPU-3");
  other.traits_.spec.label = "NVIDIA of another kind";
  EvolveOptions options = small_run(dir / "run", 10);
  options.screening = false;
  REQUIRE_OK(evolve(landscape_task(), first, options));
  EvolveOptions more;
  more.raise_evaluations = 20;
  const auto refused = resume(dir / "run", second, more);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().hint.find("--other-card") != std::string::npos);
  more.other_card = true;
  const auto kind = resume(dir / "run", other, more);
  REQUIRE_FALSE(kind);
  CHECK(kind.error().message.find("cannot be compared") != std::string::npos);
  const auto report = resume(dir / "run", second, more);
  REQUIRE_OK(report);
  CHECK(report->evaluations == 20);
  const std::string said =
      "the run was made on GPU-1, this is GPU-2, another card of the model: "
      "kernels timed before keep their times";
  CHECK(std::count(report->notices.begin(), report->notices.end(), said) == 1);
}
