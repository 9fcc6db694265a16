#include "llm/codec/fault.hpp"

#include <algorithm>
#include <array>

namespace cupilot {
namespace {

using enum EndpointFault;

constexpr std::array rows = {
    FaultRow{unreachable, "unreachable", true, "no connection",
             "check the url, the network and HTTPS_PROXY"},
    FaultRow{certificate, "certificate", false, "TLS failed",
             "name the authority that signed it as ca_file"},
    FaultRow{proxy, "proxy", false, "the proxy refused",
             "check proxy in the models file, or HTTPS_PROXY"},
    FaultRow{deadline, "deadline", false, "no reply in time",
             "the endpoint is slow: raise seconds of the model"},
    FaultRow{cancelled, "cancelled", false, "given up by the asker", ""},
    FaultRow{cut, "cut", true, "the reply was cut off",
             "a proxy may end long replies: set stream to true"},
    FaultRow{too_large, "too_large", false, "the reply exceeds the cap",
             "this is no endpoint of a model: check the url"},
    FaultRow{redirect, "redirect", false, "a redirect, which is not followed",
             "set the url to where it points, if you trust it"},
    FaultRow{wrong_type, "wrong_type", false, "neither JSON nor an event stream",
             "a portal or proxy answers: check the url"},
    FaultRow{malformed, "malformed", true, "no reply of this format",
             "check that format fits the endpoint"},
    FaultRow{empty, "empty", true, "a reply without text",
             "raise output_tokens: thinking may use them up"},
    FaultRow{unauthorized, "unauthorized", false, "the key was refused",
             "check where the models file reads the key from"},
    FaultRow{not_found, "not_found", false, "no such model or path",
             "check model and url in the models file"},
    FaultRow{bad_request, "bad_request", false, "the request was refused",
             "check model, format and output_tokens"},
    FaultRow{too_long, "too_long", false, "the prompt exceeds the model's context",
             "choose a model with a longer context"},
    FaultRow{quota, "quota", false, "quota or credit is spent", "the account needs credit"},
    FaultRow{rate_limit, "rate_limit", true, "too many requests",
             "set requests_per_minute or tokens_per_minute"},
    FaultRow{overloaded, "overloaded", true, "overloaded", "try later"},
    FaultRow{server, "server", true, "the server failed", "try later"},
    FaultRow{odd_status, "odd_status", false, "a status that no endpoint of a model gives",
             "check the url"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].fault != static_cast<EndpointFault>(i + 1)) return false;
  }
  return true;
}
static_assert(in_order() && rows.back().fault == odd_status);

}  // namespace

std::span<const FaultRow> fault_rows() { return rows; }

const FaultRow& row_of(EndpointFault fault) { return rows[static_cast<std::size_t>(fault) - 1]; }

bool may_be_billed(EndpointFault fault, int status) {
  if (status != 0) return status >= 200 && status < 300;
  return fault != unreachable && fault != certificate && fault != proxy;
}

std::string excerpt(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= limit) return out + "…";
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : (c > ' ' && c <= '~') ? c : '?';
  }
  return out;
}

}  // namespace cupilot
