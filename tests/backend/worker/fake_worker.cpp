// A device worker without a device, for tests of the controller. Its behaviour is the name it is
// started by: parts joined by
// '+', each "ROLE-STEP-WHAT", with "-once" the first time only, with "-late" every time but the
// first. "checklost" lasts until the process is replaced. Elsewhere it answers as an honest one
// would, for tasks whose reference values are zero.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "backend/wire/orders.hpp"
#include "backend/worker/process.hpp"

using namespace cupilot;

namespace {

std::filesystem::path self;
bool first_of_role = true;  // no process of this role was started before

// What is to be done at this step, "" for the usual.
std::string behaviour_at(const std::string& role, const std::string& step) {
  std::stringstream parts(self.filename().string());
  for (std::string part; std::getline(parts, part, '+');) {
    if (part.rfind(role + "-" + step + "-", 0) != 0) continue;
    const std::string what = part.substr(role.size() + step.size() + 2);
    const std::string tail = what.size() > 5 ? what.substr(what.size() - 5) : "";
    if (tail != "-once" && tail != "-late") return what;
    const std::filesystem::path marker = self.string() + "." + role + "." + step;
    const bool first = !std::filesystem::exists(marker);
    std::ofstream(marker) << "once";
    if (first == (tail == "-once")) return what.substr(0, what.size() - 5);
  }
  return "";
}

std::string step_of(DeviceMessage type, const std::string& body) {
  switch (type) {
    case DeviceMessage::load: {
      const std::string name = unpack_load(body)->name;
      return name == "trusted" ? "trusted" : name == "judge" ? "judging" : "load";
    }
    case DeviceMessage::make_slot:
      return "slot";
    case DeviceMessage::map_slot:
      return "map";
    case DeviceMessage::prepare:
      return "prepare";
    case DeviceMessage::check:
      return "check";
    case DeviceMessage::probe:
      return "probe";
    case DeviceMessage::repeat:
      return "repeat";
    case DeviceMessage::read:
      return "read";
    case DeviceMessage::conditions:
      return "conditions";
    case DeviceMessage::count:
      return "count";
    case DeviceMessage::run: {
      const VisitTiming::Mode mode = unpack_run(body)->timing.mode;
      return mode == VisitTiming::Mode::once    ? "run"
             : mode == VisitTiming::Mode::timed ? "timed"
                                                : "burst";
    }
    default:
      return "other";
  }
}

// `launch_us`: what a launch of a burst really takes.
RunAnswer honest_run(const std::string& body, int launch_us = 10) {
  const VisitTiming timing = unpack_run(body)->timing;
  if (timing.mode == VisitTiming::Mode::once) return {{}, 0};
  if (timing.mode == VisitTiming::Mode::burst) {
    std::this_thread::sleep_for(std::chrono::microseconds(launch_us) * timing.replays);
    return {{}, 1.0 * launch_us * timing.replays + 1};
  }
  std::this_thread::sleep_for(std::chrono::microseconds(300));
  return {std::vector<double>(static_cast<std::size_t>(timing.replays), 60.0), 90.0};
}

CheckAnswer honest_check(const std::string& body) {
  const CheckOrder order = *unpack_check(body);
  CheckAnswer answer;
  for (const CheckItem& item : order.outputs) {
    CheckedOutput output;
    output.compared = item.layout.elements;
    answer.outputs.push_back(output);
    answer.hashes.emplace_back();
  }
  answer.guards.resize(order.guards.size());
  answer.nonzero.resize(order.zeros.size());
  answer.changed.resize(order.unchanged.size());
  return answer;
}

ReadAnswer honest_read(const std::string& body) {
  const std::size_t count = unpack_read(body)->indices.size();
  return {std::vector<std::uint64_t>(count), std::vector<double>(count),
          std::vector<double>(count)};
}

std::string honest_payload(DeviceMessage type, const std::string& body) {
  switch (type) {
    case DeviceMessage::make_slot:
      return body;
    case DeviceMessage::run:
      return pack(honest_run(body));
    case DeviceMessage::check:
      return pack(honest_check(body));
    case DeviceMessage::read:
      return pack(honest_read(body));
    case DeviceMessage::repeat:
      return pack(RepeatAnswer{std::vector<std::int64_t>(unpack_repeat(body)->outputs.size())});
    case DeviceMessage::probe:
      return pack(ProbeAnswer{probe_value(), 30, 4});
    case DeviceMessage::count:
      return pack(CountAnswer{"GH100", 2, 0.1,
                              std::vector<CountedLaunch>(unpack_count(body)->run.launches.size())});
    case DeviceMessage::conditions:
      return pack(CardConditions{"", 1980, 3201, 40, 200000, 0, {1, 2}});
    default:
      return "";
  }
}

// Lies in a well-formed answer; nullopt: not one of these.
std::optional<std::string> lie(const std::string& what, const std::string& body) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinite = std::numeric_limits<double>::infinity();
  const auto timed = [&](double event, double wall = 50) { return pack(RunAnswer{{event}, wall}); };
  if (what == "1ns") return timed(0.001);
  if (what == "25us") return timed(25);
  if (what == "slowly") return pack(honest_run(body, 300));
  if (what == "late") {  // as a busy host answers: by so much, however many launches were asked for
    if (unpack_run(body)->timing.replays > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    return pack(honest_run(body));
  }
  if (what == "zero") return timed(0);
  if (what == "negative") return timed(-5);
  if (what == "nan") return timed(nan);
  if (what == "infinite") return timed(infinite);
  if (what == "tiny") return timed(1e-12);
  if (what == "huge") return timed(9.3e18, 9.3e18);
  if (what == "exceeds") return timed(5e5, 5e5);
  if (what == "wall") return timed(60, 5e5);
  if (what == "nanwall") return timed(60, nan);
  if (what == "none") return pack(RunAnswer{{}, 90});
  if (what == "many") return pack(RunAnswer{{60, 60, 60}, 200});
  if (what == "wrongvalue") return pack(ProbeAnswer{probe_value() ^ 1, 30, 4});
  if (what == "nanprobe") return pack(ProbeAnswer{probe_value(), nan, 4});
  if (what == "slow") return pack(ProbeAnswer{probe_value(), 300, 4});
  if (what == "wrongreference") {
    ReadAnswer answer = honest_read(body);
    answer.values.back() = 1;
    return pack(answer);
  }
  if (what == "wrongbits") {
    ReadAnswer answer = honest_read(body);
    answer.bits.front() = 0x3f800000;
    return pack(answer);
  }
  if (what == "shortread") return pack(ReadAnswer{});
  if (what == "nancount") {
    CountedLaunch launch;
    launch.values.back() = nan;
    return pack(CountAnswer{"GH100", 2, 0.1, {CountedLaunch{}, launch}});
  }
  if (what == "differs") return pack(RepeatAnswer{{3}});
  if (what == "shortrepeat") return pack(RepeatAnswer{});
  if (what.rfind("check", 0) != 0 || (what == "checklost" && !first_of_role)) return std::nullopt;
  CheckAnswer answer = honest_check(body);
  // A known answer has no outputs to lie about.
  const bool known = answer.outputs.empty() && answer.changed.empty();
  if (known && what != "checklost" && what != "checkgone") return std::nullopt;
  if (what == "checkwrong") answer.outputs[0].failed = 7;
  if (what == "checkpadding") answer.outputs[0].padding_changed = 2;
  if (what == "checkpoison") answer.outputs[0].poisoned = 7;
  if (what == "checklost" || what == "checkgone") {  // what the runner stores does not arrive
    for (CheckedOutput& output : answer.outputs) output.poisoned = output.compared;
    std::fill(answer.nonzero.begin(), answer.nonzero.end(), 8);
  }
  if (what == "checkguard") answer.guards[0] = {4, -8};
  if (what == "checkchanged") std::fill(answer.changed.begin(), answer.changed.end(), 2);
  if (what == "checkshort") answer.outputs.clear();
  if (what == "checkhashes") answer.hashes.emplace_back("x");
  return pack(answer);
}

// The bytes of a good frame, to be damaged.
std::string frame_bytes(const Frame& frame) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(9);
  std::thread sender([&] {
    send_frame(ends[0], frame, deadline_in(5));
    close(ends[0]);
  });
  std::string bytes;
  char piece[4096];
  for (ssize_t got; (got = read(ends[1], piece, sizeof piece)) > 0;)
    bytes.append(piece, static_cast<std::size_t>(got));
  sender.join();
  close(ends[1]);
  return bytes;
}

