// Text that others wrote, on its way into a prompt: cleaned, capped and fenced, so that it stays
// what it is, data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupilot {

// At most `most` bytes and a remark of what was left out. Control characters, invisible and
// direction-changing code points, bytes that are no UTF-8, fences, marks of chat formats and the
// folders of absolute paths go.
// `longest_fence`: characters of a fence that stay.
std::string tamed(std::string_view text, std::size_t most, std::size_t longest_fence = 2);

// Does as tamed(), on one line.
std::string tamed_line(std::string_view text, std::size_t most);

bool is_utf8(std::string_view text);

// Between marks that tamed text cannot contain. `name`: ours, never theirs.
std::string fenced(std::string_view name, std::string_view text, std::size_t most);

}  // namespace cupilot
