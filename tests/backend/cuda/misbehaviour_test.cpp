// Judge and runner that hang, die, lie and break the protocol at every step: what the controller
// makes of each.
#include <cupilot/parts/rejection.hpp>

#include "backend/cuda/trials.hpp"
#include "backend/worker/fake_worker.hpp"
#include "support/kept_images.hpp"
#include "support/reached.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;

namespace {

// y = x over zeros: reference values are zero, which a worker without a device can answer.
Task zero_task() {
  Task task;
  task.name = task.family = "copy";
  task.axes = {{"n", AxisKind::free}};
  Tensor x;
  x.name = "x";
  x.shape = {"n"};
  x.fill.kind = FillKind::zeros;
  Tensor y;
  y.name = "y";
  y.role = Role::out;
  y.shape = {"n"};
  task.tensors = {x, y};
  task.time_shapes = {{{{"n", 1000}}, 1.0}};
  task.work.flops = "n";
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long index) { return in.x(index); }";
  return task;
}

CompiledKernel dummy_kernel() {
  CompiledKernel kernel;
  PlanLaunch launch;
  launch.name = launch.entry = "k";
  launch.grid = {"cdiv(n,256)"};
  launch.block = {256};
  for (const char* name : {"x", "y"}) launch.args.push_back({PlanArgument::Kind::name, name, 0});
  kernel.source.plan.launches = {launch};
  kernel.cubin = {1, 2, 3};
  EntryFacts entry;
  entry.name = entry.source_name = "k";
  entry.registers = 16;
  entry.parameter_bytes = entry.parameter_alignment = {8, 8};
  kernel.entries = {entry};
  return kernel;
}

CompilePool& pool() {
  static const std::unique_ptr<CompilePool> opened = [] {
    BackendOptions options = testing::kept_images();
    options.compile_jobs = 1;
    auto made = CompilePool::open(options);
    if (!made) FAIL(made.error().message);
    return std::move(*made);
  }();
  return *opened;
}

std::string outcome(const CaseReport& report) {
  if (!report.faults.empty()) return report.faults[0].code;
  if (report.outputs.empty()) return "no outputs";
  if (report.outputs[0].failed > 0) return "wrong";
  if (report.outputs[0].never_written > 0) return "never written";
  if (report.outputs[0].repeat_differs > 0) return "differs";
  return report.recomputed > 0 && report.repeats_done == report.what.repeats ? "good"
                                                                             : "not looked at";
}

// Of the first case that is not good.
std::string outcome(const Result<std::vector<CaseReport>>& reports) {
  if (!reports) return reports.error().code == ErrorCode::no_device ? "suspect" : "error";
  for (const CaseReport& report : *reports) {
    if (const std::string one = outcome(report); one != "good")
      return &report == &reports->back() ? one : one + ", then more";
  }
  return reports->size() == 2 ? "good" : "too few";
}

std::string outcome(const Result<std::vector<SubjectReport>>& reports) {
  if (!reports) return reports.error().code == ErrorCode::no_device ? "suspect" : "error";
  const SubjectReport& report = reports->at(0);
  return report.measurement.is_rejected() ? report.measurement.rejected().code : "measured";
}

struct Row {
  const char* behaviour;
  const char* proved;
  const char* measured;
};

