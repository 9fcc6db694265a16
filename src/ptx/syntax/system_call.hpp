// Functions of the driver that compilers call for what a kernel says to its author.
#pragma once

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// assertion: __assertfail(message, file, line, function, bytes of a character). print:
// vprintf(format, arguments).
enum class SystemCall : std::uint8_t { none, assertion, print };

inline SystemCall system_call_of(const Function& function) {
  if (function.has_body || function.is_entry) return SystemCall::none;
  if (function.name == "__assertfail" && function.parameter_count == 5 &&
      function.result_count == 0)
    return SystemCall::assertion;
  if (function.name == "vprintf" && function.parameter_count == 2 && function.result_count == 1)
    return SystemCall::print;
  return SystemCall::none;
}

}  // namespace cupilot::ptx
