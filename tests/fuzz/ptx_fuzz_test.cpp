// The PTX parser and gate against spoilt modules: nothing crashes them, and what must be refused
// is.
#include <functional>

#include "catch.hpp"
#include "fuzz/ptx_mutants.hpp"
#include "ptx/gate/facts.hpp"
#include "ptx/syntax/parser.hpp"
#include "support/sanitized.hpp"

namespace cupilot::fuzz {
namespace {

const std::vector<Seed>& corpus() {
  static const std::vector<Seed> all = seeds();
  return all;
}

// What parser and gate say: a code, or "" for a text that passes both. Facts are read as well, as
// for every kernel.
std::string verdict(const std::string& text, const Seed& seed) {
  const auto module = ptx::parse(text);
  if (module.is_rejected()) return module.rejected().code;
  const auto refused = ptx::gate(*module, seed.entries);
  const PtxFacts facts = ptx::facts_of(*module);
  if (!refused && facts.normalized_hash.size() != 64) return "no hash";
  return refused ? refused->code : "";
}

}  // namespace

TEST_CASE("Real modules pass the gate") {
  REQUIRE(corpus().size() >= 12);
  for (const Seed& seed : corpus()) {
    INFO(seed.name);
    CHECK(verdict(seed.text, seed).empty());
    CHECK(complaint(seed.text, seed).empty());
  }
}

TEST_CASE("What is slipped into a real module is refused by its code") {
  struct Row {
    const char* name;
    std::function<Mutant(const Seed&, Dice&)> spoil;
  };
  const std::vector<Row> rows = {{"second entry", with_second_entry},
                                 {"hidden state", with_hidden_state},
                                 {"forbidden instruction", with_forbidden_instruction},
                                 {"oversize variable", with_oversize_variable},
                                 {"other interface", with_other_interface}};
  std::size_t wrong = 0;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < 300; ++i) {
      const Seed& seed = corpus()[i % corpus().size()];
      Dice dice(i);
      const Mutant mutant = row.spoil(seed, dice);
      const std::string code = verdict(mutant.text, seed);
      const bool right = mutant.code.empty() ? !code.empty() : code == mutant.code;
      if (right || ++wrong > 5) continue;
      FAIL_CHECK(row.name << " " << i << " in " << seed.name << ": "
                          << (code.empty() ? "accepted" : code) << ", want " << mutant.code << "\n"
                          << mutant.what);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE(
    "Scrambled modules crash nothing, and one that passes still has its interface and no state") {
  std::size_t passed = 0;
  const std::size_t count = testing::sanitized() ? 2000 : 5000;
  for (std::size_t i = 0; i < count; ++i) {
    const Seed& seed = corpus()[i % corpus().size()];
    Dice dice(1000 + i);
    const std::string text = scrambled(seed, corpus(), dice);
    if (!verdict(text, seed).empty()) continue;
    ++passed;
    const std::string why = complaint(text, seed);
    if (!why.empty())
      FAIL_CHECK("mutant " << i << " of " << seed.name << " passes: " << why << "\n" << text);
  }
  // The check above means something only if mutants do pass.
  CHECK(passed > count / 20);
}

TEST_CASE("A module cut anywhere is refused") {
  for (const Seed& seed : corpus()) {
    const std::size_t end = seed.text.rfind("ret;");
    for (std::size_t length = 0; length < end; length += 1 + seed.text.size() / 60) {
      INFO(seed.name << " cut at " << length);
      CHECK_FALSE(verdict(seed.text.substr(0, length), seed).empty());
    }
  }
}

TEST_CASE("Pathological texts end") {
  const std::string head = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  const std::string open =
                        head +
                        ".visible .entry k()\n{\n.reg .pred p; .reg .u32 r; .reg .u64 %d<70000>;\n",
                    close = "ret;\n}\n";
  const auto times = [](std::size_t n, const std::string& piece) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += piece;
    return all;
  };
  std::string chain =
      ".global .align 8 .b8 t[64] = {1};\n";  // an address that moves against the order of the text
  for (int i = 60000; i > 0; --i)
    chain += "add.u64 %d" + std::to_string(i) + ", %d" + std::to_string(i - 1) + ", 1;\n";
  std::string functions;
  for (int i = 0; i < 60000; ++i) functions += ".func f" + std::to_string(i) + "(){}\n";
  const Seed seed{"", "", {{"k", "k", {}, {}, {}}}};
  const std::vector<std::string> texts = {
      "",
      std::string(1 << 20, '{'),
      std::string(1 << 20, '!'),
      std::string(1 << 20, '"'),
      head + std::string(1 << 20, ';'),
      head + times(100000, "/**/"),
      open + "@" + std::string(1 << 20, '!') + "p ret;\n" + close,
      open + "mov.u32 r, " + std::string(1 << 20, '!') + "p;\n" + close,
      open + "mov.u32 r, " + std::string(1 << 20, '-') + "1;\n" + close,
      open + times(200000, "{") + times(200000, "}") + close,
      open + times(100000, "{}") + close,
      open + times(50000, "@p bra end;\n") + "end:\n" + close,
      open + "a" + times(300000, ".b") + ";\n" + close,
      open + std::string(1 << 20, 'x') + ":\n" + close,
      open + "mov.b64 {" + times(200000, "r,") + "r}, r;\n" + close,
      open + "ld.param.u64 %d1, [" + times(100000, "1+") + "1];\n" + close,
      head + ".global .u32 a[4] = " + times(100000, "{") + ";\n",
      head + ".global .u32 a = " + times(100000, "-") + "1;\n",
      head + functions + open.substr(head.size()) + close,
      open + chain + "mov.u64 %d0, t;\nst.global.u32 [%d60000], r;\n" + close,
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string code = verdict(texts[i], seed);
    INFO(i << " " << code);
    CHECK((code.empty() || code.rfind("gate.", 0) == 0));
  }
  CHECK(verdict(texts.back(), seed) == "gate.state");
}

}  // namespace cupilot::fuzz