constexpr Row rows[] = {
    {"none", "good", "measured"},
    // The runner dies, hangs or breaks the protocol while a kernel runs.
    {"runner-run-hang", "run.hang", "run.hang"},
    {"runner-run-die", "run.crash", "run.crash"},
    {"runner-run-die-once", "good", "measured"},
    {"runner-run-killed", "run.crash", "run.crash"},
    {"runner-run-killed-once", "good", "measured"},
    {"runner-run-garbage", "run.crash", "run.crash"},
    {"runner-run-crc", "run.crash", "run.crash"},
    {"runner-run-crc-once", "good", "measured"},
    {"runner-run-bits", "run.crash", "run.crash"},
    {"runner-run-version", "run.crash", "run.crash"},
    {"runner-run-oversize", "run.crash", "run.crash"},
    {"runner-run-cut", "run.crash", "run.crash"},
    {"runner-run-header", "run.crash", "run.crash"},
    {"runner-run-misnumber", "run.crash", "run.crash"},
    {"runner-run-replay", "run.crash", "run.crash"},
    {"runner-run-type", "run.crash", "run.crash"},
    {"runner-run-nobody", "run.crash", "run.crash"},
    {"runner-run-babble", "run.crash", "run.crash"},
    {"runner-run-twice", "good", "measured"},
    {"runner-run-flood", "good", "measured"},
    {"runner-run-descriptors", "good", "measured"},
    // What the driver says of a kernel.
    {"runner-run-e700", "run.out_of_bounds", "run.out_of_bounds"},
    {"runner-run-e700+judge-check-checkchanged", "run.input_write", "run.input_write"},
    {"runner-run-e717", "run.out_of_bounds", "run.out_of_bounds"},
    {"runner-run-e716", "run.misaligned", "run.misaligned"},
    {"runner-run-e719", "run.trap", "run.trap"},
    {"runner-run-e710", "run.trap", "run.trap"},
    {"runner-run-e715", "run.trap", "run.trap"},
    {"runner-run-e702", "run.hang", "run.hang"},
    {"runner-run-e999", "run.crash", "run.crash"},
    {"runner-run-r1", "run.launch", "run.launch"},
    {"runner-run-r701", "load.resources", "load.resources"},
    {"runner-run-r720", "load.resources", "load.resources"},
    // Loading.
    {"runner-load-die", "load.failed", "load.failed"},
    {"runner-load-die-once", "good", "measured"},
    {"runner-load-hang", "load.failed", "load.failed"},
    {"runner-load-crc", "load.failed", "load.failed"},
    {"runner-load-e999", "load.failed", "load.failed"},
    {"runner-load-r200", "load.failed", "load.failed"},
    {"runner-load-r701", "load.resources", "load.resources"},
    // Memory.
    {"runner-map-die-late", "error", "error"},
    {"runner-map-die-once", "good", "measured"},
    {"runner-map-hang-late", "error", "error"},
    {"runner-map-r2-late", "error", "error"},
    {"judge-slot-die-late", "error", "error"},
    {"judge-slot-die-once", "good", "measured"},
    {"judge-slot-r2-late", "error", "error"},
    {"judge-slot-babble-late", "error", "error"},
    {"judge-slot-descriptors-late", "error", "error"},
    // The judge.
    {"judge-prepare-die", "error", "error"},
    {"judge-prepare-die-once", "good", "measured"},
    {"judge-prepare-hang", "error", "error"},
    {"judge-check-die", "error", "error"},
    {"judge-check-crc-once", "good", "measured"},
    {"judge-check-e700", "error", "error"},
    {"judge-check-r1", "error", "error"},
    {"judge-check-babble", "error", "error"},
    {"judge-check-checkshort", "error", "error"},
    {"judge-several-short", "error", "error"},
    {"judge-several-long", "error", "error"},
    {"judge-several-babble", "error", "error"},
    {"judge-several-crc-once", "good", "measured"},
    {"judge-check-checkhashes", "error", "error"},
    {"judge-check-checkwrong", "wrong, then more", "measure.timed_launch"},
    {"judge-check-checkpoison", "never written, then more", "measure.timed_launch"},
    // What the runner stores does not arrive: found by the known answer, not laid to the kernel.
    {"judge-check-checklost", "good", "measured"},
    {"runner-run-e700-once+judge-check-checklost-late", "run.out_of_bounds", "measured"},
    {"judge-check-checkgone", "suspect", "suspect"},
    {"judge-check-checkguard", "run.guard", "run.guard"},
    {"judge-check-checkguard-once", "run.guard",
     "measured"},  // of the first case, told when the second was run
    {"judge-check-checkpadding", "run.guard", "run.guard"},
    {"judge-repeat-differs", "differs", "measured"},
    {"judge-repeat-shortrepeat", "error", "measured"},
    {"judge-repeat-die", "error", "measured"},
    {"judge-conditions-die", "good", "measured"},
    {"judge-conditions-babble", "good", "measured"},
    // The controller looks for itself.
    {"judge-read-wrongreference", "error", "suspect"},
    {"judge-read-wrongreference-once", "good", "measured"},
    {"judge-read-wrongbits", "error", "suspect"},
    {"judge-read-shortread", "error", "error"},
    // Times.
    {"runner-timed-1ns", "good", "measure.failed"},
    {"runner-timed-25us", "good", "measured"},  // nothing tells it from the truth
    {"runner-timed-25us+runner-burst-slowly", "good", "measure.failed"},
    {"runner-burst-late", "good", "measured"},
    {"runner-timed-zero", "good", "measure.failed"},
    {"runner-timed-negative", "good", "measure.failed"},
    {"runner-timed-nan", "good", "measure.failed"},
    {"runner-timed-infinite", "good", "measure.failed"},
    {"runner-timed-tiny", "good", "measure.failed"},
    {"runner-timed-huge", "good", "measure.failed"},
    {"runner-timed-exceeds", "good", "measure.failed"},
    {"runner-timed-wall", "good", "measure.failed"},
    {"runner-timed-nanwall", "good", "measure.failed"},
    {"runner-timed-none", "good", "measure.failed"},
    {"runner-timed-many", "good", "measure.failed"},
    {"runner-timed-die", "good", "run.crash"},
    {"runner-timed-die-once", "good", "measured"},
    {"runner-timed-hang", "good", "run.hang"},
    {"runner-timed-e700", "good", "run.out_of_bounds"},
    {"runner-timed-babble", "good", "run.crash"},
    {"runner-burst-die", "good", "run.crash"},
    // A device that is not what it was.
    {"runner-run-die-once+runner-probe-slow-late", "suspect", "suspect"},
    {"runner-run-die-once+runner-probe-wrongvalue-late", "suspect", "suspect"},
    {"runner-run-die-once+runner-probe-nanprobe-late", "suspect", "suspect"},
    {"runner-run-die-once+runner-hello-die-late", "suspect", "suspect"},
    {"runner-run-die-once+runner-trusted-r999-late", "suspect", "suspect"},
    {"judge-check-die-once+judge-probe-wrongvalue-late", "suspect", "suspect"},
    {"runner-probe-wrongvalue-once", "good", "measured"},
    {"judge-hello-confined", "good", "measured"},
};

