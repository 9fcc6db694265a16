// Forms that few kernels hold, against host arithmetic of their own: comparisons into registers, packed and narrow types, stacks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "catch.hpp"
#include "ptx/runner.hpp"

using namespace support;
using P = Device::Pointer;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u64 = std::uint64_t;

namespace {

struct In {
  u64 a, b, c;
};

// Registers of every width hold the three inputs: h1 h2 h3, r1 r2 r3, d1 d2 d3; p1 is whether the lane is odd. d0 is the result.
std::string kernel_of(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 in, .param .u64 out) {\n"
         ".reg .pred p<8>;\n.reg .b8 c<8>;\n.reg .b16 h<8>;\n.reg .b32 r<8>;\n.reg .b64 d<8>;\n.reg .b64 x<4>;\n.reg .b32 t<4>;\n"
         "ld.param.u64 x0, [in];\nld.param.u64 x1, [out];\nmov.u32 t0, %ctaid.x;\nmov.u32 t1, %ntid.x;\nmov.u32 t2, %tid.x;\n"
         "mad.lo.u32 t0, t0, t1, t2;\nmad.wide.u32 x0, t0, 24, x0;\nmad.wide.u32 x1, t0, 8, x1;\nld.global.u64 d1, [x0];\n"
         "ld.global.u64 d2, [x0+8];\nld.global.u64 d3, [x0+16];\ncvt.u32.u64 r1, d1;\ncvt.u32.u64 r2, d2;\ncvt.u32.u64 r3, d3;\n"
         "cvt.u16.u32 h1, r1;\ncvt.u16.u32 h2, r2;\ncvt.u16.u32 h3, r3;\nand.b32 t1, t0, 1;\nsetp.ne.u32 p1, t1, 0;\n"
         "mov.u64 d0, 0;\nmov.u32 r0, 0;\nmov.u16 h0, 0;\n" +
         body + "\nst.global.u64 [x1], d0;\nret;\n}\n";
}

const std::string from_word = " cvt.u64.u32 d0, r0;", from_half = " cvt.u64.u16 d0, h0;";

std::vector<In> inputs(bool halves) {
  std::mt19937_64 generator(7);
  std::vector<u64> edges = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,         0x00008000, 0x80007fff,
                            0xff800000, 0x7fff7fff, 0x80008000, 0x00ff0100, 0x123456789abcdef0, ~u64{0},    u64{1} << 63,
                            255,        65535};
  if (halves) {
    edges.clear();
    for (const u64 h : {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00,
                        0xfc00, 0x7fff, 0xffff, 0x7ff7, 0x3f80, 0xbf80, 0x0080, 0x7f80, 0xff80, 0x007f, 0x7e01})
      edges.push_back(h | (generator() & 0xffff) << 16);
  }
  std::vector<In> out;
  for (const u64 a : edges) {
    for (const u64 b : edges) out.push_back({a, b, edges[generator() % edges.size()]});
  }
  while (out.size() % 128 != 0 || out.size() < 1024) {
    const u64 a = generator();
    out.push_back({a, generator() % 8 == 0 ? a : generator(), generator()});
  }
  return out;
}

using Want = u64 (*)(const In&, bool odd);

void check(const std::string& body, Want want, bool halves = false) {
  const std::vector<In> in = inputs(halves);
  Device device;
  const auto ia = device.input("in", in), io = device.output("out", in.size() * 8);
  const auto blocks = static_cast<u32>(in.size() / 128);
  const auto report = device.run(module_of(kernel_of(body)), "run", {blocks}, {128}, 0, P{ia}, P{io});
  INFO(body);
  REQUIRE(faults_of(report) == "");
  const auto out = device.values<u64>(io);
  std::size_t wrong = in.size();
  for (std::size_t i = in.size(); i-- > 0;) {
    if (out[i] != want(in[i], i % 2 != 0)) wrong = i;
  }
  if (wrong == in.size()) return;
  INFO(std::hex << "of " << in[wrong].a << ", " << in[wrong].b << ", " << in[wrong].c << ": " << out[wrong] << " instead of "
                << want(in[wrong], wrong % 2 != 0));
  CHECK(false);
}

// ---- 16-bit floats by the host's own fp16, and bf16 by fp32.

