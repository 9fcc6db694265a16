// The controller's side of one device: its judge and runner processes, the shared slots, deadlines,
// health and replacement. Where the calling thread's work is cancelled (base/stop.hpp), no answer
// is waited for, and what is asked returns stopped_error(): no strike, no verdict on a kernel. The
// end of a work's seconds alone leaves an answer its time: to replace a process takes longer.
//
// cuda_device.cpp speaks to the processes, cuda_health.cpp starts and trusts them, cuda_slots.cpp
// shares memory, cuda_arrival.cpp tests what it shares, cuda_count.cpp has a third process count.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/backend.hpp>

#include "backend/cuda/trial_device.hpp"
#include "backend/worker/process.hpp"

namespace cupilot {

// Seconds that the controller waits for each kind of answer before it gives a process up; runs
// bring their own.
struct DeviceDeadlines {
  double hello = 30, load = 10, probe = 5, slot = 20, judge = 120;
};

class CudaDevice : public TrialDevice {
 public:
  // Starts both processes under the strictest confinement that they work under. Error no_device
  // when there is none.
  static Result<std::unique_ptr<CudaDevice>> open(int index, const BackendOptions& options,
                                                  const DeviceDeadlines& deadlines = {});
  ~CudaDevice() override;
  const DeviceHello& hello() const override { return hello_; }
  // The trusted kernels, loaded into every process from now on, which is then probed before use.
  Result<void> trust(std::vector<std::uint8_t> image);
  // The judge's kernels, loaded into each judge from now on; nothing is judged before.
  Result<void> judge_by(std::vector<std::uint8_t> image);
  double empty_launch_us() const override { return empty_us_; }

  // Mapped in both processes.
  Result<Region> lease(std::int64_t bytes, bool writable, Fence fence = Fence::end,
                       std::int64_t odd = 0) override;
  void release_all() override;
  bool crowded() const override { return slot_bytes_ > hello_.memory_free / 2; }
  void seal(const Region& region) override { set_sealed(region, true); }
  void unseal(const Region& region) override { set_sealed(region, false); }
  void let_inputs_be_written(bool writable) override;
  bool inputs_writable() const override { return inputs_writable_; }

  // A judge that fails is replaced, and so is everything it owned.
  Result<std::vector<std::string>> judge_all(std::span<const DeviceOrder> orders) override;
  Result<void> load_in_judge(const NamedImage& image) override;
  int judge_generation() const { return judge_generation_; }

  // A runner that faults, hangs or lies about the protocol is killed and replaced at the next use.
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage& image, const RunOrder& order,
                                                   double seconds) override;
  // In a process that reads hardware counters, started when it is first wanted or expected.
  Result<std::variant<CountAnswer, RunnerFault>> count(const NamedImage& image,
                                                       const CountOrder& order,
                                                       double seconds) override;
  void expect_counting() override;
  // Waits until no process of ours is being started.
  void settle() override;
  int processes() const override {
    return (processes_[0] ? 1 : 0) + (processes_[1] ? 1 : 0) + (processes_[2] ? 1 : 0) +
           (spare_ ? 1 : 0) + contest_.processes();
  }

  // device_contest.cpp
  Result<std::variant<DeviceRun, RunnerFault>> contest(const ContestOrder& order,
                                                       double seconds) override;
  Result<std::string> contestant(const std::string& name) override;
  void rest_contestants() override { contest_.rest(); }

  Result<bool> stores_arrive(std::span<const Region> regions) override;
  // The judge is replaced, and its third lie makes the device suspect.
  Error distrust(const std::string& why) override;
  Error condemn(const std::string& why) override;

  // Kills and restarts both.
  Result<void> renew() override;
  int restarts() const { return restarts_; }

 private:
  enum Role { judge_role, runner_role, counter_role };
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
  static constexpr std::size_t roles = 3;
  std::variant<Exchange, FrameFailure> exchange(Role role, DeviceMessage type, std::string body,
                                                std::vector<int> descriptors, double seconds);
  FrameFailure given_up(Role role, FrameFailure failure);
  RunnerFault runner_fault(const DeviceAnswer& answer, bool loading);
  Result<std::optional<RunnerFault>> load_in_runner(const NamedImage& image, bool again = false);
  Result<void> restart_judge();
  void lose_judge();
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
  Result<void> load_own(Role role, const char* name, const std::vector<std::uint8_t>& image);
  Result<void> probe(Role role);
  void keep_spare();
  bool grown() const;

  // cuda_count.cpp
  Result<void> begin_counter();
  Result<void> greet_counter();
  Result<void> start_counter();
  void finish_counting() { processes_[counter_role] = Process(); }
  Result<std::variant<CountAnswer, RunnerFault>> count_once(const NamedImage& image,
                                                            const CountOrder& order,
                                                            double seconds);
  Result<void> ready_counter(const NamedImage& image, std::optional<RunnerFault>& fault);
  Result<void> map_in_counter(const Slot& slot);

  // cuda_arrival.cpp
  const Slot* slot_of(const Region& region) const;

  // cuda_slots.cpp
  SlotOrder mapping_of(const Slot& slot) const;
  Result<Slot> order_slot(const SlotOrder& order, bool& lost);
  Result<Slot*> make_slot(std::int64_t size, bool writable);
  Result<void> rehearse_sharing();
  Result<void> map_in_runner(Slot& slot);
  void set_sealed(const Region& region, bool sealed);
  Result<void> ready_runner();
  void trim_slots();
  void forget_slots();

  std::uint64_t counted_set_ = 0;  // counters that the counter process was asked for; 0: none yet
  bool counter_greeted_ = false;
  int index_ = 0, confinement_ = 0, counter_confinement_ = 0;
  std::string counters_lost_;  // why none can be read, once that is known
  std::string worker_;
  std::vector<std::string> cudnn_;  // as BackendOptions has it
  DeviceDeadlines deadlines_;
  DeviceHello hello_;
  std::vector<std::uint8_t> trusted_, judging_;
  std::array<Process, roles> processes_;
  std::array<bool, roles> trusted_loaded_{};
  bool judging_loaded_ = false;
  std::array<std::vector<std::string>, roles> loaded_;  // names of images, oldest first
  Process spare_;  // a runner that waits, once one had to be replaced
  bool spare_greeted_ = false;
  Contest contest_{{}};
  std::vector<Slot> slots_;
  bool inputs_writable_ = false;
  std::int64_t slot_bytes_ = 0,
               runner_bytes_ = 0;  // runner_bytes_: of host memory, when it was new
  int next_slot_ = 0, judge_generation_ = 0, restarts_ = 0, images_run_ = 0;
  int strikes_ = 0,
      lies_ = 0;  // strikes_: failed starts or probes in a row; lies_: of the judge, in all
  std::string last_strike_;
  double band_us_ = 0, empty_us_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace cupilot
