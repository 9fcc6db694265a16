// Checks that hold for all kinds of answers.
#pragma once

#include <optional>
#include <string_view>

#include "agents/models/reply.hpp"

namespace cupilot {

// Returns the reason to reject the answer as a whole; nothing: it is complete text.
std::optional<Unreadable> unreadable(const ChatReply& reply);

}  // namespace cupilot
