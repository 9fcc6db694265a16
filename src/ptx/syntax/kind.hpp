// Kinds of instructions, as a profile names them.
#pragma once

#include <string_view>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// "fp32 fma", "integer", "load shared", "tensor", "control" …; every form has one.
std::string_view kind_of(const Form& form);

}  // namespace cupilot::ptx
