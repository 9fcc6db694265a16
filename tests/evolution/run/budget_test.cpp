// A run's seconds and what is heard while they pass, on a simulated clock.
#include <chrono>
#include <cupilot/parts/rejection.hpp>
#include <semaphore>
#include <thread>

#include "base/stop.hpp"
#include "catch.hpp"
#include "evolution/hooked.hpp"
#include "evolution/support.hpp"
#include "support/event_clock.hpp"
#include "support/sim_host.hpp"
#include "support/virtual_clock.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// Notes when it heard anything.
struct Listener : SearchObserver {
  explicit Listener(SimHost& clock) : host(clock) {}
  void hear() {
    const double now = host.monotonic_seconds();
    longest = std::max(longest, now - last);
    last = now;
  }
  void on_generation(const Progress&) override { hear(); }
  void on_notice(const std::string& notice) override {
    hear();
    notices += notice + "\n";
  }
  void on_refusal(const Refusal&) override { hear(); }
  void on_activity(const Activity& activity) override {
    if (!activities.empty()) closest = std::min(closest, host.monotonic_seconds() - last_activity);
    last_activity = host.monotonic_seconds();
    hear();
    activities += activity.doing + "\n";
    wall_seconds = activity.wall_seconds;
    if (activity.doing.starts_with("proving") && first_to_come < 0)
      first_to_come = activity.to_come_seconds;
  }
  SimHost& host;
  double last = 0, longest = 0, last_activity = 0, closest = 1e9, wall_seconds = 0;
  double first_to_come = -1;  // of the first proof in the search
  std::string notices, activities;
};

// Its contestant takes long to say what it is.
class SlowContestant : public Hooked {
 public:
  SlowContestant(std::unique_ptr<Backend> inner, SimHost& host)
      : Hooked(std::move(inner)), host_(host) {}
  Result<std::string> contestant(const std::string& name) override {
    host_.spend(opening);
    return name;
  }
  double opening = 25;

 private:
  SimHost& host_;
};

// Real threads, on a clock that moves only as the device works.
class DeviceClock : public testing::VirtualClock {
 public:
  // The other threads have some real time to look at the clock.
  void spend(double seconds) {
    sleep(seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  double monotonic_seconds() override { return slept(); }
};

// A card whose kernels compile side by side and run one at a time.
class Card : public Hooked {
 public:
  Card(std::unique_ptr<Backend> inner, EventClock& clock)
      : Hooked(std::move(inner)), clock_(clock) {
    own().parallel_compiles = slots;
  }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh) override {
    slots_.acquire();
    // A finalist has the cores alone.
    clock_.spend(fresh == Fresh::yes ? compile_seconds / 2 : compile_seconds);
    slots_.release();
    return Hooked::compile(source, fresh);
  }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    const std::lock_guard lock(card_);
    clock_.spend(run_seconds);
    return Hooked::run(task, kernel, cases);
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    const std::lock_guard lock(card_);
    const double rounds = std::min<double>(options.rounds, 3 + options.max_seconds / round_seconds);
    clock_.spend(round_seconds * (1 + rounds) * static_cast<double>(contestants.size()));
    return Hooked::measure(task, workload, contestants, options);
  }
  static constexpr int slots = 8;
  double compile_seconds = 7, run_seconds = 0.4, round_seconds = 0.1;

 private:
  EventClock& clock_;
  std::counting_semaphore<slots> slots_{slots};
  std::mutex card_;
};

}  // namespace

