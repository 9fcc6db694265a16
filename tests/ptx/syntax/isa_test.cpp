// Forms that few kernels hold, against host arithmetic of their own: comparisons into registers,
// packed and narrow types.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "catch.hpp"
#include "ptx/machine/half.hpp"
#include "ptx/machine/runner.hpp"

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

// Registers of every width hold the three inputs: h1 h2 h3, r1 r2 r3, d1 d2 d3; p1 is whether the
// lane is odd. d0 is the result.
std::string kernel_of(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 in, "
         ".param .u64 out) {\n"
         ".reg .pred p<8>;\n.reg .b8 c<8>;\n.reg .b16 h<8>;\n.reg .b32 r<8>;\n.reg .b64 "
         "d<8>;\n.reg .b64 x<4>;\n.reg .b32 t<4>;\n"
         "ld.param.u64 x0, [in];\nld.param.u64 x1, [out];\nmov.u32 t0, %ctaid.x;\nmov.u32 t1, "
         "%ntid.x;\nmov.u32 t2, %tid.x;\n"
         "mad.lo.u32 t0, t0, t1, t2;\nmad.wide.u32 x0, t0, 24, x0;\nmad.wide.u32 x1, t0, 8, "
         "x1;\nld.global.u64 d1, [x0];\n"
         "ld.global.u64 d2, [x0+8];\nld.global.u64 d3, [x0+16];\ncvt.u32.u64 r1, d1;\ncvt.u32.u64 "
         "r2, d2;\ncvt.u32.u64 r3, d3;\n"
         "cvt.u16.u32 h1, r1;\ncvt.u16.u32 h2, r2;\ncvt.u16.u32 h3, r3;\nand.b32 t1, t0, "
         "1;\nsetp.ne.u32 p1, t1, 0;\n"
         "mov.u64 d0, 0;\nmov.u32 r0, 0;\nmov.u16 h0, 0;\n" +
         body + "\nst.global.u64 [x1], d0;\nret;\n}\n";
}

const std::string from_word = " cvt.u64.u32 d0, r0;", from_half = " cvt.u64.u16 d0, h0;";

std::vector<In> inputs(bool halves) {
  std::mt19937_64 generator(7);
  std::vector<u64> edges = {
      0,          1,          0x7fffffff, 0x80000000, 0xffffffff,         0x00008000, 0x80007fff,
      0xff800000, 0x7fff7fff, 0x80008000, 0x00ff0100, 0x123456789abcdef0, ~u64{0},    u64{1} << 63,
      255,        65535};
  if (halves) {
    edges.clear();
    for (const u64 h :
         {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00,
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
  const auto report =
      device.run(module_of(kernel_of(body)), "run", {blocks}, {128}, 0, P{ia}, P{io});
  INFO(body);
  REQUIRE(faults_of(report) == "");
  const auto out = device.values<u64>(io);
  std::size_t wrong = in.size();
  for (std::size_t i = in.size(); i-- > 0;) {
    if (out[i] != want(in[i], i % 2 != 0)) wrong = i;
  }
  if (wrong == in.size()) return;
  INFO(std::hex << "of " << in[wrong].a << ", " << in[wrong].b << ", " << in[wrong].c << ": "
                << out[wrong] << " instead of " << want(in[wrong], wrong % 2 != 0));
  CHECK(false);
}

// ---- 16-bit floats: fp16 by integers, bf16 by fp32.

float fp16(u64 h) { return conformance::value_of_fp16(h); }
float bf16(u64 h) { return std::bit_cast<float>(static_cast<u32>(h & 0xffff) << 16); }
u64 to_fp16(double x) { return conformance::nearest_fp16(x); }
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
  check("set.lt.u32.s32 r0, r1, r2;" + from_word,
        [](const In& i, bool) { return word(i.a) < word(i.b) ? u64{0xffffffff} : 0; });
  check("set.hs.and.f32.u32 r0, r1, r2, p1;" + from_word, [](const In& i, bool odd) {
    return odd && static_cast<u32>(i.a) >= static_cast<u32>(i.b) ? u64{0x3f800000} : 0;
  });
  check("set.ge.f16.s64 h0, d1, d2;" + from_half, [](const In& i, bool) {
    return static_cast<s64>(i.a) >= static_cast<s64>(i.b) ? u64{0x3c00} : 0;
  });
  check("set.ne.bf16.u16 h0, h1, h2;" + from_half,
        [](const In& i, bool) { return u16(i.a) != u16(i.b) ? u64{0x3f80} : 0; });
  check(
      "set.leu.u16.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return !(fp16(i.a) > fp16(i.b)) ? u64{0xffff} : 0; }, true);
  check(
      "set.nan.bf16.bf16 h0, h1, h1;" + from_half,
      [](const In& i, bool) { return std::isnan(bf16(i.a)) ? u64{0x3f80} : 0; }, true);
  check(
      "set.gt.ftz.f16.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) {
        return flushed(fp16(i.a), 0x1p-14) > flushed(fp16(i.b), 0x1p-14) ? u64{0x3c00} : 0;
      },
      true);
}

TEST_CASE("set on packed halves writes each half", "[isa]") {
  check(
      "set.gt.f16x2.f16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) {
        return both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) > fp16(b) ? u64{0x3c00} : 0; });
      },
      true);
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
      [](const In& i, bool) {
        return both(i.a, i.b, [](u64 a, u64 b) { return fp16(a) == fp16(b) ? 0 : u64{0xffff}; });
      },
      true);
  check(
      "set.le.xor.f16x2.f16x2 r0, r1, r2, !p1;" + from_word,
      [](const In& i, bool odd) {
        return odd ? both(i.a, i.b,
                          [](u64 a, u64 b) { return fp16(a) <= fp16(b) ? u64{0x3c00} : 0; })
                   : both(i.a, i.b,
                          [](u64 a, u64 b) { return fp16(a) <= fp16(b) ? 0 : u64{0x3c00}; });
      },
      true);
  check(
      "setp.lt.ftz.f16x2 p2|p3, r1, r2; selp.u32 r4, 1, 0, p2; selp.u32 r5, 2, 0, p3; or.b32 r0, "
      "r4, r5;" +
          from_word,
      [](const In& i, bool) {
        const auto less = [](u64 a, u64 b) {
          return flushed(fp16(a), 0x1p-14) < flushed(fp16(b), 0x1p-14);
        };
        return u64{less(i.a, i.b)} + (less(i.a >> 16, i.b >> 16) ? 2 : 0);
      },
      true);
}

