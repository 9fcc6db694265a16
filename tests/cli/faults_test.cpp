// What a newcomer reads when a kernel is broken: tests/data/faults/*.cu against the screens beside
// them. A screen that should change is renewed by `cupilot verify FILE.cu --device virtual:h200 >
// FILE.txt` at the root, and read.
#include <algorithm>
#include <regex>

#include "catch.hpp"
#include "cli/program.hpp"
#include "support/sanitized.hpp"

namespace fs = std::filesystem;
using cupilot::testing::sanitized;

namespace {

const fs::path folder = fs::path(CUPILOT_SOURCE_DIR) / "tests/data/faults";

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cu") all.push_back(entry.path().stem().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Without what another release of the compiler may change: the line of the PTX text and its
// registers.
std::string settled(const std::string& screen) {
  const std::string placed =
      std::regex_replace(screen, std::regex("ptx line [0-9]+"), "ptx line N");
  return std::regex_replace(placed, std::regex("%([a-z]+)[0-9]+"), "%$1N");
}

// A kernel that was not judged (run.budget) is none that was refused.
int exit_of(const std::string& screen) { return screen.starts_with("NOT DONE") ? 9 : 8; }

}  // namespace

TEST_CASE("every kind of fault is told with its place, lines and next step", "[cli][faults]") {
  const support::Scratch scratch;
  REQUIRE(names().size() == 8);
  for (const std::string& name : names()) {
    const auto ran = support::run_at_root(
        "verify tests/data/faults/" + name + ".cu --device virtual:h200", scratch);
    const std::string want = settled(support::slurp(folder / (name + ".txt")));
    INFO(name << "\n" << ran.out << ran.err);
    CHECK(ran.exit == exit_of(want));
    CHECK(settled(ran.out) == want);
  }
}

TEST_CASE("profile refuses a kernel that faults, as verify does", "[cli][faults]") {
  const support::Scratch scratch;
  for (const std::string& name : names()) {
    if (sanitized() && name != "race") continue;  // the screens above saw the others
    const std::string want = support::slurp(folder / (name + ".txt"));
    const std::string code = want.substr(want.find("run."), want.find('\n') - want.find("run."));
    const auto ran = support::run_at_root("profile tests/data/faults/" + name + ".cu", scratch);
    INFO(name << "\n" << ran.out << ran.err);
    CHECK(ran.exit == exit_of(want));
    CHECK(ran.out.find(code) != std::string::npos);
    CHECK(ran.out.find(name + ".cu:") != std::string::npos);
  }
}

TEST_CASE("a refusal as JSON names lines of the user's file too", "[cli][faults]") {
  const support::Scratch scratch;
  const auto ran = support::run_at_root(
      "verify tests/data/faults/race.cu --device virtual:h200 --json", scratch);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 8);
  CHECK(ran.out.find("race.cu:6") != std::string::npos);
  CHECK(ran.out.find("kernel.cu") == std::string::npos);
}
