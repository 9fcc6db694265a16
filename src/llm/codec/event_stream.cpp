#include "llm/codec/event_stream.hpp"

namespace cupilot {

bool EventSplitter::feed(std::string_view bytes,
                         const std::function<bool(const StreamEvent&)>& take) {
  for (const char c : bytes) {
    const bool second_half = after_return_ && c == '\n';  // of "\r\n"
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      if (!line(take)) return false;
      continue;
    }
    line_ += c;
    if (line_.size() + event_.data.size() > event_cap) {
      overflowed_ = true;
      return false;
    }
  }
  return true;
}

bool EventSplitter::line(const std::function<bool(const StreamEvent&)>& take) {
  std::string text;
  text.swap(line_);
  if (text.empty()) {
    StreamEvent event = std::move(event_);
    event_ = {};
    const bool whole = has_data_;
    has_data_ = false;
    return !whole || take(event);
  }
  const std::size_t colon = text.find(':');
  if (colon == 0) return true;  // a comment: keeps the connection alive
  std::string_view value =
      colon == text.npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  const std::string_view field = std::string_view(text).substr(0, colon);
  if (field == "event") event_.name = value;
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
  return true;
}

}  // namespace cupilot
