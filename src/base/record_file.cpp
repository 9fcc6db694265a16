#include "base/record_file.hpp"

#include <array>
#include <cstring>
#include <utility>

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
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

namespace {

std::uint32_t crc_by_table(std::uint32_t crc, std::string_view bytes) {
  for (const char c : bytes)
    crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return crc;
}

#ifdef __x86_64__
// The processor's own instruction: a long journal is checked at the speed it is read.
__attribute__((target("sse4.2"))) std::uint32_t crc_by_processor(std::uint32_t crc,
                                                                 std::string_view bytes) {
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

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_processor(~before, bytes);
#endif
  return ~crc_by_table(~before, bytes);
}

namespace {

void put_head(std::string& bytes, std::uint32_t type, std::uint64_t sequence, std::size_t payload) {
  put(bytes, static_cast<std::uint32_t>(payload));
  put(bytes, type);
  put(bytes, sequence);
}

}  // namespace

void add_frame(std::string& bytes, std::uint32_t type, std::uint64_t sequence,
               std::string_view payload) {
  const std::size_t begin = bytes.size();
  put_head(bytes, type, sequence, payload.size());
  bytes += payload;
  put(bytes, crc32c(std::string_view(bytes).substr(begin)));
}

void add_frame(Pieces& bytes, std::uint32_t type, std::uint64_t sequence, Pieces payload) {
  std::string head, tail;
  put_head(head, type, sequence, payload.size());
  std::uint32_t checksum = crc32c(head);
  for (const std::string_view piece : payload.all()) checksum = crc32c(piece, checksum);
  put(tail, checksum);
  bytes.add(std::move(head));
  bytes.add(std::move(payload));
  bytes.add(std::move(tail));
}

void add_frames(Pieces& bytes, std::uint32_t type, std::uint64_t& sequence, Pieces payload,
                std::size_t most) {
  Pieces part;
  std::size_t room = most;
  for (std::string_view rest : payload.all()) {
    for (; rest.size() > room; room = most) {
      part.add(Pieces::looking_at(rest.substr(0, room)));
      rest.remove_prefix(room);
      add_frame(bytes, type, sequence++, std::exchange(part, {}));
    }
    part.add(Pieces::looking_at(rest));
    room -= rest.size();
  }
  add_frame(bytes, type, sequence++, std::move(part));
  bytes.keep(std::move(payload));
}

std::string frame(std::uint32_t type, std::uint64_t sequence, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + frame_overhead);
  add_frame(out, type, sequence, payload);
  return out;
}

std::uint32_t checksum_of(std::string_view bytes) {
  return get<std::uint32_t>(bytes, bytes.size() - 4);
}

namespace {

enum class Frame { whole, short_of_bytes, too_long, wrong };

// Reads the frame that begins there; `record` is set if the frame is whole.
Frame read_frame(std::string_view bytes, FramedRecord& record) {
  const std::size_t length = bytes.size() < frame_overhead ? 0 : get<std::uint32_t>(bytes, 0);
  if (length > largest_payload) return Frame::too_long;
  if (bytes.size() < frame_overhead + length) return Frame::short_of_bytes;
  record.checksum = get<std::uint32_t>(bytes, 16 + length);
  if (record.checksum != crc32c(bytes.substr(0, 16 + length))) return Frame::wrong;
  record.type = get<std::uint32_t>(bytes, 4);
  record.sequence = get<std::uint64_t>(bytes, 8);
  record.payload = bytes.substr(16, length);
  return Frame::whole;
}

}  // namespace

bool first_record(std::string_view bytes, FramedRecord& record) {
  return read_frame(bytes, record) == Frame::whole;
}

ReadRecords read_records(std::string_view bytes, std::int64_t begin, std::uint64_t first) {
  ReadRecords read;
  while (read.valid_bytes < bytes.size()) {
    FramedRecord record;
    record.at = begin + static_cast<std::int64_t>(read.valid_bytes);
    const std::string at = " at byte " + std::to_string(record.at);
    const Frame found = read_frame(bytes.substr(read.valid_bytes), record);
    read.cut_short = found == Frame::short_of_bytes;
    if (found == Frame::short_of_bytes || found == Frame::too_long) {
      read.damage = "a torn record" + at;
    } else if (found == Frame::wrong) {
      read.damage = "a record with a wrong checksum" + at;
    } else if (record.sequence != first + read.records.size()) {
      read.damage = "a record out of sequence" + at;
    }
    if (!read.damage.empty()) break;
    read.valid_bytes += frame_overhead + record.payload.size();
    read.records.push_back(std::move(record));
  }
  return read;
}

std::optional<std::string> take_frames(std::vector<FramedRecord>& records, std::size_t& at,
                                       std::uint32_t type) {
  if (at >= records.size() || records[at].type != type) return std::nullopt;
  std::string all = std::move(records[at++].payload);
  for (; at < records.size() && records[at].type == type; ++at)
    all += std::exchange(records[at].payload, {});
  return all;
}

bool is_within_first_frame(std::string_view bytes) {
  if (bytes.size() < frame_overhead) return true;
  const auto length = get<std::uint32_t>(bytes, 0);
  return length <= largest_payload && bytes.size() <= frame_overhead + length;
}

void find_records(std::string_view bytes, std::int64_t begin,
                  const std::function<void(const FramedRecord& record)>& found) {
  constexpr std::uint32_t most_types = 256;  // a head that names another is not worth a checksum
  FramedRecord record;
  for (std::size_t at = 0; at + frame_overhead <= bytes.size();) {
    const auto type = get<std::uint32_t>(bytes, at + 4);
    const bool likely =
        type > 0 && type < most_types && read_frame(bytes.substr(at), record) == Frame::whole;
    record.at = begin + static_cast<std::int64_t>(at);
    if (likely) found(record);
    at += likely ? frame_overhead + record.payload.size() : 1;
  }
}

// The finalizer of splitmix64: every bit of what came before tells.
void RecordMark::pass(std::uint32_t checksum) {
  ++records;
  std::uint64_t z = chain + 0x9E3779B97F4A7C15u + checksum;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  chain = z ^ (z >> 31);
}

}  // namespace cupilot
