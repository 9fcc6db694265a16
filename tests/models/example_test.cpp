// The kernels that generators are shown as examples are right, each for a task of its own.
#include <cupilot/evolve.hpp>

#include <fstream>
#include <sstream>

#include "agents/models/reply.hpp"
#include "catch.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;

namespace {

constexpr const char* rows_task = R"({
  "cupilot_task": 1, "name": "row_shares", "family": "row_shares",
  "axes": [{"name": "rows", "kind": "free"}, {"name": "cols", "kind": "reduced"}],
  "tensors": [
    {"name": "x", "role": "in", "type": "fp32", "shape": ["rows", "cols"]},
    {"name": "y", "role": "out", "type": "fp32", "shape": ["rows", "cols"],
     "check": {"kind": "within", "length": "cols"}}],
  "precision": "fp32-strict",
  "time_shapes": [{"sizes": {"rows": 64, "cols": 128}}],
  "check_shapes": [{"sizes": {"rows": 1, "cols": 1}}, {"sizes": {"rows": 3, "cols": 37}}],
  "work": {"flops": "2*rows*cols"},
  "reference_text": "__device__ real reference_y(const Inputs& in, long long index) {\n  const long long row = index / in.cols * in.cols;\n  real sum = real(0.0);\n  for (long long c = 0; c < in.cols; ++c) sum = sum + in.x(row + c);\n  return in.x(index) / sum;\n}\n"
})";

constexpr const char* map_task = R"({
  "cupilot_task": 1, "name": "gate", "family": "gate",
  "axes": [{"name": "n", "kind": "free"}],
  "tensors": [
    {"name": "x", "role": "in", "type": "fp32", "shape": ["n"]},
    {"name": "g", "role": "in", "type": "fp32", "shape": ["n"]},
    {"name": "y", "role": "out", "type": "fp32", "shape": ["n"], "check": {"kind": "within", "length": "4"}}],
  "precision": "fp32-strict",
  "time_shapes": [{"sizes": {"n": 8192}}],
  "check_shapes": [{"sizes": {"n": 1}}, {"sizes": {"n": 1027}}],
  "work": {"flops": "4*n"},
  "reference_text": "__device__ real reference_y(const Inputs& in, long long index) {\n  return in.x(index) * (in.g(index) / (real(1.0) + exp_(-in.g(index))));\n}\n"
})";

constexpr const char* product_task = R"({
  "cupilot_task": 1, "name": "product", "family": "product",
  "axes": [{"name": "m", "kind": "free"}, {"name": "n", "kind": "free"}, {"name": "k", "kind": "reduced"}],
  "tensors": [
    {"name": "a", "role": "in", "type": "fp32", "shape": ["m", "k"]},
    {"name": "b", "role": "in", "type": "fp32", "shape": ["k", "n"]},
    {"name": "c", "role": "out", "type": "fp32", "shape": ["m", "n"],
     "check": {"kind": "within", "length": "k"}}],
  "precision": "fp32-strict",
  "time_shapes": [{"sizes": {"m": 65, "n": 70, "k": 33}}],
  "check_shapes": [{"sizes": {"m": 1, "n": 1, "k": 1}}, {"sizes": {"m": 3, "n": 67, "k": 17}}],
  "work": {"flops": "2*m*n*k"},
  "reference_text": "__device__ real reference_c(const Inputs& in, long long index) {\n  const long long i = index / in.n, j = index % in.n;\n  real sum = real(0.0);\n  for (long long s = 0; s < in.k; ++s) sum = sum + in.a(i * in.k + s) * in.b(s * in.n + j);\n  return sum;\n}\n"
})";

void check_example(const char* task_text, const std::string& name) {
  INFO(name);
  const auto task = task_from_json(task_text, "test");
  INFO((task ? "" : task.error().message));
  REQUIRE(task);
  std::ostringstream prompt;
  prompt << std::ifstream("src/agents/models/prompts/" + name + ".md").rdbuf();
  ChatReply reply;
  reply.text = prompt.str();
  const auto kernel = read_kernel_reply(reply);
  REQUIRE(std::holds_alternative<KernelSource>(kernel));
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto proved = evaluate_source({TaskRef(*task), backend->get(), nullptr, 1},
                                      std::get<KernelSource>(kernel), ProofLevel::finalist);
  INFO((proved ? "" : proved.error().message));
  REQUIRE(proved);
  if (const auto* why = std::get_if<Rejected>(&proved->outcome)) FAIL(why->code << why->message);
  CHECK(std::holds_alternative<Accepted>(proved->outcome));
}

}  // namespace

TEST_CASE("the examples that generators are shown are proved", "[models]") {
  SECTION("rows") { check_example(rows_task, "example_rows"); }
  SECTION("map") { check_example(map_task, "example_map"); }
  SECTION("product") { check_example(product_task, "example_product"); }
}
