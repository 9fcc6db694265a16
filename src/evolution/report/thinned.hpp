// As many of a long series as a picture can show: those that were marked, and each so-manyth of the
// others.
#pragma once

#include <cstddef>
#include <vector>

namespace cupilot {

template <class T>
class Thinned {
 public:
  explicit Thinned(std::size_t most) : most_(most) {}

  // `marked`: it stays, whatever comes.
  void add(T one, bool marked) {
    const std::size_t number = seen_++;
    if (!marked && number % stride_ != 0) return;
    entries_.push_back({std::move(one), number, marked});
    while (entries_.size() > most_ && stride_ < seen_) {
      stride_ *= 2;
      std::erase_if(entries_, [&](const Entry& entry) {
        return !entry.marked && entry.number % stride_ != 0;
      });
    }
  }
  std::size_t seen() const { return seen_; }
  std::vector<T> taken() const {
    std::vector<T> all;
    for (const Entry& entry : entries_) all.push_back(entry.one);
    return all;
  }

 private:
  struct Entry {
    T one;
    std::size_t number;
    bool marked;
  };
  std::size_t most_, stride_ = 1, seen_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace cupilot
