// What a device leaves open is drawn from a launch's seed: a kernel that needs one outcome of it
// meets others.
#include <algorithm>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;
using u32 = std::uint32_t;

namespace {

constexpr u32 warps = 4, threads = 32 * warps, blocks = 3, seeds = 12;

// A block of threads that leaves one word a thread.
std::shared_ptr<const ptx::Module> kernel(const std::string& body) {
  return module_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 o) {\n.reg "
      ".pred %p, %q;\n"
      ".reg .b32 %i, %block, %v, %w, %never;\n.reg .b64 %to, %at;\n.local .align 8 .b8 "
      "place[8];\n.shared .align 4 .b32 word;\n"
      "mov.u32 %i, %tid.x;\nmov.u32 %block, %ctaid.x;\nmad.lo.u32 %block, %block, " +
      std::to_string(threads) +
      ", %i;\nld.param.u64 %to, [o];\nmad.wide.u32 %to, %block, 4, %to;\n"
      "st.shared.u32 [word], 0;\nbar.sync 0;\n" +
      body + "\nst.global.u32 [%to], %v;\nret;\n}\n");
}

std::vector<u32> words(const std::shared_ptr<const ptx::Module>& module, std::uint64_t seed,
                       u32 units = 132) {
  Device d;
  d.options.seed = seed;
  d.options.sm_count = units;
  d.options.check_races = false;  // all threads clear the word
  const auto o = d.output("o", blocks * threads * 4);
  const auto report = d.run(module, "k", {blocks}, {threads}, 0, P{o});
  REQUIRE(faults_of(report) == "");
  return d.values<u32>(o);
}

}  // namespace

TEST_CASE("what nobody wrote differs from warp to warp and from seed to seed") {
  struct Row {
    const char *name, *body;
    u32 unseeded, zeros, large;  // without a seed, and two that come up
  };
  static constexpr Row rows[] = {
      {"a register", "mov.b32 %v, %never;", 0xffffffff, 0, 0x7f7f7f7f},
      {"a predicate", "selp.b32 %v, 1, 0, %q;", 1, 0, 1},
      {"local memory", "ld.local.b32 %v, [place+4];", 0xffffffff, 0, 0x7f7f7f7f},
      {"the carry", "addc.u32 %v, 0, 0;", 0, 0, 1},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto module = kernel(row.body);
    CHECK(words(module, 0) == std::vector<u32>(blocks * threads, row.unseeded));
    std::set<u32> met;
    std::set<std::vector<u32>> launches;
    bool lanes_differ = false;
    for (u32 seed = 1; seed <= seeds; ++seed) {
      const std::vector<u32> got = words(module, seed);
      CHECK(words(module, seed) == got);
      launches.insert(got);
      met.insert(got.begin(), got.end());
      for (u32 i = 1; i < 32; ++i) lanes_differ |= got[i] != got[0];
    }
    CHECK(launches.size() > seeds / 2);
    CHECK(lanes_differ);
    CHECK(met.count(row.unseeded) == 1);
    CHECK(met.count(row.zeros) == 1);
    CHECK(met.count(row.large) == 1);
  }
}

TEST_CASE("multiprocessors and slots of warps are in no order") {
  const auto units = kernel("mov.u32 %v, %smid;"), slots = kernel("mov.u32 %v, %warpid;");
  const auto expected = [](auto of) {
    std::vector<u32> out(blocks * threads);
    for (u32 i = 0; i < out.size(); ++i) out[i] = of(i);
    return out;
  };
  const auto block_of = [](u32 i) { return i / threads; };
  const auto warp_of = [](u32 i) { return i % threads / 32; };
  CHECK(words(units, 0) == expected(block_of));
  CHECK(words(slots, 0) == expected(warp_of));
  bool shared = false;
  u32 unordered = 0;
  for (u32 seed = 1; seed <= seeds; ++seed) {
    const std::vector<u32> unit = words(units, seed, 4), slot = words(slots, seed);
    CHECK(words(slots, seed) == slot);
    for (u32 block = 0; block < blocks; ++block) {
      const u32 first = block * threads;
      std::set<u32> used;
      for (u32 i = first; i < first + threads; ++i) {
        CHECK(unit[i] == unit[first]);
        CHECK(slot[i] == slot[i / 32 * 32]);
        used.insert(slot[i]);
      }
      CHECK(unit[first] < 4);
      CHECK(used.size() == warps);
      CHECK(*used.rbegin() < 64);
    }
    shared |= unit[0] == unit[threads];
    if (unit != expected(block_of) && slot != expected(warp_of)) ++unordered;
  }
  CHECK(shared);
  CHECK(unordered > seeds / 2);
}

TEST_CASE("lanes of a warp come to an atomic in no order") {
  struct Row {
    const char *name, *body;
  };
  static constexpr Row rows[] = {
      {"all lanes, shared",
       "setp.lt.u32 %p, %i, 32;\nmov.u32 %v, %i;\n@%p atom.shared.add.u32 %v, [word], 1;"},
      {"some lanes, global",
       "mov.u32 %w, %ctaid.x;\nsetp.eq.u32 %p, %w, 0;\nsetp.lt.and.u32 %p, %i, 20, %p;\nmov.u32 "
       "%v, 0;\nst.global.u32 [%to], "
       "%v;\n"
       "bar.sync 0;\nld.param.u64 %at, [o];\nmov.u32 %v, %i;\n@%p atom.global.add.u32 %v, "
       "[%at+508], 1;\nbar.sync 0;"},
      {"a pair of lanes",
       "setp.lt.u32 %p, %i, 2;\nmov.u32 %v, %i;\n@%p atom.shared.add.u32 %v, [word], 1;"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto module = kernel(row.body);
    std::vector<u32> ascending(32);
    std::iota(ascending.begin(), ascending.end(), 0u);
    const auto tickets = [&](std::uint64_t seed) {
      const std::vector<u32> all = words(module, seed);
      return std::vector<u32>(all.begin(), all.begin() + 32);
    };
    CHECK(tickets(0) == ascending);
    std::set<std::vector<u32>> orders;
    for (u32 seed = 1; seed <= seeds; ++seed) {
      const std::vector<u32> got = tickets(seed);
      CHECK(tickets(seed) == got);
      CHECK(std::is_permutation(got.begin(), got.end(), ascending.begin()));
      orders.insert(got);
    }
    CHECK(orders.size() >= 2);
  }
}
