// The latest slots, and older ones that are still asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace cupilot {

template <class Slot>
class SlotStore {
 public:
  std::int64_t size() const { return first_ + static_cast<std::int64_t>(recent_.size()); }
  // All from it on are here.
  std::int64_t first() const { return first_; }
  const Slot* find(std::int64_t slot) const {
    if (slot >= first_)
      return slot < size() ? &recent_[static_cast<std::size_t>(slot - first_)] : nullptr;
    const auto found = older_.find(slot);
    return found == older_.end() ? nullptr : &found->second;
  }
  Slot* find(std::int64_t slot) { return const_cast<Slot*>(std::as_const(*this).find(slot)); }
  // The slot must be here.
  Slot& operator[](std::int64_t slot) { return *find(slot); }
  const Slot& operator[](std::int64_t slot) const { return *find(slot); }
  void append(Slot slot) { recent_.push_back(std::move(slot)); }
  // Forgets those before `first` that are not `needed`.
  void forget(std::int64_t first, const std::set<std::int64_t>& needed) {
    std::erase_if(older_, [&](const auto& entry) { return !needed.contains(entry.first); });
    for (; first_ < first; ++first_) {
      if (needed.contains(first_)) older_.emplace(first_, std::move(recent_.front()));
      recent_.pop_front();
    }
  }
  // As it was saved: older ones by slot, then those from `first` on, which are appended.
  const std::map<std::int64_t, Slot>& older() const { return older_; }
  void restore(std::int64_t first, std::map<std::int64_t, Slot> older) {
    first_ = first;
    recent_.clear();
    older_ = std::move(older);
  }

 private:
  std::int64_t first_ = 0;
  std::deque<Slot> recent_;
  std::map<std::int64_t, Slot> older_;
};

inline constexpr std::int64_t worth_forgetting = 128;  // slots at a time

}  // namespace cupilot
