// One instruction at a time against host arithmetic, on edge values and random ones.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "catch.hpp"
#include "ptx/lane_set.hpp"
#include "ptx/runner.hpp"
#include "support/reached.hpp"

using namespace support;
using P = Device::Pointer;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u16 = std::uint16_t;
using s16 = std::int16_t;

namespace {

// Types of operands: h w d q registers of 16 to 64 bits with the kind of value they hold.
struct Row {
  const char* form;
  const char* result;     // PTX type of the result register, or "pred"
  const char* arguments;  // one letter each: i int32, l int64, s int16, f fp32, g fp64, e fp16, b bf16, n small int
  std::function<u64(u64, u64, u64)> want;
};

float f32(u64 v) { return std::bit_cast<float>(static_cast<u32>(v)); }
double f64(u64 v) { return std::bit_cast<double>(v); }
u64 bits(float v) { return v != v ? 0x7fffffffu : std::bit_cast<u32>(v); }
u64 bits(double v) { return std::bit_cast<u64>(v); }
float flush(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }

template <class F>
auto under(int mode, F f) {
  std::fesetround(mode);
  volatile auto r = f();
  std::fesetround(FE_TONEAREST);
  return static_cast<decltype(f())>(r);
}

// fp16 and bf16 through doubles.
double half(u64 v, bool brain) {
  const u32 h = static_cast<u16>(v);
  if (brain) return f32(u64{h} << 16);
  const int e = (h >> 10) & 31, m = h & 1023;
  const double x = e == 0 ? std::ldexp(m, -24) : e == 31 ? (m ? std::nan("") : HUGE_VAL) : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -x : x;
}
// Rounds a long double to nearest even.
u64 to_half(long double x, bool brain) {
  if (x != x) return 0x7fff;
  const int fraction = brain ? 7 : 10, least = brain ? -126 : -14, most = brain ? 127 : 15;
  const u64 sign = std::signbit(x) ? 0x8000 : 0, infinity = static_cast<u64>(brain ? 0x7f80 : 0x7c00);
  const long double m = std::fabs(x);
  if (m == 0) return sign;
  if (std::isinf(m)) return sign | infinity;
  int e = std::max(std::ilogb(m), least);
  long double units = std::nearbyint(std::ldexp(m, fraction - e));
  if (units >= std::ldexp(2.0L, fraction)) {
    units /= 2;
    ++e;
  }
  if (e > most) return sign | infinity;
  const u64 whole = static_cast<u64>(units), one = u64{1} << fraction;
  return sign | (whole < one ? whole : (static_cast<u64>(e + (brain ? 127 : 15)) << fraction) | (whole & (one - 1)));
}

std::vector<u64> values_of(char kind) {
  std::mt19937_64 generator(11);
  std::vector<u64> out;
  switch (kind) {
    case 'i':
      out = {0,   1,          2,          3,          31,         32,         33,         255,
             256, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x12345678, 0xff00ff00};
      break;
    case 'n':
      out = {0, 1, 2, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 255, 0xffffffff};
      break;
    case 's':
      out = {0, 1, 2, 15, 16, 255, 256, 0x7fff, 0x8000, 0x8001, 0xffff, 0xfffe, 0x1234};
      break;
    case 'l':
      out = {0,
             1,
             2,
             63,
             64,
             0xffffffff,
             0x100000000,
             0x7fffffffffffffff,
             0x8000000000000000,
             0xffffffffffffffff,
             0x8000000000000001,
             0x123456789abcdef0};
      break;
    case 'f':
      out = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000,
             0x3f800001, 0x40490fdb, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
             0x4b000000, 0x4b000001, 0x3f000000, 0x4f000000, 0x5f000000, 0xcf000000};
      break;
    case 'g':
      out = {0,
             0x8000000000000000,
             1,
             0x000fffffffffffff,
             0x0010000000000000,
             bits(1.0),
             bits(-1.0),
             bits(3.14159265358979),
             bits(1e300),
             bits(-1e-300),
             0x7fefffffffffffff,
             0x7ff0000000000000,
             0xfff0000000000000,
             bits(0.5),
             bits(4503599627370497.5),
             bits(2147483647.5),
             bits(-2147483649.0)};
      break;
    case 'e':
      out = {0,      0x8000, 1,      0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3c01,
             0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x6400, 0x1400};
      break;
    default:
      out = {0,      0x8000, 1,      0x807f, 0x0080, 0x3f80, 0xbf80, 0x3f81,
             0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3eab, 0x4b00, 0x3b80};
      break;
  }
  for (int i = 0; i < 8; ++i) {
    u64 v = generator();
    if (kind == 'f') v = std::bit_cast<u32>(static_cast<float>(static_cast<s32>(v)) * 1e-5f);
    if (kind == 'g') v = bits(static_cast<double>(static_cast<s64>(v)) * 1e-12);
    if (kind == 'e') v = to_half(static_cast<long double>(static_cast<s16>(v)) / 64, false);
    if (kind == 'b') v = to_half(static_cast<long double>(static_cast<s16>(v)) / 64, true);
    if (kind == 'i' || kind == 'n') v = static_cast<u32>(v);
    if (kind == 's') v = static_cast<u16>(v);
    out.push_back(v);
  }
  return out;
}

