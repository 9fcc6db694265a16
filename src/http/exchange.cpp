#include "http/exchange.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include "http/socket_bytes.hpp"

namespace cupilot {
namespace {

using Clock = std::chrono::steady_clock;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Ends the request when its time is over, the asker gives up, or a header grows without end: the
// library has no such limits, and its own stop() waits for a handshake. Holds a duplicate of the
// socket, whose number stays ours until the request has returned.
class Watch {
  static Clock::duration lasting(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

 public:
  explicit Watch(const HttpRequest& request)
      : request_(request),
        end_(Clock::now() + lasting(request.seconds)),
        heard_(Clock::now()),
        thread_([this] { run(); }) {}
  ~Watch() {
    finish();
    if (socket_ >= 0) ::close(socket_);
  }

  void connecting(int socket) {
    const std::lock_guard hold(mutex_);
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  }
  void header_read() {
    const std::lock_guard hold(mutex_);
    in_header_ = false;
    heard_ = Clock::now();
  }
  void heard() {
    const std::lock_guard hold(mutex_);
    heard_ = Clock::now();
  }
  // A line of the header that the library finds too long ends like a lost connection.
  bool stuck_in_header() {
    const std::lock_guard hold(mutex_);
    return in_header_ && socket_ >= 0 && received_bytes(socket_) > 2 * CPPHTTPLIB_HEADER_MAX_LENGTH;
  }
  // Returns the fault that ended the request, or none.
  EndpointFault finish() {
    {
      const std::lock_guard hold(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    return fault_;
  }

 private:
  void run() {
    std::unique_lock hold(mutex_);
    // There may be no connection yet to end, so it is repeated until the request has returned.
    while (!wake_.wait_for(hold, std::chrono::milliseconds(10), [this] { return over_; })) {
      if (fault_ == EndpointFault::none) fault_ = due();
      if (fault_ != EndpointFault::none && socket_ >= 0) abort_connection();
    }
  }

  // Without lingering the endpoint learns at once that nobody waits, however much it still has to
  // send.
  void abort_connection() const {
    const linger none{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::shutdown(socket_, SHUT_RDWR);
  }

  EndpointFault due() const {
    if (request_.cancel != nullptr && request_.cancel->load()) return EndpointFault::cancelled;
    if (Clock::now() >= end_) return EndpointFault::deadline;
    if (request_.silence > 0 && Clock::now() >= heard_ + lasting(request_.silence))
      return EndpointFault::deadline;
    // Handshake and header together stay far below this.
    const bool endless = in_header_ && socket_ >= 0 && received_bytes(socket_) > 4 * header_cap;
    return endless ? EndpointFault::too_large : EndpointFault::none;
  }

  const HttpRequest& request_;
  Clock::time_point end_, heard_;
  std::mutex mutex_;
  std::condition_variable wake_;
  int socket_ = -1;
  bool in_header_ = true, over_ = false;
  EndpointFault fault_ = EndpointFault::none;
  std::thread thread_;
};

EndpointFault fault_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::Success:
      return EndpointFault::none;
    case httplib::Error::Read:
    case httplib::Error::Write:
      return EndpointFault::cut;
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return EndpointFault::certificate;
    default:
      return EndpointFault::unreachable;
  }
}

// Takes header and body into `reply`, within the caps.
class Receiver {
 public:
  Receiver(const HttpRequest& request, HttpReply& reply, Watch& watch)
      : request_(request), reply_(reply), watch_(watch) {}

  bool header(const httplib::Response& response) {
    watch_.header_read();
    reply_.status = response.status;
    std::size_t size = 0;
    for (const auto& [name, value] : response.headers) {
      size += name.size() + value.size();
      if (size > header_cap) return fail(fmt::format("a header of more than {} bytes", header_cap));
      reply_.headers[lower(name)] = value;
    }
    const std::string type = lower(reply_.headers["content-type"]);
    reply_.streamed =
        response.status == 200 && request_.events && type.rfind("text/event-stream", 0) == 0;
    return true;
  }

  bool data(const char* bytes, std::size_t size) {
    watch_.heard();
    received_ += size;
    if (received_ > body_cap) return fail(fmt::format("a body of more than {} bytes", body_cap));
    if (!reply_.streamed) {
      reply_.body.append(bytes, size);
      return true;
    }
    enough_ = !request_.events({bytes, size});
    return !enough_;
  }

  bool enough() const { return enough_; }

 private:
  bool fail(std::string detail) {
    reply_.fault = EndpointFault::too_large;
    reply_.detail = std::move(detail);
    return false;
  }
  const HttpRequest& request_;
  HttpReply& reply_;
  Watch& watch_;
  std::size_t received_ = 0;
  bool enough_ = false;
};

void configure(httplib::Client& client, const HttpRequest& request) {
  const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(request.seconds));
  client.set_connection_timeout(
      std::min<std::chrono::microseconds>(limit, std::chrono::seconds(20)));
  client.set_read_timeout(limit + std::chrono::seconds(1));  // the watch comes first
  client.set_write_timeout(limit + std::chrono::seconds(1));
  client.set_follow_location(false);
  client.set_keep_alive(false);
  client.enable_server_certificate_verification(true);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file.c_str());
  if (!request.proxy_host.empty()) client.set_proxy(request.proxy_host, request.proxy_port);
}

}  // namespace

HttpReply exchange(const HttpRequest& request) {
  HttpReply reply;
  httplib::Client client(
      fmt::format("{}://{}:{}", request.tls ? "https" : "http", request.host, request.port));
  configure(client, request);
  Watch watch(request);
  client.set_socket_options([&](int socket) { watch.connecting(socket); });
  Receiver receiver(request, reply, watch);

  httplib::Request wire;
  wire.method = "POST";
  wire.path = request.path;
  for (const auto& [name, value] : request.headers) wire.set_header(name, value);
  wire.body = request.body;
  wire.response_handler = [&](const httplib::Response& response) {
    return receiver.header(response);
  };
  wire.content_receiver = [&](const char* bytes, std::size_t size, std::uint64_t, std::uint64_t) {
    return receiver.data(bytes, size);
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  client.send(wire, response, error);
  const EndpointFault ended = watch.finish();
  if (receiver.enough() || reply.fault != EndpointFault::none) return reply;
  if (ended != EndpointFault::none) {
    reply.fault = ended;
    reply.detail =
        ended == EndpointFault::deadline
            ? fmt::format("nothing more within {:.1f} s",
                          request.silence > 0 ? std::min(request.silence, request.seconds)
                                              : request.seconds)
            : "";
  } else if (error != httplib::Error::Success) {
    reply.fault = fault_of(error);
    if (reply.fault == EndpointFault::cut && reply.status == 0 && !request.proxy_host.empty())
      reply.fault = EndpointFault::proxy;
    if (reply.fault == EndpointFault::cut && watch.stuck_in_header())
      reply.fault = EndpointFault::too_large;
    const bool by_proxy = !request.proxy_host.empty();
    if (error == httplib::Error::Connection && by_proxy) reply.fault = EndpointFault::proxy;
    reply.detail =
        error == httplib::Error::Connection
            ? fmt::format("nothing answers at {}:{}", by_proxy ? request.proxy_host : request.host,
                          by_proxy ? request.proxy_port : request.port)
            : httplib::to_string(error);
  } else if (reply.status == 407) {
    reply.fault = EndpointFault::proxy;
    reply.detail = "status 407";
  }
  return reply;
}

}  // namespace cupilot
