#include "backend/captured/compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace cupilot {
namespace {

using Bytes = std::span<const std::uint8_t>;

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
  int digits;        // of a significand
  double tolerance;  // of a value
};
constexpr std::array<TypeRow, 4> rows = {{{"fp64", 8, 53, 0x1p-40},
                                          {"fp32", 4, 24, 0x1p-14},
                                          {"fp16", 2, 11, 0x1p-7},
                                          {"bf16", 2, 8, 0x1p-5}}};
const TypeRow& row(FloatType type) { return rows[static_cast<std::size_t>(type)]; }

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <class T>
T bits_at(Bytes from, std::uint64_t at) {
  T value{};
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

double value_at(Bytes from, std::uint64_t at, FloatType type) {
  switch (type) {
    case FloatType::f64:
      return bits_at<double>(from, at);
    case FloatType::f32:
      return static_cast<double>(bits_at<float>(from, at));
    case FloatType::f16:
      return half_value(bits_at<std::uint16_t>(from, at));
    default:
      return static_cast<double>(
          std::bit_cast<float>(std::uint32_t{bits_at<std::uint16_t>(from, at)} << 16));
  }
}

// Integers read as floats are very small, very large or none.
bool is_plain(double value) {
  const double size = std::fabs(value);
  return value == 0 || (size > 0x1p-90 && size < 0x1p90);
}

double ulps_between(double a, double b, FloatType type) {
  const double size = std::max({std::fabs(a), std::fabs(b), 0x1p-126});
  return std::fabs(a - b) / std::ldexp(1.0, std::ilogb(size) + 1 - row(type).digits);
}

// True if all differing values are roundings in this type.
std::optional<double> worst_rounding(Bytes ours, Bytes devices,
                                     const std::function<bool(std::uint64_t)>& wanted,
                                     FloatType type) {
  const TypeRow& as = row(type);
  double sum = 0, worst = 0;
  std::uint64_t values = 0;
  const auto each = [&](auto f) {
    for (std::uint64_t at = 0; at + as.bytes <= ours.size(); at += as.bytes) {
      if (wanted(at / 4) && !f(at)) return false;
    }
    return true;
  };
  each([&](std::uint64_t at) {
    const double value = value_at(devices, at, type);
    if (is_plain(value)) sum += std::fabs(value), ++values;
    return true;
  });
  const double mean = values == 0 ? 0 : sum / static_cast<double>(values);
  const bool all = each([&](std::uint64_t at) {
    if (std::memcmp(ours.data() + at, devices.data() + at, as.bytes) == 0) return true;
    const double a = value_at(ours, at, type), b = value_at(devices, at, type);
    if (std::isnan(a) && std::isnan(b)) return true;
    if (!is_plain(a) || !is_plain(b)) return false;
    worst = std::max(worst, ulps_between(a, b, type));
    return std::fabs(a - b) <= as.tolerance * std::max({std::fabs(a), std::fabs(b), mean});
  });
  return all ? std::optional(worst) : std::nullopt;
}

}  // namespace

std::string_view name_of(FloatType type) { return row(type).name; }

BufferDifference compare_left(Bytes ours, Bytes devices,
                              const std::function<bool(std::uint64_t word)>& wanted,
                              std::span<const FloatType> types) {
  BufferDifference out;
  const std::uint64_t end = std::min(ours.size(), devices.size());
  ours = ours.first(end);
  devices = devices.first(end);
  for (std::uint64_t at = 0; at < end; at += 4) {
    const std::uint64_t size = std::min<std::uint64_t>(4, end - at);
    if (std::memcmp(ours.data() + at, devices.data() + at, size) == 0 || !wanted(at / 4)) continue;
    for (std::uint64_t i = at; i < at + size; ++i) {
      if (ours[i] == devices[i]) continue;
      if (out.bytes++ == 0) out.first = i;
    }
  }
  if (out.bytes == 0) return out;
  for (const FloatType type : types) {
    const std::optional<double> worst = worst_rounding(ours, devices, wanted, type);
    if (!worst) continue;
    out.rounded = true;
    out.type = type;
    out.ulps = *worst;
    break;
  }
  if (!types.empty() && !out.rounded) out.type = types.front();
  const std::uint64_t size = types.empty() ? 4 : row(out.type).bytes, at = out.first / size * size;
  if (at + size > end) return out;
  out.words =
      types.empty()
          ? fmt::format("0x{:08x}, on the device 0x{:08x}", bits_at<std::uint32_t>(ours, at),
                        bits_at<std::uint32_t>(devices, at))
          : fmt::format("{:.9g}, on the device {:.9g}", value_at(ours, at, out.type),
                        value_at(devices, at, out.type));
  return out;
}

}  // namespace cupilot
