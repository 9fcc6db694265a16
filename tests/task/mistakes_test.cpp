// A person's slips in a task file: each is answered with the field, the reason and a way out.
#include <cupilot/task.hpp>

#include "mistakes.hpp"

namespace cupilot {
namespace {

using support::Mistake;

// Row sums of a weighted matrix, with all that a task file may hold.
const std::string good = R"({
  "cupilot_task": 1,
  "name": "rows", "family": "rows",
  "axes": [{"name": "m", "kind": "free"}, {"name": "n", "kind": "reduced"}],
  "tensors": [
    {"name": "a", "role": "in", "type": "fp32", "shape": ["m", "n"], "strides": ["n+1", 1], "fill": {"kind": "uniform", "low": -1, "high": 1}},
    {"name": "w", "role": "in", "type": "fp32", "shape": ["n"], "alignment": 16},
    {"name": "l", "role": "in", "type": "i32", "shape": ["m"], "fill": {"kind": "labels", "below": "n"}},
    {"name": "y", "role": "out", "type": "fp32", "shape": ["m"], "check": {"kind": "within", "length": "n"}}
  ],
  "scalars": [{"name": "alpha", "type": "fp32", "value": 2}],
  "operations": [{"name": "sum", "kind": "reduce", "inputs": ["a", "w"], "outputs": ["y"]}],
  "constants": {"MODE": 1},
  "precision": "fp32-strict",
  "time_shapes": [{"sizes": {"m": 64, "n": 32}, "weight": 2}],
  "check_shapes": [{"sizes": {"m": 3, "n": 5}}],
  "work": {"flops": "2*m*n"},
  "reference_text": "__device__ real reference_y(const Inputs& in, long long index) { return in.a(index); }"
})";

const std::vector<Mistake> mistakes = {
    // The file itself.
    {"\"axes\": [", "\"axes\": [,"},
    {"\"name\": \"rows\", ", "\"name\": \"rows\", \"name\": \"columns\", "},
    {"\"cupilot_task\": 1", "\"cupilot_task\": 3"},
    {"\"cupilot_task\": 1,", ""},
    {"\"precision\"", "\"precison\""},
    {"\"role\": \"out\"", "\"roll\": \"out\""},
    {"\"reference_text\"", "\"reference\": \"rows.cu\", \"reference_text\""},
    {"\"reference_text\"", "\"reference\""},
    // Words and types.
    {"\"rows\", \"family\"", "\"\", \"family\""},
    {"\"kind\": \"reduced\"", "\"kind\": \"reduce\""},
    {"\"role\": \"in\"", "\"role\": \"input\""},
    {"\"type\": \"fp32\"", "\"type\": \"real32\""},
    {"\"type\": \"fp32\"", "\"type\": 32"},
    {"\"kind\": \"uniform\"", "\"kind\": \"random\""},
    {"\"kind\": \"within\"", "\"kind\": \"approx\""},
    {"\"fp32-strict\"", "\"exact\""},
    // Names.
    {"\"name\": \"m\"", "\"name\": \"m n\""},
    {"\"name\": \"m\"", "\"name\": \"int\""},
    {"\"name\": \"w\"", "\"name\": \"a\""},
    {"{\"MODE\": 1}", "{\"alpha\": 1}"},
    {"{\"MODE\": 1}", "{\"MODE\": 0.5}"},
    // Tensors.
    {"[\"m\", \"n\"]", "\"m, n\""},
    {"[\"m\", \"n\"]", "[\"m\", \"n*\"]"},
    {"[\"m\", \"n\"]", "[\"m\", \"k\"]"},
    {"[\"m\", \"n\"]", "[\"m\", 2.5]"},
    {"[\"m\", \"n\"]", "[\"m-3\", \"n\"]"},
    {"[\"m\", \"n\"]", "[\"m-9\", \"n\"]"},
    {"\"shape\": [\"n\"]", "\"shape\": [\"n*10000000000000\"]"},
    {"[\"m\", \"n\"]", "[]"},
    {"[\"n+1\", 1]", "[\"n+1\"]"},
    {"\"alignment\": 16", "\"alignment\": 24"},
    {"\"low\": -1", "\"low\": 2"},
    {"\"low\": -1", "\"low\": 1"},
    {"\"low\": -1", "\"low\": \"-1\""},
    {"\"below\": \"n\"", "\"below\": 0"},
    {"\"kind\": \"labels\"", "\"kind\": \"ones\", \"structure\": \"upper\""},
    // Checks.
    {"\"role\": \"out\"", "\"role\": \"in\""},
    {"\"within\", \"length\": \"n\"", "\"within\", \"length\": \"n-n\""},
    {"\"within\", \"length\": \"n\"", "\"within\", \"length\": \"terms\""},
    {"\"within\", \"length\": \"n\"", "\"close\""},
    {"\"within\", \"length\": \"n\"", "\"close\", \"relative\": 1.5"},
    {"\"within\", \"length\": \"n\"", "\"index_of\", \"of\": \"z\""},
    {"\"within\", \"length\": \"n\"", "\"index_of\", \"of\": \"a\""},
    {"\"within\", \"length\": \"n\"", "\"custom\""},
    {"reference_y", "reference_z"},
    // Scalars, operations, shapes, work.
    {"\"type\": \"fp32\", \"value\": 2", "\"type\": \"bf16\", \"value\": 2"},
    {"\"inputs\": [\"a\", \"w\"]", "\"inputs\": [\"a\", \"x\"]"},
    {"[{\"sizes\": {\"m\": 64, \"n\": 32}, \"weight\": 2}]", "[]"},
    {"\"m\": 64, ", ""},
    {"\"m\": 64", "\"m\": 64, \"k\": 8"},
    {"\"m\": 64", "\"m\": 0"},
    {"\"m\": 64", "\"m\": 6.4"},
    {"\"weight\": 2", "\"weight\": 0"},
    {"\"2*m*n\"", "\"2*m*k\""},
    {"\"2*m*n\"", "\"m-2*m\""},
    {"{\"flops\": \"2*m*n\"}", "\"2*m*n\""},
};

TEST_CASE("mistakes in a task file are answered with field, reason and fix") {
  const auto right = task_from_json(good, "task.json");
  INFO((right ? "" : right.error().message));
  REQUIRE(right);
  std::string answers;
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.from << " => " << mistake.to);
    const auto task = task_from_json(support::spoilt(good, mistake), "task.json");
    REQUIRE_FALSE(task);
    CHECK(task.error().code == ErrorCode::usage);
    CHECK(task.error().message.find("task.json") != std::string::npos);
    CHECK(task.error().hint.size() > 3);
    answers += support::answer_text(mistake, task.error());
  }
  support::check_golden(answers, "task.txt");
}

}  // namespace
}  // namespace cupilot