TEST_CASE("kernels that compiled when the search ends are met while there is time", "[threads]") {
  struct Row {
    double max_seconds, compile_seconds, run_seconds, round_seconds;
    std::int64_t least;  // evaluations
  };
  for (const Row& row :
       {Row{24, 7, 0.4, 0.1, 4}, Row{30, 10, 0.3, 0.1, 4}, Row{40, 9, 0.5, 0.2, 6}}) {
    INFO(row.max_seconds << " " << row.compile_seconds);
    const TempDir dir;
    EventClock clock;
    Card card(
        fake_device(write_landscape(
            dir,
            R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1})")),
        clock);
    card.compile_seconds = row.compile_seconds;
    card.run_seconds = row.run_seconds;
    card.round_seconds = row.round_seconds;
    EvolveOptions options = small_run("", 1'000'000);
    options.search.lookahead = 12;
    options.host = &clock;
    options.max_seconds = row.max_seconds;
    const auto report = evolve(Task{}, card, options);
    REQUIRE_OK(report);
    CHECK(report->best);
    CHECK(report->evaluations >= row.least);
    CHECK(report->wall_seconds <= row.max_seconds);
  }
}

TEST_CASE("those that wait for a slow device when the time is over are given up", "[threads]") {
  struct Row {
    double max_seconds, case_seconds, measure_seconds, before;
  };
  for (const Row& row : {Row{20, 0.02, 0.3, 0}, Row{30, 0.2, 0.1, 6}, Row{20, 0.01, 1, 0}}) {
    INFO(row.max_seconds << " " << row.case_seconds << " " << row.measure_seconds);
    const TempDir dir;
    DeviceClock host;
    Hooked device(fake_device(write_landscape(
        dir,
        R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1})")));
    device.own().parallel_compiles = 16;
    // One at a time, as on a card.
    device.on_run = [&](const CompiledKernel&, TrialReport& report) {
      host.spend(row.case_seconds * static_cast<double>(report.cases.size()));
    };
    device.on_measure = [&](std::span<const Subject>, std::vector<SubjectReport>&) {
      host.spend(row.measure_seconds);
    };
    EvolveOptions options = small_run(dir / "run", 1'000'000);
    options.search.lookahead = 24;
    options.host = &host;
    options.max_seconds = row.max_seconds;
    options.seconds_before = row.before;
    const auto report = evolve(Task{}, device, options);
    REQUIRE_OK(report);
    CHECK(report->best);
    CHECK(report->stopped == "time spent");
    CHECK(report->wall_seconds <= row.max_seconds);
    CHECK(report->wall_seconds > 0.4 * row.max_seconds);
    CHECK(report->part_seconds.at("beginning") == Approx(row.before));
    // What was given up is done first by whoever goes on.
    const std::int64_t evaluated = report->evaluations;
    CHECK(evaluated < report->proposed);
    const auto more = resume(dir / "run", device, {.max_seconds = 40, .host = &host});
    REQUIRE_OK(more);
    CHECK(more->evaluations > evaluated);
  }
}

TEST_CASE("candidates that outlast a run's seconds are stopped, not refused", "[threads]") {
  struct Row {
    int runs;  // of kernels before one that does not end
    bool has_best;
    double most_seconds;  // the simulated clock takes large steps
  };
  // Without a kernel those in flight have the run's seconds again.
  for (const Row& row : {Row{12, true, 40}, Row{0, false, 80}}) {
    INFO(row.runs);
    const TempDir dir;
    DeviceClock host;
    Hooked device(fake_device(write_landscape(
        dir,
        R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1})")));
    std::atomic<int> runs{0};
    device.on_run = [&](const CompiledKernel&, TrialReport&) {
      host.spend(0.1);
      const bool searching = device.renewed == 0;
      const bool endless = searching && ++runs > row.runs;
      while (endless && !stop_flags().wanted() && host.monotonic_seconds() < 2000) host.spend(0.5);
      device.run_error = endless ? std::optional(stopped_error()) : std::nullopt;
    };
    EvolveOptions options = small_run(dir / "run", 1'000'000);
    options.host = &host;
    options.max_seconds = 20;
    const auto report = evolve(Task{}, device, options);
    CHECK(host.monotonic_seconds() < row.most_seconds);
    REQUIRE(static_cast<bool>(report) == row.has_best);
    if (report) {
      CHECK(report->best);
      CHECK(report->stopped == "time spent");
    } else {
      CHECK(report.error().code == ErrorCode::budget);
    }
    const auto kept = read_run(dir / "run");
    REQUIRE_OK(kept);
    CHECK(kept->report.rejected.empty());
    CHECK(kept->report.evaluations < kept->report.proposed);
    // A run that goes on does them again.
    device.on_run = [&](const CompiledKernel&, TrialReport&) { host.spend(0.1); };
    device.run_error = {};
    const auto more = resume(dir / "run", device, {.max_seconds = 10, .host = &host});
    REQUIRE_OK(more);
    CHECK(more->evaluations > kept->report.evaluations);
  }
}

TEST_CASE("a leader whose confirmation outlasts the seconds stands as it was proved", "[threads]") {
  const TempDir dir;
  DeviceClock host;
  Hooked device(fake_device(write_landscape(
      dir,
      R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1})")));
  device.own().provenance = Provenance::modelled;
  device.on_run = [&](const CompiledKernel&, TrialReport&) {
    host.spend(0.1);
    const bool confirming = device.renewed > 0;
    while (confirming && !stop_flags().wanted() && host.monotonic_seconds() < 2000) host.spend(0.5);
    device.run_error = confirming ? std::optional(stopped_error()) : std::nullopt;
  };
  EvolveOptions options = small_run(dir / "run", 40);
  options.host = &host;
  options.max_seconds = 20;
  const auto report = evolve(Task{}, device, options);
  REQUIRE_OK(report);
  CHECK(host.monotonic_seconds() > 40);
  CHECK(host.monotonic_seconds() < 80);
  const auto kept = read_run(dir / "run");
  REQUIRE_OK(kept);
  for (const EvolveReport* one : {&*report, &kept->report}) {
    REQUIRE(one->best);
    CHECK(one->rejected.empty());
    CHECK(std::get<Accepted>(one->best->candidate.outcome).measurement.time_us > 0);
    CHECK(std::any_of(one->notices.begin(), one->notices.end(), [](const std::string& notice) {
      return notice.find("stands as the search proved it") != std::string::npos;
    }));
  }
  const std::string evidence = read_all(dir / "run/best/evidence.json");
  CHECK(evidence.find("\"processes\": 1") != std::string::npos);
  const auto& stands = std::get<Accepted>(report->best->candidate.outcome);
  CHECK(stands.verification.unproved.back().find("a confirmation by") == 0);
}

TEST_CASE("the seconds of a run hold what follows the search", "[long]") {
  struct Row {
    double max_seconds, case_seconds, measure_seconds;
  };
  for (const Row& row : {Row{120, 0.05, 0.2}, Row{60, 0.1, 1}, Row{300, 0.3, 4}}) {
    INFO(row.max_seconds << " " << row.case_seconds << " " << row.measure_seconds);
    const TempDir dir;
    SimHost host(Rng(1));
    Hooked device(fake_device(write_landscape(
        dir,
        R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1})")));
    device.on_run = [&](const CompiledKernel&, TrialReport& report) {
      host.spend(row.case_seconds * static_cast<double>(report.cases.size()));
    };
    device.on_measure = [&](std::span<const Subject> all, std::vector<SubjectReport>&) {
      host.spend(row.measure_seconds * static_cast<double>(all.size()));
    };
    Listener listener(host);
    EvolveOptions options = small_run("run", 1'000'000);
    options.host = &host;
    options.max_seconds = row.max_seconds;
    options.observer = &listener;
    const auto report = evolve(Task{}, device, options);
    REQUIRE_OK(report);
    CHECK(report->best);
    CHECK(report->stopped == "time spent");
    CHECK(report->wall_seconds <= row.max_seconds);
    CHECK(report->wall_seconds > 0.4 * row.max_seconds);
    CHECK(report->evaluations > 1);
    CHECK(listener.notices.find("still to come: confirming the best") != std::string::npos);
    double sum = 0;
    for (const char* part : {"baselines", "search", "confirm"}) {
      INFO(part);
      REQUIRE(report->part_seconds.contains(part));
      CHECK(report->part_seconds.at(part) > 0);
      sum += report->part_seconds.at(part);
    }
    CHECK(sum == Approx(report->wall_seconds).epsilon(0.02));
  }
}

TEST_CASE("something is heard every ten seconds, whatever takes long") {
  const TempDir dir;
  SimHost host(Rng(1));
  SlowContestant device(fake_device(write_landscape(dir)), host);
  device.on_run = [&](const CompiledKernel&, TrialReport&) { host.spend(200); };
  device.on_measure = [&](std::span<const Subject>, std::vector<SubjectReport>&) {
    host.spend(35);
  };
  Listener listener(host);
  EvolveOptions options = small_run("", 6);
  options.host = &host;
  options.observer = &listener;
  options.seconds_before = 70;
  options.against = {"torch"};
  REQUIRE_OK(evolve(Task{}, device, options));
  CHECK(listener.longest <= 10);
  CHECK(listener.wall_seconds == Approx(70 + listener.last_activity - device.opening));
  CHECK(listener.closest >= activity_seconds);
  CHECK(listener.first_to_come == 0);  // nothing was measured yet
  for (const char* doing : {"opening torch", "timing the baselines", "proving", "confirming #"}) {
    INFO(doing);
    CHECK(listener.activities.find(doing) != std::string::npos);
  }
}

TEST_CASE("a run that is cancelled while its best is confirmed goes on from there", "[threads]") {
  const TempDir dir;
  Hooked device(fake_device(write_landscape(dir)));
  std::atomic<bool> cancel{false};
  struct AtTheEnd : SearchObserver {
    explicit AtTheEnd(std::atomic<bool>& flag) : cancel(flag) {}
    void on_notice(const std::string& notice) override {
      if (notice.find("still to come") != std::string::npos) cancel = true;
    }
    std::atomic<bool>& cancel;
  } observer(cancel);
  EvolveOptions options = small_run(dir / "run");
  options.observer = &observer;
  options.cancel = &cancel;
  auto report = evolve(Task{}, device, options);
  REQUIRE_OK(report);
  CHECK(report->stopped == "interrupted");
  CHECK_FALSE(report->best);
  REQUIRE_OK(resume(dir / "run", device, {}));
  REQUIRE_OK(evolve(Task{}, device, small_run(dir / "whole")));
  CHECK(essence(dir / "run") == essence(dir / "whole"));
}

TEST_CASE("the plain baseline may be left out, and ends no search", "[threads]") {
  const TempDir dir;
  struct Row {
    bool asked, timed;
    const char* notice;
  };
  std::vector<std::string> proposals;
  for (const Row& row : {Row{true, true, ""}, Row{false, true, ""},
                         Row{true, false, "no plain baseline: too dear"}}) {
    INFO(row.asked << row.timed);
    Hooked device(fake_device(write_landscape(dir)));
    device.on_measure = [&](std::span<const Subject> all, std::vector<SubjectReport>& reports) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].kind == Subject::Kind::plain && !row.timed)
          reports[i].measurement = reject("measure.failed", "too dear");
      }
    };
    EvolveOptions options = small_run(dir / ("run" + std::to_string(proposals.size())));
    options.plain_baseline = row.asked;
    const auto report = evolve(Task{}, device, options);
    REQUIRE_OK(report);
    REQUIRE(report->best);
    const auto named = [](const std::vector<Baseline>& all) {
      return std::any_of(all.begin(), all.end(),
                         [](const Baseline& one) { return one.name == "plain"; });
    };
    CHECK(named(report->baselines) == (row.asked && row.timed));
    CHECK(named(report->best->baselines) == (row.asked && row.timed));
    std::string notices;
    for (const std::string& notice : report->notices) notices += notice + "\n";
    CHECK(notices.find(row.notice) != std::string::npos);
    proposals.push_back(essence(options.run_dir));
    // A resumed run asks for no baseline that the run went without.
    REQUIRE_OK(resume(options.run_dir, device, {.raise_evaluations = 40}));
  }
  // The unit of fitness is no part of what is searched.
  CHECK(proposals[0] == proposals[1]);
  CHECK(proposals[0] == proposals[2]);
}
