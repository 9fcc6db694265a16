#include "base/digest_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"

namespace cupilot {
namespace {

constexpr std::size_t least = 64;
constexpr std::size_t digits = 16;  // of a half of the digest
constexpr std::int64_t most_expected = std::int64_t{1} << 20;

bool read_hex(std::string_view text, std::uint64_t& value) {
  value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    if (!digit && !letter) return false;
    value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return true;
}

// Four fifths full at most.
std::size_t room_for(std::int64_t expected) {
  std::size_t room = least;
  while (4 * room < 5 * static_cast<std::size_t>(expected)) room *= 2;
  return room;
}

}  // namespace

DigestTable::DigestTable(std::int64_t expected) : entries_(room_for(std::clamp<std::int64_t>(expected, 0, most_expected))) {}

// Ids that are digests already are taken as they are.
DigestTable::Entry DigestTable::entry_of(std::string_view id, std::int64_t number) {
  Entry entry{0, 0, number};
  const bool digest =
      id.size() >= 2 * digits && read_hex(id.substr(0, digits), entry.high) && read_hex(id.substr(digits, digits), entry.low);
  return digest ? entry : entry_of(sha256_hex(id), number);
}

// Where it is, or where it would be.
std::size_t DigestTable::place_of(const Entry& entry) const {
  std::size_t place = entry.low & (entries_.size() - 1);
  while (entries_[place].number >= 0 && (entries_[place].high != entry.high || entries_[place].low != entry.low)) {
    place = (place + 1) & (entries_.size() - 1);
  }
  return place;
}

bool DigestTable::put(const Entry& entry) {
  const std::size_t place = place_of(entry);
  if (entries_[place].number >= 0) return false;
  entries_[place] = entry;
  ++size_;
  return true;
}

bool DigestTable::insert(std::string_view id, std::int64_t number) {
  if (5 * static_cast<std::size_t>(size_ + 1) > 4 * entries_.size()) {
    DigestTable larger;
    larger.entries_.assign(2 * entries_.size(), Entry());
    for (const Entry& entry : entries_) {
      if (entry.number >= 0) larger.put(entry);
    }
    *this = std::move(larger);
  }
  return put(entry_of(id, std::max<std::int64_t>(0, number)));
}

std::int64_t DigestTable::find(std::string_view id) const { return entries_[place_of(entry_of(id, 0))].number; }

std::string DigestTable::bytes() const {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(size_) * sizeof(Entry));
  for (const Entry& entry : entries_) {
    if (entry.number >= 0) bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return bytes;
}

std::optional<DigestTable> DigestTable::from_bytes(std::string_view bytes, std::int64_t expected) {
  if (bytes.size() % sizeof(Entry) != 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(Entry));
  DigestTable table(std::max(expected, count));
  while (4 * table.entries_.size() < 5 * static_cast<std::size_t>(count)) table.entries_.resize(2 * table.entries_.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.number < 0 || !table.put(entry)) return std::nullopt;
  }
  return table;
}

}  // namespace cupilot
