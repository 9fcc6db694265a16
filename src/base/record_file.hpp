// Framed records in an append-only file: what a journal and a recorded landscape are made of.
// Frame: length u32 | type u32 | sequence u64 | payload | CRC-32C u32 over all before it; little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

std::uint32_t crc32c(std::string_view bytes);

struct FramedRecord {
  std::uint32_t type = 0;
  std::uint64_t sequence = 0;
  std::string payload;
};

constexpr std::size_t frame_overhead = 20;            // bytes beside the payload
constexpr std::uint32_t largest_payload = 64u << 20;  // a longer length is a damaged one

std::string frame(std::uint32_t type, std::uint64_t sequence, std::string_view payload);

struct ReadRecords {
  std::vector<FramedRecord> records;
  std::size_t valid_bytes = 0;  // the prefix made of whole, consecutive records
  std::string damage;           // "" when the file ends with a whole record, else what the tail looks like
};

// Reads up to the first frame that is short, fails its CRC or breaks the sequence 0, 1, 2 …
ReadRecords read_records(std::string_view bytes);

}  // namespace cupilot
