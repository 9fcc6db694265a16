// What all kinds of answers have to be before they are looked at.
#pragma once

#include <optional>
#include <string_view>

#include "agents/models/reply.hpp"

namespace cupilot {

// Why the answer as a whole is none; nothing: it is complete text.
std::optional<Unreadable> unreadable(const ChatReply& reply);

}  // namespace cupilot
