// The corpus covers the catalogue of known attacks by name.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "corpus.hpp"

namespace cupilot::hostile {
namespace {

const std::string folder = CUPILOT_SOURCE_DIR "/tests/hostile";

// The catalogue of how such systems were fooled or broken: results that only look right, state that
// outlives a launch, tricks on the clock, attacks on the harness.
const std::map<std::string, std::string> catalogue = {
    {"A1", "stale output"},
    {"A2", "output holds the answer by aliasing"},
    {"A3", "the reference copied from memory"},
    {"A4", "zeros or a constant inside the tolerance"},
    {"A5", "NaN as a wild card"},
    {"A6", "tail not computed"},
    {"A7", "one row computed and broadcast"},
    {"A8", "fast path chosen by sampling the input"},
    {"A9", "skipping on content"},
    {"A10", "hard-coded shapes"},
    {"A11", "hard-coded inputs or outputs"},
    {"A12", "a task that collapses algebraically"},
    {"A13", "changing the inputs"},
    {"A14", "lower precision than asked"},
    {"A15", "unstable shortcut"},
    {"A16", "uninitialised shared memory"},
    {"A17", "race that passes by luck"},
    {"A18", "order-dependent results"},
    {"A19", "out-of-bounds access that hurts nobody"},
    {"A20", "warp-synchronous assumptions"},
    {"A21", "reading the own output"},
    {"A22", "accumulating into an output assumed zero"},
    {"B1", "replay keyed by pointer"},
    {"B2", "replay keyed by content"},
    {"B3", "correct for the first launches"},
    {"B4", "state hidden in asm"},
    {"B5", "device heap"},
    {"B6", "untimed preparation"},
    {"B7", "residue in shared memory or registers"},
    {"B8", "several problems solved at once"},
    {"B9", "L2 made sticky"},
    {"C1", "work on another stream"},
    {"C2", "work on host threads"},
    {"C3", "lazy tensors"},
    {"C4", "patching the timer"},
    {"C5", "warm-up detection"},
    {"C6", "aggregation of worthless times"},
    {"C7", "recognising the harness"},
    {"C8", "no launch, fast result"},
    {"C9", "clocks"},
    {"C10", "sabotaging the baseline"},
    {"C11", "winner's curse"},
    {"C12", "below timer resolution"},
    {"E1", "forged verdict on standard output"},
    {"E2", "host files through includes"},
    {"E3", "log floods and terminal escapes"},
    {"E4", "breaking out of the function with asm"},
    {"E5", "parameter mismatch"},
    {"E6", "poisoning trusted code in the same unit"},
    {"E7", "prompt injection"},
    {"E8", "markup injection"},
    {"E9", "library fallback"},
    {"E10", "compile and load bombs"},
    {"E11", "over-asking resources"},
    {"E12", "hang"},
};

Corpus corpus() {
  auto read = read_corpus(folder);
  if (!read) FAIL(read.error().message);
  return std::move(*read);
}

bool must_pass(const Row& row) { return row.expect == std::vector<std::string>{"accepted"}; }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Names of all TEST_CASEs below tests/.
std::set<std::string> test_names() {
  std::set<std::string> names;
  const std::string mark = "TEST_CASE(\"";
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(CUPILOT_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = text_of(entry.path());
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t from = at + mark.size();
      names.insert(text.substr(from, text.find('"', from) - from));
    }
  }
  return names;
}

// What is no kernel: entry -> the tests that stand for it.
std::map<std::string, std::vector<std::string>> covered_elsewhere() {
  return nlohmann::json::parse(text_of(folder + "/covered.json"))
      .get<std::map<std::string, std::vector<std::string>>>();
}

}  // namespace

TEST_CASE("the corpus is as large as it claims") {
  std::size_t refused = 0, passed = 0;
  for (const Row& row : corpus().rows) (must_pass(row) ? passed : refused) += 1;
  CHECK(refused >= 200);
  CHECK(passed >= 60);
}

TEST_CASE("every entry of the catalogue is covered by a kernel or a named test") {
  std::set<std::string> covered;
  for (const Row& row : corpus().rows) {
    CAPTURE(row.file);
    for (const std::string& entry : row.covers) CHECK(catalogue.contains(entry));
    if (!must_pass(row)) covered.insert(row.covers.begin(), row.covers.end());
  }
  const std::set<std::string> tests = test_names();
  for (const auto& [entry, names] : covered_elsewhere()) {
    CAPTURE(entry);
    CHECK(catalogue.contains(entry));
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(tests.contains(name));
    }
    covered.insert(entry);
  }
  CHECK(catalogue.size() == 55);
  for (const auto& [entry, what] : catalogue) {
    CAPTURE(entry, what);
    CHECK(covered.contains(entry));
  }
}

}  // namespace cupilot::hostile
