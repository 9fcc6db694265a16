#include "backend/cuda/device.hpp"

#include <fstream>

#include "backend/worker/fake_worker.hpp"
#include "backend/worker/mps.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

std::string outcome(CudaDevice& device, double seconds = 5) {
  const auto result = device.run({"image", {1, 2, 3}, {"k"}, {}}, RunOrder{}, seconds);
  if (!result) return "error: " + result.error().message;
  if (const auto* fault = std::get_if<RunnerFault>(&*result)) return fault->code;
  return std::to_string(std::get<DeviceRun>(*result).answer.event_us.size()) + " times";
}

}  // namespace

TEST_CASE("a runner that hangs is killed at its deadline and the next is used") {
  const FakeWorker fake("runner-run-hang-once");
  const auto device = fake.open();
  const auto begin = Clock::now();
  testing::expect_code(outcome(*device, 0.2), "run.hang");
  CHECK(Clock::now() - begin < std::chrono::seconds(5));
  CHECK(device->restarts() == 1);
  CHECK(outcome(*device) == "0 times");
  CHECK(device->restarts() == 1);
}

TEST_CASE("a suspect device says so, and why, each time it is asked") {
  const FakeWorker fake("runner-run-die-once+runner-probe-wrongvalue-late");
  const auto device = fake.open();
  REQUIRE(device->trust({1}));
  testing::expect_code(outcome(*device), "run.crash");
  for (int time = 0; time < 2; ++time) {
    const std::string said = outcome(*device);
    CHECK(said.find("suspect") != std::string::npos);
    CHECK(said.find("another answer") != std::string::npos);
  }
}

TEST_CASE("a runner is replaced after five hundred images, and when its memory grew") {
  const FakeWorker fake("none");
  const auto device = fake.open();
  const auto run = [](CudaDevice& on, int image) {
    const auto ran = on.run({"image " + std::to_string(image), {1}, {"k"}, {}}, RunOrder{}, 5);
    REQUIRE(ran);
    REQUIRE(std::holds_alternative<DeviceRun>(*ran));
  };
  for (int image = 0; image < 500; ++image) run(*device, image);
  CHECK(device->restarts() == 0);
  run(*device, 500);
  CHECK(device->restarts() == 1);
  const FakeWorker growing("runner-run-grow-once");
  const auto grown = growing.open();
  REQUIRE(grown->trust({1}));
  run(*grown, 0);
  CHECK(grown->restarts() == 0);
  run(*grown, 0);
  CHECK(grown->restarts() == 1);
  run(*grown, 0);
  CHECK(grown->restarts() == 1);
}

TEST_CASE(
    "renewing starts new processes, and a lost runner's place is taken by the one in reserve") {
  const FakeWorker fake("runner-run-die-once");
  const auto device = fake.open();
  CHECK(device->processes() == 2);
  testing::expect_code(outcome(*device), "run.crash");
  CHECK(outcome(*device) == "0 times");
  device->settle();
  CHECK(device->processes() == 3);
  REQUIRE(device->renew());
  CHECK(device->processes() == 3);
}

TEST_CASE("an MPS server is seen by its control pipe") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("cupilot_mps_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  CHECK(mps_sign(folder).empty());
  std::ofstream(folder / "control") << "";
  CHECK(mps_sign(folder).find("control") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("slots are shared by size and end within 256 bytes of their region's end") {
  const FakeWorker fake("none");
  const auto device = fake.open();
  std::vector<Region> first;
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{4100}, std::int64_t{2} << 20,
        (std::int64_t{2} << 20) + 1, std::int64_t{100} << 20}) {
    const auto region = device->lease(bytes, true);
    REQUIRE(region);
    CHECK(region->bytes == bytes);
    CHECK(region->offset % 256 == 0);
    CHECK((region->offset + bytes + 255) / 256 * 256 % (2 << 20) == 0);
    for (const Region& other : first) CHECK(other.slot != region->slot);
    first.push_back(*region);
  }
  device->release_all();
  const auto again = device->lease(77, true);
  REQUIRE(again);
  CHECK(again->slot == first[0].slot);
  const auto sealed = device->lease(77, false);
  REQUIRE(sealed);
  for (const Region& other : first) CHECK(other.slot != sealed->slot);
}

TEST_CASE("a region lies at the asked end, and where asked off the usual alignment") {
  const FakeWorker fake("none");
  const auto device = fake.open();
  const std::int64_t granule = 2 << 20;
  struct Row {
    Fence fence;
    std::int64_t odd, offset;
  };
  for (const Row& row :
       {Row{Fence::end, 0, granule - 1024}, Row{Fence::start, 0, 0}, Row{Fence::start, 4, 4},
        Row{Fence::end, 4, granule - 1004}, Row{Fence::end, 16, granule - 1008}}) {
    const auto region = device->lease(1000, true, row.fence, row.odd);
    REQUIRE(region);
    CHECK(region->offset == row.offset);
    if (row.odd > 0) CHECK(region->offset % (2 * row.odd) == row.odd);
  }
}

TEST_CASE("renewing replaces both processes and their memory") {
  const FakeWorker fake("none");
  const auto device = fake.open();
  const auto before = device->lease(8, true);
  const int generation = device->judge_generation();
  REQUIRE(device->renew());
  CHECK(device->judge_generation() > generation);
  const auto after = device->lease(8, true);
  REQUIRE(before);
  REQUIRE(after);
  CHECK(before->slot != after->slot);
}

TEST_CASE("each judge has the judge's kernels before it is asked anything") {
  struct Row {
    const char* behaviour;
    bool armed, prepares;
  };
  for (const Row& row :
       {Row{"none", true, true}, Row{"judge-judging-die-once", true, true},
        Row{"judge-judging-r2", false, false}, Row{"judge-prepare-die-once", true, true},
        // The new judge is refused them.
        Row{"judge-prepare-die-once+judge-judging-r2-late", true, false}}) {
    INFO(row.behaviour);
    const FakeWorker fake(row.behaviour);
    const auto device = fake.open();
    REQUIRE(device->trust({1}));
    const auto armed = device->judge_by({2});
    CHECK(static_cast<bool>(armed) == row.armed);
    if (!armed) {
      CHECK(armed.error().message.find("loading the trusted kernels in the judge") !=
            std::string::npos);
      continue;
    }
    const std::string order = pack(PrepareOrder{});
    auto prepared = device->judge(DeviceMessage::prepare, order);
    if (!prepared) prepared = device->judge(DeviceMessage::prepare, order);
    CHECK(static_cast<bool>(prepared) == row.prepares);
  }
}
