// Programs whose parts write views of one buffer: proved without copies, refused where a part or
// the join writes elsewhere.
#include <fmt/format.h>

#include "catch.hpp"
#include "evolution/program/plain_program.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

using support::cat;
using support::graph_task;
using support::input;
using support::op;
using support::output;

Task made(std::vector<Tensor> tensors, std::vector<Operation> operations, Sizes sizes) {
  auto task = graph_task(std::move(tensors), std::move(operations), std::move(sizes));
  REQUIRE_OK(task);
  return std::move(*task);
}

Task example() {
  auto task = load_task(std::string(CUPILOT_SOURCE_DIR) + "/examples/graph/dense.json");
  REQUIRE_OK(task);
  task->time_shapes = {{{{"rows", 32}, {"k", 48}, {"g", 16}}}};
  return std::move(*task);
}

// A chain that grows: no input of the caller's is joined.
Task growing() {
  return made({input("x", {"rows", "k"}), input("w", {"g", "k"}), input("v", {"g", "k + g"}),
               output("y", {"rows", "k + g + g"})},
              {op("stem", "relu", {"x"}, "s"), op("grow1", "linear", {"s", "w"}, "h1"),
               op("act1", "relu", {"h1"}, "a"), cat("join1", {"s", "a"}, "c", 1),
               op("grow2", "linear", {"c", "v"}, "h2"), op("act2", "gelu", {"h2"}, "b"),
               cat("join2", {"c", "b"}, "y", 1)},
              {{"rows", 24}, {"k", 32}, {"g", 16}});
}

// As frameworks' users write it: each `cat` joins all that there is.
Task listing() {
  Task task = growing();
  task.operations.back().inputs = {"s", "a", "b"};
  task.reference = {};
  task.edges.clear();
  REQUIRE_OK(complete(task));
  return task;
}

// Channels of planes, read by a convolution.
Task planes() {
  Task task =
      made({input("x", {"n", 4, 6, 6}), input("w", {4, 4, 3, 3}), input("v", {4, 8, 3, 3}),
            output("y", {"n", 12, 6, 6})},
           {op("act", "relu", {"x"}, "a"),
            {"conv1", "conv2d", {"x", "w"}, {"b"}, {{"padding", std::vector<std::int64_t>{1, 1}}}},
            cat("join1", {"a", "b"}, "c", 1),
            {"conv2", "conv2d", {"c", "v"}, {"d"}, {{"padding", std::vector<std::int64_t>{1, 1}}}},
            cat("join2", {"c", "d"}, "y", 1)},
           {{"n", 2}});
  return task;
}