// What cannot be opened at all.
constexpr std::pair<const char*, ErrorCode> closed[] = {
    {"judge-hello-absent", ErrorCode::no_device},
    {"judge-hello-broken", ErrorCode::failure},
    {"runner-hello-absent", ErrorCode::no_device},
    {"judge-hello-die", ErrorCode::failure},
    {"judge-hello-garbage", ErrorCode::failure},
    {"judge-hello-crc", ErrorCode::failure},
    {"judge-hello-version", ErrorCode::failure},
    {"judge-hello-type", ErrorCode::failure},
    {"judge-hello-nobody", ErrorCode::failure},
    {"judge-hello-hang", ErrorCode::failure},
    {"runner-probe-wrongvalue", ErrorCode::failure},
    {"judge-probe-nanprobe", ErrorCode::failure},
    {"judge-trusted-r200", ErrorCode::failure},
    {"judge-slot-e304", ErrorCode::failure},
    {"runner-map-r801", ErrorCode::failure},
    {"judge-hello-ipc+runner-hello-ipc", ErrorCode::failure},  // shared by IPC, but no handle comes
};

bool hangs(const std::string& behaviour, const char* step) {
  return behaviour.find("-hang") != std::string::npos && behaviour.find(step) != std::string::npos;
}

// Short where the behaviour waits for them, long enough for a loaded machine elsewhere.
DeviceDeadlines deadlines_for(const std::string& behaviour) {
  DeviceDeadlines deadlines;
  if (hangs(behaviour, "-hello-")) deadlines.hello = 0.5;
  if (hangs(behaviour, "-load-")) deadlines.load = 0.5;
  if (hangs(behaviour, "-map-")) deadlines.slot = 0.5;
  if (hangs(behaviour, "-prepare-")) deadlines.judge = 0.5;
  return deadlines;
}

void expect_outcome(const std::string& got, const std::string& want) {
  if (want.find('.') != std::string::npos) {
    testing::expect_code(got, want);
  } else {
    CHECK(got == want);
  }
}

}  // namespace

