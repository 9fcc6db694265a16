// Suites that are compiled in: every row, work and bytes by hand, words.
#include <algorithm>
#include <set>

#include <cupilot/family.hpp>
#include <cupilot/parts/suite.hpp>

#include "catch.hpp"
#include "task/axes.hpp"

namespace cupilot {
namespace {

TEST_CASE("every row of a suite completes and validates", "[suites]") {
  for (const std::string& name : suite_names()) {
    const auto suite = load_suite(name);
    if (!suite) FAIL(suite.error().message);
    std::set<std::string> words;
    for (const SuiteTask& one : suite->tasks) {
      INFO(one.word);
      CHECK(words.insert(one.word).second);
      CHECK_FALSE(one.task.reference.stages.empty());
      CHECK(one.task.check_shapes.size() >= 2);
      for (const Workload& shape : one.task.check_shapes)
        for (const Tensor& tensor : one.task.tensors) CHECK(shape_of(one.task, tensor, shape));
      const auto alone = task_from_words({one.word});
      REQUIRE(alone);
      CHECK(task_id(*alone) == task_id(one.task));
    }
  }
}

TEST_CASE("KernelBench level 1 has a row for each task", "[suites]") {
  const auto suite = load_suite("kernelbench:1");
  REQUIRE(suite);
  CHECK(suite->tasks.size() == 100);
  CHECK(suite->skipped.empty());
  CHECK_THAT(suite->source, Catch::Contains("423217d"));
  for (std::size_t i = 0; i < suite->tasks.size(); ++i)
    CHECK(suite->tasks[i].word == "kernelbench:1/" + std::to_string(i + 1));
  // Structure comes with its sentence.
  for (const SuiteTask& one : suite->tasks) {
    bool structured = false;
    for (const Tensor& tensor : one.task.tensors)
      structured = structured || tensor.fill.structure != Structure::dense;
    INFO(one.word);
    if (structured) CHECK_FALSE(one.structure.empty());
  }
}

// The row's task with the numbers of its time shape for axes.
Task in_numbers(const Task& row) {
  Task task = row;
  const auto number = [&](Expr& extent) {
    extent = *evaluate_or_error(extent, task_scope(row, row.time_shapes[0]));
  };
  for (Tensor& tensor : task.tensors) {
    for (Expr& extent : tensor.shape) number(extent);
    number(tensor.fill.below);
    tensor.check.length = 1;
  }
  task.axes.clear();
  task.edges.clear();
  task.check_shapes.clear();
  task.time_shapes = {{}};
  task.reference = {};
  task.work = {};
  return task;
}

TEST_CASE("numbers of a row become the axes that the row has", "[suites]") {
  const auto suite = load_suite("kernelbench:1");
  REQUIRE(suite);
  for (const SuiteTask& one : suite->tasks) {
    INFO(one.word);
    Task task = in_numbers(one.task), whole = task;
    REQUIRE(complete(whole));
    REQUIRE(give_axes(task, whole));
    const auto axes = [](const Task& of) {
      const auto reduced = std::count_if(of.axes.begin(), of.axes.end(), [](const Axis& axis) {
        return axis.kind == AxisKind::reduced;
      });
      return std::pair(of.axes.size(), reduced);
    };
    // Groups that a row has as a number are an axis besides.
    const bool grouped = std::any_of(one.task.operations.begin(), one.task.operations.end(),
                                     [](const Operation& operation) {
                                       const auto groups = operation.attributes.find("groups");
                                       return groups != operation.attributes.end() &&
                                              groups->second != Attribute(std::int64_t{1});
                                     });
    CHECK(task.axes.size() == one.task.axes.size() + (grouped ? 1 : 0));
    if (!grouped) CHECK(axes(task) == axes(one.task));
    const Workload &own = one.task.time_shapes[0], &made = task.time_shapes[0];
    CHECK(*textbook_flops(task, made) == *textbook_flops(one.task, own));
    CHECK(*compulsory_bytes(task, made) == *compulsory_bytes(one.task, own));
  }
}

TEST_CASE("a row that is searched in another class too has a task beside it", "[suites]") {
  const auto suite = load_suite("kernelbench:1");
  REQUIRE(suite);
  REQUIRE_FALSE(suite->beside.empty());
  for (const SuiteTask& one : suite->beside) {
    INFO(one.word);
    CHECK(one.word.ends_with("@fp32-emulated"));
    CHECK(one.task.precision == Precision::fp32_emulated);
    const auto own = task_from_words({one.word.substr(0, one.word.find('@'))});
    REQUIRE(own);
    CHECK(own->precision == Precision::fp32_strict);
    CHECK(own->time_shapes[0].sizes == one.task.time_shapes[0].sizes);
    CHECK(task_id(*own) != task_id(one.task));
    const auto alone = task_from_words({one.word});
    REQUIRE(alone);
    CHECK(task_id(*alone) == task_id(one.task));
  }
  const auto unknown = task_from_words({"kernelbench:1/1@fp33"});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message == "kernelbench:1/1: 'fp33' is no known class");
}

TEST_CASE("work and bytes of rows are those counted by hand", "[suites]") {
  struct Row {
    int id;
    std::int64_t flops, bytes;
  };
  const auto row = GENERATE(values<Row>({
      {1, 2LL * 4096 * 4096 * 4096, 4LL * 3 * 4096 * 4096},
      {3, 2LL * 128 * 512 * 1024 * 2048, 4LL * 128 * (512 * 1024 + 1024 * 2048 + 512 * 2048)},
      {11, 2LL * 8 * 256 * 512 * 256 * 768,
       4LL * (8LL * 256 * 512 * 256 + 256 * 768 + 8LL * 256 * 512 * 768)},
      {12, 4096LL * 4096, 4LL * (4096 + 2 * 4096 * 4096)},
      {19, 4096LL * 393216, 2 * 4LL * 4096 * 393216},
      {42, 16LL * 32 * 64 * 511 * 511, 4LL * 32 * 64 * (512 * 512 + 511 * 511)},
      {47, 128LL * 4096 * 4095, 4LL * 128 * 4095 * (4096 + 1)},
      {50, 2LL * 256 * 96 * 55 * 55 * 3 * 11 * 11,
       4LL * (256 * 3 * 224 * 224 + 96 * 3 * 11 * 11 + 96 + 256LL * 96 * 55 * 55)},
      // One product for each tap of each input place.
      {57, 2LL * 8 * 64 * 1024 * 1024 * 64 * 3 * 3,
       4LL * (8LL * 64 * 1024 * 1024 + 64 * 64 * 3 * 3 + 8LL * 64 * 1026 * 1026)},
      {85, 2LL * 32 * 128 * 126 * 250 * 3 * 7,
       4LL * (32 * 128 * 128 * 256 + 128 * 3 * 7 + 32LL * 128 * 126 * 250)},
      {95, 5LL * 32768 * 4096 + 2 * 32768, 4LL * 32768 * 4096 + 8 * 32768 + 4},
      {93, 2LL * 32768 * 32768, (4LL + 1 + 4) * 32768 * 32768},
  }));
  const auto task = task_from_words({"kernelbench:1/" + std::to_string(row.id)});
  INFO(row.id);
  REQUIRE(task);
  CHECK(*textbook_flops(*task, task->time_shapes[0]) == row.flops);
  CHECK(*compulsory_bytes(*task, task->time_shapes[0]) == row.bytes);
}

TEST_CASE("words set the sizes of a row's axes", "[suites]") {
  const auto task = task_from_words({"kernelbench:1/23", "cols=512", "rows=64"});
  REQUIRE(task);
  CHECK(task->time_shapes[0].sizes == Sizes{{"rows", 64}, {"cols", 512}});
  CHECK(task->name == "kernelbench_1_23");
  const auto grouped = task_from_words({"kernelbench:1/72", "c=2", "o=1", "d=3", "h=3", "w=3"});
  REQUIRE(grouped);
  CHECK(shape_of(*grouped, grouped->tensors.back(), grouped->time_shapes[0])->extents ==
        std::vector<std::int64_t>{8, 4, 6, 6, 6});
}

TEST_CASE("words that name no row are refused with what is known", "[suites]") {
  struct Row {
    std::vector<std::string> words;
    const char *message, *hint;
  };
  const auto row = GENERATE(values<Row>({
      {{"kernelbench:1/101"}, "kernelbench:1 has no task '101'", "cupilot tasks --suite"},
      {{"kernelbench:1/01"}, "kernelbench:1 has no task '01'", "cupilot tasks --suite"},
      {{"kernelbench:1/1/2"}, "kernelbench:1 has no task '1/2'", "cupilot tasks --suite"},
      {{"kernelbench:1"}, "kernelbench:1 is a suite of 100 tasks", "such as kernelbench:1/1"},
      {{"kernelbench:1/"}, "kernelbench:1 is a suite of 100 tasks", "such as kernelbench:1/1"},
      {{"kernelbenhc:1/3"}, "unknown suite 'kernelbenhc:1'", "did you mean kernelbench:1?"},
      {{"mine:7/3"}, "unknown suite 'mine:7'", "suites: kernelbench:1"},
      {{"kernelbench:1/1", "p=3"}, "has no axis 'p'; nearest:", "its axes are m, k, n"},
      {{"kernelbench:1/23", "row=3"}, "has no axis 'row'; nearest: rows", "rows, cols"},
      {{"kernelbench:1/1", "m"}, "'m' is not of the form axis=size", "m, k, n"},
      {{"kernelbench:1/1", "m=0"}, "m=0 is no size", "whole numbers from 1"},
      {{"kernelbench:1/1", "m=-4"}, "m=-4 is no size", "whole numbers from 1"},
      {{"kernelbench:1/1", "m=4x"}, "m=4x is no size", "whole numbers from 1"},
      {{"kernelbench:1/1", "m=99999999999999999999"}, "is no size", "whole numbers from 1"},
      {{"kernelbench:1/1", "m=4", "m=5"}, "m is given twice", "once"},
  }));
  const auto task = task_from_words(row.words);
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
  CHECK_THAT(task.error().hint, Catch::Contains(row.hint));
}

TEST_CASE("a size at which a window does not fit is refused by name", "[suites]") {
  const auto task = task_from_words({"kernelbench:1/54", "d=2"});
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains("kernelbench:1/54"));
  CHECK_FALSE(task.error().hint.empty());
}

TEST_CASE("suite words are told from families and paths", "[suites]") {
  CHECK(is_suite_word("kernelbench:1/23"));
  CHECK(is_suite_word("kernelbench:1"));
  for (const char* other : {"gemm", "a/b:1", "task.json", ":1/2", "kernelbench:", "kernelbench:x/1",
                            "c:/tasks/one.json", "virtual:h200", ""}) {
    INFO(other);
    CHECK_FALSE(is_suite_word(other));
  }
}

}  // namespace
}  // namespace cupilot
