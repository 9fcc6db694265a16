// Replays of captured launches: right kernels, planted faults, other values than the device's.
#include <cupilot/parts/capture.hpp>

#include <bit>

#include "backend/captured/folder.hpp"

using namespace cupilot;
using namespace support;

namespace {

constexpr std::uint64_t x_at = 0x7abc00000000, y_at = 0x7abc00402000, table_at = 0x7abc00804000;
constexpr int count = 100;

std::vector<float> values(float first, float step) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(first + step * static_cast<float>(i));
  return out;
}

// A launch of `twice` or of a kernel with its arguments.
GivenLaunch twice(const std::string& entry = "twice") {
  const std::string x = bytes_of(values(0, 0.5f));
  return {entry,
          {x_at, y_at, count},
          {{x_at, x, x}, {y_at, bytes_of(values(-1, 0)), bytes_of(values(0, 1))}}};
}

GivenLaunch on_x(const std::string& entry, int result = 0,
                 const std::vector<std::uint64_t>& arguments = {x_at, count}) {
  const std::string x = bytes_of(values(1, 0));
  GivenLaunch out{entry, arguments, {{x_at, x, x}}};
  out.result = result;
  return out;
}

LaunchReplay replayed(const CaptureFolder& folder, const LaunchReplayOptions& options = {}) {
  const Result<Capture> capture = read_capture(folder.path());
  INFO((capture ? "" : capture.error().message));
  REQUIRE(capture);
  REQUIRE(!capture->launches.empty());
  Result<LaunchReplay> ran = replay_launch(*capture, capture->launches.back(), options);
  INFO((ran ? "" : ran.error().message));
  REQUIRE(ran);
  INFO(ran->fault.message << ran->reason);
  return *ran;
}

LaunchReplay replayed(const GivenLaunch& launch, const LaunchReplayOptions& options = {}) {
  CaptureFolder folder;
  folder.module("ptx", read(data + "guest.ptx"));
  folder.launch(launch);
  return replayed(folder, options);
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a right launch leaves the device's bytes", "[captured]") {
  const LaunchReplay ran = replayed(twice());
  CHECK(ran.outcome == ReplayOutcome::same);
  CHECK(ran.blocks == 4);
  CHECK(ran.blocks_run == 4);
  CHECK(ran.written == 4 * count);
}

TEST_CASE("a pointer in memory reaches its buffer", "[captured]") {
  const std::string x = bytes_of(values(0, 0.5f));
  const std::string table = bytes_of(std::vector<std::uint64_t>{x_at, y_at});
  GivenLaunch launch{"through",
                     {table_at, count},
                     {{table_at, table, table}, {x_at, x, x}, {y_at, bytes_of(values(-1, 0)), x}}};
  CHECK(replayed(launch).outcome == ReplayOutcome::same);
}

TEST_CASE("planted faults are found by the launch alone", "[captured]") {
  const LaunchReplay past = replayed(on_x("past", 700));
  CHECK(past.outcome == ReplayOutcome::refused);
  CHECK(past.fault.code == "run.out_of_bounds");
  CHECK(has(past.fault.message, "argument 1"));
  const LaunchReplay racing = replayed(on_x("racing", 0, {x_at}));
  CHECK(racing.outcome == ReplayOutcome::refused);
  CHECK(racing.fault.code == "run.race");
  const LaunchReplay unwritten = replayed(on_x("unwritten"));
  CHECK(unwritten.outcome == ReplayOutcome::refused);
  CHECK(unwritten.fault.code == "run.uninitialised");
}

TEST_CASE("other values than the device's are told with their place", "[captured]") {
  GivenLaunch launch = twice();
  launch.buffers[1].after = bytes_of(values(0, 1.5f));
  const LaunchReplay ran = replayed(launch);
  CHECK(ran.outcome == ReplayOutcome::differs);
  CHECK(has(ran.reason, "of argument 2 differ, the first at offset"));
  CHECK(has(ran.reason, "1, on the device 1.5"));
}

TEST_CASE("a rounding is no other value", "[captured]") {
  GivenLaunch launch = twice();
  std::vector<float> after = values(0, 1);
  after[7] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(after[7]) + 2);
  launch.buffers[1].after = bytes_of(after);
  const LaunchReplay ran = replayed(launch);
  CHECK(ran.outcome == ReplayOutcome::rounded);
  CHECK(ran.ulps == 2);
  CHECK(ran.type == "fp32");
}

