// Bytes as text of RFC 4648, for images in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

std::string to_base64(const std::vector<std::uint8_t>& bytes);
// Null when the text is no base64 with padding.
std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text);

}  // namespace cupilot
