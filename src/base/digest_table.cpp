#include "base/digest_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t least = 64;
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

}  // namespace

DigestTable::DigestTable(std::int64_t expected) {
  make_room(static_cast<std::size_t>(std::clamp<std::int64_t>(expected, least, most_expected)));
}

// Ids that are digests already are taken as they are.
DigestTable::Entry DigestTable::entry_of(std::string_view id, std::int64_t number) {
  Entry entry{0, 0, number};
  const bool digest = id.size() >= 2 * digits && read_hex(id.substr(0, digits), entry.high) &&
                      read_hex(id.substr(digits, digits), entry.low);
  return digest ? entry : entry_of(sha256_hex(id), number);
}

// Finds the entry's place, or the free place that it would take.
std::size_t DigestTable::place_of(const Entry& entry) const {
  const auto other = [&](std::uint32_t one) {
    return one != 0 && (entries_[one - 1].high != entry.high || entries_[one - 1].low != entry.low);
  };
  std::size_t place = entry.low & (places_.size() - 1);
  while (other(places_[place])) place = (place + 1) & (places_.size() - 1);
  return place;
}

// Room for `count` in all, of places four fifths taken at most.
void DigestTable::make_room(std::size_t count) {
  std::size_t places = least;
  while (4 * places < 5 * count) places *= 2;
  entries_.resize(count);
  places_.assign(places, 0);
  for (std::int64_t i = 0; i < size_; ++i)
    places_[place_of(entries_[static_cast<std::size_t>(i)])] = static_cast<std::uint32_t>(i + 1);
}

bool DigestTable::put(const Entry& entry) {
  std::uint32_t& place = places_[place_of(entry)];
  if (place != 0) return false;
  entries_[static_cast<std::size_t>(size_++)] = entry;
  place = static_cast<std::uint32_t>(size_);
  return true;
}

bool DigestTable::insert(std::string_view id, std::int64_t number) {
  if (size_ == room()) make_room(2 * entries_.size());
  return put(entry_of(id, std::max<std::int64_t>(0, number)));
}

std::int64_t DigestTable::find(std::string_view id) const {
  const std::uint32_t place = places_[place_of(entry_of(id, 0))];
  return place == 0 ? -1 : entries_[place - 1].number;
}

std::string_view DigestTable::bytes() const {
  return {reinterpret_cast<const char*>(entries_.data()),
          static_cast<std::size_t>(size_) * sizeof(Entry)};
}

std::optional<DigestTable> DigestTable::from_bytes(std::string_view bytes, std::int64_t expected) {
  if (bytes.size() % sizeof(Entry) != 0) return std::nullopt;
  const std::size_t count = bytes.size() / sizeof(Entry);
  DigestTable table(expected);
  if (count > table.entries_.size()) table.make_room(count);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.number < 0 || !table.put(entry)) return std::nullopt;
  }
  return table;
}

}  // namespace cupilot
