// A measurement on a device that holds no memory: where inputs can be written, each timed launch's
// are compared with what was made for it; and how many launches it takes.
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "backend/cuda/trials.hpp"
#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

// Says yes to everything, and counts inputs that are compared with another recipe than the one they
// were filled by.
class Notebook : public TrialDevice {
 public:
  Notebook() {
    hello_.sharing = Sharing::own;
    hello_.memory_free = 1ll << 40;
  }
  int compared = 0, mistaken = 0, launched = 0, checks = 0;
  int wrong_check = 0, launched_then = 0;  // the check that finds a wrong output, from 1 on
  double launch_us = 5000;
  int setups = 0, stale = 0;  // stale: launches whose setup read another content
  FillParams read_at_setup{};

  const DeviceHello& hello() const override { return hello_; }
  double empty_launch_us() const override { return 1; }
  Result<Region> lease(std::int64_t bytes, bool, Fence, std::int64_t) override {
    return Region{slots_++, 0, bytes};
  }
  void release_all() override {}
  bool crowded() const override { return false; }
  std::set<int> sealed;
  void seal(const Region& region) override { sealed.insert(region.slot); }
  void unseal(const Region& region) override { sealed.erase(region.slot); }
  void let_inputs_be_written(bool) override {}
  bool inputs_writable() const override { return true; }
  Result<std::vector<std::string>> judge_all(std::span<const DeviceOrder> orders) override {
    std::vector<std::string> payloads;
    for (const DeviceOrder& order : orders) payloads.push_back(judged(order));
    return payloads;
  }
  Result<void> load_in_judge(const NamedImage&) override { return {}; }
  int read = 0;  // regions
  Result<std::vector<std::byte>> read_back(const Region& region) override {
    ++read;
    return std::vector<std::byte>(static_cast<std::size_t>(region.bytes), std::byte{1});
  }
  void share(Sharing sharing) { hello_.sharing = sharing; }
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage&, const RunOrder& order,
                                                   double) override {
    if (!order.launches.empty() && order.launches[0].name == "prepare") {
      ++setups;
      const auto& args = order.launches[0].args;
      read_at_setup = filled_[args[0].region.slot];
      const bool open = sealed.count(args[1].region.slot) == 0;
      mistaken += open && order.timing.mode == VisitTiming::Mode::once ? 0 : 1;
      return std::variant<DeviceRun, RunnerFault>(DeviceRun{});
    }
    if (setups > 0) {
      const auto& args = order.launches[0].args;
      const FillParams& now = filled_[args[0].region.slot];
      stale += std::memcmp(&now, &read_at_setup, sizeof now) == 0 ? 0 : 1;
      mistaken += sealed.count(args[1].region.slot) == 1 ? 0 : 1;
    }
    launched += order.timing.mode == VisitTiming::Mode::timed ? 1 : order.timing.replays;
    const std::vector<double> times(order.timing.mode == VisitTiming::Mode::timed ? 1 : 0,
                                    launch_us);
    return std::variant<DeviceRun, RunnerFault>(
        DeviceRun{{times, launch_us, apart}, launch_us + 100});
  }
  bool apart = false;  // no graph is captured
  std::vector<ContestOrder> contests;
  int rests = 0;
  RunnerFault contest_fault;  // of every contest, where it has a code
  Result<std::variant<DeviceRun, RunnerFault>> contest(const ContestOrder& order, double) override {
    contests.push_back(order);
    if (!contest_fault.code.empty()) return std::variant<DeviceRun, RunnerFault>(contest_fault);
    return std::variant<DeviceRun, RunnerFault>(
        DeviceRun{{{2 * launch_us}, 2 * launch_us}, 2 * launch_us + 100});
  }
  void rest_contestants() override { ++rests; }
  void settle() override {}
  int processes() const override { return 1; }
  Error distrust(const std::string& why) override { return {ErrorCode::failure, why, ""}; }
  Result<void> renew() override { return {}; }

 private:
  std::string judged(const DeviceOrder& order) {
    if (order.type == DeviceMessage::prepare) {
      const auto prepare = unpack_prepare(order.body);
      for (const PrepareItem& item : prepare->items) filled_[item.region.slot] = item.recipe;
      return pack(PrepareAnswer{});
    }
    if (order.type == DeviceMessage::conditions) return pack(CardConditions{});
    return pack(checked(*unpack_check(order.body)));
  }
  CheckAnswer checked(const CheckOrder& order) {
    CheckAnswer answer;
    for (const CheckItem& item : order.outputs) {
      answer.outputs.push_back({});
      answer.outputs.back().compared = item.compare;
    }
    if (++checks == wrong_check) {
      answer.outputs.front().failed = 1;
      launched_then = launched;
    }
    answer.guards.resize(order.guards.size());
    answer.hashes.resize(order.outputs.size());
    answer.nonzero.resize(order.zeros.size());
    for (const PrepareItem& input : order.unchanged) {
      ++compared;
      const bool same =
          std::memcmp(&filled_[input.region.slot], &input.recipe, sizeof input.recipe) == 0;
      mistaken += same ? 0 : 1;
      answer.changed.push_back(same ? 0 : 1);
    }
    return answer;
  }
  DeviceHello hello_;
  int slots_ = 0;
  std::map<int, FillParams> filled_;
};

