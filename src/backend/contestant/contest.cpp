#include "backend/contestant/contest.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/rejection.hpp>

#include "base/embedded.hpp"
#include "base/json.hpp"
#include "base/stop.hpp"

namespace cupilot {

std::span<const EmbeddedFile> contestant_files();

namespace {

constexpr double seconds_to_import = 180, seconds_to_map = 60, seconds_to_rest = 60;
constexpr double seconds_to_compile = 900;  // before the first timed launch
constexpr std::size_t most_said = 1 << 20, output_told = 300;
constexpr int contestant_look_ms = 100;  // between looks at the flag that stops a wait
constexpr const char* stopped = "it was stopped";
constexpr const char* ended = "it ended before it answered";
constexpr const char* without_python =
    "install PyTorch for that python3, name another by CUPILOT_PYTHON (BackendOptions::python), or "
    "leave out --against";

// The text and a newline, the descriptors beside its first byte. "" or the reason of a failure.
std::string send_line(int socket, std::string text, const std::vector<int>& descriptors,
                      Deadline deadline) {
  text += '\n';
  alignas(cmsghdr) char room[CMSG_SPACE(64 * sizeof(int))] = {};
  for (std::size_t sent = 0; sent < text.size();) {
    iovec part{text.data() + sent, text.size() - sent};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {
      const std::size_t bytes = descriptors.size() * sizeof(int);
      message.msg_control = room;
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
    }
    const ssize_t done = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0) sent += static_cast<std::size_t>(done);
    if (done > 0 || errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return ended;
    if (errno != EAGAIN) return std::strerror(errno);
    pollfd entry{socket, POLLOUT, 0};
    if (Clock::now() > deadline) return "it reads nothing";
    if (stop_flags().cancelled()) return stopped;
    poll(&entry, 1, contestant_look_ms);
  }
  return "";
}

// One line into `line`, what follows it into `pending`. "" or the reason of a failure.
std::string receive_line(int socket, std::string& pending, std::string& line, Deadline deadline) {
  for (;;) {
    if (const std::size_t end = pending.find('\n'); end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return "";
    }
    if (pending.size() > most_said) return "it says too much";
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{socket, POLLIN, 0};
    if (left <= 0) return "no answer in time";
    if (stop_flags().cancelled()) return stopped;
    if (poll(&entry, 1, static_cast<int>(std::min<long long>(left + 1, contestant_look_ms))) <= 0)
      continue;
    char bytes[4096];
    const ssize_t got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return ended;
    if (got > 0) pending.append(bytes, static_cast<std::size_t>(got));
    if (got < 0 && errno != EAGAIN && errno != EINTR) return std::strerror(errno);
  }
}

const Contestant& row_of(const std::string& name) {
  static const std::vector<Contestant> known = contestants();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Contestant& one) { return one.name == name; });
  return found == known.end() ? known.front() : *found;
}

SortedJson region_json(const Region& region) {
  return {{"slot", region.slot}, {"offset", region.offset}, {"bytes", region.bytes}};
}

std::string run_text(const ContestOrder& order) {
  SortedJson json = {
      {"ask", "run"},         {"contestant", order.name},       {"cold", order.cold},
      {"first", order.first}, {"regions", SortedJson::array()}, {"digests", SortedJson::array()}};
  for (const Region& region : order.tensors) json["regions"].push_back(region_json(region));
  for (const ContentDigest& digest : order.digests) {
    json["digests"].push_back({{"tensor", digest.tensor},
                               {"span", digest.span},
                               {"places", digest.places},
                               {"sha256", digest.sha256}});
  }
  return json.dump();
}

// Reads what a process wrote, so that its streams take more, and keeps the end of it.
void hear(Process& process, std::string& heard) {
  heard += process.output();
  if (heard.size() > output_told) heard.erase(0, heard.size() - output_told);
}

std::string last_words(std::string heard) {
  std::replace(heard.begin(), heard.end(), '\n', ' ');
  return heard.empty() ? "" : ": " + heard;
}

}  // namespace

// Holds the answer to a question. `broken`: the process cannot be asked any more.
struct Contest::Reply {
  SortedJson json;
  std::string refused;
  bool broken = false;
};

Contest::Reply Contest::ask(Child& child, const std::string& text,
                            const std::vector<int>& descriptors, double seconds) {
  const Deadline deadline = deadline_in(seconds);
  std::string line;
  std::string why = send_line(child.process.channel(), text, descriptors, deadline);
  if (why.empty()) why = receive_line(child.process.channel(), child.pending, line, deadline);
  hear(child.process, child.heard);
  if (!why.empty()) return {{}, "the python3 of PyTorch: " + why + last_words(child.heard), true};
  Reply reply{SortedJson::parse(line, nullptr, false), "", false};
  if (!reply.json.is_object())
    return {{}, "the python3 of PyTorch answers what is no object", true};
  const auto refused = reply.json.find("refused");
  if (refused == reply.json.end()) return reply;
  const auto lost = reply.json.find("lost");
  reply.refused = refused->is_string() ? refused->get<std::string>() : "no reason";
  reply.broken = lost != reply.json.end() && *lost == true;
  return reply;
}

