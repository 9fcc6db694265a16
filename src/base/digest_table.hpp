// Remembers a content hash and a number of every slot of a long search, in 24 bytes each. The table
// is laid out for the expected number of entries, so that a search of a known budget never grows
// it; entries stand without gaps, so that saving copies nothing.
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
  std::int64_t room() const { return static_cast<std::int64_t>(entries_.size()); }

  // Returns the entries in order of insertion, as bytes of this machine: the table's own, valid
  // until the next insertion. from_bytes() reads them into a table laid out for `expected` entries;
  // nullopt: the bytes are no table.
  std::string_view bytes() const;
  static std::optional<DigestTable> from_bytes(std::string_view bytes, std::int64_t expected = 0);

 private:
  struct Entry {
    std::uint64_t high = 0, low = 0;  // of the id's digest
    std::int64_t number = 0;
  };
  static Entry entry_of(std::string_view id, std::int64_t number);
  std::size_t place_of(const Entry& entry) const;
  void make_room(std::size_t count);
  bool put(const Entry& entry);

  std::vector<Entry> entries_;  // the first size_ are what was inserted
  std::vector<std::uint32_t>
      places_;  // a power of two of them, open addressing: 1 + which entry is there; 0: none
  std::int64_t size_ = 0;
};

}  // namespace cupilot
