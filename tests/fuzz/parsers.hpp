// Everything that parses what this library did not just write itself, each with texts to begin
// from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cupilot::fuzz {

using Texts = std::vector<std::string>;

struct Target {
  const char* name;
  Texts (*seeds)();
  // Whether the text was taken; it may do anything but crash, hang or throw.
  bool (*takes)(const std::string& text);
  // What is wrong with what was made of a text: it is refused when written and read again, say. ""
  // : nothing; null: not asked.
  std::string (*wrong)(const std::string& text) = nullptr;
};

std::span<const Target> targets();
// Of them, those that come from processes and networks.
std::span<const Target> wire_targets();

namespace detail {
template <class T>
std::string reason_of(const std::optional<T>&) {
  return "refused";
}
template <class T>
std::string reason_of(const T& refused) {
  return refused.error().message;
}
}  // namespace detail

// What a parser takes, its writer writes so that it is taken again, and the same then.
template <class Read, class Write>
std::string wrong_when_written(const std::string& text, const Read& read, const Write& write) {
  const auto first = read(text);
  if (!first) return "";
  const std::string written = write(*first);
  const auto again = read(written);
  if (!again) return "what was written is not taken: " + detail::reason_of(again);
  return write(*again) == written ? "" : "written otherwise the second time";
}

}  // namespace cupilot::fuzz
