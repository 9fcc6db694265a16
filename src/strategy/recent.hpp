// The latest values by key, at most twice `most`; any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace cupilot {

template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}
  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = latest_.find(key); found != latest_.end()) return found->second;
    const auto found = before_.find(key);
    if (found == before_.end()) return std::nullopt;
    Value value = found->second;
    put(key, value);
    return value;
  }
  void keep(std::string key, Value value) {
    const std::lock_guard lock(mutex_);
    put(std::move(key), std::move(value));
  }

 private:
  void put(std::string key, Value value) {
    if (latest_.size() >= most_) before_ = std::exchange(latest_, {});
    latest_.insert_or_assign(std::move(key), std::move(value));
  }
  std::size_t most_;
  std::mutex mutex_;
  std::unordered_map<std::string, Value> latest_, before_;
};

}  // namespace cupilot
