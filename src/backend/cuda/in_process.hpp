// A context and a stream of the host's own as a device: judge and runner are function calls, and
// nothing stands between a kernel and the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "backend/cuda/trial_device.hpp"
#include "backend/judge/orders_served.hpp"

namespace cupilot {

class InProcessDevice : public TrialDevice {
 public:
  // Error usage when `stream` is not a stream of `context` that can be captured; no_device without
  // a driver in this process.
  static Result<std::unique_ptr<InProcessDevice>> open(CUcontext context, CUstream stream,
                                                       const BackendOptions& options = {});
  ~InProcessDevice() override;
  // The trusted kernels, loaded now and probed: Error failure when the known kernel gives another
  // answer.
  Result<void> trust(std::vector<std::uint8_t> image);
  // The judge's kernels, loaded now.
  Result<void> judge_by(std::vector<std::uint8_t> image);

  const DeviceHello& hello() const override { return hello_; }
  double empty_launch_us() const override { return empty_us_; }
  Result<Region> lease(std::int64_t bytes, bool writable, Fence fence = Fence::end,
                       std::int64_t odd = 0) override;
  void release_all() override;
  bool crowded() const override { return slot_bytes_ > hello_.memory_free / 2; }
  void seal(const Region&) override {}
  void unseal(const Region&) override {}
  void let_inputs_be_written(bool writable) override { inputs_writable_ = writable; }
  bool inputs_writable() const override { return inputs_writable_; }
  Result<std::vector<std::string>> judge_all(std::span<const DeviceOrder> orders) override;
  Result<void> load_in_judge(const NamedImage& image) override;
  Result<std::vector<std::byte>> read_back(const Region& region) override;
  // Without a deadline: a kernel that never ends never returns. One that faults takes the context
  // with it, and every later order is an Error.
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage& image, const RunOrder& order,
                                                   double seconds) override;
  void settle() override {}
  int processes() const override { return 1; }
  Error distrust(const std::string& why) override;
  Result<void> renew() override;

 private:
  struct Slot {
    int number = -1;
    std::int64_t bytes = 0;
    bool leased = false;
  };
  InProcessDevice(CUcontext context, CUstream stream, std::vector<std::string> cudnn)
      : context_(context), stream_(stream), cudnn_(std::move(cudnn)) {}
  Result<void> start();
  void stop();
  // The judge or the runner, as the order says.
  std::string serve(DeviceMessage type, const Frame& frame, std::vector<int>& descriptors);
  DeviceAnswer ask(DeviceMessage type, std::string body);
  // Done at once where the image is there.
  DeviceAnswer load(const NamedImage& image);
  Result<Slot*> make_slot(std::int64_t bytes);
  Error lost() const;

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<std::string> cudnn_;  // as BackendOptions has it
  DeviceHello hello_;
  std::unique_ptr<CudaSession> session_;
  std::unique_ptr<Judge> judge_;
  std::vector<std::uint8_t> trusted_, judging_;
  std::vector<Slot> slots_;
  std::int64_t slot_bytes_ = 0;
  int next_slot_ = 0;
  bool inputs_writable_ = false;
  double empty_us_ = 0;
  std::string lost_;  // the reason for which the context ended; "" while it lives
};

}  // namespace cupilot
