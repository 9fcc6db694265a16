#include "llm/http.hpp"

#include <poll.h>

#include <algorithm>

#include <fmt/core.h>

#include "backend/worker/process.hpp"
#include "llm/http_messages.hpp"

namespace cupilot {
namespace {

constexpr int look_ms = 10;         // between looks at `cancel`
constexpr double seconds_more = 5;  // beyond the request's, which the worker keeps itself
constexpr double seconds_a_frame = 20;

HttpReply failed(EndpointFault fault, std::string detail) {
  HttpReply reply;
  reply.fault = fault;
  reply.detail = std::move(detail);
  return reply;
}

HttpReply no_frame(const FrameFailure& failure, std::string detail) {
  if (failure.kind == FrameFailure::Kind::stopped) return failed(EndpointFault::cancelled, "");
  return failed(EndpointFault::unreachable, std::move(detail));
}

// Waits until the worker has something to say. none: it has.
EndpointFault wait_for(const Process& worker, const HttpRequest& request, Deadline deadline) {
  for (;;) {
    pollfd channel{worker.channel(), POLLIN, 0};
    if (poll(&channel, 1, look_ms) > 0) return EndpointFault::none;
    if (request.cancel != nullptr && request.cancel->load()) return EndpointFault::cancelled;
    if (Clock::now() > deadline) return EndpointFault::deadline;
  }
}

HttpReply carried(Process& worker, const HttpRequest& request) {
  const Deadline deadline = deadline_in(request.seconds + seconds_more);
  const Frame ask{static_cast<std::uint32_t>(HttpMessage::request), 1, pack(request), {}};
  if (const auto sent = send_frame(worker.channel(), ask, deadline);
      const auto* failure = std::get_if<FrameFailure>(&sent))
    return no_frame(*failure, "the worker took no request: " + failure->message);
  for (;;) {
    if (const EndpointFault fault = wait_for(worker, request, deadline);
        fault != EndpointFault::none)
      return failed(fault, fault == EndpointFault::deadline
                               ? fmt::format("nothing more within {:.1f} s", request.seconds)
                               : "");
    auto received = receive_frame(worker.channel(), deadline_in(seconds_a_frame));
    const auto* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) {
      const Ending ending = worker.kill();
      return no_frame(std::get<FrameFailure>(received), "the worker ended: " + describe(ending));
    }
    if (frame->type == static_cast<std::uint32_t>(HttpMessage::events)) {
      if (request.events && request.events(frame->body)) continue;
      HttpReply enough;  // no more is needed
      enough.status = 200;
      enough.streamed = true;
      return enough;
    }
    auto reply = unpack_http_reply(frame->body);
    return reply ? std::move(*reply)
                 : failed(EndpointFault::malformed, "the worker's reply does not fit");
  }
}

}  // namespace

HttpReply post(const HttpRequest& request, const std::string& worker_path) {
  const auto program = find_worker(worker_path);
  if (!program) return failed(EndpointFault::unreachable, program.error().message);
  auto worker = Process::start({*program, {"http"}, worker_environment(WorkerKind::http)});
  if (!worker) return failed(EndpointFault::unreachable, worker.error().message);
  return carried(*worker, request);
}

}  // namespace cupilot