struct Trials {
  std::unique_ptr<CompilePool> pool = std::move(*CompilePool::open(testing::kept_images()));
  DeviceSpec spec = *chip("h200");
  CudaPrograms programs{*pool, spec.arch};
  SpotCheck spot{*pool, spec.arch};
  Notebook device;
  CudaTrials trials{device, programs, spot, spec, 20};
  // Inputs of more than half a gibibyte: the controller computes no reference values of its own.
  Task task = *gemm_task({.m = 16384, .n = 128, .k = 16384});

  SubjectReport measure(const Subject& contestant, const MeasureOptions& options) {
    auto reports =
        trials.measure(TaskRef(task), task.time_shapes.front(), {&contestant, 1}, options);
    REQUIRE(reports);
    const auto& measured = reports->front().measurement;
    if (measured.is_rejected()) FAIL(measured.rejected().message);
    return std::move(reports->front());
  }
};
const Subject plain_kernel{Subject::Kind::plain, "plain", nullptr};

}  // namespace

TEST_CASE("inputs that can be written are compared with the content of their own launch") {
  Trials on;
  const SubjectReport report = on.measure(plain_kernel, {});
  CHECK(report.measurement->samples_us.size() >= 3);
  CHECK(on.device.compared > 6);
  CHECK(on.device.mistaken == 0);
}

TEST_CASE("a judge of the calling program's decides on launches of a device in its process") {
  Trials on;
  on.task = *gemm_task({.m = 8, .n = 4, .k = 2});
  int asked = 0;
  bool right = true;
  on.task.tensors.back().check = {
      .kind = CheckKind::custom,
      .of = "nod 1",
      .judge = [&](const Workload& workload, std::span<const TensorView> tensors) -> std::string {
        ++asked;
        CHECK(workload.sizes.at("m") == 8);
        CHECK(tensors.back().name == "D");
        CHECK(tensors.back().bytes.size() == 8 * 4 * 4);
        CHECK(tensors.back().bytes[5] == std::byte{1});
        CHECK(tensors.front().shape.extents == std::vector<std::int64_t>{1, 8, 2});
        return right ? "" : "no";
      }};
  const MeasureOptions options{3, 2.0, true, 1};
  on.device.wrong_check = 1;  // by the reference, which is not asked
  const SubjectReport report = on.measure(plain_kernel, options);
  CHECK(asked > 3);
  CHECK(on.device.read == 3 * asked);
  CHECK(report.proofs.front().outputs.front().compared == 32);
  right = false;
  const auto refused =
      on.trials.measure(TaskRef(on.task), on.task.time_shapes.front(), {&plain_kernel, 1}, options);
  REQUIRE(refused);
  REQUIRE(refused->front().measurement.is_rejected());
  CHECK(refused->front().measurement.rejected().code == "measure.timed_launch");
  CHECK(refused->front().measurement.rejected().message == "nod 1 says of D: no");

  CHECK(on.trials.can_judge(on.task));
  on.device.share(Sharing::vmm);
  const auto apart = on.trials.can_judge(on.task);
  REQUIRE_FALSE(apart);
  CHECK(apart.error().code == ErrorCode::usage);
  CHECK(apart.error().message.find("output D has a judge of the calling program's, nod 1") !=
        std::string::npos);
  on.task.tensors.back().check = {};
  CHECK(on.trials.can_judge(on.task));
}

