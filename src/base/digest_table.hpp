// What a long search remembers of every slot: a content hash and a number, 24 bytes each. It is
// laid out for as many as are expected at once, so that a search of a known budget grows no
// further; what was inserted stands without gaps, so that saving it copies nothing.
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

  // What was inserted, in that order, as bytes of this machine: the table's own, good until the
  // next insertion. And back into a table laid out for as many as `expected`. nullopt: these are
  // not such bytes.
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
