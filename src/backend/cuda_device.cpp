#include "backend/cuda_device.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <unistd.h>

namespace cupilot {
namespace {

constexpr double hello_seconds = 30, load_seconds = 10, slot_seconds = 20;
constexpr std::size_t images_remembered = 8;  // below what a process keeps
constexpr int images_a_runner = 500;          // then it is replaced, whatever it may have leaked
constexpr const char* role_names[] = {"judge", "runner"};

// Slots come in few sizes, so that many shapes share them: granules up to 16, then eighths of powers of two.
std::int64_t slot_size(std::int64_t bytes) {
  constexpr std::int64_t granule = 2 << 20;
  const std::int64_t granules = std::max<std::int64_t>((bytes + granule - 1) / granule, 1);
  std::int64_t step = 1;
  while (step * 16 < granules) step *= 2;
  return (granules + step - 1) / step * step * granule;
}

// What an error code of the driver says of the kernel that was running.
const char* code_of(int cuda_code, bool sticky) {
  switch (cuda_code) {
    case 700:
    case 717:
    case 718:
      return "run.out_of_bounds";
    case 716:
      return "run.misaligned";
    case 702:
      return "run.hang";
    case 710:
    case 715:
    case 719:
      return "run.trap";
    case 701:
    case 720:
    case 912:
      return "load.resources";
    default:
      return sticky ? "run.crash" : "run.launch";
  }
}

}  // namespace

CudaDevice::~CudaDevice() { forget_slots(); }

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int index, const BackendOptions& options) {
  auto worker = find_worker(options.worker_path);
  if (!worker) return worker.error();
  std::unique_ptr<CudaDevice> device(new CudaDevice());
  device->index_ = index;
  device->worker_ = *worker;
  for (const Role role : {judge_role, runner_role}) {
    if (auto spawned = device->spawn(role); !spawned) return spawned.error();
  }
  for (const Role role : {judge_role, runner_role}) {
    if (auto greeted = device->greet(role); !greeted) return greeted.error();
  }
  return device;
}

Result<void> CudaDevice::spawn(Role role) {
  processes_[role] = Process();
  greeted_[role] = false;
  loaded_[role].clear();
  auto process = Process::start({worker_, {role_names[role], std::to_string(index_)}, worker_environment(true)});
  if (!process) return process.error();
  processes_[role] = std::move(*process);
  if (role == judge_role) ++judge_generation_;
  return {};
}

Result<void> CudaDevice::greet(Role role) {
  auto received = receive_frame(processes_[role].channel(), deadline_in(hello_seconds));
  const Frame* frame = std::get_if<Frame>(&received);
  const auto hello = frame != nullptr ? unpack_device_hello(frame->body) : std::nullopt;
  if (!hello) {
    const Ending ending = processes_[role].kill();
    return Error{ErrorCode::failure,
                 fmt::format("the {} process of cuda:{} gave no greeting: {} {}", role_names[role], index_, describe(ending),
                             processes_[role].output()),
                 "run `cupilot doctor`"};
  }
  if (!hello->usable) {
    processes_[role].kill();
    const std::string hint = hello->no_device ? "use --device virtual:h200 where there is no GPU" : "run `cupilot doctor`";
    return Error{hello->no_device ? ErrorCode::no_device : ErrorCode::failure,
                 fmt::format("no device cuda:{}: {}", index_, hello->reason), hint};
  }
  if (role == judge_role) hello_ = *hello;
  greeted_[role] = true;
  return {};
}

Result<void> CudaDevice::ensure(Role role) {
  if (!processes_[role] || !greeted_[role]) {
    if (auto spawned = spawn(role); !spawned) return spawned;
    if (auto greeted = greet(role); !greeted) return greeted;
  }
  return ensure_trusted(role);
}

Result<void> CudaDevice::ensure_trusted(Role role) {
  std::vector<std::string>& names = loaded_[role];
  if (trusted_.empty() || std::find(names.begin(), names.end(), "trusted") != names.end()) return {};
  const auto result = exchange(role, DeviceMessage::load, pack(LoadOrder{"trusted", trusted_, {}, {}}), {}, load_seconds);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply == nullptr || reply->answer.state != DeviceAnswer::State::done) {
    const std::string why = reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
    return Error{ErrorCode::failure, fmt::format("loading the trusted kernels in the {}: {}", role_names[role], why), ""};
  }
  names.emplace_back("trusted");
  return {};
}

