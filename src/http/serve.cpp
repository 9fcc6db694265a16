#include <sys/prctl.h>

#include <csignal>

#include "backend/worker/process.hpp"
#include "http/exchange.hpp"
#include "llm/http_messages.hpp"

namespace cupilot {

int serve_http() {
  constexpr double seconds_to_talk = 30;
  // Nobody takes the answer of a program that was killed, and endpoints bill as long as they write.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto received = receive_frame(worker_channel, deadline_in(seconds_to_talk));
  const auto* frame = std::get_if<Frame>(&received);
  if (frame == nullptr) return 3;
  auto request = unpack_http_request(frame->body);
  if (!request) return 3;
  const auto send = [&](HttpMessage type, std::string body) {
    const Frame out{static_cast<std::uint32_t>(type), frame->id, std::move(body), {}};
    const auto sent = send_frame(worker_channel, out, deadline_in(seconds_to_talk));
    return std::holds_alternative<std::monostate>(sent);
  };
  if (request->wants_events) {
    request->http.events = [&](std::string_view bytes) {
      return send(HttpMessage::events, std::string(bytes));
    };
  }
  return send(HttpMessage::reply, pack(exchange(request->http))) ? 0 : 3;
}

}  // namespace cupilot
