// What a long search remembers of every slot: a content hash and a number, 24 bytes each. It is laid out for as many as are
// expected at once, so that a search of a known budget grows no further.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

class DigestTable {
 public:
  explicit DigestTable(std::int64_t expected = 0);

  // False: it is there already and keeps its number.
  bool insert(std::string_view id, std::int64_t number);
  // The number of an id; -1: it is not there.
  std::int64_t find(std::string_view id) const;
  bool contains(std::string_view id) const { return find(id) >= 0; }
  std::int64_t size() const { return size_; }
  // So many before it grows.
  std::int64_t room() const { return static_cast<std::int64_t>(4 * entries_.size() / 5); }

  // What was inserted as bytes of this machine, and back into a table laid out for as many as `expected`. nullopt: these are
  // not such bytes.
  std::string bytes() const;
  static std::optional<DigestTable> from_bytes(std::string_view bytes, std::int64_t expected = 0);

 private:
  struct Entry {
    std::uint64_t high = 0, low = 0;  // of the id's digest
    std::int64_t number = -1;         // -1: empty
  };
  static Entry entry_of(std::string_view id, std::int64_t number);
  std::size_t place_of(const Entry& entry) const;
  bool put(const Entry& entry);

  std::vector<Entry> entries_;  // a power of two of them, open addressing
  std::int64_t size_ = 0;
};

}  // namespace cupilot
