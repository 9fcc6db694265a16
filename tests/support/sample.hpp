// Draws a part of a campaign, so that a quick check runs some rows of each.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cupilot::testing {

// Percent of a campaign's rows to run, from CUPILOT_SAMPLE. default: 100
inline int sampled_percent() {
  const char* text = std::getenv("CUPILOT_SAMPLE");
  return text ? std::atoi(text) : 100;
}

// True if the row is among the drawn ones; CUPILOT_SAMPLE_SEED decides which those are.
inline bool is_drawn(std::string_view row) {
  const char* seed = std::getenv("CUPILOT_SAMPLE_SEED");
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (const char c : std::string(seed ? seed : "") + "/" + std::string(row)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  }
  return static_cast<int>((hash >> 20) % 100) < sampled_percent();
}

// The sampled part of a count, at least 1.
inline int sampled(int count) {
  const int part = count * sampled_percent() / 100;
  return part > 0 ? part : 1;
}

}  // namespace cupilot::testing
