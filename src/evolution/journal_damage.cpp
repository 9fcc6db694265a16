#include "evolution/journal_damage.hpp"

#include <fmt/format.h>

#include "base/record_file.hpp"

namespace cupilot {

Beyond look_beyond(std::string_view tail, std::int64_t at) {
  Beyond beyond{at};
  find_records(tail, at, [&](const FramedRecord&) { ++beyond.records; });
  return beyond;
}

// Half a frame, or one whose size is on the disk where its bytes are not.
bool is_unborn(std::string_view bytes) {
  constexpr std::size_t largest_header = 1 << 20;
  if (bytes.size() > largest_header || look_beyond(bytes, 0).records > 0) return false;
  const bool empty_head = bytes.substr(0, frame_overhead).find_first_not_of('\0') == std::string_view::npos;
  return empty_head || is_within_first_frame(bytes);
}

Error no_header(const std::string& path, const std::string& damage, const Beyond& beyond) {
  if (beyond.records > 0) {
    return {ErrorCode::usage,
            fmt::format("{} is damaged: {}, which is its header; {} whole records lie behind it", path, damage, beyond.records),
            "put back a copy of it: without the header the run cannot be continued. Nothing was changed; kernels it tried are in "
            "blobs/ beside it"};
  }
  return {ErrorCode::usage, path + " holds no whole record: " + (damage.empty() ? "it is empty" : damage),
          "nothing was found yet: start again with `cupilot evolve … --run` and the same directory"};
}

}  // namespace cupilot
