#include "base/journal_damage.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/record_file.hpp"
#include "base/record_type.hpp"

namespace cupilot {
namespace {

// -1: it is no result's.
std::int64_t slot_of_result(std::string_view payload) {
  const SortedJson json = SortedJson::parse(payload, nullptr, false);
  const auto slot = json.is_object() ? json.find("slot") : json.end();
  return slot != json.end() && slot->is_number_integer() ? *slot->get_ptr<const std::int64_t*>()
                                                         : -1;
}

}  // namespace

// A batch, which is what a crash may find half on the disk, holds proposals alone, or results alone
// of proposals that were safe before, or one record of another type. So do whole records of the
// batch that is damaged.
Beyond look_beyond(std::string_view tail, std::int64_t at, const Before& before) {
  constexpr std::uint64_t alone_at_first = 2;  // header, baselines
  Beyond beyond{at};
  std::uint32_t type = 0;
  find_records(tail, at, [&](const FramedRecord& record) {
    ++beyond.records;
    if (type == 0) type = record.type;
    const bool result = record.type == static_cast<std::uint32_t>(RecordType::result);
    const bool alone = !result && record.type != static_cast<std::uint32_t>(RecordType::proposal);
    beyond.after_a_sync |=
        alone || record.type != type || record.at == at || before.records < alone_at_first;
    if (beyond.after_a_sync || !result) return;
    const std::int64_t slot = slot_of_result(record.payload);
    beyond.after_a_sync = slot < 0 || slot >= before.proposals;
  });
  return beyond;
}

Error damaged_journal(const std::string& path, const std::string& damage, const Beyond& beyond) {
  return {ErrorCode::usage,
          fmt::format("{} is damaged: {}, and {} whole records lie behind it. They were written "
                      "after what is damaged had been "
                      "synced, so that no crash did this. Nothing was changed",
                      path, damage, beyond.records),
          fmt::format("put back a copy of it, or give up what lies behind: `cp -p {0} {0}.damaged "
                      "&& truncate -s {1} {0}`",
                      path, beyond.at)};
}

std::string torn_notice(const std::string& path, const std::string& damage, const Beyond& beyond,
                        const std::string& next) {
  if (beyond.records == 0)
    return fmt::format("{} ended in {}, as a crash leaves it; {}", path, damage, next);
  return fmt::format(
      "{} is damaged: {}, with {} whole records behind it. Perhaps a crash did it while they were "
      "written; {}",
      path, damage, beyond.records, next);
}

// Half a frame, or one whose size is on the disk where its bytes are not.
bool is_unborn(std::string_view bytes) {
  constexpr std::size_t largest_header = 1 << 20;
  if (bytes.size() > largest_header || look_beyond(bytes, 0, {}).records > 0) return false;
  const bool empty_head =
      bytes.substr(0, frame_overhead).find_first_not_of('\0') == std::string_view::npos;
  return empty_head || is_within_first_frame(bytes);
}

Error no_header(const std::string& path, const std::string& damage, const Beyond& beyond) {
  if (beyond.records > 0) {
    return {ErrorCode::usage,
            fmt::format("{} is damaged: {}, which is its header; {} whole records lie behind it",
                        path, damage, beyond.records),
            "put back a copy of it: without the header the run cannot be continued. Nothing was "
            "changed; kernels it tried are in "
            "blobs/ beside it"};
  }
  return {
      ErrorCode::usage,
      path + " holds no whole record: " + (damage.empty() ? "it is empty" : damage),
      "nothing was found yet: start again with `cupilot evolve … --run` and the same directory"};
}

}  // namespace cupilot
