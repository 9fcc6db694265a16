#include "backend/cuda/in_process.hpp"

#include <algorithm>
#include <chrono>

#include <dlfcn.h>
#include <fmt/core.h>

#include "backend/wire/frame.hpp"
#include "backend/worker/cudnn_convolution.hpp"
#include "backend/worker/run.hpp"
#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

// The host's context is current on this thread while this lives; what was before comes back.
class Current {
 public:
  explicit Current(CUcontext context) {
    check(driver().cuCtxPushCurrent(context), "making the host's context current");
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    CUcontext popped = nullptr;
    driver().cuCtxPopCurrent(&popped);
  }
};

// A handle to the driver keeps it loaded for as long as this process lives, as driver() expects.
bool driver_is_loaded() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr; }

Error unusable(const CudaFailure& failure) {
  return {ErrorCode::failure,
          fmt::format("the host's context: {}: {}", failure.what, driver().describe(failure.code)),
          "give a context that is alive, and a stream made in it"};
}

bool default_stream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

}  // namespace

Result<std::unique_ptr<InProcessDevice>> InProcessDevice::open(CUcontext context, CUstream stream,
                                                               const BackendOptions& options) {
  if (context == nullptr) {
    return Error{ErrorCode::usage, "no context was given",
                 "give a CUcontext: cuCtxGetCurrent tells the one in use"};
  }
  if (default_stream(stream)) {
    return Error{ErrorCode::usage,
                 "the stream is a default stream, from which no graph can be captured",
                 "make one: cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)"};
  }
  if (!driver_is_loaded()) {
    return Error{
        ErrorCode::no_device, "no CUDA driver is loaded in this process, so it can hold no context",
        "call cuInit and make a context first, or open virtual:h200 where there is no GPU"};
  }
  if (!driver().reason.empty())
    return Error{ErrorCode::no_device, driver().reason, "install a newer driver"};
  std::unique_ptr<InProcessDevice> device(new InProcessDevice(context, stream, options.cudnn));
  if (auto started = device->start(); !started) return started.error();
  return device;
}

Result<void> InProcessDevice::start() {
  const std::string cudnn = cudnn_file(cudnn_, LibraryPlaces::loader);
  try {
    const Current current(context_);
    CUcontext owner = nullptr;
    check(driver().cuStreamGetCtx(stream_, &owner), "asking for the stream's context");
    if (owner != context_) {
      return Error{ErrorCode::usage, "the stream is of another context than the one given",
                   "make the stream in that context"};
    }
    session_ = std::make_unique<CudaSession>(context_, stream_);
    judge_ = std::make_unique<Judge>(*session_, LibraryPlaces::loader, cudnn);
  } catch (const CudaFailure& failure) {
    return unusable(failure);
  }
  hello_ = session_->hello();
  hello_.cudnn = cudnn;
  hello_.confinement =
      "unconfined: kernels run in the host's process and context; no deadline, no read-only "
      "inputs, no unmapped neighbours";
  hello_.sharing_note = "one process";
  return {};
}

// A lost context refuses to take anything back; that is nobody's concern any more.
void InProcessDevice::stop() {
  slots_.clear();
  slot_bytes_ = 0;
  forget_given();
  if (session_ == nullptr) return;
  try {
    const Current current(context_);
    driver().cuStreamSynchronize(stream_);
    judge_.reset();
    session_->give_back();
    session_.reset();
  } catch (const CudaFailure& failure) {
    lost_ = failure.what;
  }
}

InProcessDevice::~InProcessDevice() { stop(); }

Error InProcessDevice::lost() const {
  return {ErrorCode::no_device, "the host's context is lost: " + lost_,
          "make a new context and a new backend; kernels that are not trusted belong on cuda:N, "
          "where a process of their own dies"};
}

std::string InProcessDevice::serve(DeviceMessage type, const Frame& frame,
                                   std::vector<int>& descriptors) {
  const Current current(context_);
  if (type != DeviceMessage::run) return judge_->serve(type, frame, descriptors);
  const auto order = unpack_run(frame.body);
  if (!order) throw OrderRefused{0, "a run order that cannot be read"};
  return carry_out(*session_, judge_->visitor(), judge_->library(), *order);
}

DeviceAnswer InProcessDevice::ask(DeviceMessage type, std::string body) {
  const Frame frame{static_cast<std::uint32_t>(type), 0, std::move(body), {}};
  std::vector<int> none;
  const OrderHandler handler = [this](DeviceMessage order, const Frame& with,
                                      std::vector<int>& descriptors) {
    return serve(order, with, descriptors);
  };
  DeviceAnswer answer = answer_of(handler, frame, none);
  if (answer.state == DeviceAnswer::State::sticky) lost_ = answer.what;
  return answer;
}

Result<std::vector<std::string>> InProcessDevice::judge_all(std::span<const DeviceOrder> orders) {
  std::vector<std::string> payloads;
  for (const DeviceOrder& order : orders) {
    if (!lost_.empty()) return lost();
    DeviceAnswer answer = ask(order.type, order.body);
    if (!lost_.empty()) return lost();
    if (answer.state != DeviceAnswer::State::done)
      return Error{ErrorCode::failure, "the judge in the host's context: " + answer.what, ""};
    payloads.push_back(std::move(answer.payload));
  }
  return payloads;
}

