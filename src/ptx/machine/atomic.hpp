// The operations of atomics on a value in memory. Internal.
#pragma once

#include <atomic>
#include <cstdint>

#include "ptx/syntax/type.hpp"

namespace cupilot::ptx {

enum class AtomicOp : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_, exch, cas };

double half_value(std::uint16_t half, bool bf16);
// Nearest even; the sum of two halves is exact in double or far from a tie.
std::uint16_t half_bits(double value, bool bf16);

// The new value of `old` under op with b (and c: cas), all as raw bits.
std::uint64_t apply_atomic(AtomicOp op, Type type, std::uint64_t old, std::uint64_t b,
                           std::uint64_t c);
// True if atom and red have the operation on the type.
bool atomic_allowed(AtomicOp op, Type type);

class Spin {
 public:
  Spin(std::atomic_flag& flag, bool wanted) : flag_(flag), held_(wanted) {
    while (held_ && flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Spin() {
    if (held_) flag_.clear(std::memory_order_release);
  }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

 private:
  std::atomic_flag& flag_;
  bool held_;
};

}  // namespace cupilot::ptx
