// Values of registers and local memory before anything is written there: on a device whatever a
// former kernel left.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupilot::ptx {

// One warp's: not a number in every float type and -1, zeros, large positive numbers, or noise. A
// kernel that is right over one of them by luck meets another in the next warp or launch. Drawn
// from 0 it is 0xff everywhere.
class Unwritten {
 public:
  Unwritten() = default;
  explicit Unwritten(std::uint64_t drawn);

  void fill(std::uint8_t* to, std::size_t bytes) const;
  // Returns a byte of local memory: lanes and offsets differ where they are noise.
  std::uint8_t at(std::size_t index) const;

 private:
  const std::uint8_t* noise_ = nullptr;  // null: every byte is byte_
  std::uint8_t byte_ = 0xff;
};

}  // namespace cupilot::ptx
