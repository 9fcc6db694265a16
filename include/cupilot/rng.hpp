// Counter-based random numbers: functions of (seed, purpose, counters), without state to save or
// order of use.
#pragma once

#include <cstdint>
#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// A Philox-like stream. Copying is cheap; `fork` makes an independent stream keyed by more numbers.
class Rng {
 public:
  explicit Rng(std::uint64_t key) : key_(key) {}
  static Rng of(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0,
                std::uint64_t b = 0);
  Rng fork(std::uint64_t a, std::uint64_t b = 0) const;

  std::uint64_t next();                    // 64 random bits
  double unit();                           // [0, 1)
  std::int64_t below(std::int64_t count);  // [0, count); count >= 1
  bool chance(double probability) { return unit() < probability; }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
