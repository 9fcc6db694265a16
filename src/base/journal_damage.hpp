// A journal that cannot be read to its end: what a crash may leave, and what only a damaged disk or
// a stranger can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cupilot/result.hpp>

namespace cupilot {

// The records found behind one that cannot be read.
struct Beyond {
  std::int64_t at = 0;       // the byte where that record begins
  std::int64_t records = 0;  // whole ones behind it
  // They were written after that record was safe on the disk, so that no crash can have left this.
  bool after_a_sync = false;
};

// The records read before it.
struct Before {
  std::uint64_t records = 0;
  std::int64_t proposals = 0;
};

// `tail`: the file from byte `at` on.
Beyond look_beyond(std::string_view tail, std::int64_t at, const Before& before);

// A refusal: what to do about damage that no crash leaves. `damage`: what it looks like.
Error damaged_journal(const std::string& path, const std::string& damage, const Beyond& beyond);
// A sentence on what a crash may have left. `next`: what becomes of it.
std::string torn_notice(const std::string& path, const std::string& damage, const Beyond& beyond,
                        const std::string& next);

// True if these first bytes of a journal come from a run that died before its header was whole.
bool is_unborn(std::string_view bytes);

// Nothing can be read of a journal without its header.
Error no_header(const std::string& path, const std::string& damage, const Beyond& beyond);

}  // namespace cupilot
