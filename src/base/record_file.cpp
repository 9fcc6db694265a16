#include "base/record_file.hpp"

#include <array>
#include <cstring>

namespace cupilot {
namespace {

// CRC-32C (Castagnoli), reflected polynomial 0x82F63B78.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) ? (value >> 1) ^ 0x82F63B78u : value >> 1;
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> crc_table = make_table();

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

template <class T>
T get(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

namespace {

std::uint32_t crc_by_table(std::uint32_t crc, std::string_view bytes) {
  for (const char c : bytes) crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return crc;
}

#ifdef __x86_64__
// The processor's own instruction: a long journal is checked at the speed it is read.
__attribute__((target("sse4.2"))) std::uint32_t crc_by_processor(std::uint32_t crc, std::string_view bytes) {
  std::uint64_t wide = crc;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    wide = __builtin_ia32_crc32di(wide, eight);
    bytes.remove_prefix(sizeof eight);
  }
  return crc_by_table(static_cast<std::uint32_t>(wide), bytes);
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_processor(~0u, bytes);
#endif
  return ~crc_by_table(~0u, bytes);
}

std::string frame(std::uint32_t type, std::uint64_t sequence, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + frame_overhead);
  put(out, static_cast<std::uint32_t>(payload.size()));
  put(out, type);
  put(out, sequence);
  out += payload;
  put(out, crc32c(out));
  return out;
}

ReadRecords read_records(std::string_view bytes) {
  ReadRecords read;
  while (read.valid_bytes < bytes.size()) {
    const std::string_view rest = bytes.substr(read.valid_bytes);
    const std::string at = " at byte " + std::to_string(read.valid_bytes);
    if (rest.size() < frame_overhead) {
      read.damage = "a torn record" + at;
      break;
    }
    const std::size_t length = get<std::uint32_t>(rest, 0);
    if (length > largest_payload || rest.size() < frame_overhead + length) {
      read.damage = "a torn record" + at;
      break;
    }
    if (get<std::uint32_t>(rest, 16 + length) != crc32c(rest.substr(0, 16 + length))) {
      read.damage = "a record with a wrong checksum" + at;
      break;
    }
    FramedRecord record{get<std::uint32_t>(rest, 4), get<std::uint64_t>(rest, 8), std::string(rest.substr(16, length))};
    if (record.sequence != read.records.size()) {
      read.damage = "a record out of sequence" + at;
      break;
    }
    read.records.push_back(std::move(record));
    read.valid_bytes += frame_overhead + length;
  }
  return read;
}

}  // namespace cupilot
