#include "backend/cuda/device.hpp"
#include "backend/worker/fake_worker.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

std::string outcome(CudaDevice& device, double seconds = 5, std::uint64_t counters = 1) {
  CountOrder order;
  order.counters = counters;
  order.run.launches.resize(2);
  const auto counted = device.count({"image", {1, 2, 3}, {"k"}, {}}, order, seconds);
  if (!counted) return "error: " + counted.error().message;
  if (const auto* fault = std::get_if<RunnerFault>(&*counted)) return fault->code;
  return std::to_string(std::get<CountAnswer>(*counted).launches.size()) + " launches";
}

struct Row {
  const char* behaviour;
  const char* first;
  const char* second;
};

}  // namespace

TEST_CASE(
    "what a counting process does wrong is the kernel's fault, or the end of counting, and never "
    "the device's") {
  constexpr const char* refused = "error: hardware counters: not allowed";
  constexpr const char* lost = "error: hardware counters: a counter came back without a value";
  const Row rows[] = {
      {"none", "2 launches", "2 launches"},
      {"counter-count-norights", refused, refused},
      {"counter-count-norights-once", "2 launches", "2 launches"},  // under less confinement
      {"counter-count-hang-once", "run.hang", "2 launches"},
      {"counter-count-die-once", "run.crash", "2 launches"},
      {"counter-count-garbage-once", "run.crash", "2 launches"},
      {"counter-count-e700-once", "run.out_of_bounds", "2 launches"},
      {"counter-count-nancount-once", "2 launches", "2 launches"},
      {"counter-count-nancount", lost, lost},
      {"counter-load-r200-once", "load.failed", "2 launches"},
      {"counter-probe-wrongvalue-once", "2 launches", "2 launches"},
  };
  for (const Row& row : rows) {
    INFO(row.behaviour);
    const FakeWorker fake(row.behaviour);
    const auto device = fake.open();
    REQUIRE(device->trust({1}));
    CHECK(outcome(*device, 0.5) == row.first);
    CHECK(outcome(*device) == row.second);
    // Whoever proves and times was left alone.
    CHECK(device->restarts() == 0);
    CHECK(device->run({"image", {1, 2, 3}, {"k"}, {}}, RunOrder{}, 5));
  }
}

TEST_CASE("a counting process that never starts is given up, with its reason") {
  const FakeWorker fake("counter-hello-die");
  const auto device = fake.open();
  REQUIRE(device->trust({1}));
  const std::string said = outcome(*device);
  CHECK(said.find("error: hardware counters: ") == 0);
  CHECK(said.find("counter") != std::string::npos);
  CHECK(device->processes() == 2);
}

TEST_CASE("each set of counters has a process of its own") {
  const FakeWorker fake("counter-count-otherset");
  const auto device = fake.open();
  REQUIRE(device->trust({1}));
  for (const std::uint64_t counters : {1u, 3u, 3u, 1u, 3u})
    CHECK(outcome(*device, 5, counters) == "2 launches");
}

TEST_CASE(
    "no process counts before one is asked to or expected to, and a new one does after renewing") {
  for (const bool expected : {false, true}) {
    const FakeWorker fake("none");
    const auto device = fake.open();
    REQUIRE(device->trust({1}));
    CHECK(device->processes() == 2);
    if (expected) {
      device->expect_counting();
      CHECK(device->processes() == 3);
      device->settle();
      CHECK(device->processes() == 3);
    }
    CHECK(outcome(*device) == "2 launches");
    CHECK(device->processes() == 3);
    REQUIRE(device->renew());
    CHECK(device->processes() == 4);  // a runner waits too
    CHECK(outcome(*device) == "2 launches");
  }
}

TEST_CASE("a process that was expected to count and never starts costs nobody else") {
  const FakeWorker fake("counter-hello-die");
  const auto device = fake.open();
  REQUIRE(device->trust({1}));
  device->expect_counting();
  device->settle();
  CHECK(device->processes() == 2);
  CHECK(device->run({"image", {1, 2, 3}, {"k"}, {}}, RunOrder{}, 5));
}
