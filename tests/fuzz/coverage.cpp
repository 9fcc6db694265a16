#include "fuzz/coverage.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#ifdef __clang__
#define CUPILOT_UNTRACED __attribute__((no_sanitize("coverage", "address", "undefined")))
#else
#define CUPILOT_UNTRACED \
  __attribute__((no_sanitize_coverage, no_sanitize("address"), no_sanitize("undefined")))
#endif

namespace {

constexpr std::size_t places = 1 << 16;
// Not std::array, whose functions are traced themselves.
std::uint8_t seen[places];  // by pairs of blocks, since the last look
std::uint8_t known[places];
std::size_t known_places = 0;
std::uintptr_t before = 0;

}  // namespace

// The compiler calls it at each block. Threads may lose one another's marks, which costs a text
// that is kept once too often.
extern "C" CUPILOT_UNTRACED void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const std::uintptr_t mixed = (here ^ (before << 1)) * 0x9e3779b97f4a7c15u;
  seen[mixed >> 48] = 1;
  before = here;
}

namespace cupilot::fuzz {

CUPILOT_UNTRACED bool reached_new() {
  bool fresh = false;
  for (std::size_t i = 0; i < places; ++i) {
    if (seen[i] == 0) continue;
    seen[i] = 0;
    if (known[i] != 0) continue;
    known[i] = 1;
    ++known_places;
    fresh = true;
  }
  before = 0;
  return fresh;
}

void forget_reached() {
  std::fill(std::begin(seen), std::end(seen), std::uint8_t{0});
  std::fill(std::begin(known), std::end(known), std::uint8_t{0});
  known_places = 0;
}

std::size_t branches_reached() { return known_places; }

}  // namespace cupilot::fuzz
