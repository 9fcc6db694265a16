// A predicate over a few numbers that is asked the same things again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace cupilot {

// Thread-safe. Holds at most `most` answers; beyond that it asks anew each time.
class Remembered {
 public:
  using Key = std::vector<std::int64_t>;
  explicit Remembered(std::size_t most = 1 << 16) : most_(most) {}

  bool operator()(const Key& key, const std::function<bool()>& ask) const {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = answers_.find(key); found != answers_.end()) return found->second;
    }
    const bool answer = ask();
    const std::unique_lock lock(mutex_);
    if (answers_.size() < most_) answers_.emplace(key, answer);
    return answer;
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = key.size();
      for (const std::int64_t word : key) {
        hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15ull;  // Fibonacci hashing
        hash ^= hash >> 32;
      }
      return static_cast<std::size_t>(hash);
    }
  };
  std::size_t most_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<Key, bool, Hash> answers_;
};

}  // namespace cupilot