std::string register_type(char kind) {
  return kind == 'l' || kind == 'g' ? "b64" : kind == 's' || kind == 'e' || kind == 'b' ? "b16" : "b32";
}

std::string text_for(const Row& row) {
  const std::string arguments = row.arguments;
  const bool predicate = std::string(row.result) == "pred";
  std::string t =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
      ".u64 po) {\n";
  t += ".reg .b64 %rd<9>;\n.reg .b32 %i;\n.reg .pred %p;\n.reg ." + std::string(predicate ? "b32" : row.result) + " %d;\n";
  t += ".reg .b32 %c;\nmov.u32 %i, %tid.x;\nmov.u32 %c, %ctaid.x;\nmad.lo.s32 %i, %c, 128, %i;\nmul.wide.u32 %rd1, %i, 8;\n";
  const char* names[] = {"pa", "pb", "pc"};
  std::string list;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const std::string type = register_type(arguments[a]), reg = "%a" + std::to_string(a);
    t += ".reg ." + type + " " + reg + ";\nld.param.u64 %rd2, [" + names[a] + "];\nadd.s64 %rd2, %rd2, %rd1;\nld.global." + type +
         " " + reg + ", [%rd2];\n";
    list += ", " + reg;
  }
  t += std::string(row.form) + (predicate ? " %p" : " %d") + list + ";\n";
  if (predicate) t += "selp.b32 %d, 1, 0, %p;\n";
  t += "ld.param.u64 %rd3, [po];\nadd.s64 %rd3, %rd3, %rd1;\nmov.b64 %rd4, 0;\nst.global.b64 [%rd3], %rd4;\n";
  const std::string width = predicate ? "b32" : row.result;
  t += "st.global." + width + " [%rd3], %d;\nret;\n}\n";
  return t;
}

void check_row(const Row& row) {
  INFO(row.form);
  const std::string arguments = row.arguments;
  std::vector<std::vector<u64>> values;
  for (char c : arguments) values.push_back(values_of(c));
  while (values.size() < 3) values.push_back({0});
  std::vector<u64> a, b, c;
  for (u64 x : values[0]) {
    for (u64 y : values[1]) {
      for (u64 z : values[2]) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
    }
  }
  const std::size_t count = a.size(), padded = (count + 127) / 128 * 128;
  for (auto* v : {&a, &b, &c}) v->resize(padded);
  for (const ptx::LaneSet set : ptx::lane_sets()) {
    ptx::prefer(set);
    Device d;
    const auto ia = d.input("a", a), ib = d.input("b", b), ic = d.input("c", c), io = d.output("o", padded * 8);
    const auto report =
        d.run(module_of(text_for(row)), "k", {static_cast<u32>(padded / 128)}, {128}, 0, P{ia}, P{ib}, P{ic}, P{io});
    REQUIRE(faults_of(report) == "");
    const auto o = d.values<u64>(io);
    for (std::size_t i = 0; i < count; ++i) {
      const u64 want = row.want(a[i], b[i], c[i]);
      if (o[i] == want) continue;
      INFO(std::hex << "a " << a[i] << " b " << b[i] << " c " << c[i] << " want " << want << " got " << o[i]);
      FAIL_CHECK("differs with the host's instruction set " << static_cast<int>(set));
      break;
    }
  }
  SUCCEED();
}

u64 low(s64 v) { return static_cast<u32>(v); }
u64 clamp_s32(s64 v) { return static_cast<u32>(v > 0x7fffffff ? 0x7fffffff : v < -s64{0x80000000} ? -s64{0x80000000} : v); }
u64 shifted(u64 v, u64 n, int width) { return n >= static_cast<u64>(width) ? 0 : v << n; }

}  // namespace

