// The kernel that generators are shown as an example is right, for a task of its own.
#include <cupilot/evolve.hpp>

#include <fstream>
#include <sstream>

#include "agents/models/reply.hpp"
#include "catch.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;

namespace {

constexpr const char* task_text = R"({
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

}  // namespace

TEST_CASE("the example that generators are shown is proved", "[models]") {
  const auto task = task_from_json(task_text, "test");
  INFO((task ? "" : task.error().message));
  REQUIRE(task);
  std::ostringstream prompt;
  prompt << std::ifstream("src/agents/models/prompts/example_rows.md").rdbuf();
  ChatReply reply;
  reply.text = prompt.str();
  const auto kernel = read_kernel_reply(reply);
  REQUIRE(std::holds_alternative<KernelSource>(kernel));
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto proved = evaluate_source({TaskRef(*task), backend->get(), nullptr, 1},
                                      std::get<KernelSource>(kernel), ProofLevel::finalist);
  REQUIRE(proved);
  if (const auto* why = std::get_if<Rejected>(&proved->outcome)) FAIL(why->code << why->message);
  CHECK(std::holds_alternative<Accepted>(proved->outcome));
}