DeviceAnswer InProcessDevice::load(const NamedImage& image) {
  if (session_->loaded(image.name)) return {};
  return ask(DeviceMessage::load,
             pack(LoadOrder{image.name, image.image, image.entries, image.parameter_bytes}));
}

Result<void> InProcessDevice::load_in_judge(const NamedImage& image) {
  if (!lost_.empty()) return lost();
  const DeviceAnswer answer = load(image);
  if (answer.state == DeviceAnswer::State::done) return {};
  return Error{ErrorCode::failure, "loading trusted kernels in the host's context: " + answer.what,
               ""};
}

Result<std::vector<std::byte>> InProcessDevice::read_back(const Region& region) {
  if (!lost_.empty()) return lost();
  std::vector<std::byte> bytes(static_cast<std::size_t>(region.bytes));
  try {
    const Current current(context_);
    session_->synchronize();
    if (!bytes.empty())
      check(driver().cuMemcpyDtoH(bytes.data(), session_->address(region), bytes.size()),
            "reading a tensor for the host's own judge");
  } catch (const CudaFailure& failure) {
    return unusable(failure);
  }
  return bytes;
}

Result<std::variant<DeviceRun, RunnerFault>> InProcessDevice::run(const NamedImage& image,
                                                                  const RunOrder& order, double) {
  using Outcome = std::variant<DeviceRun, RunnerFault>;
  if (!lost_.empty()) return lost();
  if (const DeviceAnswer loaded = load(image); loaded.state != DeviceAnswer::State::done)
    return Outcome(fault_of(loaded, true));
  const auto begin = Clock::now();
  const DeviceAnswer answer = ask(DeviceMessage::run, pack(order));
  const double spent = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  if (answer.state != DeviceAnswer::State::done) return Outcome(fault_of(answer, false));
  auto read = unpack_run_answer(answer.payload);
  if (!read)
    return Error{ErrorCode::failure,
                 "the runner in the host's context gave times that cannot be read", ""};
  return Outcome(DeviceRun{std::move(*read), spent});
}

Result<void> InProcessDevice::trust(std::vector<std::uint8_t> image) {
  trusted_ = std::move(image);
  if (auto loaded = load_in_judge({trusted_image, trusted_, {}, {}}); !loaded) return loaded;
  auto payload = judge(DeviceMessage::probe, "");
  if (!payload) return payload.error();
  const auto probe = unpack_probe_answer(*payload);
  if (!probe || probe->value != probe_value())
    return Error{ErrorCode::failure,
                 "the health probe in the host's context: the known kernel gave another answer",
                 "memory or arithmetic of the device may be broken"};
  empty_us_ = probe->empty_us;
  return {};
}

Result<void> InProcessDevice::judge_by(std::vector<std::uint8_t> image) {
  judging_ = std::move(image);
  return load_in_judge({judge_image, judging_, {}, {}});
}

Result<InProcessDevice::Slot*> InProcessDevice::make_slot(std::int64_t bytes) {
  const auto payload =
      judge(DeviceMessage::make_slot, pack(SlotOrder{next_slot_, bytes, true, {}}));
  if (!payload) return payload.error();
  const auto made = unpack_slot(*payload);
  if (!made || made->bytes < bytes)
    return Error{ErrorCode::failure, "the judge made another slot than was asked for", ""};
  slot_bytes_ += made->bytes;
  slots_.push_back({next_slot_++, made->bytes, false});
  return &slots_.back();
}

Result<Region> InProcessDevice::lease(std::int64_t bytes, bool, Fence fence, std::int64_t odd) {
  const std::int64_t size = slot_size(bytes + odd);
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return !slot.leased && slot.bytes == size;
  });
  Slot* slot = found != slots_.end() ? &*found : nullptr;
  if (slot == nullptr) {
    auto made = make_slot(size);
    if (!made) {
      return std::move(made.error())
          .while_doing(fmt::format("taking {} bytes of device memory", size));
    }
    slot = *made;
  }
  slot->leased = true;
  return region_in(slot->number, slot->bytes, bytes, fence, odd);
}

void InProcessDevice::release_all() {
  for (Slot& slot : slots_) slot.leased = false;
  if (!crowded()) return;
  (void)judge(DeviceMessage::drop_slots, "");
  slots_.clear();
  slot_bytes_ = 0;
}

Error InProcessDevice::distrust(const std::string& why) {
  return {ErrorCode::failure, "the host's context: " + why,
          "memory or arithmetic of the device may be broken"};
}

Result<void> InProcessDevice::renew() {
  if (!lost_.empty()) return lost();
  stop();
  if (!lost_.empty()) return lost();
  if (auto started = start(); !started) return started;
  if (auto healthy = trust(std::move(trusted_)); !healthy) return healthy;
  return judging_.empty() ? Result<void>() : judge_by(std::move(judging_));
}

}  // namespace cupilot
