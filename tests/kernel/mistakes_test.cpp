// A person's slips in a tunable: each is answered with the field of the header, the reason and a
// way out.
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>

#include "kernel/tunable_check.hpp"
#include "mistakes.hpp"

using namespace cupilot;
using support::Mistake;

namespace {

// Doubles a vector, with all that a header may hold.
const std::string good = R"cu(/* cupilot tunable 1
{
  "name": "twice", "family": "vector", "summary": "y = 2 x",
  "provides": ["own_trick"], "requires": [],
  "when": ["elem.x == 4 && MODE == 1"],
  "parameters": {
    "BLOCK": {"name": "block", "domain": [64, 128, 256], "plain": 128},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 4], "plain": 1}
  },
  "restrict": ["BLOCK * ITEMS <= dev.threads"],
  "registers": "ITEMS + 16",
  "plan": {
    "require": ["n % 4 == 0"],
    "let": {"tiles": "cdiv(n, BLOCK * ITEMS)"},
    "buffers": [{"name": "count", "bytes": "4 * tiles", "content": "restored"}],
    "launches": [{"entry": "twice", "grid": ["tiles"], "block": ["BLOCK"], "shared": "4 * BLOCK",
                  "args": ["x", "y", "count", {"i32": "n"}]}]
  }
}
*/
extern "C" __global__ void twice(const T_x* x, T_y* y, int* count, int n) {
  for (int i = 0; i < ITEMS; ++i) y[i * BLOCK + threadIdx.x] = 2 * x[i * BLOCK + threadIdx.x];
}
)cu";

Task vector_task() {
  Task task;
  task.name = "doubling";
  task.family = "vector";
  task.axes = {{"n", AxisKind::free}};
  task.tensors = {{.name = "x", .shape = {"n"}}, {.name = "y", .role = Role::out, .shape = {"n"}}};
  task.constants = {{"MODE", 1}, {"SIDE", 2}};
  task.time_shapes = {{{{"n", 4096}}}};
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { return real(2.0) * in.x(i); }";
  return task;
}

const std::vector<Mistake> mistakes = {
    // The header.
    {"/* cupilot tunable 1", "// cupilot tunable 1"},
    {"tunable 1", "tunable 3"},
    {"\n*/", "\n"},
    {"\"provides\"", "provides"},
    {"\"registers\": \"ITEMS + 16\",", "\"registers\": \"ITEMS + 16\""},
    {"\"restrict\"", "\"restrictions\""},
    {"\"name\": \"twice\", ", ""},
    {"\"name\": \"twice\"", "\"name\": \"Twice!\""},
    {"\"family\": \"vector\"", "\"family\": \"\""},
    {"\"family\": \"vector\"", "\"family\": \"vectors\""},
    {"[\"own_trick\"]", "\"own_trick\""},
    {"[\"own_trick\"]", "[\"Own Trick\"]"},
    // Parameters.
    {"[64, 128, 256]", "[]"},
    {"[64, 128, 256]", "[64, 64]"},
    {"[64, 128, 256]", "[\"64\"]"},
    {"[64, 128, 256]", "\"64..256\""},
    {"[64, 128, 256]", "[64, 4294967296]"},
    {"\"domain\": [64, 128, 256], ", ""},
    {"\"plain\": 128", "\"plain\": 32"},
    {"\"plain\": 128", "\"default\": 128"},
    {"\"BLOCK\": {", "\"2BLOCK\": {"},
    {"\"name\": \"block\"", "\"name\": \"block size\""},
    {"\"items_per_thread\"", "\"Items\""},
    {"\"BLOCK\": {\"name\": \"block\",",
     "\"BLOCK\": {\"name\": \"items\", \"technique\": \"items_per_thread\","},
    {"\"BLOCK\": {", "\"MODE\": {\"domain\": [1]}, \"BLOCK\": {"},
    {"\"BLOCK\": {", "\"n\": {\"domain\": [1]}, \"BLOCK\": {"},
    {"\"BLOCK\": {", "\"UNROLL\": {\"domain\": [1, 2]}, \"BLOCK\": {"},
    // Conditions.
    {"elem.x == 4 &&", "elem.x == 4 and"},
    {"elem.x == 4", "elem.z == 4"},
    {"MODE == 1", "MODE == 2"},
    {"BLOCK * ITEMS <= dev.threads", "BLOCK * ITEM <= dev.threads"},
    {"BLOCK * ITEMS <= dev.threads", "BLOCK <= dev.thread"},
    {"BLOCK * ITEMS <= dev.threads", "n % BLOCK == 0"},
    {"BLOCK * ITEMS <= dev.threads", "BLOCK * (ITEMS <= dev.threads"},
    {"\"ITEMS + 16\"", "\"ITEMS + FIXED\""},
    // The plan.
    {"\"n % 4 == 0\"", "\"m % 4 == 0\""},
    {"\"tiles\": \"cdiv", "\"SIDE\": \"cdiv"},
    {"cdiv(n, BLOCK * ITEMS)", "ceil(n, BLOCK * ITEMS)"},
    {"\"restored\"", "\"zero\""},
    {"\"4 * tiles\"", "\"4 * tile\""},
    {"\"entry\": \"twice\"", "\"entry\": \"doubled\""},
    {"\"grid\": [\"tiles\"]", "\"grid\": []"},
    {"\"grid\": [\"tiles\"]", "\"grid\": \"tiles\""},
    {"\"block\": [\"BLOCK\"]", "\"blocks\": [\"BLOCK\"]"},
    {"\"block\": [\"BLOCK\"]", "\"block\": [\"THREADS\"]"},
    {"\"shared\": \"4 * BLOCK\"", "\"shared\": 4.5"},
    {"[\"x\", \"y\",", "[\"x\", \"z\","},
    {"{\"i32\": \"n\"}", "\"n\""},
    {"{\"i32\": \"n\"}", "{\"int\": \"n\"}"},
    {"extern \"C\" __global__ void twice", "extern \"C\" __global__ void thrice"},
};

Result<Tunable> read_and_check(const std::string& text) {
  Result<Tunable> tunable = parse_tunable(text, "twice.cu");
  if (!tunable) return tunable;
  if (Result<void> fits = check_tunable(*tunable, vector_task(), *chip("h200")); !fits)
    return fits.error();
  return tunable;
}

}  // namespace

TEST_CASE("mistakes in a tunable are answered with field, reason and fix", "[kernel]") {
  const auto right = read_and_check(good);
  INFO((right ? "" : right.error().message));
  REQUIRE(right);
  std::string answers;
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.from << " => " << mistake.to);
    const auto tunable = read_and_check(support::spoilt(good, mistake));
    REQUIRE_FALSE(tunable);
    CHECK(tunable.error().code == ErrorCode::usage);
    CHECK(tunable.error().message.starts_with("twice.cu: "));
    CHECK(tunable.error().hint.size() > 3);
    answers += support::answer_text(mistake, tunable.error());
  }
  support::check_golden(answers, "tunable.txt");
}