float fp16(u64 h) { return static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(h))); }
float bf16(u64 h) { return std::bit_cast<float>(static_cast<u32>(h & 0xffff) << 16); }
u64 to_fp16(double x) { return std::isnan(x) ? 0x7fff : std::bit_cast<u16>(static_cast<_Float16>(x)); }
double flushed(double x, double least) { return std::fabs(x) < least ? std::copysign(0.0, x) : x; }

template <class F>
u64 both(u64 a, u64 b, F f) {
  return f(a & 0xffff, b & 0xffff) | f((a >> 16) & 0xffff, (b >> 16) & 0xffff) << 16;
}

// min and max: zeros of two signs are ordered, NaN loses unless `nan`.
u64 pick(u64 a, u64 b, float (*value)(u64), bool greatest, bool nan, bool xorsign) {
  a &= 0xffff, b &= 0xffff;
  const u64 sign = (a ^ b) & 0x8000;
  if (xorsign) a &= 0x7fff, b &= 0x7fff;
  const float x = value(a), y = value(b);
  u64 r = 0;
  if (std::isnan(x) || std::isnan(y)) {
    r = nan || (std::isnan(x) && std::isnan(y)) ? 0x7fff : std::isnan(x) ? b : a;
  } else if (x == y) {
    r = (std::signbit(x) != 0) == greatest ? b : a;
  } else {
    r = (x < y) != greatest ? a : b;
  }
  return xorsign && r != 0x7fff ? (r & 0x7fff) | sign : r;  // a NaN has no sign
}

s64 clamp_to(s64 v, s64 low, s64 high) { return std::clamp(v, low, high); }
s32 word(u64 v) { return static_cast<s32>(v); }
s64 half_of(u64 v, int which) { return static_cast<std::int16_t>(v >> (16 * which)); }

}  // namespace

TEST_CASE("set writes ones or 1.0 into registers of every type", "[isa]") {
  check("set.lt.u32.s32 r0, r1, r2;" + from_word, [](const In& i, bool) { return word(i.a) < word(i.b) ? u64{0xffffffff} : 0; });
  check("set.hs.and.f32.u32 r0, r1, r2, p1;" + from_word,
        [](const In& i, bool odd) { return odd && static_cast<u32>(i.a) >= static_cast<u32>(i.b) ? u64{0x3f800000} : 0; });
  check("set.ge.f16.s64 h0, d1, d2;" + from_half,
        [](const In& i, bool) { return static_cast<s64>(i.a) >= static_cast<s64>(i.b) ? u64{0x3c00} : 0; });
  check("set.ne.bf16.u16 h0, h1, h2;" + from_half, [](const In& i, bool) { return u16(i.a) != u16(i.b) ? u64{0x3f80} : 0; });
  check(
      "set.leu.u16.f16 h0, h1, h2;" + from_half, [](const In& i, bool) { return !(fp16(i.a) > fp16(i.b)) ? u64{0xffff} : 0; },
      true);
  check(
      "set.nan.bf16.bf16 h0, h1, h1;" + from_half, [](const In& i, bool) { return std::isnan(bf16(i.a)) ? u64{0x3f80} : 0; },
      true);
  check(
      "set.gt.ftz.f16.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return flushed(fp16(i.a), 0x1p-14) > flushed(fp16(i.b), 0x1p-14) ? u64{0x3c00} : 0; }, true);
}

TEST_CASE("set on packed halves writes each half", "[isa]") {
  check(
      "set.gt.f16x2.f16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) { return both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) > fp16(b) ? u64{0x3c00} : 0; }); }, true);
  check(
      "set.equ.bf16x2.bf16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) {
        return both(i.a, i.b, [](u64 a, u64 b) {
          return bf16(a) == bf16(b) || std::isnan(bf16(a)) || std::isnan(bf16(b)) ? u64{0x3f80} : 0;
        });
      },
      true);
  check(
      "set.neu.u32.f16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) { return both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) == fp16(b) ? 0 : u64{0xffff}; }); }, true);
  check(
      "set.le.xor.f16x2.f16x2 r0, r1, r2, !p1;" + from_word,
      [](const In& i, bool odd) {
        return odd ? both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) <= fp16(b) ? u64{0x3c00} : 0; })
                   : both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) <= fp16(b) ? 0 : u64{0x3c00}; });
      },
      true);
  check(
      "setp.lt.ftz.f16x2 p2|p3, r1, r2; selp.u32 r4, 1, 0, p2; selp.u32 r5, 2, 0, p3; or.b32 r0, r4, r5;" + from_word,
      [](const In& i, bool) {
        const auto less = [](u64 a, u64 b) { return flushed(fp16(a), 0x1p-14) < flushed(fp16(b), 0x1p-14); };
        return u64{less(i.a, i.b)} + (less(i.a >> 16, i.b >> 16) ? 2 : 0);
      },
      true);
}

