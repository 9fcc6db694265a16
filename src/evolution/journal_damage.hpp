// A journal that cannot be read to its end: what a crash may leave, and what only a damaged disk or a stranger can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cupilot/result.hpp>

namespace cupilot {

// What lies behind a record that cannot be read.
struct Beyond {
  std::int64_t at = 0;       // the byte where that record begins
  std::int64_t records = 0;  // whole ones behind it
};

// `tail`: the file from byte `at` on.
Beyond look_beyond(std::string_view tail, std::int64_t at);

// Whether these first bytes of a journal are those of a run that died before its header was whole.
bool is_unborn(std::string_view bytes);

// Nothing can be read of a journal without its header. `damage`: what it looks like.
Error no_header(const std::string& path, const std::string& damage, const Beyond& beyond);

}  // namespace cupilot