TEST_CASE("a large grid is replayed by some of its blocks", "[captured]") {
  GivenLaunch launch = twice();
  LaunchReplayOptions few;
  few.instructions = 60;  // of some twenty a block
  LaunchReplay ran = replayed(launch, few);
  CHECK(ran.outcome == ReplayOutcome::same);
  CHECK(ran.blocks_run < ran.blocks);
  CHECK(ran.blocks_run >= 2);
  launch.buffers[1].after = bytes_of(values(0, 1.5f));
  CHECK(replayed(launch, few).outcome == ReplayOutcome::differs);
}

TEST_CASE("memory that was left out is no fault of the kernel", "[captured]") {
  GivenLaunch launch = twice();
  Given& y = launch.buffers[1];
  y.bytes = y.before.size();
  y.before.resize(64);
  y.after.resize(64);
  const LaunchReplay ran = replayed(launch);
  CHECK(ran.outcome == ReplayOutcome::not_done);
  CHECK(has(ran.reason, "argument 2"));
  CHECK(has(ran.next, "--megabytes"));
}

TEST_CASE("a fault of the device that the replay does not meet is not explained away",
          "[captured]") {
  GivenLaunch launch = twice();
  launch.result = 700;
  LaunchReplay ran = replayed(launch);
  CHECK(ran.outcome == ReplayOutcome::not_done);
  CHECK(has(ran.reason, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  launch.ended = false;
  ran = replayed(launch);
  CHECK(ran.outcome == ReplayOutcome::not_done);
  CHECK(has(ran.reason, "ended before the launch"));
}

TEST_CASE("PTX is found in fat binaries, and machine code alone is said", "[captured]") {
  for (const char* packed : {"guest-lz4.fatbin", "guest-zstd.fatbin"}) {
    CaptureFolder folder;
    folder.module("fatbin", read(data + packed));
    folder.launch(twice());
    INFO(packed);
    CHECK(replayed(folder).outcome == ReplayOutcome::same);
  }
  CaptureFolder folder;
  folder.module("cubin",
                "\x7f"
                "ELF and no more");
  folder.launch(twice());
  const LaunchReplay ran = replayed(folder);
  CHECK(ran.outcome == ReplayOutcome::not_done);
  CHECK(has(ran.reason, "machine code and no PTX"));
}

TEST_CASE("a launch that takes a texture is not replayed, and says so", "[captured]") {
  CaptureFolder folder;
  folder.module("ptx", R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 t, .param .u64 y, .param .u32 n)
{
  .reg .f32 %f<5>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [t];
  mov.u32 %r1, %tid.x;
  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];
  ret;
}
)");
  folder.launch(twice());
  const LaunchReplay ran = replayed(folder);
  CHECK(ran.outcome == ReplayOutcome::not_done);
  CHECK(has(ran.reason, "it takes a texture or surface (tex.1d.v4.f32.s32 at ptx line 9)"));
}

TEST_CASE("a cubin's PTX is taken from a compiler's cache", "[captured]") {
  const std::string cubin =
      "\x7f"
      "ELF of a cache";
  CaptureFolder folder, cache;
  folder.module("cubin", cubin);
  folder.launch(twice());
  cache.file("deep/kernel.cubin", cubin);
  cache.file("deep/kernel.ptx", read(data + "guest.ptx"));
  const Result<Capture> capture = read_capture(folder.path());
  REQUIRE(capture);
  const Result<int> found = find_cached_ptx(*capture, {"/nowhere", cache.path()});
  REQUIRE(found);
  CHECK(*found == 1);
  CHECK(replayed(folder).outcome == ReplayOutcome::same);
}

TEST_CASE("a folder that is none, or is cut short, is told", "[captured]") {
  const Result<Capture> none = read_capture("/nowhere");
  REQUIRE(!none);
  CHECK(none.error().code == ErrorCode::usage);
  CaptureFolder folder;
  folder.module("ptx", read(data + "guest.ptx"));
  folder.launch(twice());
  std::ofstream(folder.path() + "/capture.jsonl", std::ios::app) << R"({"event": "lau)";
  const Result<Capture> cut = read_capture(folder.path());
  REQUIRE(cut);
  CHECK(cut->launches.size() == 1);
  std::ofstream(folder.path() + "/capture.jsonl", std::ios::app) << "\n";
  const Result<Capture> damaged = read_capture(folder.path());
  REQUIRE(!damaged);
  CHECK(has(damaged.error().message, "capture.jsonl:6"));
}
