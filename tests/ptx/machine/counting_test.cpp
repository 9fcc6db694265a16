// Sectors and passes of single instructions over patterns of addresses, as an H200's performance
// monitors count them (docs/results/counters has all patterns).
#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <set>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using cupilot::Counter;
using support::Device;
using u32 = std::uint32_t;

namespace {

constexpr const char* text = R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry probe(.param .u64 data, .param .u64 offsets) {
  .reg .b32 %r<12>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 block[32768];
  ld.param.u64 %rd1, [data];
  ld.param.u64 %rd2, [offsets];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 8;
  add.s64 %rd3, %rd2, %rd3;
  ld.global.v2.u32 {%r2, %r3}, [%rd3];
  cvt.u64.u32 %rd4, %r2;
  add.s64 %rd5, %rd1, %rd4;
  mov.u32 %r4, block;
  add.s32 %r5, %r4, %r3;
  mov.f32 %f1, 0f40400000;
  LINE
  ret;
}
)";

u32 row(u32 i) { return i; }
u32 pairs(u32 i) { return i / 2; }
u32 halves(u32 i) { return i % 16; }
u32 one(u32) { return 0; }
u32 twice(u32 i) { return 2 * i; }
u32 eight(u32 i) { return 8 * i; }
u32 turned(u32 i) { return i % 8 * 33 + i / 8; }
u32 shifted(u32 i) { return i + 1; }

using Pattern = std::function<u32(u32)>;

// What one instruction counts, `global` and `shared` giving each lane's address in units of
// `bytes`.
cupilot::Counts counts_of(const std::string& line, u32 bytes, const Pattern& global,
                          const Pattern& shared) {
  std::string whole = text;
  whole.replace(whole.find("LINE"), 4, line);
  Device d;
  d.options.check_races = d.options.check_initialised = false;
  std::vector<u32> offsets;
  for (u32 i = 0; i < 32; ++i)
    offsets.insert(offsets.end(), {global(i) * bytes, shared(i) * bytes});
  const std::size_t data = d.output("data", 65536), table = d.input("offsets", offsets);
  const auto report = d.run(support::module_of(whole), "probe", {}, {32}, 0, Device::Pointer{data},
                            Device::Pointer{table});
  INFO(line);
  CHECK(support::faults_of(report) == "");
  return report.counts;
}

constexpr double table_sectors = 8;  // of the offsets themselves

}  // namespace

TEST_CASE("sectors of global accesses are those of an H200", "[counting]") {
  struct Row {
    const char* line;
    u32 bytes;
    Pattern pattern;
    Counter counter;
    double sectors;
  };
  const Counter loads = Counter::global_load_sectors, stores = Counter::global_store_sectors,
                atomics = Counter::atomic_sectors;
  const Row rows[] = {
      {"ld.global.u32 %r6, [%rd5];", 4, row, loads, 4},
      {"ld.global.u32 %r6, [%rd5];", 4, shifted, loads, 5},
      {"ld.global.u32 %r6, [%rd5];", 4, turned, loads, 11},
      {"ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];", 16, row, loads, 16},
      {"ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];", 16, pairs, loads, 8},
      {"ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];", 16, turned, loads, 20},
      {"st.global.v2.u32 [%rd5], {%r1, %r2};", 8, twice, stores, 16},
      {"red.global.add.u32 [%rd5], %r1;", 4, row, atomics, 4},
      {"red.global.add.u32 [%rd5], %r1;", 4, pairs, atomics, 4},
      {"red.global.add.u64 [%rd5], %rd4;", 8, halves, atomics, 8},
      {"red.global.add.f32 [%rd5], %f1;", 4, one, atomics, 32},
      {"red.global.add.u32 [%rd5], %r1;", 4, one, atomics, 1},  // made one by the assembler
  };
  for (const Row& r : rows) {
    const auto counts = counts_of(r.line, r.bytes, r.pattern, row);
    CHECK(counts[r.counter].value - (r.counter == loads ? table_sectors : 0) == r.sectors);
  }
}

