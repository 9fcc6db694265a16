// Reasons for a request without reply, and their consequences: one table for transport, codecs and
// documentation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cupilot {

enum class EndpointFault : std::uint8_t {
  none,
  unreachable,   // no connection, or it was lost before a status
  certificate,   // TLS failed
  proxy,         // the proxy failed
  deadline,      // the exchange's seconds are over
  cancelled,     // the asker gave up
  cut,           // the reply ended before its end
  too_large,     // header or body over the caps
  redirect,      // 3xx
  wrong_type,    // 200 with a content type that is neither JSON nor an event stream
  malformed,     // 200 that is not a reply of the format
  empty,         // a reply without text
  unauthorized,  // 401, 403
  not_found,     // 404, 405
  bad_request,   // other 4xx
  too_long,      // the prompt exceeds the model's context
  quota,         // credit or quota spent
  rate_limit,    // 429
  overloaded,    // 503, 529
  server,        // 408, 409, other 5xx
  odd_status,    // anything else
};

struct FaultRow {
  EndpointFault fault;
  std::string_view name;
  bool retried;              // the same request is sent again
  std::string_view meaning;  // of the message
  std::string_view next;     // step
};

// Every fault but none, in the order of the enum.
std::span<const FaultRow> fault_rows();
const FaultRow& row_of(EndpointFault fault);

// True if the request may have been answered, and so billed: the status of an error and a failed
// connection say it was not.
bool may_be_billed(EndpointFault fault, int status);

// Makes text that came from outside fit to be shown: one line of printable characters, at most
// `limit` bytes.
std::string excerpt(std::string_view text, std::size_t limit = 300);

}  // namespace cupilot
