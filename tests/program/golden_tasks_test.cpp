// Tasks of families and suites as they are kept: a task's id is what pools, wisdom and journals
// know it by.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <cupilot/family.hpp>
#include <cupilot/parts/suite.hpp>

#include "catch.hpp"

namespace cupilot {
namespace {

// Words of families besides gemm's, which have a file of their own.
std::vector<std::string> words_of_families() {
  return {"softmax",
          "softmax rows=3 cols=7 dtype=bf16",
          "softmax dtype=fp16 log=1",
          "softmax rows=16384 cols=131072 precision=fp32-strict",
          "softmax dtype=bf16 log=1 precision=fp32-strict",
          "attention",
          "attention batch=8 queries=512 keys=256 width=128 out=64",
          "attention dtype=bf16",
          "attention dtype=fp16 batch=64 queries=2048 keys=2048 width=64 out=64",
          "attention dtype=bf16 causal=1",
          "attention batch=3 queries=5 keys=5 width=17 out=6 causal=1"};
}

// "words | id | family | class | operations | bytes" of a task at its first time shape.
std::string line_of(const std::string& words, const Task& task) {
  const Workload& shape = task.time_shapes.front();
  const auto operations = textbook_flops(task, shape);
  const auto bytes = compulsory_bytes(task, shape);
  REQUIRE(operations);
  REQUIRE(bytes);
  return fmt::format("{} | {} | {} | {} | {} | {}\n", words, task_id(task), task.family,
                     name_of(task.precision), *operations, *bytes);
}

TEST_CASE("words of families and rows of suites make the tasks that are kept", "[program]") {
  std::string made;
  for (const std::string& words : words_of_families()) {
    INFO(words);
    std::istringstream stream(words);
    std::vector<std::string> each;
    for (std::string word; stream >> word;) each.push_back(word);
    const auto task = task_from_words(each);
    if (!task) FAIL(task.error().message);
    made += line_of(words, *task);
  }
  for (const std::string& name : suite_names()) {
    const auto suite = load_suite(name);
    REQUIRE(suite);
    for (const auto* rows : {&suite->tasks, &suite->beside})
      for (const SuiteTask& one : *rows) made += line_of(one.word, one.task);
  }
  // Where the tasks were changed on purpose, this writes the file anew.
  if (const char* out = std::getenv("CUPILOT_GOLDEN_OUT")) std::ofstream(out) << made;
  std::ifstream file(CUPILOT_SOURCE_DIR "/tests/program/data/tasks.txt");
  std::istringstream now(made);
  std::size_t lines = 0;
  for (std::string was, is; std::getline(file, was); ++lines) {
    REQUIRE(std::getline(now, is));
    CHECK(is == was);
  }
  CHECK(lines == static_cast<std::size_t>(std::count(made.begin(), made.end(), '\n')));
}

}  // namespace
}  // namespace cupilot
