// A measurement on a device that holds no memory: where inputs can be written, each timed launch's are compared with what was
// made for it.
#include <cstring>
#include <map>

#include <cupilot/gemm.hpp>

#include "backend/cuda_trials.hpp"
#include "catch.hpp"

using namespace cupilot;

namespace {

// Says yes to everything, and counts inputs that are compared with another recipe than the one they were filled by.
class Notebook : public TrialDevice {
 public:
  Notebook() {
    hello_.sharing = Sharing::own;
    hello_.memory_free = 1ll << 40;
  }
  int compared = 0, mistaken = 0;

  const DeviceHello& hello() const override { return hello_; }
  double empty_launch_us() const override { return 1; }
  Result<Region> lease(std::int64_t bytes, bool, Fence, std::int64_t) override { return Region{slots_++, 0, bytes}; }
  void release_all() override {}
  void seal(const Region&) override {}
  void let_inputs_be_written(bool) override {}
  bool inputs_writable() const override { return true; }
  Result<std::string> judge(DeviceMessage type, std::string body) override {
    if (type == DeviceMessage::prepare) {
      const auto order = unpack_prepare(body);
      for (const PrepareItem& item : order->items) filled_[item.region.slot] = item.recipe;
      return pack(PrepareAnswer{});
    }
    if (type == DeviceMessage::conditions) return pack(CardConditions{});
    return pack(checked(*unpack_check(body)));
  }
  Result<void> load_in_judge(const NamedImage&) override { return {}; }
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage&, const RunOrder& order, double) override {
    const std::vector<double> times(order.timing.mode == VisitTiming::Mode::timed ? 1 : 0, 5000);
    return std::variant<DeviceRun, RunnerFault>(DeviceRun{{times, 5000}, 5100});
  }
  void settle() override {}
  int processes() const override { return 1; }
  Error distrust(const std::string& why) override { return {ErrorCode::failure, why, ""}; }
  Result<void> renew() override { return {}; }

 private:
  CheckAnswer checked(const CheckOrder& order) {
    CheckAnswer answer;
    for (const CheckItem& item : order.outputs) {
      answer.outputs.push_back({});
      answer.outputs.back().compared = item.compare;
    }
    answer.guards.resize(order.guards.size());
    answer.hashes.resize(order.outputs.size());
    answer.nonzero.resize(order.zeros.size());
    for (const PrepareItem& input : order.unchanged) {
      ++compared;
      const bool same = std::memcmp(&filled_[input.region.slot], &input.recipe, sizeof input.recipe) == 0;
      mistaken += same ? 0 : 1;
      answer.changed.push_back(same ? 0 : 1);
    }
    return answer;
  }
  DeviceHello hello_;
  int slots_ = 0;
  std::map<int, FillParams> filled_;
};

}  // namespace

TEST_CASE("inputs that can be written are compared with the content of their own launch") {
  auto pool = CompilePool::open({});
  REQUIRE(pool);
  const DeviceSpec spec = *chip("h200");
  CudaPrograms programs(**pool, spec.arch);
  SpotCheck spot(**pool, spec.arch);
  Notebook device;
  CudaTrials trials(device, programs, spot, spec, 20);
  // Inputs of more than half a gibibyte: the controller computes no reference values of its own.
  const auto task = gemm_task({.m = 16384, .n = 128, .k = 16384});
  REQUIRE(task);
  const Contestant plain{Contestant::Kind::plain, "plain", nullptr};
  const auto reports = trials.measure(*task, task_id(*task), task->time_shapes.front(), {&plain, 1}, {});
  REQUIRE(reports);
  const auto& measured = reports->front().measurement;
  if (measured.is_rejected()) FAIL(measured.rejected().message);
  CHECK(measured->samples_us.size() >= 3);
  CHECK(device.compared > 6);
  CHECK(device.mistaken == 0);
}
