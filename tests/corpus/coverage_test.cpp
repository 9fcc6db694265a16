// Every kernel of the corpus is compiled, admitted, and right on the virtual device; every entry and every feature has one.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "index.hpp"
#include "run.hpp"

namespace cupilot::coverage {
namespace {

namespace fs = std::filesystem;

const std::string folder = CUPILOT_SOURCE_DIR "/tests/corpus";

std::vector<std::string> files_in(const fs::path& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(folder + "/kernels/" + file).rdbuf();
  return text.str();
}

// What one kernel came to. Threads fill it, the test's own thread asserts.
struct Outcome {
  std::vector<std::string> wrong{};
  std::set<std::string> opcodes{};
};

Outcome examine(Bench& bench, const std::string& file, const CorpusIndex& index) {
  const auto kernel = read_kernel(folder + "/kernels", file);
  if (!kernel) return {{kernel.error().message}, {}};
  const auto compiled = bench.compile(kernel->source);
  if (compiled.is_error()) return {{compiled.error().message}, {}};
  if (compiled.is_rejected())
    return {{compiled.rejected().code + ": " + compiled.rejected().message + " at " + compiled.rejected().where}, {}};
  Outcome outcome;
  for (const auto& [opcode, count] : compiled->facts.opcodes) outcome.opcodes.insert(opcode);
  outcome.wrong = bench.run(*kernel, *compiled, {});
  for (const Entry& entry : index.level1) {
    if (entry.kernel != file || entry.sizes.empty()) continue;
    for (const std::string& line : bench.run(*kernel, *compiled, entry.sizes)) outcome.wrong.push_back(entry.name + ": " + line);
  }
  return outcome;
}

std::vector<Outcome> examine_all(Bench& bench, const std::vector<std::string>& files, const CorpusIndex& index) {
  std::vector<Outcome> outcomes(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) outcomes[i] = examine(bench, files[i], index);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

bool has_opcode(const std::set<std::string>& opcodes, const std::string& beginning) {
  return std::any_of(opcodes.begin(), opcodes.end(), [&](const std::string& opcode) { return opcode.starts_with(beginning); });
}

}  // namespace

TEST_CASE("every entry of level 1 has a kernel", "[coverage]") {
  const auto index = read_index(folder + "/index.json");
  REQUIRE(index);
  std::set<int> missing;
  for (int id = 1; id <= 100; ++id) missing.insert(id);
  const std::vector<std::string> files = files_in(folder + "/kernels");
  for (const Entry& entry : index->level1) {
    CAPTURE(entry.id, entry.name, entry.kernel);
    CHECK(std::count(files.begin(), files.end(), entry.kernel) == 1);
    missing.erase(entry.id);
  }
  CHECK(missing.empty());
}

TEST_CASE("a corpus of at least 150 kernels stands", "[coverage]") {
  const std::size_t proved = files_in(CUPILOT_SOURCE_DIR "/tests/hostile/honest").size();
  const std::size_t own = files_in(folder + "/kernels").size();
  CHECK(own >= 70);
  CHECK(proved + own >= 150);
}

TEST_CASE("every kernel is right, early and late, and holds the feature it stands for", "[coverage]") {
  const auto index = read_index(folder + "/index.json");
  REQUIRE(index);
  auto bench = Bench::open("h200");
  REQUIRE(bench);
  const std::vector<std::string> files = files_in(folder + "/kernels");
  const std::vector<Outcome> outcomes = examine_all(**bench, files, *index);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const std::string& wrong : outcomes[i].wrong) FAIL_CHECK(files[i] << ": " << wrong);
  }
  for (const Feature& feature : index->features) {
    CAPTURE(feature.name, feature.kernel);
    const auto found = std::find(files.begin(), files.end(), feature.kernel);
    REQUIRE(found != files.end());
    CHECK(feature.ptx.size() + feature.text.size() > 0);
    for (const std::string& beginning : feature.ptx) {
      INFO(beginning);
      CHECK(has_opcode(outcomes[static_cast<std::size_t>(found - files.begin())].opcodes, beginning));
    }
    for (const std::string& words : feature.text) {
      INFO(words);
      CHECK(text_of(feature.kernel).find(words) != std::string::npos);
    }
  }
}

TEST_CASE("a kernel is not right against another's reference", "[coverage]") {
  auto bench = Bench::open("h200");
  REQUIRE(bench);
  auto kernel = read_kernel(folder + "/kernels", "relu_vector4.cu");
  REQUIRE(kernel);
  const auto compiled = (*bench)->compile(kernel->source);
  REQUIRE(compiled);
  kernel->expect["y"] = "leaky_relu";
  CHECK((*bench)->run(*kernel, *compiled, {}).size() == 2);
}

}  // namespace cupilot::coverage
