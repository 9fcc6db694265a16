// Maps names to their meanings, found without a copy of the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupilot::ptx {

// Grows only. An empty one costs no memory: most scopes declare nothing.
template <class Value>
class NameTable {
 public:
  bool empty() const { return rows_.empty(); }

  // nullptr: no such name.
  const Value* find(std::string_view name) const {
    if (rows_.empty()) return nullptr;
    const std::size_t hash = std::hash<std::string_view>()(name);
    const std::uint32_t row = places_[place_of(name, hash)];
    return row == 0 ? nullptr : &rows_[row - 1].value;
  }

  // False: the name is there already, and keeps its value.
  bool add(std::string_view name, Value value) {
    if (2 * (rows_.size() + 1) > places_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>()(name);
    std::uint32_t& row = places_[place_of(name, hash)];
    if (row != 0) return false;
    rows_.push_back({std::string(name), hash, std::move(value)});
    row = static_cast<std::uint32_t>(rows_.size());
    return true;
  }

 private:
  struct Row {
    std::string name;
    std::size_t hash = 0;
    Value value;
  };

  // Returns the place at which the name's row is noted, or would be.
  std::size_t place_of(std::string_view name, std::size_t hash) const {
    const std::size_t mask = places_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      if (places_[at] == 0) return at;
      const Row& row = rows_[places_[at] - 1];
      if (row.hash == hash && row.name == name) return at;
    }
  }

  void grow() {
    places_.assign(places_.empty() ? 8 : 2 * places_.size(), 0);
    const std::size_t mask = places_.size() - 1;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      std::size_t at = rows_[row].hash & mask;
      while (places_[at] != 0) at = (at + 1) & mask;
      places_[at] = row + 1;
    }
  }

  std::vector<Row> rows_;
  std::vector<std::uint32_t>
      places_;  // 0: free, else a row's number from 1; a power of two of them, at most half taken
};

}  // namespace cupilot::ptx