TEST_CASE("integer instructions", "[conformance]") {
  const Row rows[] = {
      {"add.s32", "b32", "ii", [](u64 a, u64 b, u64) { return low(s64(a + b)); }},
      {"sub.u32", "b32", "ii", [](u64 a, u64 b, u64) { return low(s64(a - b)); }},
      {"add.sat.s32", "b32", "ii", [](u64 a, u64 b, u64) { return clamp_s32(s64{s32(a)} + s32(b)); }},
      {"sub.sat.s32", "b32", "ii", [](u64 a, u64 b, u64) { return clamp_s32(s64{s32(a)} - s32(b)); }},
      {"add.s64", "b64", "ll", [](u64 a, u64 b, u64) { return a + b; }},
      {"add.u16", "b16", "ss", [](u64 a, u64 b, u64) { return u64{u16(a + b)}; }},
      {"mul.lo.s32", "b32", "ii", [](u64 a, u64 b, u64) { return low(s64(a * b)); }},
      {"mul.hi.s32", "b32", "ii", [](u64 a, u64 b, u64) { return low((s64{s32(a)} * s32(b)) >> 32); }},
      {"mul.hi.u32", "b32", "ii", [](u64 a, u64 b, u64) { return (a * b) >> 32; }},
      {"mul.hi.u64", "b64", "ll", [](u64 a, u64 b, u64) { return u64((static_cast<unsigned __int128>(a) * b) >> 64); }},
      {"mul.hi.s64", "b64", "ll", [](u64 a, u64 b, u64) { return u64((static_cast<__int128>(s64(a)) * s64(b)) >> 64); }},
      {"mul.wide.s32", "b64", "ii", [](u64 a, u64 b, u64) { return u64(s64{s32(a)} * s32(b)); }},
      {"mul.wide.u32", "b64", "ii", [](u64 a, u64 b, u64) { return a * b; }},
      {"mul.wide.s16", "b32", "ss", [](u64 a, u64 b, u64) { return low(s64{s16(a)} * s16(b)); }},
      {"mad.lo.s32", "b32", "iii", [](u64 a, u64 b, u64 c) { return low(s64(a * b + c)); }},
      {"mad.hi.u32", "b32", "iii", [](u64 a, u64 b, u64 c) { return low(s64(((a * b) >> 32) + c)); }},
      {"mad.wide.s32", "b64", "iil", [](u64 a, u64 b, u64 c) { return u64(s64{s32(a)} * s32(b)) + c; }},
      {"mad.wide.u32", "b64", "iil", [](u64 a, u64 b, u64 c) { return a * b + c; }},
      {"mul24.lo.s32", "b32", "ii", [](u64 a, u64 b, u64) { return low((s64{s32(u32(a) << 8)} >> 8) * (s64{s32(u32(b) << 8)} >> 8)); }},
      {"div.s32", "b32", "ii", [](u64 a, u64 b, u64) { return b == 0 ? 0xffffffffu : s32(b) == -1 ? low(-s64{s32(a)}) : low(s32(a) / s32(b)); }},
      {"div.u32", "b32", "ii", [](u64 a, u64 b, u64) { return b == 0 ? 0xffffffffu : a / b; }},
      {"rem.s32", "b32", "ii", [](u64 a, u64 b, u64) { return b == 0 ? a : s32(b) == -1 ? 0 : low(s32(a) % s32(b)); }},
      {"rem.u64", "b64", "ll", [](u64 a, u64 b, u64) { return b == 0 ? a : a % b; }},
      {"div.s64", "b64", "ll", [](u64 a, u64 b, u64) { return b == 0 ? ~u64{0} : s64(b) == -1 ? 0 - a : u64(s64(a) / s64(b)); }},
      {"abs.s32", "b32", "i", [](u64 a, u64, u64) { return low(s32(a) < 0 ? -s64{s32(a)} : s32(a)); }},
      {"neg.s64", "b64", "l", [](u64 a, u64, u64) { return 0 - a; }},
      {"min.s32", "b32", "ii", [](u64 a, u64 b, u64) { return s32(a) < s32(b) ? a : b; }},
      {"max.u32", "b32", "ii", [](u64 a, u64 b, u64) { return std::max(a, b); }},
      {"max.s64", "b64", "ll", [](u64 a, u64 b, u64) { return s64(a) > s64(b) ? a : b; }},
      {"min.s16", "b16", "ss", [](u64 a, u64 b, u64) { return s16(a) < s16(b) ? a : b; }},
      {"sad.s32", "b32", "iii", [](u64 a, u64 b, u64 c) { return low(s64(c) + std::abs(s64{s32(a)} - s32(b))); }},
      {"and.b32", "b32", "ii", [](u64 a, u64 b, u64) { return a & b; }},
      {"xor.b64", "b64", "ll", [](u64 a, u64 b, u64) { return a ^ b; }},
      {"not.b16", "b16", "s", [](u64 a, u64, u64) { return u64{u16(~a)}; }},
      {"cnot.b32", "b32", "i", [](u64 a, u64, u64) { return u64{a == 0}; }},
      {"shl.b32", "b32", "in", [](u64 a, u64 n, u64) { return u64{u32(shifted(a, n, 32))}; }},
      {"shl.b64", "b64", "ln", [](u64 a, u64 n, u64) { return shifted(a, n, 64); }},
      {"shr.u32", "b32", "in", [](u64 a, u64 n, u64) { return n > 31 ? 0 : a >> n; }},
      {"shr.s32", "b32", "in", [](u64 a, u64 n, u64) { return low(s32(a) >> (n > 31 ? 31 : n)); }},
      {"shr.s64", "b64", "ln", [](u64 a, u64 n, u64) { return u64(s64(a) >> (n > 63 ? 63 : n)); }},
      {"shf.l.wrap.b32", "b32", "iin", [](u64 a, u64 b, u64 n) { return u64{u32((((b << 32) | a) << (n & 31)) >> 32)}; }},
      {"shf.r.wrap.b32", "b32", "iin", [](u64 a, u64 b, u64 n) { return u64{u32(((b << 32) | a) >> (n & 31))}; }},
      {"shf.r.clamp.b32", "b32", "iin", [](u64 a, u64 b, u64 n) { return u64{u32(((b << 32) | a) >> std::min<u64>(n, 32))}; }},
      {"shf.l.clamp.b32", "b32", "iin", [](u64 a, u64 b, u64 n) { return n >= 32 ? a : u64{u32((((b << 32) | a) << n) >> 32)}; }},
      {"bfe.u32", "b32", "inn", [](u64 a, u64 p, u64 l) { p &= 255, l &= 255; u64 r = p > 31 ? 0 : a >> p; return l >= 32 ? r : r & ((u64{1} << l) - 1); }},
      {"bfe.s32", "b32", "inn", [](u64 a, u64 p, u64 l) {
         p &= 255, l &= 255;
         const u64 top = std::min<u64>(p + l == 0 ? 0 : p + l - 1, 31), sign = l == 0 ? 0 : (a >> top) & 1;
         u64 r = 0;
         for (u64 i = 0; i < 32; ++i) r |= (i < l && p + i < 32 ? (a >> (p + i)) & 1 : sign) << i;
         return r;
       }},
      {"brev.b32", "b32", "i", [](u64 a, u64, u64) { u64 r = 0; for (int i = 0; i < 32; ++i) r |= ((a >> i) & 1) << (31 - i); return r; }},
      {"popc.b64", "b32", "l", [](u64 a, u64, u64) { return u64(std::popcount(a)); }},
      {"clz.b32", "b32", "i", [](u64 a, u64, u64) { return u64(std::countl_zero(u32(a))); }},
      {"clz.b64", "b32", "l", [](u64 a, u64, u64) { return u64(std::countl_zero(a)); }},
      {"bfind.u32", "b32", "i", [](u64 a, u64, u64) { return a == 0 ? 0xffffffffu : u64(31 - std::countl_zero(u32(a))); }},
      {"bfind.s32", "b32", "i", [](u64 a, u64, u64) { const u32 v = s32(a) < 0 ? ~u32(a) : u32(a); return v == 0 ? 0xffffffffu : u64(31 - std::countl_zero(v)); }},
      {"bfind.shiftamt.u32", "b32", "i", [](u64 a, u64, u64) { return a == 0 ? 0xffffffffu : u64(std::countl_zero(u32(a))); }},
      {"prmt.b32", "b32", "iii", [](u64 a, u64 b, u64 c) {
         u64 r = 0;
         for (int i = 0; i < 4; ++i) {
           const u64 n = (c >> (4 * i)) & 15, byte = (((b << 32) | a) >> (8 * (n & 7))) & 255;
           r |= (n & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
         }
         return r;
       }},
      {"dp4a.s32.s32", "b32", "iii", [](u64 a, u64 b, u64 c) { s64 r = s32(c); for (int i = 0; i < 4; ++i) r += std::int8_t(a >> 8 * i) * std::int8_t(b >> 8 * i); return low(r); }},
      {"dp4a.u32.s32", "b32", "iii", [](u64 a, u64 b, u64 c) { s64 r = s32(c); for (int i = 0; i < 4; ++i) r += std::uint8_t(a >> 8 * i) * std::int8_t(b >> 8 * i); return low(r); }},
      {"slct.b32.s32", "b32", "iii", [](u64 a, u64 b, u64 c) { return s32(c) >= 0 ? a : b; }},
      {"setp.lt.s32", "pred", "ii", [](u64 a, u64 b, u64) { return u64{s32(a) < s32(b)}; }},
      {"setp.lo.u32", "pred", "ii", [](u64 a, u64 b, u64) { return u64{a < b}; }},
      {"setp.ge.u64", "pred", "ll", [](u64 a, u64 b, u64) { return u64{a >= b}; }},
      {"setp.ne.s16", "pred", "ss", [](u64 a, u64 b, u64) { return u64{a != b}; }},
      {"set.gt.u32.s32", "b32", "ii", [](u64 a, u64 b, u64) { return s32(a) > s32(b) ? 0xffffffffu : 0u; }},
      {"set.le.f32.u32", "b32", "ii", [](u64 a, u64 b, u64) { return a <= b ? 0x3f800000u : 0u; }},
  };
  for (const Row& row : rows) check_row(row);
}

TEST_CASE("fp32 and fp64 instructions", "[conformance]") {
  const Row rows[] = {
      {"add.f32", "b32", "ff", [](u64 a, u64 b, u64) { return bits(f32(a) + f32(b)); }},
      {"sub.rn.f32", "b32", "ff", [](u64 a, u64 b, u64) { return bits(f32(a) - f32(b)); }},
      {"mul.f32", "b32", "ff", [](u64 a, u64 b, u64) { return bits(f32(a) * f32(b)); }},
      {"mul.ftz.f32", "b32", "ff", [](u64 a, u64 b, u64) { return bits(flush(flush(f32(a)) * flush(f32(b)))); }},
      {"add.sat.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         const float r = f32(a) + f32(b);
         return r > 1 ? bits(1.0f) : r > 0 ? bits(r) : 0;
       }},
      {"fma.rn.f32", "b32", "fff", [](u64 a, u64 b, u64 c) { return bits(std::fma(f32(a), f32(b), f32(c))); }},
      {"add.rz.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         return bits(under(FE_TOWARDZERO, [&] {
           volatile float x = f32(a), y = f32(b);
           return x + y;
         }));
       }},
      {"mul.rp.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         return bits(under(FE_UPWARD, [&] {
           volatile float x = f32(a), y = f32(b);
           return x * y;
         }));
       }},
      {"fma.rm.f32", "b32", "fff",
       [](u64 a, u64 b, u64 c) {
         return bits(under(FE_DOWNWARD, [&] {
           volatile float x = f32(a), y = f32(b), z = f32(c);
           return std::fma(x, y, z);
         }));
       }},
      {"div.rn.f32", "b32", "ff", [](u64 a, u64 b, u64) { return bits(f32(a) / f32(b)); }},
      {"rcp.rn.f32", "b32", "f", [](u64 a, u64, u64) { return bits(1.0f / f32(a)); }},
      {"sqrt.rn.f32", "b32", "f", [](u64 a, u64, u64) { return bits(std::sqrt(f32(a))); }},
      {"abs.f32", "b32", "f", [](u64 a, u64, u64) { return a & 0x7fffffff; }},
      {"neg.f32", "b32", "f", [](u64 a, u64, u64) { return a ^ 0x80000000; }},
      {"min.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         const float x = f32(a), y = f32(b);
         return x != x ? (y != y ? 0x7fffffff : b) : y != y ? a : x < y ? a : y < x ? b : a | b;
       }},
      {"max.NaN.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         const float x = f32(a), y = f32(b);
         return x != x || y != y ? 0x7fffffff : x > y ? a : y > x ? b : a & b;
       }},
      {"setp.lt.f32", "pred", "ff", [](u64 a, u64 b, u64) { return u64{f32(a) < f32(b)}; }},
      {"setp.neu.f32", "pred", "ff", [](u64 a, u64 b, u64) { return u64{!(f32(a) == f32(b))}; }},
      {"setp.ne.f32", "pred", "ff", [](u64 a, u64 b, u64) { return u64{f32(a) < f32(b) || f32(a) > f32(b)}; }},
      {"setp.nan.f32", "pred", "ff", [](u64 a, u64 b, u64) { return u64{std::isnan(f32(a)) || std::isnan(f32(b))}; }},
      {"setp.geu.f32", "pred", "ff", [](u64 a, u64 b, u64) { return u64{!(f32(a) < f32(b))}; }},
      {"copysign.f32", "b32", "ff", [](u64 a, u64 b, u64) { return (a & 0x80000000) | (b & 0x7fffffff); }},
      {"testp.subnormal.f32", "pred", "f", [](u64 a, u64, u64) { return u64{std::fpclassify(f32(a)) == FP_SUBNORMAL}; }},
      {"add.f64", "b64", "gg", [](u64 a, u64 b, u64) { return bits(f64(a) + f64(b)); }},
      {"mul.rn.f64", "b64", "gg", [](u64 a, u64 b, u64) { return bits(f64(a) * f64(b)); }},
      {"div.rn.f64", "b64", "gg", [](u64 a, u64 b, u64) { return bits(f64(a) / f64(b)); }},
      {"sqrt.rn.f64", "b64", "g", [](u64 a, u64, u64) { return bits(std::sqrt(f64(a))); }},
      {"fma.rn.f64", "b64", "ggg", [](u64 a, u64 b, u64 c) { return bits(std::fma(f64(a), f64(b), f64(c))); }},
      {"add.rm.f64", "b64", "gg",
       [](u64 a, u64 b, u64) {
         return bits(under(FE_DOWNWARD, [&] {
           volatile double x = f64(a), y = f64(b);
           return x + y;
         }));
       }},
      {"setp.gt.f64", "pred", "gg", [](u64 a, u64 b, u64) { return u64{f64(a) > f64(b)}; }},
  };
  for (const Row& row : rows) check_row(row);
}

