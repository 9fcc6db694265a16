// Lenient reading of JSON that an endpoint sent: a field of another type reads as absent. Never
// throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace cupilot {

using WireJson = OrderedJson;

// Nesting beyond this is no reply: parsing it would only cost.
inline constexpr int deepest_reply = 64;

WireJson parse_wire(std::string_view text);  // discarded when it is none
// The member, or null.
const WireJson& at(const WireJson& object, const char* key);
const WireJson& first_of(const WireJson& array);               // or null
std::string text_at(const WireJson& object, const char* key);  // numbers as text
std::optional<std::int64_t> count_at(const WireJson& object, const char* key);
std::string dump(const WireJson& json);

}  // namespace cupilot
