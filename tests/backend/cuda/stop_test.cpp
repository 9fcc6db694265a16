// Work that is cancelled while a process of the device answers nothing.
#include <atomic>
#include <functional>
#include <thread>

#include "backend/cuda/device.hpp"
#include "backend/worker/fake_worker.hpp"
#include "base/stop.hpp"

using namespace cupilot;

namespace {

const NamedImage image{"image", {1, 2, 3}, {"k"}, {}};

template <class T>
std::string said(const Result<T>& result) {
  return result ? "done" : result.error().message;
}

std::string run(CudaDevice& device) {
  const auto ran = device.run(image, RunOrder{}, 100);
  return ran && std::holds_alternative<RunnerFault>(*ran) ? std::get<RunnerFault>(*ran).code
                                                          : said(ran);
}

std::string count(CudaDevice& device) {
  CountOrder order;
  order.counters = 1;
  order.run.launches.resize(2);
  const auto counted = device.count(image, order, 100);
  return counted && std::holds_alternative<RunnerFault>(*counted)
             ? std::get<RunnerFault>(*counted).code
             : said(counted);
}

std::string prepare(CudaDevice& device) {
  return said(device.judge(DeviceMessage::prepare, pack(PrepareOrder{})));
}

std::string lease(CudaDevice& device) { return said(device.lease(8, true)); }

std::string arrive(CudaDevice& device) {
  const auto region = device.lease(8, true);
  return region ? said(device.stores_arrive({&*region, 1})) : region.error().message;
}

std::string renew(CudaDevice& device) { return said(device.renew()); }

// The file that a fake worker leaves where it met its behaviour: "ROLE-STEP-WHAT".
std::filesystem::path mark_of(const FakeWorker& fake, const std::string& behaviour) {
  const std::size_t role = behaviour.find('-'), step = behaviour.find('-', role + 1);
  return fake.folder / (behaviour + "." + behaviour.substr(0, role) + "." +
                        behaviour.substr(role + 1, step - role - 1));
}

// `call` with the flags of a work that is cancelled a little after `mark` is there; `waited`: from
// then on.
std::string cancelled(CudaDevice& device, std::string (*call)(CudaDevice&),
                      const std::filesystem::path& mark, Clock::duration& waited) {
  std::atomic<bool> cancel{false};
  Clock::time_point begin;
  std::thread canceller([&] {
    for (int i = 0; i < 1000 && !std::filesystem::exists(mark); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    begin = Clock::now();
    cancel = true;
  });
  const StopScope stop({&cancel});
  const std::string answer = call(device);
  canceller.join();
  waited = Clock::now() - begin;
  return answer;
}

}  // namespace

TEST_CASE("no process of a device is waited for after a cancel, and none is blamed", "[threads]") {
  struct Row {
    const char* behaviour;
    std::string (*call)(CudaDevice&);
  };
  const Row rows[] = {
      {"runner-run-hang-once", run},      {"runner-load-hang-once", run},
      {"runner-run-hang-once", arrive},   {"runner-map-hang-late", lease},
      {"judge-slot-hang-late", lease},    {"judge-prepare-hang-once", prepare},
      {"judge-hello-hang-late", renew},   {"runner-hello-hang-late", renew},
      {"counter-hello-hang-once", count}, {"counter-count-hang-once", count},
  };
  for (const Row& row : rows) {
    CAPTURE(row.behaviour);
    const FakeWorker fake(row.behaviour);
    const auto device = fake.open({100, 100, 100, 100, 100});
    REQUIRE(device->trust({1}));
    Clock::duration waited;
    CHECK(cancelled(*device, row.call, mark_of(fake, row.behaviour), waited) ==
          stopped_error().message);
    CHECK(waited < std::chrono::seconds(1));
    // Later work finds the device in order where its processes are.
    if (std::string(row.behaviour).ends_with("-once")) CHECK(row.call(*device) == "done");
  }
}

TEST_CASE("the end of a work's seconds leaves a device its answer") {
  const std::atomic<bool> over{true};
  const StopScope stop({nullptr, &over});
  const FakeWorker fake("none");
  const auto device = fake.open();
  CHECK(run(*device) == "done");
  CHECK(device->restarts() == 0);
}
