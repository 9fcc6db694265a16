// One POST over HTTP or HTTPS, with caps and a deadline. A worker process carries it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/codec/fault.hpp"
#include "llm/secret.hpp"

namespace cupilot {

inline constexpr std::size_t header_cap = 64u << 10;  // bytes, all lines together
inline constexpr std::size_t body_cap = 16u << 20;

struct HttpRequest {
  bool tls = true;
  std::string host;
  int port = 443;
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;  // none of them secret
  std::string key_header, key_prefix;
  const Secret* key = nullptr;
  std::string body;
  std::string proxy_host;  // empty: none
  int proxy_port = 0;
  std::string ca_file;   // empty: the system's authorities
  double seconds = 120;  // for all of it; looking up the host's name is bounded by the system alone
  double silence = 0;    // seconds without a byte after which it ends; 0: no such limit
  const std::atomic<bool>* cancel = nullptr;
  // Takes the bytes of an event stream as they come; false: no more are needed.
  std::function<bool(std::string_view)> events;
};

struct HttpReply {
  EndpointFault fault = EndpointFault::none;  // of the transport
  std::string detail;
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  bool streamed = false;                       // went to `events`
  std::string body;                            // otherwise
};

// Starts a worker for the request and ends it with the reply. `worker_path`: as find_worker() takes
// it. A worker that cannot be had is EndpointFault::unreachable, with the reason as detail.
HttpReply post(const HttpRequest& request, const std::string& worker_path);

// Carries requests: post(), or something else on a simulated machine.
using HttpCarrier = std::function<HttpReply(const HttpRequest&)>;

}  // namespace cupilot
