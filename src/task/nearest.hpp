// The known word a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cupilot {

// The word of least edit distance (insert, delete, replace), the first of several; "" when none is
// given.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// As nearest(), but "" if more than half of the word would have to change.
std::string_view close_to(std::string_view word, std::span<const std::string_view> known);

// "a, b, c".
std::string listed(std::span<const std::string_view> words);

}  // namespace cupilot
