// The names that a text uses.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cupilot {

// Words and dotted words of an expression or of C++, each once; of functions the name too unless
// `calls` is false.
std::set<std::string> names_in(std::string_view text, bool calls = true);

}  // namespace cupilot
