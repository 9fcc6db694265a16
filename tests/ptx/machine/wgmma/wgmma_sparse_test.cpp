// Sparse products of warpgroups on small integers, which every format holds exactly, against a
// dense product on the host.
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "catch.hpp"
#include "ptx/machine/half.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;
using u8 = std::uint8_t;
using u32 = std::uint32_t;

namespace {

constexpr int rows = 64, columns = 16;

struct Kind {
  const char* types;
  int bits, k;
  u32 (*encode)(int);
  int selectors;
  const char* scales;  // what follows scale-d
};

u32 as_fp16(int v) { return static_cast<u32>(conformance::nearest_fp16(v)); }
u32 as_bf16(int v) { return std::bit_cast<u32>(static_cast<float>(v)) >> 16; }
u32 as_fp32(int v) { return std::bit_cast<u32>(static_cast<float>(v)); }
u32 as_byte(int v) { return static_cast<u8>(v); }
// 4 exponent bits from bias 7 and 3 of fraction hold -8 to 8.
u32 as_e4m3(int v) {
  const u32 bits = std::bit_cast<u32>(static_cast<float>(v < 0 ? -v : v));
  return v == 0 ? 0 : (v < 0 ? 0x80u : 0u) | (((bits >> 23) - 120) << 3) | ((bits >> 20) & 7);
}

const Kind kinds[] = {
    {"m64n16k32.f32.f16.f16", 16, 32, as_fp16, 2, "1, 1, 0, 0"},
    {"m64n16k32.f32.bf16.bf16", 16, 32, as_bf16, 2, "1, 1, 0, 0"},
    {"m64n16k16.f32.tf32.tf32", 32, 16, as_fp32, 2, "1, 1"},
    {"m64n16k64.f32.e4m3.e4m3", 8, 64, as_e4m3, 1, "1, 1"},
    {"m64n16k64.s32.s8.s8", 8, 64, as_byte, 1, ""},
};

// A and B lie as cores of 8 rows by 16 bytes, of A in registers four words a thread follow;
// metadata a word a thread.
std::string text_of(const Kind& kind, bool registers, int selector) {
  const std::string head =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 a, .param "
      ".u64 b, .param .u64 e, .param "
      ".u64 d) {\n"
      ".reg .b32 r<16>;\n.reg .b64 x<12>;\n.reg .b32 s<12>;\n.reg .b32 f<4>;\n.reg .pred "
      "p;\n.shared .align 128 .b8 ta[2048];\n"
      ".shared .align 128 .b8 tb[1024];\nld.param.u64 x0, [a];\nld.param.u64 x1, "
      "[b];\nld.param.u64 x2, [e];\nld.param.u64 x3, "
      "[d];\n"
      "mov.u32 r0, %tid.x;\nmul.wide.u32 x4, r0, 16;\nadd.s64 x5, x0, x4;\nld.global.v4.u32 {f0, "
      "f1, f2, f3}, [x5];\n"
      "mov.u32 r1, ta;\nmad.lo.u32 r2, r0, 16, r1;\nst.shared.v4.u32 [r2], {f0, f1, f2, f3};\n"
      "mul.wide.u32 x6, r0, 8;\nadd.s64 x6, x1, x6;\nld.global.v2.u32 {r4, r5}, [x6];\nmov.u32 r3, "
      "tb;\nmad.lo.u32 r2, r0, 8, "
      "r3;\n"
      "st.shared.v2.u32 [r2], {r4, r5};\nmul.wide.u32 x6, r0, 4;\nadd.s64 x6, x2, "
      "x6;\nld.global.u32 r6, [x6];\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
      // Leading offsets 128, strides 256 and 512, in units of 16 bytes.
      "cvt.u64.u32 x7, r1;\nshr.u64 x7, x7, 4;\nor.b64 x7, x7, 0x1000080000;\ncvt.u64.u32 x8, "
      "r3;\nshr.u64 x8, x8, 4;\n"
      "or.b64 x8, x8, 0x2000080000;\n";
  const std::string zero = [] {
    std::string out;
    for (int i = 0; i < 8; ++i) out += fmt::format("mov.u32 s{}, 0;\n", i);
    return out;
  }();
  std::string scales = kind.scales;
  if (registers && scales == "1, 1, 0, 0") scales = "1, 1, 0";
  return head + zero +
         fmt::format(
             "setp.ne.u32 p, r1, "
             "0xffffffff;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sp.sync.aligned.{} {{s0, s1, "
             "s2, s3, "
             "s4, s5, "
             "s6, s7}}, {}, x8, r6, {}, "
             "p{}{};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
             kind.types, registers ? "{f0, f1, f2, f3}" : "x7", selector,
             scales.empty() ? "" : ", ", scales) +
         "mul.wide.u32 x9, r0, 32;\nadd.s64 x9, x3, x9;\nst.global.v4.u32 [x9], {s0, s1, s2, s3};\n"
         "st.global.v4.u32 [x9+16], {s4, s5, s6, s7};\nret;\n}\n";
}

struct Problem {
  std::vector<u8> a = std::vector<u8>(2048), b = std::vector<u8>(1024);
  std::vector<u32> metadata = std::vector<u32>(128);
  std::array<std::array<int, columns>, rows> d{};
};

void put(std::vector<u8>& bytes, std::size_t at, u32 value, int bits) {
  for (int i = 0; i < bits / 8; ++i)
    bytes.at(at + static_cast<std::size_t>(i)) = static_cast<u8>(value >> (8 * i));
}

// Byte `at` of a row among cores, `cores` of them along k.
std::size_t core(int row, int at, int cores) {
  return static_cast<std::size_t>(row / 8 * cores * 128 + at / 16 * 128 + row % 8 * 16 + at % 16);
}
// Of A in registers: word of row and byte.
std::size_t fragment(int row, int at) {
  const int word = at / 4, thread = row / 16 * 32 + row % 8 * 4 + word % 4,
            reg = row % 16 / 8 + word / 4 * 2;
  return static_cast<std::size_t>((thread * 4 + reg) * 4 + at % 4);
}

Problem problem_of(const Kind& kind, bool registers, int selector) {
  Problem out;
  std::mt19937 generator(5);
  const auto drawn = [&] { return static_cast<int>(generator() % 9) - 4; };
  std::vector<std::vector<int>> b(static_cast<std::size_t>(kind.k), std::vector<int>(columns));
  const int wide = kind.bits / 8, group = kind.bits == 32 ? 2 : 4, kept = group / 2;
  for (int k = 0; k < kind.k; ++k) {
    for (int n = 0; n < columns; ++n) {
      const int v = b[static_cast<std::size_t>(k)][static_cast<std::size_t>(n)] = drawn();
      put(out.b, core(n, k * wide, 4), kind.encode(v), kind.bits);
    }
  }
  for (int row = 0; row < rows; ++row) {
    for (int g = 0; g < kind.k / group; ++g) {
      const int low = static_cast<int>(generator() % 3),
                high = low + 1 + static_cast<int>(generator() % static_cast<u32>(3 - low));
      const int one = low % 2;
      const u32 where = group == 2 ? (one == 0 ? 0x4u : 0xeu) : static_cast<u32>(low | high << 2);
      const bool pairs = kind.bits >= 16;
      const int lane =
          row / 16 * 32 + row % 8 * 4 + (pairs ? g / 4 + 2 * selector : g / 8 * 2 + row % 16 / 8);
      out.metadata.at(static_cast<std::size_t>(lane)) |=
          where << (pairs ? row % 16 / 8 * 16 + 4 * (g % 4) : 4 * (g % 8));
      for (int j = 0; j < kept; ++j) {
        const int v = drawn(), at = (g * kept + j) * wide,
                  k = g * group + (group == 2 ? one
                                   : j == 0   ? low
                                              : high);
        put(out.a, registers ? fragment(row, at) : core(row, at, 2), kind.encode(v), kind.bits);
        for (std::size_t n = 0; n < columns; ++n)
          out.d[static_cast<std::size_t>(row)][n] += v * b[static_cast<std::size_t>(k)][n];
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("sparse products of warpgroups", "[wgmma][sparse]") {
  for (const Kind& kind : kinds) {
    for (const bool registers : {false, true}) {
      for (int selector = 0; selector < kind.selectors; ++selector) {
        for (const bool late : {false, true}) {
          const Problem problem = problem_of(kind, registers, selector);
          Device device;
          device.options.late = late;
          const auto a = device.input("a", problem.a), b = device.input("b", problem.b),
                     e = device.input("e", problem.metadata), d = device.output("d", 128 * 32);
          INFO(kind.types << (registers ? " from registers, selector "
                                        : " from shared memory, selector ")
                          << selector);
          const auto report = device.run(module_of(text_of(kind, registers, selector)), "run", {1},
                                         {128}, 0, P{a}, P{b}, P{e}, P{d});
          REQUIRE(faults_of(report) == "");
          const auto found = device.values<u32>(d);
          int wrong = 0;
          for (u32 t = 0; t < 128; ++t) {
            for (u32 i = 0; i < 8; ++i) {
              const u32 row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2),
                        column = i / 4 * 8 + t % 4 * 2 + i % 2;
              const int want = problem.d[row][column];
              wrong +=
                  found[t * 8 + i] == (kind.scales[0] == 0 ? static_cast<u32>(want) : as_fp32(want))
                      ? 0
                      : 1;
            }
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}
