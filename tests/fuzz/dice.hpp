// Draws that are the same in every run.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>

namespace cupilot::fuzz {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  char byte() { return static_cast<char>(engine_() & 0xff); }
  template <class T>
  const T& pick(std::span<const T> from) {
    return from[below(from.size())];
  }
  std::string noise(std::size_t bytes) {
    std::string out(bytes, '\0');
    for (char& c : out) c = byte();
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace cupilot::fuzz
