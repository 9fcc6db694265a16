// The known word nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupilot::cli {

// Empty when nothing is near: more than half of the word would have to change.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace cupilot::cli
