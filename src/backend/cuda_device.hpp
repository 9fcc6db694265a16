// The controller's side of one device: its judge and runner processes, the shared slots, deadlines and replacement.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/backend.hpp>

#include "backend/cuda_protocol.hpp"
#include "backend/process.hpp"

namespace cupilot {

// The runner did not do what it was asked: what that says about the kernel, by a code of the rejection table.
struct RunnerFault {
  std::string code;  // "run.out_of_bounds", "load.failed" …
  std::string message;
  std::string where;  // the launch
};

struct NamedImage {
  std::string name;
  std::vector<std::uint8_t> image;
  std::vector<std::string> entries;
  std::vector<std::vector<int>> parameter_bytes;
};

class CudaDevice {
 public:
  // Starts both processes. Error no_device when there is none.
  static Result<std::unique_ptr<CudaDevice>> open(int index, const BackendOptions& options);
  ~CudaDevice();
  const DeviceHello& hello() const { return hello_; }
  // The trusted kernels, loaded into every process from now on.
  void set_trusted(std::vector<std::uint8_t> image) { trusted_ = std::move(image); }

  // A slot of at least `bytes`, not yet leased since the last release_all(), mapped in both processes. `writable`: by the runner.
  Result<Region> lease(std::int64_t bytes, bool writable);
  void release_all();

  // One order to the judge; its payload. A judge that fails is replaced, and so is everything it owned: `lost_judge` tells.
  Result<std::string> judge(DeviceMessage type, std::string body, double seconds);
  Result<void> load_in_judge(const NamedImage& image);
  int judge_generation() const { return judge_generation_; }

  // One run. A runner that faults or hangs is killed and replaced at the next use.
  Result<std::variant<RunAnswer, RunnerFault>> run(const NamedImage& image, const RunOrder& order, double seconds);

  // Kills and restarts both.
  Result<void> renew();
  int restarts() const { return restarts_; }

 private:
  enum Role { judge_role, runner_role };
  struct Slot {
    int number = -1;
    std::int64_t bytes = 0;
    bool writable = false, leased = false, mapped = false;
    int descriptor = -1;
    std::vector<std::uint8_t> ipc;
  };
  struct Exchange {
    DeviceAnswer answer;
    std::vector<int> descriptors;
  };
  CudaDevice() = default;
  Result<void> spawn(Role role);
  Result<void> greet(Role role);
  Result<void> ensure(Role role);
  Result<void> ensure_trusted(Role role);
  std::variant<Exchange, FrameFailure> exchange(Role role, DeviceMessage type, std::string body, std::vector<int> descriptors,
                                                double seconds);
  Result<void> map_in_runner(Slot& slot);
  Result<std::optional<RunnerFault>> load_in_runner(const NamedImage& image, double seconds, bool again = false);
  Result<void> ready_runner();
  Result<void> restart_judge(const std::string& why);
  Result<void> trim_slots();
  RunnerFault fault_of(const DeviceAnswer& answer, bool loading);
  void lose_runner();
  void forget_slots();

  int index_ = 0;
  std::string worker_;
  DeviceHello hello_;
  std::vector<std::uint8_t> trusted_;
  std::array<Process, 2> processes_;
  std::array<bool, 2> greeted_{};
  std::array<std::vector<std::string>, 2> loaded_;  // names of images, oldest first
  std::vector<Slot> slots_;
  std::int64_t slot_bytes_ = 0;
  int next_slot_ = 0, judge_generation_ = 0, restarts_ = 0, images_run_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace cupilot