Task pair_of(const char* left, std::int64_t dim) {
  const bool columns = dim == 1;
  return made(
      {input("x", {"rows", "k"}), columns ? input("z", {"rows", "g"}) : input("z", {"g", "k"}),
       columns ? output("y", {"rows", "k + g"}) : output("y", {"rows + g", "k"})},
      {op("left", left, {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
       cat("join", {"a", "b"}, "y", dim)},
      {{"rows", 24}, {"k", 32}, {"g", 16}});
}

KernelSource joined(const Task& task, const Partition& partition) {
  ProgramWriter writer(task, {});
  const auto parts =
      writer.write_parts(as_strategy(plain_program(task, partition)), &device().device());
  REQUIRE(parts);
  auto source = join_parts(task, *parts);
  REQUIRE_OK(source);
  return std::move(*source);
}

TEST_CASE("parts write views of one buffer", "[views][search][threads]") {
  struct Row {
    const char* name;
    Task task;
    Partition partition;
    std::size_t launches;
    const char* line;  // in the program's head
  };
  const Row rows[] = {
      {"a chain shares the largest buffer",
       growing(),
       {{0}, {1, 2}, {3}, {4, 5}, {6}},
       3,
       "//  a lies in y, from element k on\n"},
      {"lists that grow share the largest buffer",
       listing(),
       {{0}, {1, 2}, {3}, {4, 5}, {6}},
       3,
       "//  c lies in y, from element 0 on\n"},
      {"the caller's tensor alone is copied",
       example(),
       {{0, 1}, {2}, {3, 4}, {5}},
       3,
       "//  r1 lies in y, from element k on\n"},
      {"an operation and the cat behind it are one part",
       example(),
       {{0}, {1, 2}, {3, 4}, {5}},
       3,
       "//  c1 lies in y, from element 0 on\n"},
      {"channels of planes",
       planes(),
       {{0}, {1}, {2}, {3}, {4}},
       3,
       "//  b lies in y, from element 144 on\n"},
      {"columns of rows",
       pair_of("relu", 1),
       {{0}, {1}, {2}},
       2,
       "//  b lies in y, from element k on\n"},
      {"rows after rows",
       pair_of("relu", 0),
       {{0}, {1}, {2}},
       2,
       "//  b lies in y, from element rows*k on\n"},
      {"a producer that cannot is copied",
       pair_of("softmax", 1),
       {{0}, {1}, {2}},
       3,
       "//  b lies in y, from element k on\n"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const KernelSource source = joined(row.task, row.partition);
    CHECK(source.plan.launches.size() == row.launches);
    CHECK_THAT(source.text, Catch::Contains(row.line));
    const Exposed exposed = exposed_program(row.task, row.partition);
    const auto why = refused(exposed);
    INFO((why ? why->message : ""));
    CHECK_FALSE(why);
    const auto alone = prove_views(device(), exposed.parts, ProofLevel::candidate, 1);
    REQUIRE_OK(alone);
    INFO((*alone ? (*alone)->message : ""));
    CHECK_FALSE(*alone);
    ProgramWriter writer(row.task, {});
    const Pipe pipe{TaskRef(row.task), &device(), &writer, 1, nullptr};
    const auto candidate =
        evaluate(pipe, as_strategy(plain_program(row.task, row.partition)), ProofLevel::candidate);
    REQUIRE_OK(candidate);
    if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) FAIL(rejected->message);
  }
}

TEST_CASE("a view that begins elsewhere is refused, and the part is named", "[views][threads]") {
  struct Row {
    const char* name;
    const char* offset;  // in the plan
    const char* value;
  };
  const Row rows[] = {
      {"nothing is wrong", "p2_view_offset_a", "k"},
      {"a view begins within another", "p2_view_offset_a", "k - 4"},
      {"a view begins where a later one does", "p2_view_offset_a", "k + g"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Exposed program = exposed_program(growing(), {{0}, {1, 2}, {3}, {4, 5}, {6}});
    bool known = false;
    for (auto& [name, value] : program.source.plan.let) {
      if (name != row.offset) continue;
      known = true;
      value = row.value;
    }
    REQUIRE(known);
    const auto why = refused(program);
    CHECK(why.has_value() == (row.value != std::string("k")));
    if (why) CHECK_THAT(why->message, Catch::StartsWith("part "));
  }
}

// A relu of rows into a view, with `more` behind the store.
KernelSource relu_into_view(const std::string& more) {
  KernelSource source;
  source.text = fmt::format(R"(
extern "C" __global__ void relu(const float* x, float* a, long long view_offset_a, long long rows,
                                long long k, long long g) {{
  for (long long i = threadIdx.x; i < rows*k; i += 32) {{
    const long long at = view_offset_a + i / k * (k + g) + i % k;
    a[at] = x[i] > 0.0f ? x[i] : x[i] != x[i] ? x[i] : 0.0f;
    {}
  }}
}}
)",
                            more);
  source.plan.let = {{"view_offset_a", 0}};
  PlanLaunch launch{.entry = "relu", .block = {32}};
  launch.args = {{.name = "x"}, {.name = "a"}};
  for (const char* name : {"view_offset_a", "rows", "k", "g"})
    launch.args.push_back({.kind = PlanArgument::Kind::i64, .value = name});
  source.plan.launches = {launch};
  return source;
}

TEST_CASE("a part that writes into its neighbour's view is refused", "[views][threads]") {
  const Task task = pair_of("relu", 1);
  const auto form =
      served_part(task, {0}, builtin_families(), {}, find_views(task, builtin_families()));
  REQUIRE_OK(form);
  struct Row {
    const char* name;
    const char* more;
    const char* code;
  };
  const Row rows[] = {
      {"its own elements alone", "", ""},
      {"the neighbour's first element", "if (i % k == k - 1 && i + 1 < rows*k) a[at + 1] = 1.0f;",
       "run.guard"},
      {"the neighbour's last element", "if (i == k) a[at - 1] = 1.0f;", "run.guard"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto why =
        prove_views(device(), {{*form, relu_into_view(row.more)}}, ProofLevel::candidate, 1);
    REQUIRE_OK(why);
    CHECK(why->has_value() == (*row.code != '\0'));
    if (*why) CHECK((*why)->code == row.code);
  }
}

}  // namespace
}  // namespace cupilot::testing
