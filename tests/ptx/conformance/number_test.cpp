// The integer arithmetic of this folder against the host's floating-point unit. Compiled to mind
// rounding modes.
#include "ptx/conformance/number.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <utility>

#include "catch.hpp"
#include "ptx/conformance/values.hpp"

using namespace conformance;

namespace {

// fp32 and fp64 of the host's own unit in one of its rounding modes.
template <class T, class Bits>
void compare_with_host(const Format& format, int host_mode, Round round) {
  const auto rows = cases(sizeof(T) == 4 ? "fff" : "ggg", 20000);
  std::size_t differ = 0;
  std::fesetround(host_mode);
  for (const Arguments& v : rows) {
    volatile T a = std::bit_cast<T>(static_cast<Bits>(v[0])),
               b = std::bit_cast<T>(static_cast<Bits>(v[1]));
    volatile T c = std::bit_cast<T>(static_cast<Bits>(v[2]));
    const Number x = decode(format, v[0]), y = decode(format, v[1]), z = decode(format, v[2]);
    const auto same = [&](T host, const Number& number) {
      const u64 mine = encode(format, number, round);
      return host != host ? is_nan(format, mine) : std::bit_cast<Bits>(host) == mine;
    };
    const bool all = same(a + b, sum(x, y, round)) && same(a * b, product(x, y)) &&
                     same(a / b, quotient(x, y)) && same(std::sqrt(a), root(x)) &&
                     same(std::fma(a, b, c), sum(product(x, y), z, round)) &&
                     same(std::rint(a), rounded_whole(x, round));
    differ += all ? 0 : 1;
  }
  std::fesetround(FE_TONEAREST);
  CHECK(differ == 0);
}

}  // namespace

TEST_CASE("the arithmetic of these tests is the host's", "[conformance]") {
  const std::pair<int, Round> modes[] = {{FE_TONEAREST, Round::nearest},
                                         {FE_TOWARDZERO, Round::zero},
                                         {FE_DOWNWARD, Round::down},
                                         {FE_UPWARD, Round::up}};
  for (const auto& [host, round] : modes) {
    compare_with_host<float, u32>(fp32, host, round);
    compare_with_host<double, u64>(fp64, host, round);
  }
}
