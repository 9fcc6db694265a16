#include "backend/wire/frame.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/record_file.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

constexpr std::uint32_t magic = 0x544c5043;  // "CPLT"
constexpr std::uint16_t version = 1;
constexpr std::size_t most_descriptors = 128;
constexpr const char* no_answer = "no answer before the deadline";

struct Header {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t descriptors = 0;
  std::uint32_t length = 0;
  std::uint32_t type = 0;
  std::uint64_t id = 0;
  std::uint32_t crc = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Header) == 32);

FrameFailure failure(FrameFailure::Kind kind, std::string message) {
  return {kind, std::move(message)};
}

std::uint32_t checksum(Header header, std::string_view body) {
  header.crc = 0;
  const std::string_view bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return crc32c(body, crc32c(bytes));
}

constexpr int look_ms = 20;  // between looks at the flags that stop a wait

// Waits until `socket` is ready for `events`; a failure at the deadline, which says `late`, or when
// the calling thread's work is stopped.
std::optional<FrameFailure> wait_for(int socket, short events, Deadline deadline,
                                     const char* late) {
  const StopFlags stop = stop_flags();
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const long long longest = stop.none() ? 1 << 30 : look_ms;
    pollfd entry{socket, events, 0};
    const int timeout = left < 0 ? 0 : static_cast<int>(std::min<long long>(left + 1, longest));
    const int ready = poll(&entry, 1, timeout);
    if (ready > 0) return std::nullopt;
    if (ready < 0 && errno != EINTR) return std::nullopt;  // let the transfer report it
    if (stop.wanted()) return failure(FrameFailure::Kind::stopped, stopped_error().message);
    if (ready == 0 && left <= 0) return failure(FrameFailure::Kind::timeout, late);
  }
}

void attach(msghdr& message, std::vector<char>& control, const std::vector<int>& descriptors) {
  if (descriptors.empty()) return;
  const std::size_t bytes = descriptors.size() * sizeof(int);
  control.assign(CMSG_SPACE(bytes), 0);
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* entry = CMSG_FIRSTHDR(&message);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(entry), descriptors.data(), bytes);
}

void collect(msghdr& message, std::vector<int>& descriptors) {
  for (cmsghdr* entry = CMSG_FIRSTHDR(&message); entry != nullptr;
       entry = CMSG_NXTHDR(&message, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const std::size_t before = descriptors.size();
    descriptors.resize(before + count);
    std::memcpy(descriptors.data() + before, CMSG_DATA(entry), count * sizeof(int));
  }
}

std::variant<std::monostate, FrameFailure> send_all(int socket, std::string_view header,
                                                    std::string_view body,
                                                    const std::vector<int>& descriptors,
                                                    Deadline deadline) {
  bool first = true;
  while (!header.empty() || !body.empty()) {
    iovec pieces[] = {{const_cast<char*>(header.data()), header.size()},
                      {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    std::vector<char> control;
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    if (first) attach(message, control, descriptors);
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      const std::size_t of_header = std::min(static_cast<std::size_t>(sent), header.size());
      header.remove_prefix(of_header);
      body.remove_prefix(static_cast<std::size_t>(sent) - of_header);
      first = false;
    } else if (errno == EAGAIN) {
      if (auto failed = wait_for(socket, POLLOUT, deadline, "the peer does not read"))
        return std::move(*failed);
    } else if (errno != EINTR) {
      return failure(FrameFailure::Kind::closed, fmt::format("send: {}", std::strerror(errno)));
    }
  }
  return {};
}

std::variant<std::monostate, FrameFailure> receive_all(int socket, char* into, std::size_t bytes,
                                                       std::vector<int>& descriptors,
                                                       Deadline deadline) {
  std::size_t have = 0;
  while (have < bytes) {
    iovec piece{into + have, bytes - have};
    std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got > 0) {
      collect(message, descriptors);
      have += static_cast<std::size_t>(got);
    } else if (got == 0) {
      return failure(have == 0 ? FrameFailure::Kind::closed : FrameFailure::Kind::malformed,
                     "the peer closed the channel");
    } else if (errno == EAGAIN) {
      if (auto failed = wait_for(socket, POLLIN, deadline, no_answer)) return std::move(*failed);
    } else if (errno != EINTR) {
      return failure(FrameFailure::Kind::closed, fmt::format("receive: {}", std::strerror(errno)));
    }
  }
  return {};
}

std::variant<Frame, FrameFailure> receive_into(Frame& frame, int socket, Deadline deadline,
                                               std::uint32_t cap) {
  Header header;
  // A process that waits for a frame has mostly just asked for it.
  if (auto failed = wait_for(socket, POLLIN, deadline, no_answer)) return std::move(*failed);
  auto state = receive_all(socket, reinterpret_cast<char*>(&header), sizeof header,
                           frame.descriptors, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&state)) return *failed;
  if (header.magic != magic || header.version != version || header.reserved != 0) {
    return failure(FrameFailure::Kind::malformed, "not a frame of this version");
  }
  if (header.length > cap)
    return failure(FrameFailure::Kind::malformed,
                   fmt::format("a frame of {} bytes", header.length));
  frame.type = header.type;
  frame.id = header.id;
  frame.body.resize(header.length);
  state = receive_all(socket, frame.body.data(), frame.body.size(), frame.descriptors, deadline);
  if (auto* failed = std::get_if<FrameFailure>(&state)) {
    if (failed->kind == FrameFailure::Kind::closed) failed->kind = FrameFailure::Kind::malformed;
    return *failed;
  }
  if (checksum(header, frame.body) != header.crc)
    return failure(FrameFailure::Kind::malformed, "wrong checksum");
  if (header.descriptors != frame.descriptors.size()) {
    return failure(FrameFailure::Kind::malformed, "wrong number of descriptors");
  }
  return std::move(frame);
}

}  // namespace

Deadline deadline_in(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::variant<std::monostate, FrameFailure> send_frame(int socket, const Frame& frame,
                                                      Deadline deadline) {
  if (frame.body.size() > frame_body_cap || frame.descriptors.size() > most_descriptors) {
    return failure(FrameFailure::Kind::malformed, "a frame over its cap");
  }
  Header header{magic,
                version,
                static_cast<std::uint16_t>(frame.descriptors.size()),
                static_cast<std::uint32_t>(frame.body.size()),
                frame.type,
                frame.id,
                0,
                0};
  header.crc = checksum(header, frame.body);
  return send_all(socket, {reinterpret_cast<const char*>(&header), sizeof header}, frame.body,
                  frame.descriptors, deadline);
}

std::variant<Frame, FrameFailure> receive_frame(int socket, Deadline deadline, std::uint32_t cap,
                                                std::string memory) {
  Frame frame;
  frame.body = std::move(memory);
  auto result = receive_into(frame, socket, deadline, cap);
  if (std::holds_alternative<FrameFailure>(result)) {
    for (const int descriptor : frame.descriptors) close(descriptor);
  }
  return result;
}

}  // namespace cupilot