std::variant<CudaDevice::Exchange, FrameFailure> CudaDevice::exchange(Role role, DeviceMessage type, std::string body,
                                                                      std::vector<int> descriptors, double seconds) {
  const int channel = processes_[role].channel();
  const Deadline deadline = deadline_in(seconds);
  const Frame frame{static_cast<std::uint32_t>(type), next_id_++, std::move(body), std::move(descriptors)};
  auto sent = send_frame(channel, frame, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&sent)) return *failed;
  auto received = receive_frame(channel, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&received)) return *failed;
  Frame& reply = std::get<Frame>(received);
  auto answer = unpack_device_answer(reply.body);
  if (!answer || reply.id != frame.id || reply.type != static_cast<std::uint32_t>(DeviceMessage::answer)) {
    for (const int descriptor : reply.descriptors) close(descriptor);
    return FrameFailure{FrameFailure::Kind::malformed, "an answer that fits no order"};
  }
  return Exchange{std::move(*answer), std::move(reply.descriptors)};
}

Result<std::string> CudaDevice::judge(DeviceMessage type, std::string body, double seconds) {
  if (auto ready = ensure(judge_role); !ready) return ready.error();
  auto result = exchange(judge_role, type, std::move(body), {}, seconds);
  if (auto* failure = std::get_if<FrameFailure>(&result)) {
    const std::string why = fmt::format("the judge of cuda:{} fell silent: {}", index_, failure->message);
    if (auto restarted = restart_judge(why); !restarted) return restarted.error();
    return Error{ErrorCode::failure, why, "it was replaced; ask again"};
  }
  Exchange& reply = std::get<Exchange>(result);
  for (const int descriptor : reply.descriptors) close(descriptor);
  if (reply.answer.state == DeviceAnswer::State::done) return std::move(reply.answer.payload);
  const std::string why = fmt::format("the judge of cuda:{}: {}", index_, reply.answer.what);
  if (reply.answer.state == DeviceAnswer::State::sticky) {
    if (auto restarted = restart_judge(why); !restarted) return restarted.error();
  }
  return Error{ErrorCode::failure, why, ""};
}

Result<void> CudaDevice::restart_judge(const std::string&) {
  // What the judge shared dies with it, and the runner's mappings mean nothing any more.
  processes_[judge_role] = Process();
  greeted_[judge_role] = false;
  lose_runner();
  forget_slots();
  return ensure(judge_role);
}

Result<void> CudaDevice::load_in_judge(const NamedImage& image) {
  if (auto ready = ensure(judge_role); !ready) return ready;
  std::vector<std::string>& names = loaded_[judge_role];
  if (std::find(names.begin(), names.end(), image.name) != names.end()) return {};
  const auto loaded = judge(DeviceMessage::load, pack(LoadOrder{image.name, image.image, image.entries, {}}), load_seconds);
  if (!loaded) return loaded.error();
  names.push_back(image.name);
  if (names.size() > images_remembered) names.erase(names.begin() + 1);
  return {};
}

Result<Region> CudaDevice::lease(std::int64_t bytes, bool writable) {
  const std::int64_t size = slot_size(bytes);
  for (int attempt = 0;; ++attempt) {
    if (auto ready = ensure(runner_role); !ready) return ready.error();
    auto found = std::find_if(slots_.begin(), slots_.end(),
                              [&](const Slot& slot) { return !slot.leased && slot.writable == writable && slot.bytes == size; });
    if (found == slots_.end()) {
      SlotOrder order;
      order.slot = next_slot_++;
      order.bytes = size;
      order.writable = writable;
      if (auto ready = ensure(judge_role); !ready) return ready.error();
      auto result = exchange(judge_role, DeviceMessage::make_slot, pack(order), {}, slot_seconds);
      Exchange* reply = std::get_if<Exchange>(&result);
      const auto made = reply != nullptr && reply->answer.state == DeviceAnswer::State::done ? unpack_slot(reply->answer.payload)
                                                                                             : std::nullopt;
      if (!made) {
        const std::string why = reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
        return Error{ErrorCode::failure, fmt::format("{} bytes of device memory: {}", size, why),
                     "free device memory, or search a smaller shape"};
      }
      Slot slot{order.slot, made->bytes, writable, false, false, reply->descriptors.empty() ? -1 : reply->descriptors[0],
                made->ipc};
      slot_bytes_ += slot.bytes;
      slots_.push_back(std::move(slot));
      found = slots_.end() - 1;
    }
    if (!found->mapped) {
      if (auto mapped = map_in_runner(*found); !mapped) {
        lose_runner();
        if (attempt == 0) continue;
        return mapped.error();
      }
    }
    found->leased = true;
    // The end lies within 256 bytes of the unmapped gap.
    const std::int64_t offset = (found->bytes - bytes) / 256 * 256;
    return Region{found->number, offset, bytes};
  }
}

Result<void> CudaDevice::map_in_runner(Slot& slot) {
  SlotOrder order{slot.number, slot.bytes, slot.writable, slot.ipc};
  std::vector<int> descriptors;
  if (slot.descriptor >= 0) descriptors.push_back(slot.descriptor);
  const auto result = exchange(runner_role, DeviceMessage::map_slot, pack(order), descriptors, slot_seconds);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply == nullptr || reply->answer.state != DeviceAnswer::State::done) {
    const std::string why = reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
    return Error{ErrorCode::failure, fmt::format("mapping device memory in the runner of cuda:{}: {}", index_, why), ""};
  }
  slot.mapped = true;
  return {};
}

