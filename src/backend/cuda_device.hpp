// The controller's side of one device: its judge and runner processes, the shared slots, deadlines, health and replacement.
//
// cuda_device.cpp speaks to the processes, cuda_health.cpp starts and trusts them, cuda_slots.cpp shares memory.
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
  std::string where;      // the launch
  bool vanished = false;  // the runner went away by itself: it may have been killed from outside, so once more is fair
};

// What the runner says, and the controller's own clock around the saying.
struct DeviceRun {
  RunAnswer answer;
  double controller_us = 0;
};

struct NamedImage {
  std::string name;
  std::vector<std::uint8_t> image;
  std::vector<std::string> entries;
  std::vector<std::vector<int>> parameter_bytes;
};

// Seconds that the controller waits for each kind of answer before it gives a process up; runs bring their own.
struct DeviceDeadlines {
  double hello = 30, load = 10, probe = 5, slot = 20, judge = 120;
};

// Which end of a slot touches the region: its unmapped neighbour catches what runs past that end.
enum class Fence { end, start };

class CudaDevice {
 public:
  // Starts both processes under the strictest confinement that they work under. Error no_device when there is none.
  static Result<std::unique_ptr<CudaDevice>> open(int index, const BackendOptions& options,
                                                  const DeviceDeadlines& deadlines = {});
  ~CudaDevice();
  const DeviceHello& hello() const { return hello_; }
  // The trusted kernels, loaded into every process from now on, which is then probed before use.
  Result<void> trust(std::vector<std::uint8_t> image);
  // What an empty launch reads between events, by the runner's last probe; 0: not probed.
  double empty_launch_us() const { return empty_us_; }

  // A slot of at least `bytes`, not yet leased since the last release_all(), mapped in both processes. `writable`: by the
  // runner. The region's start is a multiple of 256 bytes; with `odd` above 0, of `odd` and of no larger power of two.
  Result<Region> lease(std::int64_t bytes, bool writable, Fence fence = Fence::end, std::int64_t odd = 0);
  void release_all();
  // From the next run on until release_all() the runner may not write this region's slot.
  void seal(const Region& region);
  // From the next run on the runner may write inputs too, or no more.
  void let_inputs_be_written(bool writable);
  bool inputs_writable() const { return inputs_writable_; }

  // One order to the judge; its payload. A judge that fails is replaced, and so is everything it owned.
  Result<std::string> judge(DeviceMessage type, std::string body);
  Result<void> load_in_judge(const NamedImage& image);
  int judge_generation() const { return judge_generation_; }

  // One run. A runner that faults, hangs or lies about the protocol is killed and replaced at the next use.
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage& image, const RunOrder& order, double seconds);
  // Waits until no process of ours is being started: nothing else uses the card while something is timed.
  void settle();
  // Processes of ours that hold the card.
  int processes() const { return (processes_[0] ? 1 : 0) + (processes_[1] ? 1 : 0) + (spare_ ? 1 : 0); }

  // The judge said what is not so: it is replaced, and the third such word makes the device suspect. Always an error.
  Error distrust(const std::string& why);

  // Kills and restarts both.
  Result<void> renew();
  int restarts() const { return restarts_; }

 private:
  enum Role { judge_role, runner_role };
  struct Slot {
    int number = -1;
    std::int64_t bytes = 0;
    bool writable = false, leased = false, mapped = false, sealed = false;
    int descriptor = -1;
    std::vector<std::uint8_t> ipc;
  };
  struct Exchange {
    DeviceAnswer answer;
    std::vector<int> descriptors;
  };
  CudaDevice() = default;

  // cuda_device.cpp
  std::variant<Exchange, FrameFailure> exchange(Role role, DeviceMessage type, std::string body, std::vector<int> descriptors,
                                                double seconds);
  RunnerFault fault_of(const DeviceAnswer& answer, bool loading);
  Result<std::optional<RunnerFault>> load_in_runner(const NamedImage& image, bool again = false);
  Result<void> restart_judge();
  void lose_runner();

  // cuda_health.cpp
  Result<void> open_processes();
  Error unusable(const DeviceHello& hello) const;
  Error suspect() const;
  Result<Process> start_process(Role role);
  Result<DeviceHello> greet(Role role, Process& process);
  Result<void> spawn(Role role);
  Result<void> ensure(Role role);
  Result<void> trust_process(Role role);
  Result<void> probe(Role role);
  void keep_spare();
  bool grown() const;

  // cuda_slots.cpp
  Result<Slot> order_slot(const SlotOrder& order, bool& lost);
  Result<Slot*> make_slot(std::int64_t size, bool writable);
  Result<void> rehearse_sharing();
  Result<void> map_in_runner(Slot& slot);
  Result<void> ready_runner();
  void trim_slots();
  void forget_slots();

  int index_ = 0, confinement_ = 0;
  std::string worker_;
  DeviceDeadlines deadlines_;
  DeviceHello hello_;
  std::vector<std::uint8_t> trusted_;
  std::array<Process, 2> processes_;
  std::array<bool, 2> trusted_loaded_{};
  std::array<std::vector<std::string>, 2> loaded_;  // names of images, oldest first
  Process spare_;                                   // a runner that waits, once one had to be replaced
  bool spare_greeted_ = false;
  std::vector<Slot> slots_;
  bool inputs_writable_ = false;
  std::int64_t slot_bytes_ = 0, runner_bytes_ = 0;  // runner_bytes_: of host memory, when it was new
  int next_slot_ = 0, judge_generation_ = 0, restarts_ = 0, images_run_ = 0;
  int strikes_ = 0, lies_ = 0;  // strikes_: failed starts or probes in a row; lies_: of the judge, in all
  std::string last_strike_;
  double band_us_ = 0, empty_us_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace cupilot
