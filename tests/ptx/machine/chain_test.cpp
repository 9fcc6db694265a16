// How often a warp waits for memory, from a text and counts of what was issued.
#include "ptx/machine/chain.hpp"

#include "catch.hpp"
#include "ptx/syntax/parser.hpp"

using namespace cupilot;
using namespace cupilot::ptx;

namespace {

// The chain of a body whose instruction i was issued counts[i] times, by one block.
Chain chain(const std::string& body, const std::vector<std::uint64_t>& counts) {
  auto module = parse(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n.reg "
      ".b32 %r<9>; .reg .f32 %f<9>; "
      ".reg .b64 %rd<9>; .reg .pred %p<9>;\n" +
      body + "\n}\n");
  REQUIRE(module);
  REQUIRE(module->functions[0].instructions.size() == counts.size());
  std::vector<LineCount> lines;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) lines.push_back({0, i, counts[i], 32 * counts[i]});
  }
  return chain_of(*module, 0, lines, 1);
}

const std::string load_two = "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2]; ";

}  // namespace

TEST_CASE("loads that nothing stands between are waited for once", "[chain]") {
  CHECK(chain(load_two + "add.f32 %f3, %f1, %f2; ret;", {1, 1, 1, 1}).waits == Approx(1));
  CHECK(chain("ld.shared.f32 %f1, [%r1]; add.f32 %f1, %f1, %f1; ret;", {1, 1, 1}).waits == 0);
}

TEST_CASE("loads whose addresses come of no load are issued before the first is needed",
          "[chain]") {
  const auto waits = [](const std::string& between, const std::string& address) {
    return chain("ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, %f1; " + between +
                     "ld.global.f32 %f2, [" + address + "]; add.f32 %f2, %f2, %f2; ret;",
                 {1, 1, 1, 1, 1, 1})
        .waits;
  };
  CHECK(waits("mov.u32 %r1, 0; ", "%rd2") == Approx(1));
  CHECK(waits("st.shared.f32 [%r1], %f1; ", "%rd2") == Approx(1));
  CHECK(waits("st.global.f32 [%rd3], %f1; ", "%rd2") == Approx(2));
  CHECK(waits("bar.sync 0; ", "%rd2") == Approx(2));
  CHECK(waits("cvt.rzi.u64.f32 %rd2, %f1; ", "%rd2") == Approx(2));
  // The second load's address is loaded beside the first.
  CHECK(waits("ld.global.u64 %rd2, [%rd3]; ", "%rd2") == Approx(2));
  CHECK(chain("ld.global.f32 %f1, [%rd1]; setp.gt.f32 %p1, %f1, %f4; @%p1 bra over; ld.global.f32 "
              "%f2, [%rd2]; over: add.f32 %f2, %f2, %f2; ret;",
              {1, 1, 1, 1, 1, 1})
            .waits == Approx(2));
}

TEST_CASE("what is issued before a load is needed covers it", "[chain]") {
  std::string body = "ld.global.f32 %f1, [%rd1]; ";
  std::vector<std::uint64_t> counts{1};
  for (int i = 0; i < 200; ++i) {
    body += "mul.f32 %f2, %f3, %f4; ";
    counts.push_back(1);
  }
  counts.insert(counts.end(), {1, 1});
  CHECK(chain(body + "add.f32 %f3, %f1, %f2; ret;", counts).waits == Approx(0.5));
}

TEST_CASE("a loop counts as often as a warp goes through it, whatever the number of warps",
          "[chain]") {
  const std::string loop =
      "again: ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f2, %f1; @%p1 bra again; ret;";
  const Chain one = chain("mov.u32 %r1, 0; " + loop, {1, 10, 10, 10, 1}),
              four = chain("mov.u32 %r1, 0; " + loop, {4, 40, 40, 40, 4});
  CHECK(one.waits == Approx(10));
  CHECK(four.waits == Approx(one.waits));
}

TEST_CASE("what follows a loop is passed as often as the loop is entered", "[chain]") {
  // Two loops of a few passes each, one in a loop of its own, before a load and a loop of loads.
  const std::string body =
      "first: mov.u32 %r1, 0; @%p1 bra first; "
      "around: mov.u32 %r2, 0; inner: mov.u32 %r3, 0; @%p2 bra inner; mov.u32 %r4, 0; @%p3 bra "
      "around; "
      "ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f2, %f1; "
      "again: ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f2, %f1; @%p4 bra again; ret;";
  for (const std::uint64_t passes : {1, 2, 4, 8}) {
    INFO(passes);
    const std::uint64_t both = 2 * passes;
    CHECK(chain(body, {passes, passes, 2, both, both, 2, 2, 1, 1, 10, 10, 10, 1}).waits ==
          Approx(11));
  }
  // Loops of copies of a product's operands are not looked into.
  const std::string product =
      "mov.u32 %r5, 0; first: mov.u32 %r1, 0; @%p1 bra first; ld.global.f32 %f1, [%rd1]; add.f32 "
      "%f2, %f2, %f1; "
      "many: fma.rn.f32 %f3, %f4, %f5, %f3; @%p2 bra many; ret;";
  CHECK(chain(product, {1, 4, 4, 1, 1, 15, 15, 1}).waits == Approx(1));
  CHECK(chain(product, {1, 4, 4, 1, 1, 30, 30, 1}).waits == Approx(4));
}

TEST_CASE("loads under short branches go together, under long ones one by one", "[chain]") {
  const auto guarded = [](const std::string& label, int more) {
    std::string text = "@%p1 bra " + label + "; ld.global.f32 %f1, [%rd1]; ";
    for (int i = 0; i < more; ++i) text += "mul.f32 %f2, %f3, %f4; ";
    return text + label + ": ";
  };
  CHECK(chain(guarded("a", 1) + guarded("b", 1) + "ret;", {1, 1, 1, 1, 1, 1, 1}).waits ==
        Approx(1).margin(0.02));
  std::vector<std::uint64_t> counts(2 * 22 + 1, 1);
  CHECK(chain(guarded("a", 20) + guarded("b", 20) + "ret;", counts).waits > 1.5);
}

TEST_CASE("of warps that part for good the longest way counts", "[chain]") {
  // Of four warps one loads eight times, the others once.
  const std::string body =
      "@%p1 bra few; mov.u32 %r1, 0; many: ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f2, %f1; @%p2 "
      "bra many; ret; "
      "few: ld.global.f32 %f3, [%rd1]; add.f32 %f4, %f4, %f3; ret;";
  CHECK(chain(body, {4, 1, 8, 8, 8, 1, 3, 3, 3}).waits == Approx(8));
}

TEST_CASE("a ring's phases and barriers are counted a block", "[chain]") {
  const std::string body =
      "mbarrier.init.shared::cta.b64 [%r1], 1; again: mbarrier.arrive.expect_tx.shared::cta.b64 "
      "%rd1, [%r1], 16; @%p1 bra again; "
      "ret;";
  const Chain ring = chain(body, {2, 6, 6, 2});
  CHECK(ring.fills == Approx(6 * 32));
  CHECK(ring.mbarriers == Approx(2 * 32));
}

TEST_CASE("the text that is repeated is the length of the loop that takes the time", "[chain]") {
  const std::string eight = "add.f32 %f1, %f1, %f1; add.f32 %f2, %f2, %f2; ret;";
  CHECK(chain(eight, {1, 1, 1}).text == Approx(3));
  CHECK(chain(eight, {1000, 1000, 1}).text == Approx(2).epsilon(0.01));
  CHECK(chain(eight, {1000, 0, 1}).text == Approx(1).epsilon(0.01));
}
