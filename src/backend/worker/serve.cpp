#include "backend/worker/serve.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "backend/worker/cudnn_convolution.hpp"
#include "backend/worker/launch.hpp"
#include "backend/worker/process.hpp"
#include "backend/worker/roles.hpp"

namespace cupilot {
namespace {

constexpr double write_seconds = 20;

void die_with_the_controller() {
  std::thread([] {
    for (;;) {
      pollfd entry{worker_channel, POLLRDHUP, 0};
      if (poll(&entry, 1, -1) > 0 &&
          (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) {
        raise(SIGKILL);
      }
    }
  }).detach();
}

bool send(DeviceMessage type, std::uint64_t id, std::string body, std::vector<int> descriptors) {
  const Frame frame{static_cast<std::uint32_t>(type), id, std::move(body), std::move(descriptors)};
  return std::holds_alternative<std::monostate>(
      send_frame(worker_channel, frame, deadline_in(write_seconds)));
}

}  // namespace

DeviceAnswer answer_of(const OrderHandler& handler, const Frame& frame,
                       std::vector<int>& descriptors) {
  DeviceAnswer answer;
  try {
    answer.payload = handler(static_cast<DeviceMessage>(frame.type), frame, descriptors);
  } catch (const CudaFailure& failure) {
    answer.state =
        is_sticky(failure.code) ? DeviceAnswer::State::sticky : DeviceAnswer::State::refused;
    answer.code = static_cast<int>(failure.code);
    answer.what = fmt::format("{}: {}", failure.what, driver().describe(failure.code));
  } catch (const OrderRefused& refused) {
    answer.state = DeviceAnswer::State::refused;
    answer.code = refused.code;
    answer.what = refused.what;
  } catch (const std::exception& error) {
    answer.state = DeviceAnswer::State::sticky;
    answer.what = error.what();
  }
  return answer;
}

ConfinedSession::ConfinedSession(const DeviceRole& role)
    : level(static_cast<ConfineLevel>(std::clamp(role.confinement, 0, confine_levels - 1))),
      held(confine_before_device(level)),
      cudnn(cudnn_file(role.cudnn, LibraryPlaces::loader_and_toolkit)),
      session(role.device) {}

int serve_device(ConfinedSession& confined, const OrderHandler& handler,
                 const std::function<void()>& idle) {
  die_with_the_controller();
  DeviceHello hello = confined.session.hello();
  hello.cudnn = confined.cudnn;
  hello.confinement =
      confined.held + ", " + confine_after_device(confined.level, cudnn_folders(confined.cudnn));
  hello.confinement_to_blame =
      !hello.usable && !hello.library.empty() && confined.level != ConfineLevel::limits_only;
  clearenv();
  if (!send(DeviceMessage::hello, 0, pack(hello), {})) return 1;
  if (!hello.usable) return 3;
  for (;;) {
    if (idle) idle();
    auto received = receive_frame(worker_channel, deadline_in(365.0 * 86400));
    Frame* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) _exit(0);
    std::vector<int> descriptors;
    const DeviceAnswer answer = answer_of(handler, *frame, descriptors);
    const bool sent = send(DeviceMessage::answer, frame->id, pack(answer), descriptors);
    for (const int descriptor : descriptors) close(descriptor);
    for (const int descriptor : frame->descriptors) close(descriptor);
    if (!sent || answer.state == DeviceAnswer::State::sticky) _exit(1);
  }
}

std::optional<std::string> serve_common(CudaSession& session, TimedRunner& visitor,
                                        DeviceMessage type, const Frame& frame) {
  if (type == DeviceMessage::probe) return pack(visitor.probe());
  if (type == DeviceMessage::drop_slots) {
    session.synchronize();
    for (auto& [number, slot] : session.slots) session.release(slot);
    session.slots.clear();
    return "";
  }
  if (type != DeviceMessage::load) return std::nullopt;
  const auto order = unpack_load(frame.body);
  if (!order) throw OrderRefused{0, "a load order that cannot be read"};
  session.load(order->name, order->image);
  for (std::size_t i = 0; i < order->entries.size(); ++i) {
    const CUfunction function = session.function(order->name, order->entries[i]);
    if (driver().cuFuncGetParamInfo == nullptr || i >= order->parameter_bytes.size()) continue;
    const std::vector<int>& declared = order->parameter_bytes[i];
    for (std::size_t p = 0; p <= declared.size(); ++p) {
      std::size_t offset = 0, bytes = 0;
      const bool there = driver().cuFuncGetParamInfo(function, p, &offset, &bytes) == CUDA_SUCCESS;
      const bool wanted = p < declared.size();
      if (there == wanted && (!there || bytes == static_cast<std::size_t>(declared[p]))) continue;
      throw OrderRefused{0, fmt::format("parameter {} of {} in the image is not the one in its PTX",
                                        p, order->entries[i])};
    }
  }
  return "";
}

int serve_launches(ConfinedSession& confined, TimedRunner& visitor, DeviceMessage own,
                   const LaunchWork& work, const std::function<void()>& idle) {
  CudaSession& session = confined.session;
  const auto handler = [&](DeviceMessage type, const Frame& frame,
                           std::vector<int>&) -> std::string {
    if (auto common = serve_common(session, visitor, type, frame)) return *common;
    if (type == DeviceMessage::map_slot) {
      map_slot(session, frame);
      return "";
    }
    auto answer = type == own ? work(frame) : std::nullopt;
    if (!answer) throw OrderRefused{0, "an order this process does not know"};
    return std::move(*answer);
  };
  return serve_device(confined, handler, idle);
}

}  // namespace cupilot