void CudaDevice::release_all() {
  for (Slot& slot : slots_) slot.leased = false;
  if (slot_bytes_ > hello_.memory_free / 2) (void)trim_slots();
}

Result<void> CudaDevice::trim_slots() {
  for (const Role role : {runner_role, judge_role}) {
    if (processes_[role] && greeted_[role]) (void)exchange(role, DeviceMessage::drop_slots, "", {}, slot_seconds);
  }
  forget_slots();
  return {};
}

void CudaDevice::forget_slots() {
  for (const Slot& slot : slots_) {
    if (slot.descriptor >= 0) close(slot.descriptor);
  }
  slots_.clear();
  slot_bytes_ = 0;
}

void CudaDevice::lose_runner() {
  processes_[runner_role] = Process();
  greeted_[runner_role] = false;
  loaded_[runner_role].clear();
  images_run_ = 0;
  for (Slot& slot : slots_) slot.mapped = false;
  ++restarts_;
}

RunnerFault CudaDevice::fault_of(const DeviceAnswer& answer, bool loading) {
  const bool sticky = answer.state == DeviceAnswer::State::sticky;
  std::string code = code_of(answer.code, sticky);
  if (loading && code != "load.resources") code = "load.failed";
  std::string message = answer.what;
  if (code == "run.out_of_bounds") message += "; an access outside every buffer, or a write to an input";
  if (sticky) lose_runner();
  return {std::move(code), std::move(message), ""};
}

Result<std::optional<RunnerFault>> CudaDevice::load_in_runner(const NamedImage& image, double seconds, bool again) {
  std::vector<std::string>& names = loaded_[runner_role];
  if (std::find(names.begin(), names.end(), image.name) != names.end()) return std::optional<RunnerFault>();
  ++images_run_;
  const auto result = exchange(runner_role, DeviceMessage::load,
                               pack(LoadOrder{image.name, image.image, image.entries, image.parameter_bytes}), {}, seconds);
  if (const auto* failure = std::get_if<FrameFailure>(&result)) {
    lose_runner();
    if (failure->kind == FrameFailure::Kind::closed && !again) {
      if (auto ready = ready_runner(); !ready) return ready.error();
      return load_in_runner(image, seconds, true);
    }
    return std::optional<RunnerFault>({"load.failed", "loading the image ended the runner: " + failure->message, ""});
  }
  const DeviceAnswer& answer = std::get<Exchange>(result).answer;
  if (answer.state != DeviceAnswer::State::done) return std::optional<RunnerFault>(fault_of(answer, true));
  names.push_back(image.name);
  if (names.size() > images_remembered) names.erase(names.begin() + 1);
  return std::optional<RunnerFault>();
}

Result<std::variant<RunAnswer, RunnerFault>> CudaDevice::run(const NamedImage& image, const RunOrder& order, double seconds) {
  using Outcome = std::variant<RunAnswer, RunnerFault>;
  const std::string body = pack(order);
  for (bool again = false;; again = true) {
    if (auto ready = ready_runner(); !ready) return ready.error();
    auto loaded = load_in_runner(image, load_seconds);
    if (!loaded) return loaded.error();
    if (*loaded) return Outcome(std::move(**loaded));
    auto result = exchange(runner_role, DeviceMessage::run, body, {}, seconds);
    if (const auto* failure = std::get_if<FrameFailure>(&result)) {
      const bool hang = failure->kind == FrameFailure::Kind::timeout;
      lose_runner();
      // A runner that vanishes may have been killed from outside; one that vanishes twice was not.
      if (!hang && !again) continue;
      if (!hang) return Outcome(RunnerFault{"run.crash", "the runner died twice: " + failure->message, ""});
      return Outcome(RunnerFault{"run.hang", fmt::format("no end within {:.1f} s; the runner was killed", seconds), ""});
    }
    const DeviceAnswer& answer = std::get<Exchange>(result).answer;
    if (answer.state != DeviceAnswer::State::done) return Outcome(fault_of(answer, false));
    auto run_answer = unpack_run_answer(answer.payload);
    if (run_answer) return Outcome(std::move(*run_answer));
    lose_runner();
    return Outcome(RunnerFault{"run.crash", "the runner gave an answer that cannot be read", ""});
  }
}

Result<void> CudaDevice::ready_runner() {
  if (images_run_ >= images_a_runner) lose_runner();
  if (auto ready = ensure(runner_role); !ready) return ready;
  for (Slot& slot : slots_) {
    if (!slot.leased || slot.mapped) continue;
    if (auto mapped = map_in_runner(slot); !mapped) return mapped;
  }
  return {};
}

Result<void> CudaDevice::renew() {
  lose_runner();
  if (auto restarted = restart_judge("renewed"); !restarted) return restarted;
  return ensure(runner_role);
}

}  // namespace cupilot