Contest::Child& Contest::child_of(const std::string& name) {
  return children_[row_of(name).benchmark ? 1 : 0];
}

Result<void> Contest::start(const std::string& name) {
  Child& child = child_of(name);
  if (child.process) return {};
  if (setting_.python.empty())
    return Error{ErrorCode::no_device, name + ": no python3 was found on the PATH", without_python};
  std::vector<std::string> environment = setting_.environment;
  // Devices are numbered as in the judge, whose environment has no order of its own.
  std::erase_if(environment,
                [](const std::string& one) { return one.starts_with("CUDA_DEVICE_ORDER="); });
  const std::string text(find_embedded(contestant_files(), "backend/contestant/torch.py"));
  auto started = Process::start({setting_.python, {"-c", text}, std::move(environment)});
  if (!started)
    return Error{ErrorCode::no_device, name + ": " + started.error().message, without_python};
  child = Child{std::move(*started), "", "", {}, "", ""};
  const SortedJson hello = {{"ask", "hello"},
                            {"device", setting_.device},
                            {"uuid", setting_.uuid},
                            {"benchmark", row_of(name).benchmark}};
  Reply reply = ask(child, hello.dump(), {}, seconds_to_import);
  const auto says = reply.json.find("says");
  if (reply.refused.empty() && says != reply.json.end() && says->is_string()) {
    child.says = says->get<std::string>();
    return {};
  }
  child.process = Process();
  const std::string why = reply.refused.empty() ? "no word of its versions" : reply.refused;
  return Error{ErrorCode::no_device, name + ": " + why, without_python};
}

Result<std::string> Contest::says(const std::string& name) {
  if (auto started = start(name); !started) return started.error();
  return child_of(name).says;
}

Attempt<double> Contest::lost(Child& child, const std::string& why) {
  child.process = Process();
  return reject("measure.failed", why);
}

// Tells the graph and maps what is not yet mapped.
std::optional<Rejected> Contest::ready(Child& child, const ContestOrder& order,
                                       std::span<const SharedSlot> slots) {
  const auto refuse = [&](Reply& reply) {
    if (reply.broken) child.process = Process();
    return reject("measure.failed", reply.refused);
  };
  if (child.graph != order.graph) {
    child.mapped.clear();  // a task begins without memory
    SortedJson task = SortedJson::parse(order.graph, nullptr, false);
    task["ask"] = "task";
    Reply reply = ask(child, task.dump(), {}, seconds_to_map);
    if (!reply.refused.empty()) return refuse(reply);
    child.graph = order.graph;
  }
  SortedJson map = {{"ask", "map"}, {"slots", SortedJson::array()}};
  std::vector<int> descriptors, numbers;
  for (const SharedSlot& slot : slots) {
    const auto& mapped = child.mapped;
    if (std::find(mapped.begin(), mapped.end(), slot.number) != mapped.end()) continue;
    map["slots"].push_back(
        {{"slot", slot.number}, {"bytes", slot.bytes}, {"writable", slot.writable}});
    descriptors.push_back(slot.descriptor);
    numbers.push_back(slot.number);
  }
  if (descriptors.empty()) return std::nullopt;
  Reply reply = ask(child, map.dump(), descriptors, seconds_to_map);
  if (!reply.refused.empty()) return refuse(reply);
  child.mapped.insert(child.mapped.end(), numbers.begin(), numbers.end());
  return std::nullopt;
}

Attempt<double> Contest::run(const ContestOrder& order, std::span<const SharedSlot> slots,
                             double seconds) {
  if (auto started = start(order.name); !started)
    return reject("measure.failed", started.error().message);
  Child& child = child_of(order.name);
  if (auto refused = ready(child, order, slots)) return *refused;
  Reply reply = ask(child, run_text(order), {},
                    order.first ? std::max(seconds, seconds_to_compile) : seconds);
  if (reply.broken) return lost(child, reply.refused);
  if (!reply.refused.empty()) return reject("measure.failed", reply.refused);
  const auto us = reply.json.find("event_us");
  if (us == reply.json.end() || !us->is_number())
    return lost(child, "the python3 of PyTorch told no time");
  return us->get<double>();
}

void Contest::rest() {
  for (Child& child : children_) {
    if (!child.process || (child.mapped.empty() && child.graph.empty())) continue;
    child.graph.clear();
    child.mapped.clear();
    const Reply reply = ask(child, R"({"ask":"rest"})", {}, seconds_to_rest);
    if (reply.broken || !reply.refused.empty()) child.process = Process();
  }
}

int Contest::processes() const {
  int count = 0;
  for (const Child& child : children_) count += child.process ? 1 : 0;
  return count;
}

}  // namespace cupilot
