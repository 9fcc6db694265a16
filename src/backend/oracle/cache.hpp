// Values that are expensive to make, shared between threads, kept while they fit: the least used
// are given up first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <cupilot/result.hpp>

namespace cupilot {

template <class Value>
class ByteCache {
 public:
  explicit ByteCache(std::int64_t cap) : cap_(cap) {}

  // The value of `key`; made by `make() -> Result<Value>` by the first thread to ask, while later
  // ones wait. A failure is not kept. `bytes_of(value)` says what it weighs; one that outweighs the
  // cap is returned but not kept.
  template <class Make, class Weigh>
  Result<std::shared_ptr<const Value>> get(const std::string& key, Make make, Weigh bytes_of) {
    const std::shared_ptr<Slot> slot = slot_of(key);
    const std::lock_guard<std::mutex> making(slot->mutex);
    if (slot->value) return slot->value;
    Result<Value> made = make();
    if (!made) {
      forget(key, slot);
      return made.error();
    }
    slot->value = std::make_shared<const Value>(std::move(*made));
    keep(key, slot, bytes_of(*slot->value));
    return slot->value;
  }

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    slots_.clear();
    held_ = 0;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Value> value;
    std::int64_t bytes = 0;  // 0: still being made
    std::uint64_t used = 0;
  };

  std::shared_ptr<Slot> slot_of(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Slot>& slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    slot->used = ++uses_;
    return slot;
  }

  void forget(const std::string& key, const std::shared_ptr<Slot>& slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = slots_.find(key);
    if (found != slots_.end() && found->second == slot) slots_.erase(found);
  }

  void keep(const std::string& key, const std::shared_ptr<Slot>& slot, std::int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto mine = slots_.find(key);
    if (mine == slots_.end() || mine->second != slot) return;
    slot->bytes = bytes < 1 ? 1 : bytes;
    held_ += slot->bytes;
    while (held_ > cap_) {
      auto oldest = slots_.end();
      for (auto it = slots_.begin(); it != slots_.end(); ++it) {
        if (it->second->bytes == 0) continue;
        if (oldest == slots_.end() || it->second->used < oldest->second->used) oldest = it;
      }
      held_ -= oldest->second->bytes;
      slots_.erase(oldest);
    }
  }

  std::int64_t cap_;
  std::int64_t held_ = 0;
  std::uint64_t uses_ = 0;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  std::mutex mutex_;
};

}  // namespace cupilot