TEST_CASE("half-precision instructions", "[conformance]") {
  for (const bool brain : {false, true}) {
    const std::string type = brain ? ".bf16" : ".f16";
    const char* one = brain ? "b" : "e";
    const std::string two = std::string(one) + one, three = two + one;
    const auto value = [brain](u64 v) { return static_cast<long double>(half(v, brain)); };
    const auto back = [brain](long double v) { return to_half(v, brain); };
    const auto run = [&](const std::string& form, const char* result, const std::string& arguments,
                         std::function<u64(u64, u64, u64)> want) {
      check_row({form.c_str(), result, arguments.c_str(), std::move(want)});
    };
    run("add" + type, "b16", two, [=](u64 a, u64 b, u64) { return back(value(a) + value(b)); });
    run("sub" + type, "b16", two, [=](u64 a, u64 b, u64) { return back(value(a) - value(b)); });
    run("mul" + type, "b16", two, [=](u64 a, u64 b, u64) { return back(value(a) * value(b)); });
    run("setp.lt" + type, "pred", two, [=](u64 a, u64 b, u64) { return u64{value(a) < value(b)}; });
    run("fma.rn" + type, "b16", three, [=](u64 a, u64 b, u64 c) {
      // 64 bits hold the sum of a product and an addend of these formats unless they lie far apart; then the larger decides,
      // but for a tie that the smaller breaks.
      const long double p = value(a) * value(b), z = value(c), s = p + z;
      if (s != s || std::isinf(s)) return back(s);
      const long double t = s - p, error = (p - (s - t)) + (z - t);
      if (error == 0) return back(s);
      return back(std::nextafter(s, error > 0 ? HUGE_VALL : -HUGE_VALL));
    });
    run("cvt.f32" + type, "b32", one, [=](u64 a, u64, u64) { return bits(static_cast<float>(value(a))); });
    run("cvt.rn" + type + ".f32", "b16", "f", [=](u64 a, u64, u64) { return back(static_cast<long double>(f32(a))); });
    run("cvt.rni.s32" + type, "b32", one, [=](u64 a, u64, u64) {
      if (value(a) != value(a)) return u64{0};
      return clamp_s32(static_cast<s64>(std::max(-1e12L, std::min(1e12L, std::nearbyint(value(a))))));
    });
  }
}

