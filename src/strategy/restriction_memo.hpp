// Keeps a restriction's answer for each combination of what it reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace cupilot {

// Any thread. Up to most_held combinations all answers are held; of more, the latest that fell into
// a place.
class RestrictionMemo {
 public:
  static constexpr std::uint64_t most_held = 1 << 21;
  static constexpr std::uint64_t most_combinations = 1ull << 61;

  // Keys are below `combinations`, which is at most most_combinations.
  explicit RestrictionMemo(std::uint64_t combinations)
      : all_(combinations <= most_held),
        words_(new Word[all_ ? (combinations + per_word - 1) / per_word : places]()) {}

  std::optional<bool> find(std::uint64_t key) const {
    const std::uint64_t held = words_[word_of(key)].load(std::memory_order_relaxed);
    const std::uint64_t bits = all_                   ? held >> shift_of(key) & 3
                               : held >> 2 == key + 1 ? held & 3
                                                      : 0;
    return bits == 0 ? std::nullopt : std::optional(bits == yes);
  }
  void keep(std::uint64_t key, bool answer) {
    const std::uint64_t bits = answer ? yes : no;
    Word& word = words_[word_of(key)];
    if (all_) {
      word.fetch_or(bits << shift_of(key), std::memory_order_relaxed);
    } else {
      word.store((key + 1) << 2 | bits, std::memory_order_relaxed);
    }
  }

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t no = 1, yes = 2, per_word = 32, places = 1 << 14;
  static std::uint64_t shift_of(std::uint64_t key) { return 2 * (key % per_word); }
  std::uint64_t word_of(std::uint64_t key) const {
    return all_ ? key / per_word
                : (key * 0x9E3779B97F4A7C15ull >> 32) % places;  // Fibonacci hashing
  }

  bool all_;
  std::unique_ptr<Word[]> words_;
};

}  // namespace cupilot
