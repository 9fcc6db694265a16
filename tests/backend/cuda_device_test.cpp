#include "backend/cuda_device.hpp"

#include <unistd.h>

#include <filesystem>

#include "catch.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

// The fake worker under the name of a behaviour.
struct Fake {
  std::filesystem::path folder;
  BackendOptions options;
  explicit Fake(const std::string& behaviour) {
    folder = std::filesystem::temp_directory_path() / ("cupilot_fake_" + std::to_string(getpid()) + "_" + behaviour);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(CUPILOT_FAKE_WORKER, folder / behaviour);
    options.worker_path = (folder / behaviour).string();
  }
  ~Fake() { std::filesystem::remove_all(folder); }
  std::unique_ptr<CudaDevice> open() const {
    auto opened = CudaDevice::open(0, options);
    if (!opened) FAIL(opened.error().message);
    return std::move(*opened);
  }
};

std::string outcome(CudaDevice& device, double seconds = 5) {
  const auto result = device.run({"image", {1, 2, 3}, {"k"}, {}}, RunOrder{}, seconds);
  if (!result) return "error: " + result.error().message;
  if (const auto* fault = std::get_if<RunnerFault>(&*result)) return fault->code;
  return std::to_string(std::get<RunAnswer>(*result).event_us.size()) + " times";
}

}  // namespace

TEST_CASE("what a runner does decides the code and the controller goes on") {
  struct Row {
    const char* behaviour;
    const char* code;
    int restarts;
  };
  for (const Row& row : {Row{"good", "1 times", 0}, Row{"dies", "run.crash", 2}, Row{"dies_once", "1 times", 1},
                         Row{"garbage", "run.crash", 2}, Row{"misnumbers", "run.crash", 2}, Row{"babbles", "run.crash", 1},
                         Row{"faults", "run.out_of_bounds", 1}, Row{"refuses", "load.resources", 0}}) {
    const Fake fake(row.behaviour);
    const auto device = fake.open();
    CAPTURE(row.behaviour);
    REQUIRE(device->lease(100, true));
    testing::expect_code(outcome(*device), row.code);
    CHECK(device->restarts() == row.restarts);
    CHECK(device->lease(100, true));
  }
}

TEST_CASE("a runner that hangs is killed at its deadline") {
  const Fake fake("hangs");
  const auto device = fake.open();
  const auto begin = Clock::now();
  testing::expect_code(outcome(*device, 0.2), "run.hang");
  CHECK(Clock::now() - begin < std::chrono::seconds(5));
  CHECK(device->restarts() == 1);
}

TEST_CASE("no device and no greeting are errors that say so") {
  const Fake absent("absent"), mute("mute");
  const auto none = CudaDevice::open(0, absent.options);
  REQUIRE(!none);
  CHECK(none.error().code == ErrorCode::no_device);
  CHECK(none.error().message.find("no such device") != std::string::npos);
  const auto silent = CudaDevice::open(0, mute.options);
  REQUIRE(!silent);
  CHECK(silent.error().message.find("no greeting") != std::string::npos);
}

TEST_CASE("slots are shared by size and end within 256 bytes of their region's end") {
  const Fake fake("good");
  const auto device = fake.open();
  std::vector<Region> first;
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4100}, std::int64_t{2} << 20,
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

TEST_CASE("renewing replaces both processes and their memory") {
  const Fake fake("good");
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
