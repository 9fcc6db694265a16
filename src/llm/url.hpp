// The address of an endpoint.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/result.hpp>

namespace cupilot {

struct Url {
  bool tls = true;
  std::string host;
  int port = 443;
  std::string path;  // without a slash at its end
};

// "https://host[:port][/path]". Error{usage}: anything else, names and passwords in it among them.
Result<Url> parse_url(std::string_view text);
// 127.0.0.0/8, ::1 and localhost.
bool is_this_machine(std::string_view host);
// True if a list such as "localhost,.example.com,host:8080" or "*" names the host.
bool listed_in(std::string_view list, std::string_view host, int port);
// The path of a format behind an endpoint's own: "/v1" is added where no version stands; a full
// path is left as it is.
std::string endpoint_path(const std::string& base, std::string_view format_path);

}  // namespace cupilot