TEST_CASE("every misbehaviour of judge and runner has its outcome, and none is a number") {
  const Task task = zero_task();
  REQUIRE(validate(task));
  const CompiledKernel kernel = dummy_kernel();
  const auto spec = chip("h200");
  REQUIRE(spec);
  CudaPrograms programs(pool(), "sm_90a");
  SpotCheck spot(pool(), "sm_90a");
  // The first one's outputs are judged with the second one's preparation.
  Case cases[2];
  cases[0].workload = cases[1].workload = task.time_shapes[0];
  cases[1].repeats = 2;
  const Subject contestant{Subject::Kind::candidate, "candidate", &kernel};
  for (std::size_t i = 0; i < std::size(rows); i += testing::sanitized() ? 3 : 1) {
    const Row& row = rows[i];
    CAPTURE(row.behaviour);
    const FakeWorker fake(row.behaviour);
    const auto device = fake.open(deadlines_for(row.behaviour));
    REQUIRE(device->trust({1}));
    CudaTrials trials(*device, programs, spot, *spec, hangs(row.behaviour, "") ? 0.5 : 20);
    expect_outcome(outcome(trials.prove(TaskRef(task), kernel, cases)), row.proved);
    auto measured =
        trials.measure(TaskRef(task), cases[0].workload, {&contestant, 1}, {3, 0.01, true, 1});
    if (!measured)
      measured =
          trials.measure(TaskRef(task), cases[0].workload, {&contestant, 1}, {3, 0.01, true, 1});
    expect_outcome(outcome(measured), row.measured);
  }
}

TEST_CASE("a device whose stores are lost after a fault is replaced, and that is said") {
  struct Row {
    const char* behaviour;
    const char* proved[3];  // of one kernel after another
    std::size_t said;
  };
  const Row lost[] = {
      {"runner-run-e700-once+judge-check-checklost-late", {"run.out_of_bounds", "good", "good"}, 1},
      {"runner-run-e700-once+judge-check-checkgone-late",
       {"run.out_of_bounds", "suspect", "suspect"},
       1},
      {"judge-check-checkpoison",
       {"never written, then more", "never written, then more", "never written, then more"},
       0},
  };
  const Task task = zero_task();
  const CompiledKernel kernel = dummy_kernel();
  const auto spec = chip("h200");
  CudaPrograms programs(pool(), "sm_90a");
  SpotCheck spot(pool(), "sm_90a");
  Case cases[2];
  cases[0].workload = cases[1].workload = task.time_shapes[0];
  for (const Row& row : lost) {
    CAPTURE(row.behaviour);
    const FakeWorker fake(row.behaviour);
    const auto device = fake.open();
    REQUIRE(device->trust({1}));
    CudaTrials trials(*device, programs, spot, *spec, 20);
    for (const char* proved : row.proved)
      expect_outcome(outcome(trials.prove(TaskRef(task), kernel, cases)), proved);
    const auto said = trials.happened();
    CHECK(said.size() == row.said);
    if (!said.empty()) CHECK(said[0].find("did not arrive") != std::string::npos);
  }
}

TEST_CASE(
    "a kernel that asks for more memory than it may have is refused, and the machine has not "
    "failed") {
  const Task task = zero_task();
  CompiledKernel kernel = dummy_kernel();
  kernel.source.plan.buffers = {{"much", "n*100000000", BufferContent::scratch}};
  const auto spec = chip("h200");
  CudaPrograms programs(pool(), "sm_90a");
  SpotCheck spot(pool(), "sm_90a");
  const FakeWorker fake("none");
  const auto device = fake.open();
  REQUIRE(device->trust({1}));
  CudaTrials trials(*device, programs, spot, *spec, 20);
  Case what;
  what.workload = task.time_shapes[0];
  testing::expect_code(outcome(trials.prove(TaskRef(task), kernel, {&what, 1})), "run.launch");
  const Subject contestant{Subject::Kind::candidate, "candidate", &kernel};
  testing::expect_code(outcome(trials.measure(TaskRef(task), what.workload, {&contestant, 1}, {})),
                       "run.launch");
}

TEST_CASE("a device that cannot be relied on from the start is not opened") {
  for (const auto& [behaviour, code] : closed) {
    CAPTURE(behaviour);
    const FakeWorker fake(behaviour);
    auto opened = CudaDevice::open(0, fake.options, deadlines_for(behaviour));
    const Result<void> trusted = opened ? (*opened)->trust({1}) : Result<void>(opened.error());
    CHECK(!trusted);
    if (trusted) continue;
    CHECK(trusted.error().code == code);
    CHECK(!trusted.error().message.empty());
  }
}
