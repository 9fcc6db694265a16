#include "backend/cuda/device.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

constexpr std::size_t images_remembered = 8;  // below what a process keeps

// Returns the rejection that an error code of the driver means for the kernel that was running.
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

RunnerFault fault_of(const DeviceAnswer& answer, bool loading) {
  std::string code = code_of(answer.code, answer.state == DeviceAnswer::State::sticky);
  if (loading && code != "load.resources") code = "load.failed";
  std::string message = answer.what;
  if (code == "run.out_of_bounds")
    message += "; an access outside every buffer, or a write to an input";
  return {std::move(code), std::move(message), "", false};
}

CudaDevice::~CudaDevice() { forget_slots(); }

// A process whose answer is not waited for any more answers no later order.
FrameFailure CudaDevice::given_up(Role role, FrameFailure failure) {
  if (failure.kind != FrameFailure::Kind::stopped) return failure;
  if (role == judge_role) lose_judge();
  if (role == runner_role) lose_runner();
  if (role == counter_role) finish_counting();
  return failure;
}

std::variant<CudaDevice::Exchange, FrameFailure> CudaDevice::exchange(Role role, DeviceMessage type,
                                                                      std::string body,
                                                                      std::vector<int> descriptors,
                                                                      double seconds) {
  const StopScope cancelled_only({stop_flags().cancel});
  const int channel = processes_[role].channel();
  const Deadline deadline = deadline_in(seconds);
  const Frame frame{static_cast<std::uint32_t>(type), next_id_++, std::move(body),
                    std::move(descriptors)};
  auto sent = send_frame(channel, frame, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&sent)) return given_up(role, std::move(*failed));
  auto received = receive_frame(channel, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&received))
    return given_up(role, std::move(*failed));
  Frame& reply = std::get<Frame>(received);
  auto answer = unpack_device_answer(reply.body);
  if (!answer || reply.id != frame.id ||
      reply.type != static_cast<std::uint32_t>(DeviceMessage::answer)) {
    for (const int descriptor : reply.descriptors) close(descriptor);
    return FrameFailure{FrameFailure::Kind::malformed, "an answer that fits no order"};
  }
  if (type != DeviceMessage::make_slot) {
    for (const int descriptor : std::exchange(reply.descriptors, {})) close(descriptor);
  }
  return Exchange{std::move(*answer), std::move(reply.descriptors)};
}

namespace {

void credit_references(std::span<const DeviceOrder> orders,
                       const std::vector<std::string>& payloads) {
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i].type != DeviceMessage::prepare) continue;
    if (const auto prepared = unpack_prepare_answer(payloads[i]))
      credit("references", prepared->reference_seconds);
  }
}

}  // namespace

Result<std::vector<std::string>> CudaDevice::judge_all(std::span<const DeviceOrder> orders) {
  const Phase phase("judge", PhaseCpu::of_phase_around);
  if (auto ready = ensure(judge_role); !ready) return ready.error();
  const bool one = orders.size() == 1;
  auto result = exchange(judge_role, one ? orders[0].type : DeviceMessage::several,
                         one ? orders[0].body : pack(SeveralOrder{{orders.begin(), orders.end()}}),
                         {}, deadlines_.judge * static_cast<double>(orders.size()));
  if (auto* failure = std::get_if<FrameFailure>(&result)) {
    if (auto restarted = restart_judge(); !restarted) return restarted.error();
    return Error{ErrorCode::failure,
                 fmt::format("the judge of cuda:{} fell silent: {}", index_, failure->message),
                 "it was replaced; ask again"};
  }
  Exchange& reply = std::get<Exchange>(result);
  if (reply.answer.state == DeviceAnswer::State::done) {
    SeveralAnswer answer;
    if (one) answer.payloads.push_back(std::move(reply.answer.payload));
    if (auto several = one ? std::nullopt : unpack_several_answer(reply.answer.payload))
      answer = std::move(*several);
    if (answer.payloads.size() != orders.size())
      return Error{ErrorCode::failure, "the judge gave an answer that fits no orders", ""};
    credit_references(orders, answer.payloads);
    return std::move(answer.payloads);
  }
  if (reply.answer.state == DeviceAnswer::State::sticky) {
    if (auto restarted = restart_judge(); !restarted) return restarted.error();
  }
  return Error{ErrorCode::failure,
               fmt::format("the judge of cuda:{}: {}", index_, reply.answer.what), ""};
}

// Memory shared by the judge dies with it, and the runner's mappings mean nothing any more. The
// counter has none between two counts.
void CudaDevice::lose_judge() {
  processes_[judge_role] = Process();
  lose_runner();
  forget_slots();
}

