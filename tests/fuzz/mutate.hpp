// Changes to texts of any kind.
#pragma once

#include <string>

#include "fuzz/dice.hpp"

namespace cupilot::fuzz {

// One change: of a byte, a stretch, a number, or a stretch from another text.
void change(std::string& text, const std::string& other, Dice& dice);

}  // namespace cupilot::fuzz