TEST_CASE("conversions", "[conformance]") {
  const auto to_s32 = [](double v, double (*rounding)(double)) -> u64 {
    return v != v ? 0 : clamp_s32(static_cast<s64>(std::max(-1e15, std::min(1e15, rounding(v)))));
  };
  const auto trunc_ = [](double v) { return std::trunc(v); };
  const auto near_ = [](double v) { return std::nearbyint(v); };
  const auto floor_ = [](double v) { return std::floor(v); };
  const Row rows[] = {
      {"cvt.rzi.s32.f32", "b32", "f", [=](u64 a, u64, u64) { return to_s32(f32(a), trunc_); }},
      {"cvt.rni.s32.f32", "b32", "f", [=](u64 a, u64, u64) { return to_s32(f32(a), near_); }},
      {"cvt.rmi.s32.f32", "b32", "f", [=](u64 a, u64, u64) { return to_s32(f32(a), floor_); }},
      {"cvt.rzi.u32.f32", "b32", "f",
       [](u64 a, u64, u64) {
         const float v = f32(a);
         return v != v || v <= 0 ? u64{0} : v >= 4294967296.0f ? 0xffffffffu : u64{u32(v)};
       }},
      {"cvt.rzi.s64.f64", "b64", "g",
       [](u64 a, u64, u64) {
         const double v = f64(a);
         return v != v || v <= -9.2233720368547758e18 ? u64{1} << 63 : v >= 9.2233720368547758e18 ? ~u64{0} >> 1 : u64(s64(v));
       }},
      {"cvt.rn.f32.s32", "b32", "i", [](u64 a, u64, u64) { return bits(static_cast<float>(s32(a))); }},
      {"cvt.rn.f32.u32", "b32", "i", [](u64 a, u64, u64) { return bits(static_cast<float>(u32(a))); }},
      {"cvt.rz.f32.s32", "b32", "i",
       [](u64 a, u64, u64) {
         return bits(under(FE_TOWARDZERO, [&] {
           volatile s32 v = s32(a);
           return static_cast<float>(v);
         }));
       }},
      {"cvt.rn.f32.s64", "b32", "l", [](u64 a, u64, u64) { return bits(static_cast<float>(s64(a))); }},
      {"cvt.rn.f32.u64", "b32", "l", [](u64 a, u64, u64) { return bits(static_cast<float>(a)); }},
      {"cvt.rn.f64.u64", "b64", "l", [](u64 a, u64, u64) { return bits(static_cast<double>(a)); }},
      {"cvt.rp.f64.s64", "b64", "l",
       [](u64 a, u64, u64) {
         return bits(under(FE_UPWARD, [&] {
           volatile s64 v = s64(a);
           return static_cast<double>(v);
         }));
       }},
      {"cvt.rn.f32.f64", "b32", "g", [](u64 a, u64, u64) { return bits(static_cast<float>(f64(a))); }},
      {"cvt.rz.f32.f64", "b32", "g",
       [](u64 a, u64, u64) {
         return bits(under(FE_TOWARDZERO, [&] {
           volatile double v = f64(a);
           return static_cast<float>(v);
         }));
       }},
      {"cvt.f64.f32", "b64", "f",
       [](u64 a, u64, u64) {
         const double v = f32(a);
         return std::bit_cast<u64>(v);
       }},
      {"cvt.rni.f32.f32", "b32", "f", [](u64 a, u64, u64) { return bits(std::nearbyint(f32(a))); }},
      {"cvt.rmi.f64.f64", "b64", "g", [](u64 a, u64, u64) { return bits(std::floor(f64(a))); }},
      {"cvt.sat.f32.f32", "b32", "f",
       [](u64 a, u64, u64) {
         const float v = f32(a);
         return v > 1 ? bits(1.0f) : v > 0 ? a : 0;
       }},
      {"cvt.s32.s8", "b32", "i", [](u64 a, u64, u64) { return low(std::int8_t(a)); }},
      {"cvt.u32.u8", "b32", "s", [](u64 a, u64, u64) { return a & 255; }},
      {"cvt.s64.s32", "b64", "i", [](u64 a, u64, u64) { return u64(s64{s32(a)}); }},
      {"cvt.s64.s16", "b64", "s", [](u64 a, u64, u64) { return u64(s64{s16(a)}); }},
      {"cvt.u16.u64", "b16", "l", [](u64 a, u64, u64) { return u64{u16(a)}; }},
      {"cvt.sat.s8.s32", "b32", "i", [](u64 a, u64, u64) { return low(std::max(-128, std::min(127, s32(a)))); }},
      {"cvt.sat.u16.s32", "b32", "i", [](u64 a, u64, u64) { return low(std::max(0, std::min(65535, s32(a)))); }},
      {"cvt.rn.bf16x2.f32", "b32", "ff", [](u64 a, u64 b, u64) { return (to_half(f32(a), true) << 16) | to_half(f32(b), true); }},
      {"cvt.rn.f16x2.f32", "b32", "ff",
       [](u64 a, u64 b, u64) { return (to_half(f32(a), false) << 16) | to_half(f32(b), false); }},
      {"cvt.rn.relu.bf16x2.f32", "b32", "ff",
       [](u64 a, u64 b, u64) {
         const auto r = [](u64 v) { return f32(v) < 0 || f32(v) == 0 ? u64{0} : to_half(f32(v), true); };
         return (r(a) << 16) | r(b);
       }},
      {"cvt.rna.tf32.f32", "b32", "f",
       [](u64 a, u64, u64) {
         const float v = f32(a);
         if (v != v) return a & 0xffffe000u;  // as an H200 does
         if (std::isinf(v)) return a;
         return u64{(u32(a) + 0x1000u) & 0xffffe000u};
       }},
      {"cvt.rz.bf16.f32", "b16", "f", [](u64 a, u64, u64) { return f32(a) != f32(a) ? u64{0x7fff} : a >> 16; }},
      {"cvt.rn.f16.s32", "b16", "i", [](u64 a, u64, u64) { return to_half(s32(a), false); }},
      {"cvt.rn.f16.f64", "b16", "g", [](u64 a, u64, u64) { return to_half(f64(a), false); }},
  };
  for (const Row& row : rows) check_row(row);
}

