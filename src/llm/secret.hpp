// A key: text that only the header writer may read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

class Secret {
 public:
  Secret() = default;
  // `text` as read; at least 8 printable characters without blanks, see secret_from.
  explicit Secret(std::string text);
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  Secret(Secret&&) = default;
  Secret& operator=(Secret&&) = default;
  ~Secret();  // overwrites the text

  bool empty() const { return text_.empty(); }
  // `text` with every trace of the key replaced by "[key]": as it is, reversed, in base64
  // and hex, and with any of its characters escaped as in URLs, JSON or C, in upper or lower case.
  std::string scrub(std::string_view text) const;

 private:
  friend std::string key_header_value(std::string_view prefix, const Secret& secret);
  std::string text_;
  std::vector<std::string> traces_;  // longest first
};

// "Bearer " and the key. Called by the transport alone, as it writes the header.
std::string key_header_value(std::string_view prefix, const Secret& secret);

}  // namespace cupilot
