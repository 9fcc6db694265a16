// Starting the processes of a device and finding out whether they may be relied on: a known kernel
// with a known answer in a known time, before anything else is asked of them.
#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "backend/cuda/device.hpp"
#include "backend/worker/confine.hpp"
#include "backend/worker/timed_runner.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

constexpr int most_strikes = 3;
constexpr double band = 3;  // a healthy probe lies within this factor of the first
constexpr std::int64_t most_growth = 256ll << 20;
constexpr const char* role_names[] = {"judge", "runner", "counter"};

// Resident bytes of a process, 0 when they cannot be read.
std::int64_t resident_bytes(int pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return file ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int index, const BackendOptions& options,
                                                     const DeviceDeadlines& deadlines) {
  auto worker = find_worker(options.worker_path);
  if (!worker) return worker.error();
  std::unique_ptr<CudaDevice> device(new CudaDevice());
  device->index_ = index;
  device->worker_ = *worker;
  device->deadlines_ = deadlines;
  device->cudnn_ = options.cudnn;
  for (;;) {
    auto opened = device->open_processes();
    if (opened) {
      device->contest_ =
          Contest({options.python, options.python_environment, index, device->hello_.uuid});
      return device;
    }
    if (!device->hello_.confinement_to_blame || ++device->confinement_ >= confine_levels)
      return opened.error();
  }
}

Result<void> CudaDevice::open_processes() {
  hello_ = {};
  for (const Role role : {judge_role, runner_role}) {
    auto process = start_process(role);
    if (!process) return process.error();
    processes_[role] = std::move(*process);
  }
  ++judge_generation_;
  for (const Role role : {judge_role, runner_role}) {
    auto hello = greet(role, processes_[role]);
    if (!hello) return hello.error();
    if (role == judge_role || !hello->usable) hello_ = *hello;
    if (!hello->usable) return unusable(*hello);
  }
  return {};
}

Error CudaDevice::unusable(const DeviceHello& hello) const {
  return {
      hello.no_device ? ErrorCode::no_device : ErrorCode::failure,
      fmt::format("no device cuda:{}: {}", index_, hello.reason),
      hello.no_device ? "use --device virtual:h200 where there is no GPU" : "run `cupilot doctor`"};
}

Error CudaDevice::suspect() const {
  return {
      ErrorCode::no_device,
      fmt::format("device cuda:{} is suspect and used no more: {} failures in a row, the last: {}",
                  index_, strikes_, last_strike_),
      "see nvidia-smi and the kernel log; what was found so far is kept, and `cupilot resume` goes "
      "on elsewhere"};
}

Result<Process> CudaDevice::start_process(Role role) {
  std::vector<std::string> words{
      role_names[role], std::to_string(index_),
      std::to_string(role == counter_role ? counter_confinement_ : confinement_)};
  words.insert(words.end(), cudnn_.begin(), cudnn_.end());
  return Process::start({worker_, std::move(words), worker_environment(WorkerKind::device)});
}

Result<DeviceHello> CudaDevice::greet(Role role, Process& process) {
  const StopScope cancelled_only({stop_flags().cancel});
  auto received = receive_frame(process.channel(), deadline_in(deadlines_.hello));
  const Frame* frame = std::get_if<Frame>(&received);
  auto hello = frame != nullptr && frame->type == static_cast<std::uint32_t>(DeviceMessage::hello)
                   ? unpack_device_hello(frame->body)
                   : std::nullopt;
  if (frame != nullptr) {
    for (const int descriptor : frame->descriptors) close(descriptor);
  }
  if (hello) return std::move(*hello);
  const Ending ending = process.kill();
  if (stop_flags().cancelled()) return stopped_error();
  return Error{ErrorCode::failure,
               fmt::format("the {} process of cuda:{} gave no greeting: {} {}", role_names[role],
                           index_, describe(ending), process.output()),
               "run `cupilot doctor`"};
}

Result<void> CudaDevice::trust(std::vector<std::uint8_t> image) {
  trusted_ = std::move(image);
  for (int attempt = 0;; ++attempt) {
    auto ready = trust_process(judge_role);
    if (ready) ready = trust_process(runner_role);
    // Sharing memory asks the driver for more than kernels do: better refused here than in the
    // middle of a trial.
    if (ready) ready = rehearse_sharing();
    if (ready) return {};
    if (stop_flags().cancelled()) return stopped_error();
    // Once more as it was, then under less.
    if (attempt % 2 == 1) ++confinement_;
    if (confinement_ >= confine_levels) return ready;
    trusted_loaded_ = {};
    if (auto opened = open_processes(); !opened) return opened;
  }
}

Result<void> CudaDevice::spawn(Role role) {
  if (role == judge_role) forget_given();
  loaded_[role].clear();
  trusted_loaded_[role] = false;
  if (role == judge_role) judging_loaded_ = false;
  const bool waiting = role == runner_role && spare_;
  if (waiting) {
    processes_[role] = std::move(spare_);
  } else {
    auto process = start_process(role);
    if (!process) return process.error();
    processes_[role] = std::move(*process);
  }
  if (role == judge_role) ++judge_generation_;
  if (waiting && std::exchange(spare_greeted_, false)) return {};
  auto hello = greet(role, processes_[role]);
  if (!hello) return hello.error();
  if (!hello->usable) return unusable(*hello);
  return {};
}