TEST_CASE("whichever timed launch was wrong, its kernel leaves and is launched no more") {
  Trials on;
  on.device.launch_us = 1000;
  const MeasureOptions options{3, 2.0, true, 1};
  on.measure(plain_kernel, options);
  const int checks = on.device.checks;
  REQUIRE(checks > 8);
  for (int wrong = 1; wrong <= checks; ++wrong) {
    CAPTURE(wrong);
    on.device.checks = on.device.launched = 0;
    on.device.wrong_check = wrong;
    auto reports = on.trials.measure(TaskRef(on.task), on.task.time_shapes.front(),
                                     {&plain_kernel, 1}, options);
    REQUIRE(reports);
    REQUIRE(reports->front().measurement.is_rejected());
    testing::expect_code(reports->front().measurement.rejected(), "measure.timed_launch");
    CHECK(on.device.launched == on.device.launched_then);
  }
}

TEST_CASE("a slow plain kernel takes a twentieth of the time, and one launch at least") {
  struct Case {
    double launch_us;
    int launches;
    std::size_t samples;
  };
  // Of the 100 ms that are a twentieth of 2 s. A first launch that is not the only one is no
  // sample.
  const Case c = GENERATE(from_range(
      std::vector<Case>{{2'000'000, 1, 1}, {60'000, 1, 1}, {40'000, 3, 2}, {30'000, 4, 3}}));
  Trials on;
  on.device.launch_us = c.launch_us;
  const SubjectReport report = on.measure(plain_kernel, {7, 2.0, true, 1});
  CAPTURE(c.launch_us);
  CHECK(on.device.launched == c.launches);
  CHECK(report.measurement->samples_us.size() == c.samples);
  CHECK(report.ratio.size() == c.samples);
  CHECK(report.proofs.size() == c.samples);
}

TEST_CASE("a long first launch counts where few rounds are asked for") {
  struct Case {
    double launch_us;
    int rounds, launches;
  };
  // Beside the rounds: the launch that the controller's clock sees, and what goes before.
  const Case c = GENERATE(from_range(std::vector<Case>{{6000, 3, 4}, {6000, 5, 7}, {4000, 3, 6}}));
  Trials on;
  on.device.launch_us = c.launch_us;
  CompiledKernel kernel;
  kernel.source.text = "candidate";
  kernel.source.plan.launches = {{.name = "main", .entry = "gemm", .grid = {"1"}, .block = {"32"}}};
  kernel.entries = {{.name = "gemm", .source_name = "gemm"}};
  const SubjectReport report =
      on.measure({Subject::Kind::candidate, "candidate", &kernel}, {c.rounds, 1.0, true, 1});
  CAPTURE(c.launch_us, c.rounds);
  CHECK(on.device.launched == c.launches);
  CHECK(report.measurement->samples_us.size() == static_cast<std::size_t>(c.rounds));
  CHECK(report.proofs.size() == static_cast<std::size_t>(c.rounds));
}

TEST_CASE("a time of several launches says how they were set off") {
  struct Row {
    std::size_t launches;
    bool apart;
    const char* says;  // "": nothing
  };
  const Row row = GENERATE(values<Row>(
      {{1, false, ""},
       {1, true, ""},
       {3, false, "timed as one captured graph of 3 launches"},
       {2, true, "timed as 2 launches one after another: the device captures no graph of them"}}));
  Trials on;
  on.device.apart = row.apart;
  CompiledKernel kernel;
  kernel.source.text = "candidate";
  for (std::size_t i = 0; i < row.launches; ++i)
    kernel.source.plan.launches.push_back({.name = "k", .entry = "k", .block = {"32"}});
  kernel.entries = {{.name = "k", .source_name = "k"}};
  const SubjectReport report =
      on.measure({Subject::Kind::candidate, "candidate", &kernel}, {3, 1.0, true, 1});
  const auto& conditions = report.measurement->conditions;
  const auto said = std::find_if(conditions.begin(), conditions.end(),
                                 [](const auto& one) { return one.starts_with("timed as"); });
  CHECK((said == conditions.end() ? "" : *said) == std::string(row.says));
}

TEST_CASE("setup launches read the constants of each timed launch, untimed") {
  for (const Role role : {Role::constant, Role::in}) {
    CAPTURE(static_cast<int>(role));
    Trials on;
    on.task.tensors[0].role = role;
    const bool constant = role == Role::constant;
    CompiledKernel kernel;
    kernel.source.text = "candidate";
    kernel.source.plan.buffers = {{"kept", 64, BufferContent::table}};
    const std::string read = constant ? "A" : "kept";
    kernel.source.plan.launches = {{.name = "prepare",
                                    .entry = "prepare",
                                    .when = When::setup,
                                    .block = {"32"},
                                    .args = {{.name = read}, {.name = "kept"}}},
                                   {.name = "main",
                                    .entry = "main",
                                    .block = {"32"},
                                    .args = {{.name = read}, {.name = "kept"}}}};
    for (const char* name : {"prepare", "main"})
      kernel.entries.push_back({.name = name, .source_name = name, .parameter_bytes = {8, 8}});
    const SubjectReport report =
        on.measure({Subject::Kind::candidate, "candidate", &kernel}, {5, 2.0, true, 1});
    CHECK(on.device.mistaken == 0);
    CHECK(on.device.stale == 0);
    // Sizes alone stay what they were.
    CHECK((on.device.setups > 3) == constant);
    CHECK(on.device.setups >= 1);
    const auto& conditions = report.measurement->conditions;
    CHECK(std::any_of(conditions.begin(), conditions.end(), [](const std::string& one) {
      return one.starts_with("not timed: setup launches") &&
             one.ends_with("(prepare); 64 bytes of tables");
    }));
  }
}

namespace {

struct ContestTrials : Trials {
  Result<std::vector<SubjectReport>> measure_both(const MeasureOptions& options) {
    const Subject both[] = {plain_kernel, {Subject::Kind::contestant, "torch", nullptr}};
    return trials.measure(TaskRef(task), task.time_shapes.front(), both, options);
  }
};

}  // namespace

TEST_CASE("a contestant is visited in the rounds, with the content of each launch") {
  ContestTrials on;
  const auto reports = on.measure_both({5, 2.0, true, 1});
  if (!reports) FAIL(reports.error().message);
  const SubjectReport& torch = reports->back();
  if (torch.measurement.is_rejected()) FAIL(torch.measurement.rejected().message);
  CHECK(torch.measurement->time_us == 2 * on.device.launch_us);
  CHECK(torch.ratio.size() == 5);
  CHECK(torch.ratio.front() == 2);
  CHECK(on.device.rests == 1);
  REQUIRE(on.device.contests.size() >= 6);
  // A compiling launch comes once, before the rounds; two launches have different content.
  for (std::size_t i = 0; i < on.device.contests.size(); ++i) {
    const ContestOrder& order = on.device.contests[i];
    CHECK(order.first == (i == 0));
    CHECK(order.cold);
    CHECK(order.digests.size() == 2);
    CHECK(order.tensors.size() == on.task.tensors.size());
  }
  CHECK(on.device.contests[1].digests[0].sha256 != on.device.contests[2].digests[0].sha256);
}

TEST_CASE("a contestant whose outputs are wrong keeps its time, and that is told") {
  ContestTrials on;
  REQUIRE(on.measure_both({3, 2.0, true, 1}));
  const int checks = on.device.checks;
  on.device.checks = 0;
  on.device.wrong_check = checks;  // of the last launch, which is the contestant's
  const auto reports = on.measure_both({3, 2.0, true, 1});
  REQUIRE(reports);
  REQUIRE(reports->front().measurement);
  REQUIRE(reports->back().measurement);
  const auto& conditions = reports->back().measurement->conditions;
  REQUIRE(!conditions.empty());
  CHECK_THAT(conditions.back(), Catch::StartsWith("of its outputs: "));
}

TEST_CASE("a contestant that has no time leaves the others theirs") {
  ContestTrials on;
  on.device.contest_fault = {"measure.failed", "out of memory", "", false};
  const auto reports = on.measure_both({3, 2.0, true, 1});
  REQUIRE(reports);
  CHECK(reports->front().measurement);
  REQUIRE(reports->back().measurement.is_rejected());
  CHECK(reports->back().measurement.rejected().message == "out of memory");
  CHECK(on.device.contests.size() == 1);
}
