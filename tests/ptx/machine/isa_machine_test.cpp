// Forms that few kernels hold and that are more than arithmetic on registers: wide atomics, special
// registers, stacks, windows of shared memory, and products of matrices with roundings or sums of
// two types.
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
using s64 = std::int64_t;
using u64 = std::uint64_t;

namespace {

float fp16(u64 h) { return conformance::value_of_fp16(h); }
u64 to_fp16(double x) { return conformance::nearest_fp16(x); }

}  // namespace

TEST_CASE("16-byte atomics exchange and compare whole values", "[isa]") {
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg "
      ".b64 d<9>;\n.reg .b128 q<5>;\n"
      ".reg .b32 r<3>;\n.shared .align 16 .b8 s[16];\nld.param.u64 d1, [p];\nmov.u64 d2, "
      "7;\nmov.u64 d3, 8;\nmov.b128 q1, {d2, "
      "d3};\n"
      "atom.relaxed.gpu.global.exch.b128 q2, [d1], q1;\nst.global.b128 [d1+16], q2;\n"
      "mov.b128 q3, {d3, d2};\natom.relaxed.gpu.global.cas.b128 q4, [d1], q1, q3;\nst.global.b128 "
      "[d1+32], q4;\n"
      "atom.relaxed.gpu.global.cas.b128 q4, [d1], q1, q2;\nst.global.b128 [d1+48], q4;\n"
      "mov.u32 r1, s;\nst.shared.b128 [r1], q1;\natom.shared.exch.b128 q4, [r1], "
      "q3;\nld.shared.v2.b64 {d4, d5}, [r1];\n"
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
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg "
      ".b64 d<3>;\n.reg .b16 h<3>;\n"
      ".reg .b32 r<4>;\n.reg .pred q;\nld.param.u64 d1, [p];\nmov.u16 h1, %tid.x;\nmov.u16 h2, "
      "%ntid.x;\nmov.u32 r1, %tid.x;\n"
      "mov.u32 r3, %ctaid.x;\nmad.lo.u32 r1, r3, 32, r1;\nmov.pred q, "
      "%is_explicit_cluster;\nselp.u32 r2, 1000, 0, q;\n"
      "mad.wide.u32 d1, r1, 4, d1;\nadd.u16 h1, h1, h2;\ncvt.u32.u16 r1, h1;\nadd.u32 r1, r1, "
      "r2;\nst.global.u32 [d1], "
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
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) "
           "{\n.reg .b64 d<9>;\n.reg .b32 "
           "r<3>;\n"
           "ld.param.u64 d1, [p];\nmov.u32 r1, %tid.x;\nmad.wide.u32 d2, r1, 32, "
           "d1;\nld.global.v2.b64 {d3, d4}, [d2];\n"
           "ld.global.v2.b64 {d5, d6}, [d2+16];\n" +
           form + rounding +
           ".f64.f64.f64.f64 {d5, d6}, {d3}, {d4}, {d5, d6};\nst.global.v2.b64 [d2+16], {d5, "
           "d6};\nret;\n}\n";
  };
  const std::pair<const char*, int> modes[] = {{".rn", 0}, {".rz", 1}, {".rm", 2}, {".rp", 3}};
  for (const char* form :
       {"mma.sync.aligned.m8n8k4.row.col", "wmma.mma.sync.aligned.row.col.m8n8k4"}) {
    for (const auto& [rounding, mode] : modes) {
      std::mt19937_64 generator(3);
      std::vector<double> in(128);
      for (double& v : in) v = std::ldexp(static_cast<double>(static_cast<s64>(generator())), -60);
      Device device;
      const auto io = device.output("p", 1024);
      device.memory.mark_written(io);
      std::memcpy(device.memory.data(io).data(), in.data(), 1024);
      REQUIRE(faults_of(device.run(module_of(text(form, rounding)), "run", {1}, {32}, 0, P{io})) ==
              "");
      const auto out = device.values<double>(io);
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < 8; ++row) {
        for (std::size_t column = 0; column < 8; ++column) {
          const std::size_t place = (row * 4 + column / 2) * 4 + 2 + column % 2;
          double sum = in[place];
          for (std::size_t k = 0; k < 4; ++k) {
            const double a = in[(row * 4 + k) * 4], b = in[(column * 4 + k) * 4 + 1],
                         nearest = std::fma(a, b, sum);
            const auto error = static_cast<__float128>(a) * b + sum - nearest;
            double r = nearest;
            if (mode == 1 && error != 0 && (error > 0) != (nearest > 0))
              r = std::nextafter(nearest, 0.0);
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
  // Lane n takes 16 (n + 1) bytes, fills them, calls a function that takes some itself, and adds up
  // what it wrote.
  const std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.func (.param .b32 result) deeper (.param "
      ".b32 seed) {\n.reg .b64 d<3>;\n"
      ".reg .b32 r<4>;\nalloca.u64 d1, 64, 64;\nld.param.u32 r1, [seed];\nst.local.u32 [d1+60], "
      "r1;\nand.b64 d2, d1, 63;\n"
      "cvt.u32.u64 r2, d2;\nld.local.u32 r3, [d1+60];\nadd.u32 r3, r3, r2;\nst.param.b32 [result], "
      "r3;\nret;\n}\n"
      ".visible .entry run(.param .u64 p) {\n.reg .b64 d<9>;\n.reg .b32 r<12>;\n.reg .pred "
      "q;\nld.param.u64 d1, [p];\n"
      "mov.u32 r1, %tid.x;\nstacksave.u64 d2;\nadd.u32 r2, r1, 1;\nmul.wide.u32 d3, r2, "
      "16;\nalloca.u64 d4, d3, 16;\n"
      "mov.u32 r3, 0;\nmov.u64 d5, d4;\nfill:\nst.local.u32 [d5], r3;\nadd.u64 d5, d5, 4;\nadd.u32 "
      "r3, r3, 1;\nshl.b32 r4, r2, "
      "2;\n"
      "setp.lt.u32 q, r3, r4;\n@q bra fill;\n{\n.param .b32 in;\n.param .b32 out;\nst.param.b32 "
      "[in], r1;\n"
      "call (out), deeper, (in);\nld.param.b32 r5, [out];\n}\nmov.u32 r6, 0;\nmov.u32 r3, "
      "0;\nmov.u64 d5, d4;\nsum:\n"
      "ld.local.u32 r7, [d5];\nadd.u32 r6, r6, r7;\nadd.u64 d5, d5, 4;\nadd.u32 r3, r3, "
      "1;\nsetp.lt.u32 q, r3, r4;\n@q bra sum;\n"
      "stackrestore.u64 d2;\nalloca.u64 d6, d3, 16;\nsetp.eq.u64 q, d6, d4;\nselp.u32 r8, 1000000, "
      "0, q;\nadd.u32 r6, r6, r8;\n"
      "add.u32 r6, r6, r5;\nmul.wide.u32 d7, r1, 4;\nadd.u64 d7, d1, d7;\nst.global.u32 [d7], "
      "r6;\nret;\n}\n";
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
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) "
           "{\n.reg .b64 d<9>;\n.reg .b32 "
           "r<3>;\n" +
           body + "\nret;\n}\n";
  };
  for (const char* body : {"alloca.u64 d1, 200000;", "alloca.u64 d1, 32;\nst.local.u32 [d1+32], 1;",
                           "loop:\nalloca.u64 d1, 1024;\nbra loop;"}) {
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
    const std::string eight = "{r0, r1, r2, r3, r4, r5, r6, r7}",
                      other = "{r8, r9, r10, r11, r12, r13, r14, r15}";
    const std::string four = "{s0, s1, s2, s3}", wide = "{s0, s1, s2, s3, s4, s5, s6, s7}";
    const std::string c = narrow ? wide : four,
                      d = narrow ? "{u0, u1, u2, u3}" : "{u0, u1, u2, u3, u4, u5, u6, u7}";
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 a, .param "
        ".u64 b, .param .u64 c, .param "
        ".u64 d) "
        "{\n.reg .b64 x<5>;\n.reg .b32 r<17>;\n.reg .b32 s<9>;\n.reg .b32 u<9>;\nld.param.u64 x1, "
        "[a];\nld.param.u64 x2, [b];\n"
        "ld.param.u64 x3, [c];\nld.param.u64 x4, "
        "[d];\nwmma.load.a.sync.aligned.row.m16n16k16.global.f16 " +
        eight + ", [x1];\nwmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + other +
        ", [x2];\nwmma.load.c.sync.aligned.row.m16n16k16.global." + tc + " " + c +
        ", [x3];\nwmma.mma.sync.aligned.row.col.m16n16k16." + td + "." + tc + " " + d + ", " +
        eight + ", " + other + ", " + c + ";\nwmma.store.d.sync.aligned.row.m16n16k16.global." +
        td + " [x4], " + d + ";\nret;\n}\n";
    std::mt19937 generator(9);
    const auto drawn = [&](int most) {
      return static_cast<double>(static_cast<int>(generator() % (2 * most + 1)) - most);
    };
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
               ic = narrow ? device.input("c", c32) : device.input("c", c16),
               io = device.output("d", narrow ? 512 : 1024);
    REQUIRE(faults_of(device.run(module_of(text), "run", {1}, {32}, 0, P{ia}, P{ib}, P{ic},
                                 P{io})) == "");
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
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 p) {\n.reg "
      ".b64 d<5>;\n.reg .b32 r<8>;\n"
      ".reg .pred q<4>;\n.shared .align 4 .b8 s[4];\nld.param.u64 d1, [p];\nmov.u64 d2, "
      "s;\ncvta.shared.u64 d2, d2;\n"
      "mov.u32 r1, %cluster_ctarank;\nxor.b32 r2, r1, 1;\nmapa.u64 d3, d2, r2;\nmov.u32 r7, 0;\n"
      "isspacep.shared::cta q1, d2;\n@q1 or.b32 r7, r7, 1;\nisspacep.shared::cluster q1, d2;\n@q1 "
      "or.b32 r7, r7, 2;\n"
      "isspacep.shared::cta q1, d3;\n@q1 or.b32 r7, r7, 4;\nisspacep.shared::cluster q1, d3;\n@q1 "
      "or.b32 r7, r7, 8;\n"
      "isspacep.global q1, d1;\n@q1 or.b32 r7, r7, 16;\nisspacep.global q1, d3;\n@q1 or.b32 r7, "
      "r7, 32;\n"
      "isspacep.shared q1, d3;\n@q1 or.b32 r7, r7, 64;\nmul.wide.u32 d4, r1, 4;\nadd.u64 d4, d1, "
      "d4;\nst.global.u32 [d4], r7;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n";
  Device device;
  device.cluster = {2, 1, 1};
  const auto io = device.output("p", 8);
  REQUIRE(faults_of(device.run(module_of(text), "run", {2}, {1}, 0, P{io})) == "");
  for (const u32 found : device.values<u32>(io)) CHECK(found == 27);
}
