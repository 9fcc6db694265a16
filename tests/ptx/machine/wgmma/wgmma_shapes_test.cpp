// wgmma in every type over widths, swizzles and transpositions, against integer arithmetic: small
// whole numbers make every product and sum exact. The layouts in shared memory are written apart
// from the interpreter's.
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

using Bytes = std::vector<std::uint8_t>;

struct TypeRow {
  const char* name;
  int bytes, exponent, fraction;  // exponent 0: an integer
};
constexpr TypeRow types[] = {{"bf16", 2, 8, 7}, {"f16", 2, 5, 10}, {"tf32", 4, 8, 23},
                             {"e4m3", 1, 4, 3}, {"e5m2", 1, 5, 2}, {"s8", 1, 0, 0},
                             {"u8", 1, 0, 0}};

std::uint32_t encode(const TypeRow& type, int v) {
  if (type.exponent == 0) return static_cast<std::uint32_t>(v) & 0xff;
  if (v == 0) return 0;
  const auto size = static_cast<std::uint32_t>(std::abs(v));
  const int top = std::bit_width(size) - 1, bias = (1 << (type.exponent - 1)) - 1;
  const std::uint32_t fraction = (size - (1u << top)) << (type.fraction - top);
  return ((v < 0 ? 1u : 0u) << (type.exponent + type.fraction)) |
         (static_cast<std::uint32_t>(top + bias) << type.fraction) | fraction;
}

// A matrix of rows by 32 bytes of k as one of the canonical layouts.
struct Layout {
  int swizzle;  // bytes; 0: none
  bool transposed;
  int pitch() const { return swizzle == 0 ? 16 : swizzle; }
  // Bytes between groups of 8 rows (of k), and between units along the other side.
  int stride() const { return 8 * pitch(); }
  int leading(int rows) const { return transposed && swizzle != 0 ? 2 * stride() : rows / 8 * 128; }
  std::size_t place(int rows, int row, int byte) const {
    int at = 0;
    if (!transposed && swizzle == 0)
      at = row / 8 * 128 + row % 8 * 16 + byte / 16 * leading(rows) + byte % 16;
    if (!transposed && swizzle != 0) at = row * pitch() + byte;
    if (transposed) {
      const int k = byte / 2, wide = pitch() / 2;
      at = swizzle == 0
               ? row / 8 * 128 + k / 8 * leading(rows) + k % 8 * 16 + row % 8 * 2
               : row / wide * leading(rows) + k / 8 * stride() + k % 8 * pitch() + row % wide * 2;
    }
    const int mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return static_cast<std::size_t>(at ^ ((at / 128 & mask) * 16));
  }
  std::uint64_t descriptor(int rows) const {
    const std::uint64_t code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    const bool plain = swizzle == 0;
    const auto lead = static_cast<std::uint64_t>(leading(rows)) >> 4,
               step = static_cast<std::uint64_t>(plain ? 128 : stride()) >> 4;
    return (code << 62) | (lead << 16) | (step << 32);
  }
};

constexpr int tile_bytes = 256 * 128;

std::string text_of(const TypeRow& type, const char* sum, int n, const Layout& a, const Layout& b) {
  const bool halves = std::string(sum) == "f16";
  const int registers = n / (halves ? 4 : 2), k = 32 / type.bytes;
  std::string list, stores;
  for (int i = 0; i < registers; ++i) {
    list += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
    const int pair = halves ? i : i / 2;
    const int offset =
        ((8 * (pair % 2)) * n + pair / 2 * 8 + (halves ? 0 : i % 2)) * (halves ? 2 : 4);
    stores += fmt::format("  st.global.b32 [%pd+{}], %d{};\n", offset, i);
  }
  std::string tail = type.exponent == 0 ? "" : ", 1, 1";
  if (type.bytes == 2) tail += fmt::format(", {}, {}", a.transposed ? 1 : 0, b.transposed ? 1 : 0);
  return fmt::format(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry run(.param .u64 pa, .param .u64 pb, .param .u64 pd) {{
  .reg .b32 %d<130>, %t, %s, %i, %r<5>;
  .reg .b64 %pa, %pb, %pd, %da, %db;
  .reg .pred %q, %no;
  .shared .align 1024 .b8 a[{0}];
  .shared .align 1024 .b8 b[{0}];
  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %pd, [pd];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %pa, %t, 16, %pa;
  mad.wide.u32 %pb, %t, 16, %pb;
  mov.u32 %i, 0;
COPY:
  mad.lo.u32 %r4, %t, 16, %i;
  mov.u32 %s, a;
  add.u32 %s, %s, %r4;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%pa];
  st.shared.v4.b32 [%s], {{%r0, %r1, %r2, %r3}};
  mov.u32 %s, b;
  add.u32 %s, %s, %r4;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%pb];
  st.shared.v4.b32 [%s], {{%r0, %r1, %r2, %r3}};
  add.u64 %pa, %pa, 2048;
  add.u64 %pb, %pb, 2048;
  add.u32 %i, %i, 2048;
  setp.lt.u32 %q, %i, {0};
  @%q bra COPY;
  fence.proxy.async;
  bar.sync 0;
  mov.u32 %s, a;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %da, %s;
  or.b64 %da, %da, {1};
  mov.u32 %s, b;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %db, %s;
  or.b64 %db, %db, {2};
  setp.ne.u32 %no, %t, %t;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{3}k{4}.{5}.{6}.{6} {{{7}}}, %da, %db, %no{8};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  shr.u32 %r0, %t, 5;
  and.b32 %r1, %t, 31;
  shr.u32 %r2, %r1, 2;
  mad.lo.u32 %r2, %r0, 16, %r2;
  and.b32 %r1, %r1, 3;
  mul.lo.u32 %r1, %r1, 2;
  mad.lo.u32 %r2, %r2, {3}, %r1;
  mad.wide.u32 %pd, %r2, {9}, %pd;
{10}  ret;
}}
)",
                     tile_bytes / 2, a.descriptor(64), b.descriptor(n), n, k, sum, type.name, list,
                     tail, halves ? 2 : 4, stores);
}