TEST_CASE("min and max of halves order zeros, NaN and magnitudes", "[isa]") {
  check(
      "min.f16 h0, h1, h2;" + from_half, [](const In& i, bool) { return pick(i.a, i.b, fp16, false, false, false); }, true);
  check(
      "max.NaN.f16 h0, h1, h2;" + from_half, [](const In& i, bool) { return pick(i.a, i.b, fp16, true, true, false); }, true);
  check(
      "min.xorsign.abs.f16 h0, h1, h2;" + from_half, [](const In& i, bool) { return pick(i.a, i.b, fp16, false, false, true); },
      true);
  check(
      "max.NaN.xorsign.abs.bf16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return pick(i.a, i.b, bf16, true, true, true); }, true);
  check(
      "max.xorsign.abs.bf16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) { return both(i.a, i.b, [](u64 a, u64 b) { return pick(a, b, bf16, true, false, true); }); }, true);
  check(
      "min.NaN.f16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) { return both(i.a, i.b, [](u64 a, u64 b) { return pick(a, b, fp16, false, true, false); }); }, true);
}

TEST_CASE("arithmetic of halves that saturates flushed values, or is zero outside a tensor", "[isa]") {
  check(
      "add.ftz.sat.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) {
        const double sum = flushed(fp16(to_fp16(flushed(fp16(i.a), 0x1p-14) + flushed(fp16(i.b), 0x1p-14))), 0x1p-14);
        return std::isnan(sum) ? u64{0} : to_fp16(std::clamp(sum, 0.0, 1.0)) & 0x7fff;
      },
      true);
  const auto oob = [](u64 a, u64 b, u64 c) {
    const auto outside = [](u64 v) { return (v & 0xffff) == 0x7ff7; };
    if (outside(a) || outside(b)) return u64{0};
    return to_fp16(static_cast<double>(static_cast<long double>(fp16(a)) * fp16(b) + fp16(c)));
  };
  static const auto want = oob;
  check(
      "fma.rn.oob.f16 h0, h1, h2, h3;" + from_half, [](const In& i, bool) { return want(i.a, i.b, i.c); }, true);
  check(
      "fma.rn.oob.relu.f16 h0, h1, h2, h3;" + from_half,
      [](const In& i, bool) {
        const u64 r = want(i.a, i.b, i.c);
        return r != 0x7fff && (r & 0x8000) != 0 ? u64{0} : r;
      },
      true);
}

TEST_CASE("integers of 16 and 24 bits", "[isa]") {
  check("mad24.hi.sat.s32 r0, r1, r2, r3;" + from_word, [](const In& i, bool) {
    const auto low = [](u64 v) { return s64{word(v << 8) >> 8}; };
    return u64{static_cast<u32>(clamp_to(s64{static_cast<s32>(low(i.a) * low(i.b) >> 16)} + word(i.c), INT32_MIN, INT32_MAX))};
  });
  check("min.relu.s16x2 r0, r1, r2;" + from_word, [](const In& i, bool) {
    u64 r = 0;
    for (int k : {0, 1}) r |= static_cast<u64>(std::max<s64>(0, std::min(half_of(i.a, k), half_of(i.b, k)))) << (16 * k);
    return r;
  });
  check("max.relu.s16x2 r0, r1, r2;" + from_word, [](const In& i, bool) {
    u64 r = 0;
    for (int k : {0, 1}) r |= static_cast<u64>(std::max({s64{0}, half_of(i.a, k), half_of(i.b, k)})) << (16 * k);
    return r;
  });
}

TEST_CASE("cvt.pack clamps, and pushes what was there upwards", "[isa]") {
  check("cvt.pack.sat.u16.s32 r0, r1, r2;" + from_word,
        [](const In& i, bool) { return static_cast<u64>(clamp_to(word(i.a), 0, 65535) << 16 | clamp_to(word(i.b), 0, 65535)); });
  check("cvt.pack.sat.s16.s32 r0, r1, r2;" + from_word, [](const In& i, bool) {
    return u64{static_cast<u32>(static_cast<u32>(clamp_to(word(i.a), -32768, 32767)) << 16 |
                                static_cast<u16>(clamp_to(word(i.b), -32768, 32767)))};
  });
  check("cvt.pack.sat.s8.s32.b32 r0, r1, r2, r3;" + from_word, [](const In& i, bool) {
    const auto part = [](u64 v) { return static_cast<u32>(clamp_to(word(v), -128, 127)) & 0xff; };
    return u64{static_cast<u32>(i.c) << 16 | part(i.a) << 8 | part(i.b)};
  });
  check("cvt.pack.sat.u4.s32.b32 r0, r1, r2, r3;" + from_word, [](const In& i, bool) {
    const auto part = [](u64 v) { return static_cast<u32>(clamp_to(word(v), 0, 15)); };
    return u64{static_cast<u32>(i.c) << 8 | part(i.a) << 4 | part(i.b)};
  });
  check("cvt.pack.sat.s2.s32.b32 r0, r1, r2, r3;" + from_word, [](const In& i, bool) {
    const auto part = [](u64 v) { return static_cast<u32>(clamp_to(word(v), -2, 1)) & 3; };
    return u64{static_cast<u32>(i.c) << 4 | part(i.a) << 2 | part(i.b)};
  });
}

TEST_CASE("registers of one byte", "[isa]") {
  check("mov.b32 {c1, c2, c3, c4}, r1; mov.b32 r0, {c4, c3, c2, c1};" + from_word,
        [](const In& i, bool) { return u64{__builtin_bswap32(static_cast<u32>(i.a))}; });
  check("mov.b16 {c1, c2}, h1; mov.b16 h0, {c2, c1};" + from_half,
        [](const In& i, bool) { return u64{__builtin_bswap16(static_cast<u16>(i.a))}; });
  check(
      "cvt.rzi.s8.bf16 c1, h1; mov.b16 h0, {c1, 0};" + from_half,
      [](const In& i, bool) {
        const float x = bf16(i.a);
        const float kept = std::isnan(x) ? 0.0f : std::trunc(std::clamp(x, -128.0f, 127.0f));
        return u64{static_cast<std::uint8_t>(static_cast<int>(kept))};
      },
      true);
}

TEST_CASE("16-byte atomics exchange and compare whole values", "[isa]") {
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg .b64 d<9>;\n.reg .b128 q<5>;\n"
      ".reg .b32 r<3>;\n.shared .align 16 .b8 s[16];\nld.param.u64 d1, [p];\nmov.u64 d2, 7;\nmov.u64 d3, 8;\nmov.b128 q1, {d2, "
      "d3};\n"
      "atom.relaxed.gpu.global.exch.b128 q2, [d1], q1;\nst.global.b128 [d1+16], q2;\n"
      "mov.b128 q3, {d3, d2};\natom.relaxed.gpu.global.cas.b128 q4, [d1], q1, q3;\nst.global.b128 [d1+32], q4;\n"
      "atom.relaxed.gpu.global.cas.b128 q4, [d1], q1, q2;\nst.global.b128 [d1+48], q4;\n"
      "mov.u32 r1, s;\nst.shared.b128 [r1], q1;\natom.shared.exch.b128 q4, [r1], q3;\nld.shared.v2.b64 {d4, d5}, [r1];\n"
      "st.global.v2.b64 [d1+64], {d4, d5};\nret;\n}\n";
  Device device;
  const auto io = device.output("p", 80);
  device.memory.mark_written(io);
  const u64 start[] = {5, 6};
  std::memcpy(device.memory.data(io).data(), start, 16);
  REQUIRE(faults_of(device.run(module_of(text), "run", {1}, {1}, 0, P{io})) == "");
  const std::vector<u64> want = {8, 7, 5, 6, 7, 8, 8, 7, 8, 7};
  const bool equal = device.values<u64>(io) == want;
  CHECK(equal);
}

TEST_CASE("special registers of 16 bits, and whether there is a cluster", "[isa]") {
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg .b64 d<3>;\n.reg .b16 h<3>;\n"
      ".reg .b32 r<4>;\n.reg .pred q;\nld.param.u64 d1, [p];\nmov.u16 h1, %tid.x;\nmov.u16 h2, %ntid.x;\nmov.u32 r1, %tid.x;\n"
      "mov.u32 r3, %ctaid.x;\nmad.lo.u32 r1, r3, 32, r1;\nmov.pred q, %is_explicit_cluster;\nselp.u32 r2, 1000, 0, q;\n"
      "mad.wide.u32 d1, r1, 4, d1;\nadd.u16 h1, h1, h2;\ncvt.u32.u16 r1, h1;\nadd.u32 r1, r1, r2;\nst.global.u32 [d1], "
      "r1;\nret;\n}\n";
  for (const u32 blocks : {1u, 2u}) {
    Device device;
    if (blocks == 2) device.cluster = {2, 1, 1};
    const auto io = device.output("p", 128 * blocks);
    REQUIRE(faults_of(device.run(module_of(text), "run", {blocks}, {32}, 0, P{io})) == "");
    const auto out = device.values<u32>(io);
    for (u32 t = 0; t < 32 * blocks; ++t) REQUIRE(out[t] == t % 32 + 32 + (blocks == 2 ? 1000 : 0));
  }
}

TEST_CASE("fp64 products of matrices round as they say", "[isa]") {
  const auto text = [](const std::string& form, const std::string& rounding) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg .b64 d<9>;\n.reg .b32 "
           "r<3>;\n"
           "ld.param.u64 d1, [p];\nmov.u32 r1, %tid.x;\nmad.wide.u32 d2, r1, 32, d1;\nld.global.v2.b64 {d3, d4}, [d2];\n"
           "ld.global.v2.b64 {d5, d6}, [d2+16];\n" +
           form + rounding + ".f64.f64.f64.f64 {d5, d6}, {d3}, {d4}, {d5, d6};\nst.global.v2.b64 [d2+16], {d5, d6};\nret;\n}\n";
  };
  const std::pair<const char*, int> modes[] = {{".rn", 0}, {".rz", 1}, {".rm", 2}, {".rp", 3}};
  for (const char* form : {"mma.sync.aligned.m8n8k4.row.col", "wmma.mma.sync.aligned.row.col.m8n8k4"}) {
    for (const auto& [rounding, mode] : modes) {
      std::mt19937_64 generator(3);
      std::vector<double> in(128);
      for (double& v : in) v = std::ldexp(static_cast<double>(static_cast<s64>(generator())), -60);
      Device device;
      const auto io = device.output("p", 1024);
      device.memory.mark_written(io);
      std::memcpy(device.memory.data(io).data(), in.data(), 1024);
      REQUIRE(faults_of(device.run(module_of(text(form, rounding)), "run", {1}, {32}, 0, P{io})) == "");
      const auto out = device.values<double>(io);
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < 8; ++row) {
        for (std::size_t column = 0; column < 8; ++column) {
          const std::size_t place = (row * 4 + column / 2) * 4 + 2 + column % 2;
          double sum = in[place];
          for (std::size_t k = 0; k < 4; ++k) {
            const double a = in[(row * 4 + k) * 4], b = in[(column * 4 + k) * 4 + 1], nearest = std::fma(a, b, sum);
            const auto error = static_cast<__float128>(a) * b + sum - nearest;
            double r = nearest;
            if (mode == 1 && error != 0 && (error > 0) != (nearest > 0)) r = std::nextafter(nearest, 0.0);
            if (mode == 2 && error < 0) r = std::nextafter(nearest, -HUGE_VAL);
            if (mode == 3 && error > 0) r = std::nextafter(nearest, HUGE_VAL);
            sum = r;
          }
          wrong += out[place] == sum ? 0 : 1;
        }
      }
      INFO(form << rounding);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("stack memory lasts until it is restored or its function returns", "[isa]") {
  // Lane n takes 16 (n + 1) bytes, fills them, calls a function that takes some itself, and adds up what it wrote.
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.func (.param .b32 result) deeper (.param .b32 seed) {\n.reg .b64 d<3>;\n"
      ".reg .b32 r<4>;\nalloca.u64 d1, 64, 64;\nld.param.u32 r1, [seed];\nst.local.u32 [d1+60], r1;\nand.b64 d2, d1, 63;\n"
      "cvt.u32.u64 r2, d2;\nld.local.u32 r3, [d1+60];\nadd.u32 r3, r3, r2;\nst.param.b32 [result], r3;\nret;\n}\n"
      ".visible .entry run(.param .u64 p) {\n.reg .b64 d<9>;\n.reg .b32 r<12>;\n.reg .pred q;\nld.param.u64 d1, [p];\n"
      "mov.u32 r1, %tid.x;\nstacksave.u64 d2;\nadd.u32 r2, r1, 1;\nmul.wide.u32 d3, r2, 16;\nalloca.u64 d4, d3, 16;\n"
      "mov.u32 r3, 0;\nmov.u64 d5, d4;\nfill:\nst.local.u32 [d5], r3;\nadd.u64 d5, d5, 4;\nadd.u32 r3, r3, 1;\nshl.b32 r4, r2, "
      "2;\n"
      "setp.lt.u32 q, r3, r4;\n@q bra fill;\n{\n.param .b32 in;\n.param .b32 out;\nst.param.b32 [in], r1;\n"
      "call (out), deeper, (in);\nld.param.b32 r5, [out];\n}\nmov.u32 r6, 0;\nmov.u32 r3, 0;\nmov.u64 d5, d4;\nsum:\n"
      "ld.local.u32 r7, [d5];\nadd.u32 r6, r6, r7;\nadd.u64 d5, d5, 4;\nadd.u32 r3, r3, 1;\nsetp.lt.u32 q, r3, r4;\n@q bra sum;\n"
      "stackrestore.u64 d2;\nalloca.u64 d6, 16, 16;\nsetp.eq.u64 q, d6, d4;\nselp.u32 r8, 1000000, 0, q;\nadd.u32 r6, r6, r8;\n"
      "add.u32 r6, r6, r5;\nmul.wide.u32 d7, r1, 4;\nadd.u64 d7, d1, d7;\nst.global.u32 [d7], r6;\nret;\n}\n";
  Device device;
  const auto io = device.output("p", 128);
  REQUIRE(faults_of(device.run(module_of(text), "run", {1}, {32}, 0, P{io})) == "");
  const auto out = device.values<u32>(io);
  for (u32 t = 0; t < 32; ++t) {
    const u32 count = 4 * (t + 1);
    REQUIRE(out[t] == count * (count - 1) / 2 + t + 1000000);
  }
}

TEST_CASE("stack memory ends at 128 KiB, and what is past it is no thread's", "[isa]") {
  const auto text = [](const std::string& body) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg .b64 d<9>;\n.reg .b32 "
           "r<3>;\n" +
           body + "\nret;\n}\n";
  };
  for (const char* body :
       {"alloca.u64 d1, 200000;", "alloca.u64 d1, 32;\nst.local.u32 [d1+32], 1;", "loop:\nalloca.u64 d1, 1024;\nbra loop;"}) {
    Device device;
    const auto io = device.output("p", 8);
    const auto report = device.run(module_of(text(body)), "run", {1}, {32}, 0, P{io});
    INFO(body);
    REQUIRE(!report.faults.empty());
    CHECK(report.faults[0].code == "run.out_of_bounds");
  }
}

TEST_CASE("wmma with accumulators of two types sums in fp32", "[isa]") {
  // D takes halves of C and wholes, or the other way round; sums pass what fp16 holds exactly.
  for (const bool narrow : {false, true}) {
    const char *td = narrow ? "f16" : "f32", *tc = narrow ? "f32" : "f16";
    const std::string eight = "{r0, r1, r2, r3, r4, r5, r6, r7}", other = "{r8, r9, r10, r11, r12, r13, r14, r15}";
    const std::string four = "{s0, s1, s2, s3}", wide = "{s0, s1, s2, s3, s4, s5, s6, s7}";
    const std::string c = narrow ? wide : four, d = narrow ? "{u0, u1, u2, u3}" : "{u0, u1, u2, u3, u4, u5, u6, u7}";
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 a, .param .u64 b, .param .u64 c, .param "
        ".u64 d) "
        "{\n.reg .b64 x<5>;\n.reg .b32 r<17>;\n.reg .b32 s<9>;\n.reg .b32 u<9>;\nld.param.u64 x1, [a];\nld.param.u64 x2, [b];\n"
        "ld.param.u64 x3, [c];\nld.param.u64 x4, [d];\nwmma.load.a.sync.aligned.row.m16n16k16.global.f16 " +
        eight + ", [x1];\nwmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + other +
        ", [x2];\nwmma.load.c.sync.aligned.row.m16n16k16.global." + tc + " " + c +
        ", [x3];\nwmma.mma.sync.aligned.row.col.m16n16k16." + td + "." + tc + " " + d + ", " + eight + ", " + other + ", " + c +
        ";\nwmma.store.d.sync.aligned.row.m16n16k16.global." + td + " [x4], " + d + ";\nret;\n}\n";
    std::mt19937 generator(9);
    const auto drawn = [&](int most) { return static_cast<double>(static_cast<int>(generator() % (2 * most + 1)) - most); };
    std::vector<double> a(256), b(256), sums(256);
    std::vector<u16> a16, b16, c16;
    std::vector<float> c32;
    for (double& v : a) a16.push_back(static_cast<u16>(to_fp16(v = drawn(40))));
    for (double& v : b) b16.push_back(static_cast<u16>(to_fp16(v = drawn(40))));
    for (double& v : sums) {
      v = drawn(2000) / 8;
      c16.push_back(static_cast<u16>(to_fp16(v)));
      c32.push_back(static_cast<float>(v));
    }
    Device device;
    const auto ia = device.input("a", a16), ib = device.input("b", b16),
               ic = narrow ? device.input("c", c32) : device.input("c", c16), io = device.output("d", narrow ? 512 : 1024);
    REQUIRE(faults_of(device.run(module_of(text), "run", {1}, {32}, 0, P{ia}, P{ib}, P{ic}, P{io})) == "");
    int wrong = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 16; ++j) {
        double sum = narrow ? sums[i * 16 + j] : static_cast<double>(fp16(c16[i * 16 + j]));
        for (std::size_t k = 0; k < 16; ++k) sum += a[i * 16 + k] * b[j * 16 + k];
        const bool right = narrow ? device.values<u16>(io)[i * 16 + j] == to_fp16(sum)
                                  : device.values<float>(io)[i * 16 + j] == static_cast<float>(sum);
        wrong += right ? 0 : 1;
      }
    }
    INFO((narrow ? "fp16 from fp32" : "fp32 from fp16"));
    CHECK(wrong == 0);
  }
}

TEST_CASE("isspacep tells a block's own shared memory from its cluster's", "[isa]") {
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg .b64 d<5>;\n.reg .b32 r<8>;\n"
      ".reg .pred q<4>;\n.shared .align 4 .b8 s[4];\nld.param.u64 d1, [p];\nmov.u64 d2, s;\ncvta.shared.u64 d2, d2;\n"
      "mov.u32 r1, %cluster_ctarank;\nxor.b32 r2, r1, 1;\nmapa.u64 d3, d2, r2;\nmov.u32 r7, 0;\n"
      "isspacep.shared::cta q1, d2;\n@q1 or.b32 r7, r7, 1;\nisspacep.shared::cluster q1, d2;\n@q1 or.b32 r7, r7, 2;\n"
      "isspacep.shared::cta q1, d3;\n@q1 or.b32 r7, r7, 4;\nisspacep.shared::cluster q1, d3;\n@q1 or.b32 r7, r7, 8;\n"
      "isspacep.global q1, d1;\n@q1 or.b32 r7, r7, 16;\nisspacep.global q1, d3;\n@q1 or.b32 r7, r7, 32;\n"
      "isspacep.shared q1, d3;\n@q1 or.b32 r7, r7, 64;\nmul.wide.u32 d4, r1, 4;\nadd.u64 d4, d1, d4;\nst.global.u32 [d4], r7;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n";
  Device device;
  device.cluster = {2, 1, 1};
  const auto io = device.output("p", 8);
  REQUIRE(faults_of(device.run(module_of(text), "run", {2}, {1}, 0, P{io})) == "");
  for (const u32 found : device.values<u32>(io)) CHECK(found == 27);
}
