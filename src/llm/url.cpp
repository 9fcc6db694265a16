#include "llm/url.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

namespace cupilot {
namespace {

bool is_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  });
}

bool ends_in_version(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('/') + 1);
  return last.size() > 1 && last[0] == 'v' && last.find_first_not_of("0123456789", 1) == last.npos;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  // The text may hold a password: it is not repeated.
  const auto wrong = [](const char* why) {
    return Error{ErrorCode::usage, fmt::format("url: {}", why),
                 "write it as https://host[:port][/path]"};
  };
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.tls = false;
    url.port = 80;
  } else {
    return wrong("it starts with neither https:// nor http://");
  }
  std::string_view host = rest.substr(0, rest.find('/'));
  url.path = rest.substr(host.size());
  while (url.path.ends_with('/')) url.path.pop_back();
  if (host.find('@') != host.npos) return wrong("names and passwords do not belong there");
  if (url.path.find_first_of("?#\r\n ") != url.path.npos)
    return wrong("a path is all that may follow the host");
  if (const std::size_t colon = host.find(':'); colon != host.npos) {
    const std::string_view port = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size() || url.port < 1 ||
        url.port > 65535)
      return wrong("no port number");
    host = host.substr(0, colon);
  }
  if (!is_host(host)) return wrong("no host name");
  url.host = host;
  return url;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host.starts_with("127.");
}

bool listed_in(std::string_view list, std::string_view host, int port) {
  const std::string with_port = fmt::format("{}:{}", host, port);
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.starts_with('.')) one.remove_prefix(1);
    if (one == "*") return true;
    for (const std::string_view name : {host, std::string_view(with_port)}) {
      if (one.empty() || !name.ends_with(one)) continue;
      if (name.size() == one.size() || name[name.size() - one.size() - 1] == '.') return true;
    }
  }
  return false;
}

std::string endpoint_path(const std::string& base, std::string_view format_path) {
  if (base.ends_with(format_path)) return base;
  return base + (ends_in_version(base) ? "" : "/v1") + std::string(format_path);
}

}  // namespace cupilot
