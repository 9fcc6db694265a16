// Server-sent events, as their bytes come.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "llm/codec/formats.hpp"

namespace cupilot {

class EventSplitter {
 public:
  static constexpr std::size_t event_cap = 4u << 20;  // bytes of one event
  // Calls `take` for each whole event; false from it ends the feeding. False also when an event
  // exceeds the cap.
  bool feed(std::string_view bytes, const std::function<bool(const StreamEvent&)>& take);
  bool overflowed() const { return overflowed_; }

 private:
  bool line(const std::function<bool(const StreamEvent&)>& take);
  std::string line_;
  StreamEvent event_;
  bool after_return_ = false, has_data_ = false, overflowed_ = false;
};

}  // namespace cupilot