Result<void> CudaDevice::ensure(Role role) {
  while (strikes_ < most_strikes) {
    if (stop_flags().cancelled()) return stopped_error();
    Result<void> ready = processes_[role] ? Result<void>() : spawn(role);
    if (ready) ready = trust_process(role);
    if (ready) {
      strikes_ = 0;
      if (role == runner_role) keep_spare();
      return {};
    }
    processes_[role] = Process();
    if (role == judge_role) forget_slots();
    if (stop_flags().cancelled()) return stopped_error();
    ++strikes_;
    last_strike_ = ready.error().message;
  }
  return suspect();
}

Result<void> CudaDevice::load_own(Role role, const char* name,
                                  const std::vector<std::uint8_t>& image) {
  const auto result = exchange(role, DeviceMessage::load, pack(LoadOrder{name, image, {}, {}}), {},
                               deadlines_.load);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply != nullptr && reply->answer.state == DeviceAnswer::State::done) return {};
  const std::string why =
      reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
  return Error{ErrorCode::failure,
               fmt::format("loading the trusted kernels in the {}: {}", role_names[role], why), ""};
}

Result<void> CudaDevice::trust_process(Role role) {
  if (!trusted_.empty() && !trusted_loaded_[role]) {
    if (auto loaded = load_own(role, trusted_image, trusted_); !loaded) return loaded;
    if (auto healthy = probe(role); !healthy) return healthy;
    trusted_loaded_[role] = true;
    if (role == runner_role) runner_bytes_ = resident_bytes(processes_[role].pid());
  }
  if (role != judge_role || judging_.empty() || judging_loaded_) return {};
  if (auto loaded = load_own(role, judge_image, judging_); !loaded) return loaded;
  judging_loaded_ = true;
  return {};
}

Result<void> CudaDevice::judge_by(std::vector<std::uint8_t> image) {
  judging_ = std::move(image);
  return ensure(judge_role);
}

Result<void> CudaDevice::probe(Role role) {
  const auto result = exchange(role, DeviceMessage::probe, "", {}, deadlines_.probe);
  const Exchange* reply = std::get_if<Exchange>(&result);
  const auto answer = reply != nullptr && reply->answer.state == DeviceAnswer::State::done
                          ? unpack_probe_answer(reply->answer.payload)
                          : std::nullopt;
  const auto sick = [&](const std::string& why) {
    return Error{
        ErrorCode::failure,
        fmt::format("the health probe of the {} of cuda:{}: {}", role_names[role], index_, why),
        ""};
  };
  if (!answer)
    return sick(reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message);
  if (answer->value != probe_value()) return sick("the known kernel gave another answer");
  if (!std::isfinite(answer->known_us) || answer->known_us <= 0 ||
      !std::isfinite(answer->empty_us) || answer->empty_us < 0)
    return sick(fmt::format("times of {} us and {} us", answer->known_us, answer->empty_us));
  if (band_us_ == 0) band_us_ = answer->known_us;
  if (answer->known_us > band_us_ * band || answer->known_us * band < band_us_)
    return sick(fmt::format("the known kernel took {:.1f} us, at first {:.1f} us", answer->known_us,
                            band_us_));
  if (role == runner_role) empty_us_ = answer->empty_us;
  return {};
}

Error CudaDevice::distrust(const std::string& why) {
  last_strike_ = why;
  if (++lies_ >= most_strikes) strikes_ = most_strikes;
  if (auto restarted = restart_judge(); !restarted) return restarted.error();
  return {ErrorCode::failure, fmt::format("cuda:{}: {}", index_, why),
          "memory or arithmetic of the device may be broken"};
}

Error CudaDevice::condemn(const std::string& why) {
  last_strike_ = why;
  strikes_ = most_strikes;
  return suspect();
}

// A fault costs the start of a process; with one waiting it costs the switch to it.
void CudaDevice::keep_spare() {
  if (restarts_ == 0 || spare_) return;
  if (auto process = start_process(runner_role)) spare_ = std::move(*process);
  spare_greeted_ = false;
}

void CudaDevice::settle() {
  if (processes_[counter_role] && !counter_greeted_) {
    const Phase phase("counters");
    if (!greet_counter()) finish_counting();
  }
  if (!spare_ || spare_greeted_) return;
  const auto hello = greet(runner_role, spare_);
  spare_greeted_ = hello && hello->usable;
  if (!spare_greeted_) spare_ = Process();
}

bool CudaDevice::grown() const {
  if (runner_bytes_ == 0 || !processes_[runner_role]) return false;
  return resident_bytes(processes_[runner_role].pid()) > runner_bytes_ + most_growth;
}

}  // namespace cupilot
