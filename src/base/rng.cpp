#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection with full avalanche.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

Rng Rng::of(std::uint64_t seed, std::string_view purpose, std::uint64_t a, std::uint64_t b) {
  std::uint64_t key = mix(seed);
  for (const char c : purpose) key = mix(key ^ static_cast<unsigned char>(c));
  return Rng(key).fork(a, b);
}

Rng Rng::fork(std::uint64_t a, std::uint64_t b) const { return Rng(mix(mix(key_ ^ mix(a)) + b)); }

std::uint64_t Rng::next() { return mix(key_ ^ mix(counter_++)); }

double Rng::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::int64_t Rng::below(std::int64_t count) {
  const auto bound = static_cast<std::uint64_t>(count);
  // Rejecting the short last interval keeps every value equally likely.
  const std::uint64_t limit = bound * (~std::uint64_t{0} / bound);
  std::uint64_t draw = next();
  while (draw >= limit) draw = next();
  return static_cast<std::int64_t>(draw % bound);
}

}  // namespace cupilot