TEST_CASE("a pattern's sectors are the distinct ones that its lanes touch", "[counting]") {
  std::mt19937 random(7);
  for (u32 i = 0; i < 200; ++i) {
    const u32 bytes = 4u << i % 3, stride = i / 3 % 5, noise = i / 15 % 4;
    std::vector<u32> at(32);
    for (u32 lane = 0; lane < 32; ++lane)
      at[lane] = 3 + stride * lane + (noise > 0 ? static_cast<u32>(random() % (8 * noise)) : 0);
    if (i / 60 % 2 == 0) std::sort(at.begin(), at.end());
    std::set<u32> sectors;
    for (const u32 a : at) sectors.insert({a * bytes / 32, (a * bytes + bytes - 1) / 32});
    INFO("pattern " << i << ", " << bytes << " bytes");
    const char* lines[] = {"st.global.u32 [%rd5], %r1;", "st.global.v2.u32 [%rd5], {%r1, %r2};",
                           "st.global.v4.u32 [%rd5], {%r1, %r2, %r1, %r2};"};
    const auto counts = counts_of(
        lines[i % 3], bytes, [&](u32 lane) { return at[lane]; }, row);
    CHECK(counts[Counter::global_store_sectors].value == static_cast<double>(sectors.size()));
  }
}

TEST_CASE("passes over shared memory are those of an H200", "[counting]") {
  struct Row {
    const char* line;
    u32 bytes;
    Pattern pattern;
    double passes;
  };
  const Row rows[] = {
      {"ld.shared.u32 %r6, [%r5];", 4, row, 1},
      {"ld.shared.u32 %r6, [%r5];", 4, twice, 2},
      {"ld.shared.u32 %r6, [%r5];", 4, one, 1},
      {"ld.shared.v2.u32 {%r6, %r7}, [%r5];", 8, row, 2},
      {"ld.shared.v2.u32 {%r6, %r7}, [%r5];", 8, pairs, 1},
      {"ld.shared.v2.u32 {%r6, %r7}, [%r5];", 8, halves, 2},
      {"ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];", 16, row, 4},
      {"ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];", 16, one, 2},
      {"ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];", 16, eight, 32},
      {"st.shared.v2.u32 [%r5], {%r1, %r2};", 8, pairs, 2},
      {"st.shared.v4.u32 [%r5], {%r1, %r2, %r1, %r2};", 16, one, 4},
      {"atom.shared.add.f32 %f2, [%r5], %f1;", 4, row, 1},
      {"red.shared.add.u32 [%r5], %r1;", 4, pairs, 2},
      {"red.shared.add.u32 [%r5], 1;", 4, pairs, 1},  // lanes of a word counted at once
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", 16, row, 4},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", 16, one, 4},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", 16, twice, 8},
      {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%r1, %r2, %r1, %r2};", 16, eight, 32},
  };
  for (const Row& r : rows) {
    const auto counts = counts_of(r.line, r.bytes, row, r.pattern);
    CHECK(counts[Counter::shared_load_wavefronts].value +
              counts[Counter::shared_store_wavefronts].value ==
          r.passes);
  }
}