void write_raw(const std::string& bytes) {
  if (write(worker_channel, bytes.data(), bytes.size()) < 0) _exit(9);
}

void flood() {
  const std::string line(1000, '!');
  for (int i = 0; i < 1000; ++i) {
    if (write(1, line.data(), line.size()) < 0) return;  // a full pipe loses the rest
  }
}

// Breaks the protocol; false: not one of these, or one that goes on honestly.
bool break_protocol(const std::string& what, Frame& reply) {
  if (what == "hang") pause();
  if (what == "die") _exit(1);
  if (what == "killed") raise(SIGKILL);
  if (what == "flood") flood();
  if (what == "grow") {
    static char* volatile kept =
        new char[300 << 20];  // volatile: what nobody reads need not be allocated
    std::fill_n(kept, 300 << 20, 'x');
  }
  if (what == "misnumber") reply.id += 1;
  if (what == "replay") reply.id -= 1;
  if (what == "type") reply.type = static_cast<std::uint32_t>(DeviceMessage::run);
  if (what == "descriptors") reply.descriptors = {0, 0, 0};
  if (what == "twice") send_frame(worker_channel, reply, deadline_in(5));
  if (what == "nobody") reply.body.clear();
  if (what == "garbage") return write_raw(std::string(64, '#')), true;
  std::string bytes = frame_bytes(reply);
  if (what == "crc") bytes[24] = static_cast<char>(bytes[24] ^ 1);
  if (what == "version") bytes[4] = static_cast<char>(bytes[4] + 1);
  if (what == "oversize") bytes[11] = 0x7f;
  if (what == "bits") bytes.back() = static_cast<char>(bytes.back() ^ 4);
  if (what == "cut") bytes.resize(bytes.size() / 2);
  if (what == "header") bytes.resize(10);
  const bool damaged = what == "crc" || what == "version" || what == "oversize" || what == "bits";
  if (damaged || what == "cut" || what == "header") write_raw(bytes);
  if (what == "cut" || what == "header") _exit(1);
  return damaged;
}

