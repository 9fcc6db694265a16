// Framed messages between the controller and its worker processes, over a stream socket.
//
// Header (32 bytes, little-endian): magic u32, version u16, descriptors u16, length u32, type u32,
// id u64, crc u32, reserved u32; then the body. The CRC32C covers header (its own field zero) and
// body.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupilot {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
Deadline deadline_in(double seconds);

struct Frame {
  std::uint32_t type = 0;
  std::uint64_t id = 0;
  std::string body;
  std::vector<int> descriptors;  // received ones belong to the receiver
};

inline constexpr std::uint32_t frame_body_cap = 64u << 20;

// The reason for which no frame came. closed: the peer is gone. malformed: the peer must not be
// trusted any further. stopped: stop_flags() ended the wait; the rest of the frame may still come.
struct FrameFailure {
  enum class Kind { timeout, closed, malformed, stopped };
  Kind kind = Kind::closed;
  std::string message;
};

// Sends all of it before the deadline; descriptors travel by SCM_RIGHTS and stay open here.
std::variant<std::monostate, FrameFailure> send_frame(int socket, const Frame& frame,
                                                      Deadline deadline);

// One whole frame. A body longer than `cap` is malformed. The body is written into `memory`, that
// of an earlier one perhaps: memory that is new each time costs more than what is written there.
std::variant<Frame, FrameFailure> receive_frame(int socket, Deadline deadline,
                                                std::uint32_t cap = frame_body_cap,
                                                std::string memory = {});

}  // namespace cupilot
