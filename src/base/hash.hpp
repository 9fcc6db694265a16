// Content hash of everything the project names by content.
#pragma once

#include <string>
#include <string_view>

namespace cupilot {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hex digits

}  // namespace cupilot