// A driver error by number: "e700" sticky, "r701" refused.
std::optional<DeviceAnswer> driver_error(const std::string& what) {
  if (what == "norights")
    return DeviceAnswer{DeviceAnswer::State::refused, no_counters, "not allowed", ""};
  if (what.size() < 2 || (what[0] != 'e' && what[0] != 'r') ||
      std::isdigit(static_cast<unsigned char>(what[1])) == 0)
    return std::nullopt;
  const auto state = what[0] == 'e' ? DeviceAnswer::State::sticky : DeviceAnswer::State::refused;
  return DeviceAnswer{state, std::atoi(what.c_str() + 1), "running k: CUDA_ERROR", ""};
}

// As CUPTI was seen to: ends when it is asked for other counters than before.
void end_at_other_counters(const std::string& body) {
  static std::uint64_t asked = 0;
  const std::uint64_t now = unpack_count(body)->counters;
  if (asked != 0 && asked != now) _exit(1);
  asked = now;
}

// What is said to one order; `whats`: and how the protocol is broken by it.
DeviceAnswer answer_to(const std::string& role, DeviceMessage type, const std::string& body,
                       std::vector<std::string>& whats) {
  const std::string step = step_of(type, body);
  std::string what = behaviour_at(role, step);
  if (what.empty() && step == "timed")
    what = behaviour_at(role, "run");  // a candidate that is timed runs in no other way
  whats.push_back(what);
  if (what == "otherset") end_at_other_counters(body);
  DeviceAnswer answer;
  if (const auto error = driver_error(what)) return *error;
  if (const auto payload = lie(what, body)) {
    if (type == DeviceMessage::run) std::this_thread::sleep_for(std::chrono::microseconds(300));
    answer.payload = *payload;
  } else {
    answer.payload = what == "babble" ? "not an answer" : honest_payload(type, body);
  }
  return answer;
}