TEST_CASE("approximations stay within their published error", "[conformance]") {
  struct Approximation {
    const char* form;
    double (*exact)(double);
    double low, high, relative, absolute;
  };
  const Approximation rows[] = {
      {"ex2.approx.ftz.f32", [](double v) { return std::exp2(v); }, -20, 20, 2.4e-7, 0},
      {"lg2.approx.f32", [](double v) { return std::log2(v); }, 0.01, 100, 2.4e-7, 2e-7},
      {"rcp.approx.ftz.f32", [](double v) { return 1 / v; }, 0.01, 100, 1.2e-7, 0},
      {"rsqrt.approx.f32", [](double v) { return 1 / std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sqrt.approx.f32", [](double v) { return std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sin.approx.f32", [](double v) { return std::sin(v); }, -3.14, 3.14, 0, 4e-7},
      {"cos.approx.f32", [](double v) { return std::cos(v); }, -3.14, 3.14, 0, 4e-7},
      {"tanh.approx.f32", [](double v) { return std::tanh(v); }, -5, 5, 5e-4, 0},
  };
  for (const Approximation& row : rows) {
    INFO(row.form);
    Row as_row{row.form, "b32", "f", {}};
    std::vector<u64> a(128);
    for (int i = 0; i < 128; ++i) a[i] = std::bit_cast<u32>(static_cast<float>(row.low + (row.high - row.low) * (i + 0.5) / 128));
    Device d;
    const auto ia = d.input("a", a), io = d.output("o", 1024);
    const auto report = d.run(module_of(text_for(as_row)), "k", {1}, {128}, 0, P{ia}, P{ia}, P{ia}, P{io});
    REQUIRE(faults_of(report) == "");
    const auto o = d.values<u64>(io);
    for (int i = 0; i < 128; ++i) {
      const double want = row.exact(static_cast<double>(f32(a[i])));
      REQUIRE(std::fabs(static_cast<double>(f32(o[i])) - want) <= row.relative * std::fabs(want) + row.absolute);
    }
  }
}

TEST_CASE("an instruction or operand that cannot run is refused by name and line", "[conformance]") {
  const auto refusal = [](const std::string& body) {
    const auto module = module_of(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>; .reg "
        ".f32 %f<4>;\n" +
        body + "\nret;\n}\n");
    auto program = ptx::make_program(module, "k");
    if (!program.is_rejected()) return std::string("runs");
    cupilot::testing::expect_code(program.rejected(), "run.unsupported");
    return program.rejected().message + " @ " + program.rejected().where;
  };
  CHECK(refusal("frobnicate.b32 %r1, %r2;").find("frobnicate.b32") == 0);
  CHECK(refusal("frobnicate.b32 %r1, %r2;").find("ptx line 6") != std::string::npos);
  CHECK(refusal("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16;").find("wgmma.mma_async") == 0);
  CHECK(refusal("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r1}, %rd1, %rd1, 0;").find("shape") != std::string::npos);
  CHECK(refusal("add.s32 %r1, %r2;").find("operands") != std::string::npos);
  CHECK(refusal("add.s32 %rd1, %r2, %r3;").find("64 bits where 32") != std::string::npos);
  CHECK(refusal("add.f33 %r1, %r2, %r3;") != "runs");
  CHECK(refusal("mov.b64 %rd1, {%r1, %r2, %r3};") != "runs");
  CHECK(refusal("ld.global.v4.f32 {%f1, %f2}, [%rd1];") != "runs");
  CHECK(refusal("ld.param.f32 %f1, [%r1];") == "runs");
  CHECK(refusal("shfl.sync.idx.b32 _, %r1, 0, 31, -1;") != "runs");
  CHECK(refusal("add.s32 %r1, %r2, %r3;") == "runs");
}

TEST_CASE("lop3 joins its result's truth with another predicate", "[conformance]") {
  const std::string head =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 o) {\n.reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred "
      "%p<3>;\n"
      "ld.param.u64 %rd1, [o];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd1, %r1, 4, %rd1;\nsetp.gt.u32 %p1, %r1, 3;\n";
  for (const bool both : {false, true}) {
    for (const bool negated : {false, true}) {
      Device d;
      const auto out = d.output("o", 32);
      const std::string form = both ? "lop3.and.b32" : "lop3.or.b32";
      // a & b & !c
      const auto report =
          d.run(module_of(head + form + " %r2|%p2, %r1, 6, 2, 0x40, " + (negated ? "!" : "") +
                          "%p1;\nselp.u32 %r3, 100, 0, %p2;\nadd.u32 %r3, %r3, %r2;\nst.global.u32 [%rd1], %r3;\nret;\n}\n"),
                "k", {1}, {8}, 0, Device::Pointer{out});
      REQUIRE(faults_of(report) == "");
      const auto got = d.values<u32>(out);
      for (u32 i = 0; i < 8; ++i) {
        const u32 r = i & 6 & ~2u;
        const bool p = (i > 3) != negated;
        CHECK(got[i] == r + ((both ? r != 0 && p : r != 0 || p) ? 100 : 0));
      }
    }
  }
}