Result<void> CudaDevice::restart_judge() {
  lose_judge();
  return ensure(judge_role);
}

Result<void> CudaDevice::load_in_judge(const NamedImage& image) {
  if (auto ready = ensure(judge_role); !ready) return ready;
  std::vector<std::string>& names = loaded_[judge_role];
  if (std::find(names.begin(), names.end(), image.name) != names.end()) return {};
  const auto loaded =
      judge(DeviceMessage::load, pack(LoadOrder{image.name, image.image, image.entries, {}}));
  if (!loaded) return loaded.error();
  names.push_back(image.name);
  if (names.size() > images_remembered) names.erase(names.begin());
  return {};
}

void CudaDevice::lose_runner() {
  processes_[runner_role] = Process();
  loaded_[runner_role].clear();
  images_run_ = 0;
  for (Slot& slot : slots_) slot.mapped = false;
  ++restarts_;
}

RunnerFault CudaDevice::runner_fault(const DeviceAnswer& answer, bool loading) {
  if (answer.state == DeviceAnswer::State::sticky) lose_runner();
  return fault_of(answer, loading);
}

Result<std::optional<RunnerFault>> CudaDevice::load_in_runner(const NamedImage& image, bool again) {
  std::vector<std::string>& names = loaded_[runner_role];
  if (std::find(names.begin(), names.end(), image.name) != names.end())
    return std::optional<RunnerFault>();
  ++images_run_;
  const auto result =
      exchange(runner_role, DeviceMessage::load,
               pack(LoadOrder{image.name, image.image, image.entries, image.parameter_bytes}), {},
               deadlines_.load);
  if (const auto* failure = std::get_if<FrameFailure>(&result)) {
    if (failure->kind == FrameFailure::Kind::stopped) return stopped_error();
    lose_runner();
    if (failure->kind == FrameFailure::Kind::closed && !again) {
      if (auto ready = ready_runner(); !ready) return ready.error();
      return load_in_runner(image, true);
    }
    return std::optional<RunnerFault>(
        {"load.failed", "loading the image ended the runner: " + failure->message, "", false});
  }
  const DeviceAnswer& answer = std::get<Exchange>(result).answer;
  if (answer.state != DeviceAnswer::State::done)
    return std::optional<RunnerFault>(runner_fault(answer, true));
  names.push_back(image.name);
  if (names.size() > images_remembered) names.erase(names.begin());
  return std::optional<RunnerFault>();
}

Result<std::variant<DeviceRun, RunnerFault>> CudaDevice::run(const NamedImage& image,
                                                             const RunOrder& order,
                                                             double seconds) {
  const Phase phase("runner", PhaseCpu::of_phase_around);
  using Outcome = std::variant<DeviceRun, RunnerFault>;
  if (auto ready = ready_runner(); !ready) return ready.error();
  auto loaded = load_in_runner(image);
  if (!loaded) return loaded.error();
  if (*loaded) return Outcome(std::move(**loaded));
  const auto begin = Clock::now();
  auto result = exchange(runner_role, DeviceMessage::run, pack(order), {}, seconds);
  const double spent = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  if (const auto* failure = std::get_if<FrameFailure>(&result)) {
    if (failure->kind == FrameFailure::Kind::stopped) return stopped_error();
    lose_runner();
    if (failure->kind == FrameFailure::Kind::timeout)
      return Outcome(RunnerFault{
          "run.hang", fmt::format("no end within {:.1f} s; the runner was killed", seconds), "",
          false});
    return Outcome(RunnerFault{"run.crash", "the runner died: " + failure->message, "", true});
  }
  const DeviceAnswer& answer = std::get<Exchange>(result).answer;
  if (answer.state != DeviceAnswer::State::done) return Outcome(runner_fault(answer, false));
  auto run_answer = unpack_run_answer(answer.payload);
  if (run_answer) return Outcome(DeviceRun{std::move(*run_answer), spent});
  lose_runner();
  return Outcome(
      RunnerFault{"run.crash", "the runner gave an answer that cannot be read", "", false});
}

Result<void> CudaDevice::renew() {
  // The new runner opens the device while the new judge does.
  processes_[runner_role] = Process();
  // A counter that counted will count another set: like the other processes it starts while nothing
  // is timed.
  if (std::exchange(processes_[counter_role], Process())) (void)begin_counter();
  spare_ = Process();
  spare_greeted_ = false;
  if (auto process = start_process(runner_role)) spare_ = std::move(*process);
  if (auto restarted = restart_judge(); !restarted) return restarted;
  return ensure(runner_role);
}

}  // namespace cupilot
