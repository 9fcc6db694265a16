#include "numbers.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace cupilot::cli {

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        const bool number =
            read.ec == std::errc() && read.ptr == end && value >= least && value <= most;
        if (!number) return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
        text = std::to_string(value);
        return "";
      },
      "");
}

const CLI::Validator quantity(
    [](std::string& text) -> std::string {
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      const bool number = !text.empty() && *end == '\0' && std::isfinite(value) && value >= 0;
      return number ? "" : fmt::format("'{}' is no number from 0 on", text);
    },
    "");

}  // namespace cupilot::cli