TEST_CASE("min and max of halves order zeros, NaN and magnitudes", "[isa]") {
  check(
      "min.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return pick(i.a, i.b, fp16, false, false, false); }, true);
  check(
      "max.NaN.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return pick(i.a, i.b, fp16, true, true, false); }, true);
  check(
      "min.xorsign.abs.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return pick(i.a, i.b, fp16, false, false, true); }, true);
  check(
      "max.NaN.xorsign.abs.bf16 h0, h1, h2;" + from_half,
      [](const In& i, bool) { return pick(i.a, i.b, bf16, true, true, true); }, true);
  check(
      "max.xorsign.abs.bf16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) {
        return both(i.a, i.b, [](u64 a, u64 b) { return pick(a, b, bf16, true, false, true); });
      },
      true);
  check(
      "min.NaN.f16x2 r0, r1, r2;" + from_word,
      [](const In& i, bool) {
        return both(i.a, i.b, [](u64 a, u64 b) { return pick(a, b, fp16, false, true, false); });
      },
      true);
}

TEST_CASE("arithmetic of halves that saturates flushed values, or is zero outside a tensor",
          "[isa]") {
  check(
      "add.ftz.sat.f16 h0, h1, h2;" + from_half,
      [](const In& i, bool) {
        const double sum = flushed(
            fp16(to_fp16(flushed(fp16(i.a), 0x1p-14) + flushed(fp16(i.b), 0x1p-14))), 0x1p-14);
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
      "fma.rn.oob.f16 h0, h1, h2, h3;" + from_half,
      [](const In& i, bool) { return want(i.a, i.b, i.c); }, true);
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
    return u64{static_cast<u32>(clamp_to(
        s64{static_cast<s32>(low(i.a) * low(i.b) >> 16)} + word(i.c), INT32_MIN, INT32_MAX))};
  });
  check("min.relu.s16x2 r0, r1, r2;" + from_word, [](const In& i, bool) {
    u64 r = 0;
    for (int k : {0, 1})
      r |= static_cast<u64>(std::max<s64>(0, std::min(half_of(i.a, k), half_of(i.b, k))))
           << (16 * k);
    return r;
  });
  check("max.relu.s16x2 r0, r1, r2;" + from_word, [](const In& i, bool) {
    u64 r = 0;
    for (int k : {0, 1})
      r |= static_cast<u64>(std::max({s64{0}, half_of(i.a, k), half_of(i.b, k)})) << (16 * k);
    return r;
  });
}

TEST_CASE("cvt.pack clamps, and pushes what was there upwards", "[isa]") {
  check("cvt.pack.sat.u16.s32 r0, r1, r2;" + from_word, [](const In& i, bool) {
    return static_cast<u64>(clamp_to(word(i.a), 0, 65535) << 16 | clamp_to(word(i.b), 0, 65535));
  });
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

TEST_CASE("registers of two halves", "[isa]") {
  check("mov.b64 {r1, r2}, d1; @p1 mov.b64 {r2, r1}, d1; mov.b64 d0, {r1, r2};",
        [](const In& i, bool odd) { return odd ? std::rotl(i.a, 32) : i.a; });
  check("mov.b64 d0, {r1, r2}; @p1 mov.b64 d0, {r2, r1};", [](const In& i, bool odd) {
    return odd ? i.b << 32 >> 32 | i.a << 32 : i.a << 32 >> 32 | i.b << 32;
  });
  check("mov.b64 {_, r0}, d1; @p1 mov.b64 {r0, _}, d1;" + from_word,
        [](const In& i, bool odd) { return odd ? i.a & 0xffffffff : i.a >> 32; });
  check("mov.b32 {h1, h2}, r1; @p1 mov.b32 {h2, h1}, r1; mov.b32 r0, {h1, h2};" + from_word,
        [](const In& i, bool odd) {
          return u64{odd ? std::rotl(static_cast<u32>(i.a), 16) : static_cast<u32>(i.a)};
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