TEST_CASE("asynchronous copies count once, by both their sides", "[counting]") {
  struct Row {
    const char* line;
    u32 bytes;
    Pattern from, to;
    double sectors, passes;
  };
  const Row rows[] = {
      {"cp.async.ca.shared.global [%r5], [%rd5], 4;", 4, row, row, 4, 1},
      {"cp.async.ca.shared.global [%r5], [%rd5], 4;", 4, pairs, row, 2, 2},
      {"cp.async.ca.shared.global [%r5], [%rd5], 4;", 4, row, twice, 4, 2},
      {"cp.async.ca.shared.global [%r5], [%rd5], 16;", 16, row, row, 16, 4},
      {"cp.async.cg.shared.global [%r5], [%rd5], 16;", 16, row, row, 16, 4},
      {"cp.async.cg.shared.global [%r5], [%rd5], 16;", 16, pairs, row, 32, 32},
      {"cp.async.cg.shared.global [%r5], [%rd5], 16;", 16, row, twice, 32, 32},
      {"cp.async.ca.shared.global [%r5], [%rd5], 16, 8;", 16, row, row, 16, 4},
      {"cp.async.cg.shared.global [%r5], [%rd5], 16, 0;", 16, row, row, 0, 0},
  };
  for (const Row& r : rows) {
    const auto counts = counts_of(r.line, r.bytes, r.from, r.to);
    CHECK(counts[Counter::global_load_sectors].value - table_sectors == r.sectors);
    CHECK(counts[Counter::global_load_requests].value == (r.sectors > 0 ? 2 : 1));
    CHECK(counts[Counter::shared_store_wavefronts].value == r.passes);
  }
}

TEST_CASE("an operation without an instruction counts those it is made of", "[counting]") {
  struct Row {
    const char* line;
    Counter counter;
    double a_thread;
  };
  const Row rows[] = {
      {"div.rn.f32 %f2, %f1, %f1;", Counter::flops_fp32, 10},
      {"div.full.f32 %f2, %f1, %f1;", Counter::flops_fp32, 1},
      {"sqrt.rn.f32 %f2, %f1;", Counter::flops_fp32, 6},
      {"sqrt.rn.f32 %f2, %f1;", Counter::special_ops, 1},
      {"rcp.rn.f32 %f2, %f1;", Counter::flops_fp32, 5},
      {"rcp.approx.ftz.f32 %f2, %f1;", Counter::flops_fp32, 0},
      {"rcp.approx.f32 %f2, %f1;", Counter::flops_fp32, 2},
      {"sin.approx.f32 %f2, %f1;", Counter::flops_fp32, 1},
      {"fma.rn.f32 %f2, %f1, %f1, %f1;", Counter::flops_fp32, 2},
  };
  for (const Row& r : rows)
    CHECK(counts_of(r.line, 4, row, row)[r.counter].value == 32 * r.a_thread);
}

TEST_CASE("a launch counts the same after others that counted nothing, over other memory",
          "[counting]") {
  std::string whole = text;
  whole.replace(whole.find("LINE"), 4, "ld.shared.f32 %f2, [%r5]; st.global.f32 [%rd5], %f1;");
  const auto program = cupilot::ptx::make_program(support::module_of(whole), "probe");
  REQUIRE(program);
  std::vector<u32> offsets;
  for (u32 i = 0; i < 32; ++i) offsets.insert(offsets.end(), {twice(i) * 4, eight(i) * 4});
  std::deque<Device> devices;  // those of former launches stay
  const auto launched = [&](u32 before, bool count) {
    Device& d = devices.emplace_back();
    d.options.check_races = d.options.check_initialised = false;
    d.options.count = count;
    if (before > 0) d.output("before", before);
    const std::uint64_t places[] = {d.memory.address(d.output("data", 65536)),
                                    d.memory.address(d.input("offsets", offsets))};
    cupilot::ptx::Launch launch{.grid = {}, .block = {32}, .parameters = {}};
    launch.parameters.resize(sizeof(places));
    std::memcpy(launch.parameters.data(), places, sizeof(places));
    auto report = cupilot::ptx::execute(**program, d.memory, launch, d.options);
    REQUIRE(report);
    CHECK(support::faults_of(*report) == "");
    CHECK(d.values<u32>(before > 0 ? 1 : 0)[2] == 0x40400000);
    return report->counts;
  };
  launched(0, false);
  launched(0, false);
  const auto counts = launched(1 << 20, true);
  CHECK(counts[Counter::global_store_sectors].value == 8);
  CHECK(counts[Counter::shared_load_wavefronts].value == 8);
  CHECK(counts[Counter::global_load_sectors].value == table_sectors);
}
