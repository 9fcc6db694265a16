// Share of the host's cores that a launch is interpreted with.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace cupilot::ptx {

// Launches in progress in this process share its cores. What a launch gives does not depend on its
// share.
class CoreShare {
 public:
  CoreShare() : others_(running_.fetch_add(1)) {}
  ~CoreShare() { running_.fetch_sub(1); }
  CoreShare(const CoreShare&) = delete;
  CoreShare& operator=(const CoreShare&) = delete;
  std::uint32_t threads() const {
    static const std::uint32_t cores = std::thread::hardware_concurrency();  // reads files
    return std::max(1u, cores / (others_ + 1));
  }

 private:
  static inline std::atomic<std::uint32_t> running_{0};
  std::uint32_t others_;
};

}  // namespace cupilot::ptx