DeviceAnswer answer_to_several(const std::string& role, const std::string& body,
                               std::vector<std::string>& whats) {
  SeveralAnswer all;
  const SeveralOrder orders = *unpack_several(body);
  for (const DeviceOrder& one : orders.orders) {
    DeviceAnswer answer = answer_to(role, one.type, one.body, whats);
    if (answer.state != DeviceAnswer::State::done) return answer;
    all.payloads.push_back(std::move(answer.payload));
  }
  const std::string step = "several";
  const std::string what = behaviour_at(role, step);
  whats.push_back(what);
  if (what == "short") all.payloads.pop_back();
  if (what == "long") all.payloads.emplace_back();
  return {DeviceAnswer::State::done, 0, "", what == "babble" ? "not an answer" : pack(all)};
}

void serve(const std::string& role, const Frame& order) {
  const auto type = static_cast<DeviceMessage>(order.type);
  std::vector<std::string> whats;
  const DeviceAnswer answer = type == DeviceMessage::several
                                  ? answer_to_several(role, order.body, whats)
                                  : answer_to(role, type, order.body, whats);
  Frame reply{static_cast<std::uint32_t>(DeviceMessage::answer), order.id, pack(answer), {}};
  if (type == DeviceMessage::make_slot) reply.descriptors = {0};
  for (const std::string& what : whats) {
    if (break_protocol(what, reply)) return;
  }
  send_frame(worker_channel, reply, deadline_in(5));
  if (answer.state == DeviceAnswer::State::sticky) _exit(1);
}

DeviceHello greeting(const std::string& what) {
  DeviceHello hello;
  hello.usable = what != "absent" && what != "broken";
  hello.no_device = what == "absent";
  hello.reason = what == "absent" ? "no such device" : "a broken one";
  hello.sharing = what == "ipc" ? Sharing::ipc : Sharing::vmm;
  hello.memory_free = 64ll << 30;
  hello.confinement = "a test";
  return hello;
}

}  // namespace

int main(int argc, char** argv) {
  self = argv[0];
  const std::string role = argc > 1 ? argv[1] : "";
  const std::filesystem::path born = self.string() + "." + role + ".born";
  first_of_role = !std::filesystem::exists(born);
  std::ofstream(born) << "born";
  const std::string what = behaviour_at(role, "hello");
  Frame hello{static_cast<std::uint32_t>(DeviceMessage::hello), 0, pack(greeting(what)), {}};
  if (what == "confined" && argc > 3 && std::string(argv[3]) == "0") {
    DeviceHello blamed = greeting("broken");
    blamed.confinement_to_blame = true;
    hello.body = pack(blamed);
  }
  if (!break_protocol(what, hello)) send_frame(worker_channel, hello, deadline_in(5));
  for (;;) {
    const auto received = receive_frame(worker_channel, deadline_in(60));
    const Frame* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) return 0;
    serve(role, *frame);
    for (const int descriptor : frame->descriptors) close(descriptor);
  }
}
