// Every kernel of the corpus is compiled, admitted, and right on the virtual device; every entry
// and every feature has one.
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
#include "support/sample.hpp"

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
    return {{compiled.rejected().code + ": " + compiled.rejected().message + " at " +
             compiled.rejected().where},
            {}};
  Outcome outcome;
  for (const auto& [opcode, count] : compiled->facts.opcodes) outcome.opcodes.insert(opcode);
  outcome.wrong = bench.run(*kernel, *compiled, {});
  for (const Entry& entry : index.level1) {
    if (entry.kernel != file || entry.sizes.empty()) continue;
    for (const std::string& line : bench.run(*kernel, *compiled, entry.sizes))
      outcome.wrong.push_back(entry.name + ": " + line);
  }
  return outcome;
}

// How the mutant's runs end: "early: run.race: …"; one line that says why when there are none.
std::vector<std::string> ends_of(Bench& bench, const Mutant& mutant) {
  auto kernel = read_kernel(folder + "/kernels", mutant.kernel);
  if (!kernel) return {kernel.error().message};
  kernel->source.text = mutated(kernel->source.text, mutant);
  if (kernel->source.text.empty()) return {"its source holds no such text"};
  const auto compiled = bench.compile(kernel->source, true);
  if (!compiled)
    return {compiled.is_rejected() ? compiled.rejected().message : compiled.error().message};
  return bench.run(*kernel, *compiled, {});
}

bool is_fault(const std::string& end, const std::vector<std::string>& codes) {
  return std::any_of(codes.begin(), codes.end(), [&](const std::string& code) {
    return end.find(": " + code) != std::string::npos;
  });
}

// work(0) … work(count - 1) on all cores.
template <class Work>
void on_all_cores(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(loop);
  for (std::thread& thread : threads) thread.join();
}

bool has_opcode(const std::set<std::string>& opcodes, const std::string& beginning) {
  return std::any_of(opcodes.begin(), opcodes.end(),
                     [&](const std::string& opcode) { return opcode.starts_with(beginning); });
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

TEST_CASE("every kernel is right, early and late, and holds the feature it stands for",
          "[coverage]") {
  const auto index = read_index(folder + "/index.json");
  REQUIRE(index);
  auto bench = Bench::open("h200");
  REQUIRE(bench);
  const std::vector<std::string> files = files_in(folder + "/kernels");
  std::vector<Outcome> outcomes(files.size());
  on_all_cores(files.size(), [&](std::size_t i) {
    if (testing::is_drawn(files[i])) outcomes[i] = examine(**bench, files[i], *index);
  });
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const std::string& wrong : outcomes[i].wrong) FAIL_CHECK(files[i] << ": " << wrong);
  }
  for (const Feature& feature : index->features) {
    if (!testing::is_drawn(feature.kernel)) continue;
    CAPTURE(feature.name, feature.kernel);
    const auto found = std::find(files.begin(), files.end(), feature.kernel);
    REQUIRE(found != files.end());
    CHECK(feature.ptx.size() + feature.text.size() > 0);
    for (const std::string& beginning : feature.ptx) {
      INFO(beginning);
      CHECK(
          has_opcode(outcomes[static_cast<std::size_t>(found - files.begin())].opcodes, beginning));
    }
    for (const std::string& words : feature.text) {
      INFO(words);
      CHECK(text_of(feature.kernel).find(words) != std::string::npos);
    }
  }
}

// Their headers and instructions take other ways there than on Hopper.
TEST_CASE("kernels for earlier architectures are right on their chips", "[coverage]") {
  struct Row {
    const char* chip;
    std::vector<std::string> files;
  };
  const Row rows[] = {
      {"a100",
       {"attention_flash_mma_bf16.cu", "conv2d_mma_tf32.cu", "copy_barrier_memcpy_async.cu",
        "copy_cp_async_mbarrier.cu", "copy_cp_async_three_stages.cu", "copy_groups_memcpy_async.cu",
        "copy_pipeline_roles.cu", "mbarrier_ring_primitives.cu", "mma_fp64.cu",
        "mma_sparse_two_of_four.cu", "votes_and_redux.cu"}},
      {"l4", {"copy_pipeline_block.cu", "fp8_quantise_rows.cu", "mma_fp8_mixed.cu", "mma_int8.cu"}},
  };
  for (const Row& row : rows) {
    auto bench = Bench::open(row.chip);
    REQUIRE(bench);
    std::vector<std::string> drawn = row.files;
    std::erase_if(drawn, [](const std::string& file) { return !testing::is_drawn(file); });
    std::vector<Outcome> outcomes(drawn.size());
    on_all_cores(outcomes.size(),
                 [&](std::size_t i) { outcomes[i] = examine(**bench, drawn[i], {}); });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      for (const std::string& wrong : outcomes[i].wrong)
        FAIL_CHECK(drawn[i] << " on " << row.chip << ": " << wrong);
      CHECK(!outcomes[i].opcodes.empty());
    }
  }
}

TEST_CASE("a kernel without one of its waits, fences, arrivals or barriers meets the fault of it",
          "[coverage]") {
  auto mutants = read_mutants(folder + "/mutants.json");
  REQUIRE(mutants);
  std::erase_if(*mutants, [](const Mutant& mutant) {
    return !testing::is_drawn(mutant.kernel + mutant.without + std::to_string(mutant.nth));
  });
  auto bench = Bench::open("h200");
  REQUIRE(bench);
  std::vector<std::vector<std::string>> ends(mutants->size());
  on_all_cores(mutants->size(), [&](std::size_t i) { ends[i] = ends_of(**bench, (*mutants)[i]); });
  for (std::size_t i = 0; i < mutants->size(); ++i) {
    const Mutant& mutant = (*mutants)[i];
    CAPTURE(mutant.kernel, mutant.without, mutant.nth, mutant.codes);
    CHECK(ends[i].size() == 2);
    for (const std::string& end : ends[i]) {
      INFO(end);
      CHECK(is_fault(end, mutant.codes));
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
