// Framed records in an append-only file: what a journal and a recorded landscape are made of.
// Frame: length u32 | type u32 | sequence u64 | payload | CRC-32C u32 over all before it;
// little-endian.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/pieces.hpp"

namespace cupilot {

// `before`: of the bytes that these follow.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

struct FramedRecord {
  std::uint32_t type = 0;
  std::uint64_t sequence = 0;
  std::string payload;
  std::uint32_t checksum = 0;  // of its frame
  std::int64_t at = 0;         // byte where its frame begins
};

constexpr std::size_t frame_overhead = 20;            // bytes beside the payload
constexpr std::uint32_t largest_payload = 64u << 20;  // a longer length is a damaged one

// Returns the checksum of the last frame in `bytes`, which must be whole.
std::uint32_t checksum_of(std::string_view bytes);
void add_frame(std::string& bytes, std::uint32_t type, std::uint64_t sequence,
               std::string_view payload);
void add_frame(Pieces& bytes, std::uint32_t type, std::uint64_t sequence, Pieces payload);
// In as many frames of at most `most` bytes as it takes, at least one; `sequence`: of the first,
// then of what follows them.
void add_frames(Pieces& bytes, std::uint32_t type, std::uint64_t& sequence, Pieces payload,
                std::size_t most = largest_payload);
std::string frame(std::uint32_t type, std::uint64_t sequence, std::string_view payload);

struct ReadRecords {
  std::vector<FramedRecord> records;
  std::size_t valid_bytes = 0;  // the prefix made of whole, consecutive records
  std::string damage;  // "" when the file ends with a whole record, else what the tail looks like
  bool cut_short = false;  // the damage: more bytes could make the last frame whole
};

// Reads up to the first frame that is short, fails its CRC or breaks the sequence 0, 1, 2 … Of a
// part of a file: where in it the part begins, and with which number.
ReadRecords read_records(std::string_view bytes, std::int64_t begin = 0, std::uint64_t first = 0);

// Takes the joined contents of the frames of that type from `at` on and moves `at` behind them.
// nullopt: there is none.
std::optional<std::string> take_frames(std::vector<FramedRecord>& records, std::size_t& at,
                                       std::uint32_t type);

// The first of `bytes`, whatever its number. False: it is not whole.
bool first_record(std::string_view bytes, FramedRecord& record);

// True if the length at their head, where there is one, says that no second frame begins in them.
bool is_within_first_frame(std::string_view bytes);

// Every whole frame in `bytes` of a type other than 0, wherever it begins and whatever its number:
// what is left behind a damaged one.
void find_records(std::string_view bytes, std::int64_t begin,
                  const std::function<void(const FramedRecord& record)>& found);

// A length of a file of records, and the digest of its contents up to there.
struct RecordMark {
  std::uint64_t records = 0, chain = 0;
  void pass(std::uint32_t checksum);  // one frame further
  bool operator==(const RecordMark&) const = default;
};

}  // namespace cupilot
