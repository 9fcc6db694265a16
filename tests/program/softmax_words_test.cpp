// Tasks and refusals of the family softmax.
#include <cupilot/family.hpp>

#include "catch.hpp"

namespace cupilot {
namespace {

Result<Task> softmax_of(std::vector<std::string> words) {
  words.insert(words.begin(), "softmax");
  return task_from_words(words);
}

TEST_CASE("the words of softmax make softmax and log-softmax of every type", "[program]") {
  struct Row {
    std::vector<std::string> words;
    std::string name, term;
    std::int64_t log, rows, cols;
    DType type;
    Precision precision;
  };
  const auto row = GENERATE(values<Row>({
      {{},
       "softmax",
       "exp_(real(x(o, n, i)) - largest(o, i)) / total(o, i)",
       0,
       4096,
       1024,
       DType::f32,
       Precision::fp32_strict},
      {{"rows=3", "cols=7", "dtype=bf16"},
       "softmax",
       "exp_(real(x(o, n, i)) - largest(o, i)) / total(o, i)",
       0,
       3,
       7,
       DType::bf16,
       Precision::bf16},
      {{"dtype=fp16", "log=1"},
       "log_softmax",
       "real(x(o, n, i)) - largest(o, i) - log_(total(o, i))",
       1,
       4096,
       1024,
       DType::f16,
       Precision::fp16},
      {{"dtype=bf16", "log=no", "precision=fp32-strict"},
       "softmax",
       "exp_(real(x(o, n, i)) - largest(o, i)) / total(o, i)",
       0,
       4096,
       1024,
       DType::bf16,
       Precision::fp32_strict},
  }));
  const auto task = softmax_of(row.words);
  REQUIRE(task);
  CHECK(task->name == row.name);
  CHECK(task->family == "softmax");
  CHECK(task->precision == row.precision);
  REQUIRE(task->tensors.size() == 2);
  for (const Tensor& tensor : task->tensors) CHECK(tensor.type == row.type);
  REQUIRE(task->constants.size() == 1);
  CHECK(task->constants.begin()->first == "LOG");
  CHECK(task->constants.begin()->second == row.log);
  REQUIRE(task->time_shapes.size() == 1);
  CHECK(task->time_shapes[0].sizes.at("rows") == row.rows);
  CHECK(task->time_shapes[0].sizes.at("cols") == row.cols);
  REQUIRE(task->reference.stages.size() == 3);
  CHECK(task->reference.stages[2].name == "y");
  CHECK(task->reference.stages[2].term == row.term);
  CHECK(task->tensors[1].check.length.text == "cols");
  CHECK(*textbook_flops(*task, task->time_shapes[0]) == 5 * row.rows * row.cols);
}

TEST_CASE("words that softmax cannot serve are refused by name", "[program]") {
  struct Row {
    std::string word, message;
  };
  const auto row = GENERATE(values<Row>({
      {"cols=0", "cols"},
      {"dtype=e4m3", "e4m3"},
      {"precision=tf32", "tf32"},
      {"log=2", "log"},
      {"columns=5", "columns"},
  }));
  const auto task = softmax_of({row.word});
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK(task.error().message.find(row.message) != std::string::npos);
}

}  // namespace
}  // namespace cupilot
