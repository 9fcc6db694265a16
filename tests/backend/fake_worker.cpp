// A device worker without a device, for tests of the controller: its behaviour is the name it is started by.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backend/cuda_protocol.hpp"
#include "backend/process.hpp"

using namespace cupilot;

namespace {

void send(DeviceMessage type, std::uint64_t id, std::string body) {
  send_frame(worker_channel, {static_cast<std::uint32_t>(type), id, std::move(body), {}}, deadline_in(5));
}

void answer(const Frame& frame, const DeviceAnswer& with) { send(DeviceMessage::answer, frame.id, pack(with)); }

// What a runner does with a run order.
void run(const std::filesystem::path& self, const Frame& frame) {
  const std::string behaviour = self.filename();
  const DeviceAnswer good{DeviceAnswer::State::done, 0, "", pack(RunAnswer{{12.5}, 100})};
  if (behaviour == "hangs") pause();
  if (behaviour == "dies") _exit(1);
  if (behaviour == "dies_once") {
    const std::filesystem::path marker = self.string() + ".died";
    if (!std::filesystem::exists(marker)) {
      std::ofstream(marker) << "once";
      _exit(1);
    }
  }
  if (behaviour == "garbage") {
    const std::string noise(64, '#');
    if (write(worker_channel, noise.data(), noise.size()) < 0) _exit(1);
    pause();
  }
  if (behaviour == "misnumbers") return send(DeviceMessage::answer, frame.id + 1, pack(good));
  if (behaviour == "babbles") return answer(frame, {DeviceAnswer::State::done, 0, "", "not an answer"});
  if (behaviour == "faults") {
    answer(frame, {DeviceAnswer::State::sticky, 700, "running k: illegal address", ""});
    _exit(1);
  }
  if (behaviour == "refuses") return answer(frame, {DeviceAnswer::State::refused, 701, "too many registers", ""});
  answer(frame, good);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path self = argv[0];
  const bool runner = argc > 1 && std::string(argv[1]) == "runner";
  DeviceHello hello;
  hello.usable = self.filename() != "absent";
  hello.no_device = !hello.usable;
  hello.reason = "no such device";
  hello.sharing = Sharing::ipc;
  hello.memory_free = 1ll << 40;
  if (self.filename() == "mute") return 0;
  send(DeviceMessage::hello, 0, pack(hello));
  for (;;) {
    const auto received = receive_frame(worker_channel, deadline_in(60));
    const Frame* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) return 0;
    const auto type = static_cast<DeviceMessage>(frame->type);
    if (runner && type == DeviceMessage::run) {
      run(self, *frame);
    } else if (type == DeviceMessage::make_slot) {
      answer(*frame, {DeviceAnswer::State::done, 0, "", frame->body});
    } else {
      answer(*frame, {});
    }
  }
}