float half_of(std::uint32_t h) {
  const std::uint32_t e = (h >> 10) & 31, f = h & 1023;
  const float m = e == 0 ? static_cast<float>(f) * 0x1p-24f
                         : std::bit_cast<float>(((e + 112) << 23) | (f << 13));
  return (h & 0x8000) != 0 ? -m : m;
}

void check_product(const TypeRow& type, const char* sum, int n, const Layout& la,
                   const Layout& lb) {
  INFO(type.name << " into " << sum << ", n = " << n << ", swizzles " << la.swizzle << " "
                 << lb.swizzle << ", transposed " << la.transposed << " " << lb.transposed);
  std::mt19937 generator(static_cast<unsigned>(n + la.swizzle));
  const int k = 32 / type.bytes;
  const auto matrix = [&](int rows, const Layout& layout, std::vector<int>& values) {
    Bytes out(tile_bytes / 2);
    for (int r = 0; r < rows; ++r) {
      for (int q = 0; q < k; ++q) {
        const int v = static_cast<int>(generator() % 9) - (type.name[0] == 'u' ? 0 : 4);
        values.push_back(v);
        const std::uint32_t bits = encode(type, v);
        std::memcpy(out.data() + layout.place(rows, r, q * type.bytes), &bits,
                    static_cast<std::size_t>(type.bytes));
      }
    }
    return out;
  };
  std::vector<int> a, b;
  Device d;
  const auto ia = d.input("A", matrix(64, la, a)), ib = d.input("B", matrix(n, lb, b));
  const bool halves = std::string(sum) == "f16";
  const auto out = d.output("D", static_cast<std::size_t>(64 * n * (halves ? 2 : 4)));
  const auto report =
      d.run(module_of(text_of(type, sum, n, la, lb)), "run", {1}, {128}, 0, P{ia}, P{ib}, P{out});
  REQUIRE(faults_of(report) == "");
  const auto words = d.values<std::uint32_t>(out);
  const auto pairs = d.values<std::uint16_t>(out);
  int wrong = 0;
  for (int r = 0; r < 64; ++r) {
    for (int c = 0; c < n; ++c) {
      int want = 0;
      for (int q = 0; q < k; ++q)
        want += a[static_cast<std::size_t>(r * k + q)] * b[static_cast<std::size_t>(c * k + q)];
      const auto at = static_cast<std::size_t>(r * n + c);
      const float got = halves ? half_of(pairs[at])
                        : type.exponent == 0
                            ? static_cast<float>(static_cast<std::int32_t>(words[at]))
                            : std::bit_cast<float>(words[at]);
      wrong += got != static_cast<float>(want) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("wgmma of every type and of many widths gives the product", "[wgmma]") {
  for (const TypeRow& type : types) {
    for (int n : {8, 24, 64, 136, 256}) {
      if (type.exponent == 0 && n == 136) n = 144;  // integers go by 16
      const Layout a{n % 64 == 0 ? 32 : 0, false}, b{n % 64 == 0 && n < 256 ? 32 : 0, false};
      check_product(type, type.exponent == 0 ? "s32" : "f32", n, a, b);
      const std::string name = type.name;
      if (name == "f16" || type.bytes == 1) {
        if (type.exponent != 0) check_product(type, "f16", n, a, b);
      }
    }
  }
}

TEST_CASE("wgmma reads every swizzle and transposition", "[wgmma]") {
  for (const int swizzle : {0, 32, 64, 128}) {
    for (const TypeRow& type : types)
      check_product(type, type.exponent == 0 ? "s32" : "f32", 64, {swizzle, false},
                    {swizzle == 0             ? 128
                     : swizzle / 2 % 128 < 32 ? 0
                                              : swizzle / 2,
                     false});
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true})
        check_product(types[0], "f32", 64, {swizzle, ta}, {swizzle, tb});
    }
    check_product(types[1], "f16", 128, {swizzle, true}, {swizzle, true});
  }
}
