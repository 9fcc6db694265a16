#include "catch.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <cupilot/parts/kernel_source.hpp>

#include "kernel/support.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

// A file of its own, removed at the end.
class Scratch {
 public:
  explicit Scratch(const std::string& text, const std::string& suffix = ".cu") {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("cupilot_standalone_" + std::to_string(::getpid()) + "_" + std::to_string(number++) +
              suffix))
                .string();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~Scratch() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

KernelSource example() {
  KernelSource source;
  source.text =
      "// a comment of the kernel\n\nextern \"C\" __global__ void k() {}\n// cupilot: not a "
      "header\n";
  source.plan = *launch_plan_from_json(file_text(data("plan_split_k.json")));
  source.constants = {{"BM", 128}, {"NEGATIVE", -1}};
  source.template_name = "gemm_simt";
  source.strategy_id = std::string(64, 'a');
  return source;
}

}  // namespace

TEST_CASE("a kernel file carries plan, constants and task", "[kernel]") {
  const KernelSource source = example();
  const std::vector<std::string> words = {"gemm", "m=512", "layout=\"nn\""};
  const Scratch saved(standalone_text(source, words));
  const auto read = read_standalone(saved.path());
  if (!read) FAIL(read.error().message);
  CHECK(read->source.text == source.text);
  CHECK(read->source.constants == source.constants);
  CHECK(read->source.template_name == source.template_name);
  CHECK(read->source.strategy_id == source.strategy_id);
  CHECK(read->task_words == words);
  CHECK(kernel_id(read->source) == kernel_id(source));
  CHECK(standalone_text(read->source, read->task_words) == standalone_text(source, words));
}

TEST_CASE("a plain file has text alone", "[kernel]") {
  for (const std::string text :
       {"", "x", "// only a comment", "void k() {}\n// cupilot: {\"plan\":1}\n"}) {
    const Scratch saved(text);
    const auto read = read_standalone(saved.path());
    REQUIRE(read);
    CHECK(read->source.text == text);
    CHECK(read->source.plan.launches.empty());
    CHECK(read->task_words.empty());
  }
  const Scratch ptx(".version 9.0\n", ".ptx");
  CHECK(read_standalone(ptx.path())->source.language == Language::ptx);
}

TEST_CASE("a cubin is no kernel file", "[kernel]") {
  const Scratch saved(std::string("\x7f"
                                  "ELF\x02\0\0",
                                  7),
                      ".cubin");
  const auto read = read_standalone(saved.path());
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::usage);
  CHECK(read.error().message == saved.path() + ": is a binary, and no text");
}

TEST_CASE("a wrong header line is named by file and line", "[kernel]") {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row row = GENERATE(values<Row>({
      {"// cupilot: {", "line 1: not JSON"},
      {"\n// cupilot: {\"plans\":{}}", "line 2: plans: is an unknown field"},
      {"// cupilot: {\"plan\":{\"launches\":[]}}", "line 1: plan.launches: is empty"},
      {"// cupilot: {\"constants\":{\"A\":\"1\"}}",
       "constants.A: \"1\" is not a whole number of 64 bits"},
      {"// cupilot: {\"task\":\"gemm\"}", "task: \"gemm\" is not an array"},
      {"// cupilot: []", "not a JSON object"},
  }));
  const Scratch saved(row.text);
  const auto read = read_standalone(saved.path());
  REQUIRE_FALSE(read);
  INFO(read.error().message);
  CHECK(read.error().message.find(row.says) != std::string::npos);
  CHECK(read.error().message.find(saved.path()) == 0);
  const auto none = read_standalone("/no/such/kernel.cu");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
}
