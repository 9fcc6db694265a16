// Contestants in a python3 whose torch is a fake over memory of the host (modules/torch), with a
// libcuda that maps files.
#include "backend/contestant/contest.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <cupilot/family.hpp>
#include <cupilot/parts/contestants.hpp>
#include <cupilot/task.hpp>

#include "base/hash.hpp"
#include "catch.hpp"
#include "task/content.hpp"

using namespace cupilot;

namespace {

constexpr std::int64_t slot_bytes = 1 << 16, offset = 512;

// Memory that another process may map, as the judge shares it.
struct Shared {
  int descriptor = memfd_create("slot", MFD_CLOEXEC);
  std::byte* memory = nullptr;
  Shared() {
    REQUIRE(ftruncate(descriptor, slot_bytes) == 0);
    memory = static_cast<std::byte*>(
        mmap(nullptr, slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    REQUIRE(memory != MAP_FAILED);
  }
  ~Shared() {
    munmap(memory, slot_bytes);
    close(descriptor);
  }
  float at(std::int64_t element) const {
    float value = 0;
    std::memcpy(&value, memory + offset + 4 * element, sizeof value);
    return value;
  }
};

ContestSetting setting(const std::string& how) {
  const std::string modules = std::string(CUPILOT_SOURCE_DIR) + "/tests/backend/contestant/modules";
  return {CUPILOT_TEST_PYTHON,
          {"PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1",
           "LD_LIBRARY_PATH=" CUPILOT_FAKE_CONTEST_CUDA, "FAKE_TORCH=" + how},
          0,
          "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"};
}

// One relu of 3 x 5 elements, its input filled by its recipe.
struct Turn {
  Task task = *task_from_words({"kernelbench:1/19", "rows=3", "cols=5"}, builtin_families());
  Shared input, output;
  ContestOrder order;
  Turn() {
    const Workload& workload = task.time_shapes.front();
    const FillParams recipe = *fill_params(task, 0, workload, Content{7, ContentKind::ordinary});
    fill(recipe, {input.memory + offset, 60});
    order.name = "torch";
    order.graph = *contestant_graph(task, workload);
    order.tensors = {{4, offset, 60}, {9, offset, 60}};
    order.digests = {content_digest(recipe, 0, 7)};
    order.first = true;
  }
  Attempt<double> run(Contest& contest, double seconds = 60) {
    const SharedSlot slots[] = {{4, slot_bytes, false, input.descriptor},
                                {9, slot_bytes, true, output.descriptor}};
    return contest.run(order, slots, seconds);
  }
};

}  // namespace

TEST_CASE("a contestant computes the graph over memory of another process") {
  Contest contest(setting(""));
  Turn turn;
  for (const char* name : {"torch", "torch-compile", "torch-benchmark"}) {
    CAPTURE(name);
    turn.order.name = name;
    std::fill_n(turn.output.memory, slot_bytes, std::byte{0x7f});
    const auto us = turn.run(contest);
    if (us.is_rejected()) FAIL(us.rejected().message);
    CHECK(*us > 0);
    for (std::int64_t i = 0; i < 15; ++i)
      CHECK(turn.output.at(i) == std::max(0.0F, turn.input.at(i)));
    // Nothing around the output is written.
    CHECK(turn.output.memory[offset - 1] == std::byte{0x7f});
    CHECK(turn.output.memory[offset + 60] == std::byte{0x7f});
  }
  CHECK(contest.processes() == 2);  // with cudnn.benchmark and without
  contest.rest();
  CHECK(contest.processes() == 2);
  CHECK(turn.run(contest));  // maps anew
}

TEST_CASE("a contestant says what it is") {
  Contest contest(setting(""));
  const auto says = contest.says("torch-benchmark");
  REQUIRE(says);
  CHECK(
      *says ==
      "torch 9.9.9, CUDA 99.0, cuDNN 99, a fake; cudnn.benchmark on, TF32 in matmul off, in cuDNN "
      "on");
}

TEST_CASE("what a python3 lacks is said before anything is spent") {
  struct Case {
    const char *how, *python, *uuid, *says;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"absent", CUPILOT_TEST_PYTHON, "", "has no PyTorch: No module named 'torch'"},
      {"no_device", CUPILOT_TEST_PYTHON, "", "sees no CUDA device"},
      {"", CUPILOT_TEST_PYTHON, "GPU-1", "the judge's is GPU-1"},
      {"", "/nowhere/python3", "", "No such file or directory"},
      {"", "/bin/false", "", "it ended before it answered"},
      {"", "", "", "no python3 was found on the PATH"}}));
  CAPTURE(c.how, c.python, c.says);
  ContestSetting how = setting(c.how);
  how.python = c.python;
  if (c.uuid[0] != '\0') how.uuid = c.uuid;
  Contest contest(how);
  const auto says = contest.says("torch");
  REQUIRE(!says);
  CHECK(says.error().code == ErrorCode::no_device);
  CHECK_THAT(says.error().message, Catch::Contains(c.says));
  CHECK_THAT(says.error().hint, Catch::Contains("leave out --against"));
  CHECK(contest.processes() == 0);
}

