// Launches of kernels entry(memory, bytes, rounds), and their counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backend/compile/pool.hpp"
#include "backend/counters/counters.hpp"
#include "backend/worker/driver.hpp"

namespace counters {

using namespace cupilot;

struct Shape {
  std::int64_t bytes = 0, rounds = 1;
  int blocks = 0, threads = 0, shared = 0;
  double launched() const {
    return static_cast<double>(blocks) * threads * static_cast<double>(rounds);
  }
};

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

inline constexpr std::int64_t far_bytes =
    8ll << 30;  // of memory that kernels are given, filled with random bits

class Launcher {
 public:
  explicit Launcher(const std::vector<std::uint8_t>& image);
  // Until it ends.
  void launch(const char* entry, const Shape& shape) { burst(entry, shape, 1); }
  // `count` launches back to back: seconds until the last ends, by the host's clock.
  double burst(const char* entry, const Shape& shape, int count);
  // From now on kernels are given other memory, `bytes` of it, filled likewise; what they were
  // given stays taken.
  void move(std::int64_t bytes);

 private:
  CUmodule module_ = nullptr;
  CUdeviceptr memory_ = 0;
};

// The first device's context, made current.
CUcontext take_context(int& sms);
// The kernels of `cupilot peaks`, and `more` after them.
Result<std::vector<std::uint8_t>> image_with(CompilePool& pool, const std::string& more);
// One launch under a set of counters; the same launch before it leaves the caches as it will find
// them in every pass. Adds to `steps` what it took.
Result<std::vector<double>> counted(RangeCounters& ranges, Launcher& launcher, const char* entry,
                                    const Shape& shape, const std::vector<std::string>& metrics,
                                    nlohmann::json& steps);

}  // namespace counters
