// A request and its reply between the library and the worker that carries it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/http.hpp"

namespace cupilot {

enum class HttpMessage : std::uint32_t { request = 1, events = 2, reply = 3 };

struct WiredRequest {
  HttpRequest http;           // the key stands among its headers
  bool wants_events = false;  // events are sent as they come
};

// Without `cancel` and `events`, which stay here.
std::string pack(const HttpRequest& request);
std::optional<WiredRequest> unpack_http_request(std::string_view body);
std::string pack(const HttpReply& reply);
std::optional<HttpReply> unpack_http_reply(std::string_view body);

}  // namespace cupilot