TEST_CASE("a contestant that fails has no time, and the next one begins anew") {
  struct Case {
    const char *how, *says;
    double seconds;
    int processes;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"fails", "cuDNN error: no such algorithm", 60, 1},
      {"fault", "CUDA error: an illegal memory access", 60, 0},
      {"dies", "it ended before it answered", 60, 0},
      {"writes", "it ended before it answered", 60, 0},  // inputs are mapped read-only
      {"hangs", "no answer in time", 0.5, 0}}));
  CAPTURE(c.how);
  Contest contest(setting(c.how));
  REQUIRE(contest.says("torch"));
  Turn turn;
  turn.order.first = false;
  const float before = turn.input.at(0);
  const auto us = turn.run(contest, c.seconds);
  REQUIRE(us.is_rejected());
  CHECK(us.rejected().code == "measure.failed");
  CHECK_THAT(us.rejected().message, Catch::Contains(c.says));
  CHECK(contest.processes() == c.processes);
  CHECK(turn.input.at(0) == before);
}

TEST_CASE("a contestant refuses what it cannot compute or is not the judge's") {
  Contest contest(setting(""));
  Turn turn;
  SECTION("content that is not there") {
    turn.input.memory[offset + 56] ^= std::byte{1};  // of the last element
    const auto us = turn.run(contest);
    REQUIRE(us.is_rejected());
    CHECK_THAT(us.rejected().message, Catch::Contains("x has other content here"));
  }
  SECTION("an operator without words") {
    const std::string relu = "\"kind\":\"relu\"";
    turn.order.graph.replace(turn.order.graph.find(relu), relu.size(), "\"kind\":\"own\"");
    const auto us = turn.run(contest);
    REQUIRE(us.is_rejected());
    CHECK_THAT(us.rejected().message, Catch::Contains("the operator own"));
  }
  turn.order.name = "torch";
  CHECK(contest.processes() == 1);
}

TEST_CASE("names of contestants are checked") {
  CHECK(check_contestants(std::vector<std::string>{"torch", "torch-compile"}));
  const auto wrong = check_contestants(std::vector<std::string>{"torch", "torch-compiled"});
  REQUIRE(!wrong);
  CHECK(wrong.error().code == ErrorCode::usage);
  CHECK_THAT(wrong.error().hint, Catch::Contains("torch-compile"));
}

TEST_CASE("contestants that would compute as another does take no part") {
  struct Case {
    const char *word, *name;
    bool takes_part;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"kernelbench:1/23", "torch", true},
      {"kernelbench:1/23", "torch-compile", true},
      {"kernelbench:1/23", "torch-benchmark", false},
      {"kernelbench:1/23", "torch-channels-last", false},
      {"kernelbench:1/50", "torch-benchmark", true},
      {"kernelbench:1/50", "torch-channels-last-bare", true},
      {"kernelbench:1/67", "torch-benchmark", true},  // one-dimensional
      {"kernelbench:1/67", "torch-channels-last", false},
      {"kernelbench:1/42", "torch-channels-last", true},      // a pool
      {"kernelbench:1/97", "torch-channels-last", false}}));  // four dimensions without a window
  CAPTURE(c.word, c.name);
  const Task task = *task_from_words({c.word}, builtin_families());
  CHECK(why_not(c.name, task).empty() == c.takes_part);
}
