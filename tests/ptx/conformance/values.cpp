#include "ptx/conformance/values.hpp"

#include <algorithm>
#include <map>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

const Format* format_of(char kind) {
  switch (kind) {
    case 'e':
    case 'E':
      return &fp16;
    case 'b':
    case 'B':
      return &bf16;
    case 'f':
    case 't':
      return &fp32;
    case 'g':
      return &fp64;
    default:
      return nullptr;
  }
}

// Zero, subnormals, neighbours of the powers of two that matter, whole numbers with halves, the
// largest, infinity and NaNs.
std::vector<u64> float_edges(const Format& f) {
  const u64 one_bits = encode(f, of_integer(1), Round::nearest), unit = u64{1} << f.fraction;
  const u64 infinity = ((u64{1} << f.exponent) - 1) << f.fraction,
            sign = u64{1} << (f.fraction + f.exponent);
  std::vector<u64> out = {0,
                          1,
                          3,
                          unit - 1,
                          unit,
                          unit + 1,
                          infinity - 1,
                          infinity,
                          infinity | (unit / 2),
                          infinity | (unit / 4) | 1};
  for (const u64 v : {one_bits - unit, one_bits - 1, one_bits, one_bits + 1, one_bits + unit / 2,
                      one_bits + unit + unit / 2})
    out.push_back(v);
  out.push_back(one_bits + static_cast<u64>(f.fraction) * unit + 1);
  out.push_back(one_bits - static_cast<u64>(f.fraction + 1) * unit);
  for (const int power : {7, 8, 15, 16, 31, 32, 63, 64}) {
    if (power < 1 << (f.exponent - 1))
      out.push_back(encode(f, of_integer(s128{1} << power), Round::nearest));
  }
  for (std::size_t i = 0, n = out.size(); i < n; ++i) out.push_back(out[i] | sign);
  if (f.padding + f.fraction + f.exponent == 15)
    out.push_back(0x7ff7);  // what tensor copies put outside a tensor
  return out;
}

std::vector<u64> integer_edges(int bits) {
  const u64 top = u64{1} << (bits - 1);
  std::vector<u64> out = {0,
                          1,
                          2,
                          3,
                          7,
                          31,
                          32,
                          33,
                          127,
                          128,
                          255,
                          top - 1,
                          top,
                          top + 1,
                          0x1234567890abcdefu,
                          0xff00ff00ff00ff00u};
  for (std::size_t i = 0, n = 10; i < n; ++i) out.push_back(~out[i]);
  for (u64& v : out) v &= low_bits(bits);
  return out;
}

std::vector<u64> made_edges(char kind) {
  if (kind == 'p' || kind == 'c') return {0, 1};
  if (kind == 'n')
    return {0,  1,  2,  5,  8,   15,  16,     24,         31,        32,
            33, 63, 64, 65, 255, 256, 0x0101, 0x80000000, 0xffffffff};
  if (kind == 'q')
    return {0x0000, 0x0180, 0x7f7f, 0x7e7e, 0x7c7c, 0x7d7b, 0xfefc, 0xffff, 0x3839, 0x0807, 0x8081};
  const Format* format = format_of(kind);
  if (format == nullptr) return integer_edges(register_bits(kind));
  std::vector<u64> out = float_edges(*format);
  if (kind == 'E' || kind == 'B') {
    const std::vector<u64> half = out;
    for (std::size_t i = 0; i < half.size(); ++i)
      out[i] = half[i] | (half[(i * 7 + 3) % half.size()] << 16);
  }
  return out;
}

// A few ulps around -v, and around halves of its ulp in the next narrower format.
u64 near(const Format& f, u64 v, Generator& generator) {
  const u64 sign = u64{1} << (f.fraction + f.exponent);
  return (v ^ sign) + generator() % 5 - 2;
}

// Makes the last argument nearly cancel what comes before.
void relate(const std::string& kinds, Arguments& v, Generator& generator) {
  const Format* f = format_of(kinds[0]);
  if (f == nullptr || kinds.size() < 2 || kinds.find_first_not_of(kinds[0]) != std::string::npos)
    return;
  if (kinds[0] == 'E' || kinds[0] == 'B') return;
  const u64 mask = low_bits(register_bits(kinds[0]));
  if (kinds.size() == 2) {
    v[1] = near(*f, v[0], generator) & mask;
  } else {
    v[2] = near(*f, encode(*f, product(decode(*f, v[0]), decode(*f, v[1])), Round::nearest),
                generator) &
           mask;
  }
}

}  // namespace

const std::vector<u64>& edges(char kind) {
  static std::map<char, std::vector<u64>> known;
  auto& out = known[kind];
  if (out.empty()) out = made_edges(kind);
  return out;
}

u64 random_value(char kind, Generator& generator) {
  const auto& known = edges(kind);
  const u64 chance = generator() % 3;
  if (kind == 'p' || kind == 'c' || chance == 0) return known[generator() % known.size()];
  const int bits = register_bits(kind);
  if (chance == 1) return generator() & low_bits(bits);
  if (kind == 'n') return generator() % 70;
  const Format* format = format_of(kind);
  if (format == nullptr)
    return (known[generator() % known.size()] + generator() % 9 - 4) & low_bits(bits);
  // A number of moderate size.
  const auto one = [&] {
    Number v = of_integer(static_cast<s64>(generator()) >> 11);
    v.exponent = -53 + static_cast<int>(generator() % 24) - 8;
    return encode(*format, v, Round::nearest);
  };
  return kind == 'E' || kind == 'B' ? one() | (one() << 16) : one();
}

std::vector<Arguments> cases(const std::string& kinds, std::size_t most) {
  std::size_t all = 1;
  for (const char kind : kinds) all *= edges(kind).size();
  std::vector<Arguments> out;
  Generator generator(kinds.size() * 1000 + static_cast<u64>(kinds[0]));
  for (std::size_t i = 0; all <= most && i < all; ++i) {
    Arguments v{};
    for (std::size_t k = 0, rest = i; k < kinds.size(); ++k) {
      v[k] = edges(kinds[k])[rest % edges(kinds[k]).size()];
      rest /= edges(kinds[k]).size();
    }
    out.push_back(v);
  }
  const std::size_t wanted =
      std::max<std::size_t>((out.size() + 127) / 128 * 128, all <= most ? out.size() + 256 : most) /
      128 * 128;
  while (out.size() < wanted) {
    Arguments v{};
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const auto& known = edges(kinds[k]);
      v[k] = out.size() % 2 == 0 ? known[generator() % known.size()]
                                 : random_value(kinds[k], generator);
    }
    if (out.size() % 4 == 1) relate(kinds, v, generator);
    out.push_back(v);
  }
  return out;
}

}  // namespace conformance
