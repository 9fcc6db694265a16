// Programs joined of parts: tasks of parts, buffers by lifetime, texts and plans.
#include <set>

#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "program/equal_parts.hpp"
#include "program/join.hpp"
#include "program/join_text.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

Tensor tensor(const char* name, Role role, std::vector<Expr> shape) {
  return {.name = name, .role = role, .shape = std::move(shape)};
}

// linear → layer_norm → gelu → linear
Task chain_task() {
  Task task;
  task.name = "chain";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}, {"m"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("b", Role::in, {"n"}), tensor("v", Role::in, {"m", "n"}),
                  tensor("y", Role::out, {"rows", "m"})};
  task.operations = {{"product", "linear", {"x", "w", "b"}, {"h"}, {}},
                     {"norm", "layer_norm", {"h"}, {"z"}, {}},
                     {"act", "gelu", {"z"}, {"a"}, {}},
                     {"last", "linear", {"a", "v"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 96}, {"k", 80}, {"n", 64}, {"m", 48}}}};
  task.check_shapes = {{{{"rows", 3}, {"k", 17}, {"n", 5}, {"m", 2}}}};
  const auto completed = complete(task);
  if (!completed) FAIL(completed.error().message);
  return task;
}

KernelSource kernel(std::string text, LaunchPlan plan, Constants constants = {}) {
  KernelSource source;
  source.text = std::move(text);
  source.plan = std::move(plan);
  source.constants = std::move(constants);
  return source;
}

TEST_CASE("a part of a graph is a task of its own") {
  const Task task = chain_task();
  const EdgeFills fills = {{"h", {.kind = FillKind::normal, .low = 0.5, .high = 9}}};
  const auto part = graph_part(task, {1, 2}, fills);
  if (!part) FAIL(part.error().message);
  CHECK(part->name == "norm_act");
  REQUIRE(part->task.tensors.size() == 2);
  const Tensor &h = part->task.tensors[0], &a = part->task.tensors[1];
  CHECK(h.name == "h");
  CHECK(h.role == Role::in);
  CHECK(h.fill.high == 9);
  CHECK(a.name == "a");
  CHECK(a.role == Role::out);
  CHECK(part->task.axes.size() == 2);
  CHECK(part->task.time_shapes[0].sizes == Sizes{{"rows", 96}, {"n", 64}});
  CHECK(part->task.check_shapes[0].sizes == Sizes{{"rows", 3}, {"n", 5}});
  CHECK(part->task.reference.stages.back().name == "a");
}

TEST_CASE("an edge that two parts read is an output, one that stays inside is none") {
  Task task = chain_task();
  task.operations.push_back({"sum", "add", {"h", "a"}, {"skip"}, {}});
  task.tensors.push_back(tensor("skip", Role::out, {"rows", "n"}));
  REQUIRE(complete(task));
  const auto part = graph_part(task, {1, 2});
  REQUIRE(part);
  CHECK(part->task.tensors.size() == 2);
  const auto wide = graph_part(task, {0, 1, 2});
  REQUIRE(wide);
  CHECK(find_tensor(wide->task, "h") != nullptr);
  CHECK(find_tensor(wide->task, "h")->role == Role::out);
  CHECK(find_tensor(wide->task, "z") == nullptr);
}

TEST_CASE("an output with a check of any kind is an output of a part") {
  for (const Check& check : {Check{.kind = CheckKind::index_of, .of = "y"},
                             Check{.kind = CheckKind::bitwise}, Check()}) {
    Task task = chain_task();
    Tensor least = tensor("least", Role::out, {"rows"});
    least.type = DType::i64;
    least.check = check;
    task.tensors.push_back(least);
    task.operations.push_back(
        {"choice", "argmin", {"y"}, {"least"}, {{"dim", std::vector<std::int64_t>{1}}}});
    task.edges.clear();
    task.reference = {};
    REQUIRE(complete(task));
    REQUIRE(find_tensor(task, "least")->check.length != Expr("1"));
    const auto part = graph_part(task, {4});
    if (!part) FAIL(part.error().message);
    REQUIRE(find_tensor(part->task, "least") != nullptr);
    CHECK(find_tensor(part->task, "least")->check.kind == check.kind);
  }
}

TEST_CASE("an operator that a family states is served in the family's words") {
  const Task task = chain_task();
  const auto part = served_part(task, {0}, builtin_families());
  if (!part) FAIL(part.error().message);
  CHECK(part->task.family == "gemm");
  CHECK(part->tensors ==
        std::map<std::string, std::string>{{"A", "x"}, {"B", "w"}, {"D", "h"}, {"bias", "b"}});
  CHECK(part->axes.at("m") == Expr("rows"));
  CHECK(part->axes.at("batch") == Expr("1"));
  CHECK(part->task.constants.at("TRANS_B") == 1);
  CHECK(part->task.constants.at("HAS_BIAS") == 1);
  CHECK(part->task.time_shapes[0].sizes.at("n") == 64);
  const auto last = served_part(task, {3}, builtin_families());
  REQUIRE(last);
  CHECK(last->task.constants.at("HAS_BIAS") == 0);
  const auto both = served_part(task, {0, 1}, builtin_families());
  REQUIRE_FALSE(both);
  CHECK_THAT(both.error().message, Catch::Contains("part product_norm"));
}

TEST_CASE("what a layout operator moves keeps its type") {
  using Attributes = std::map<std::string, Attribute>;
  const Attributes none, turned = {{"dims", std::vector<std::int64_t>{1, 0}}},
                         rows = {{"dim", std::int64_t{0}}};
  struct Row {
    const char* name;
    std::vector<Operation> operations;  // the last makes e
    DType type;
  };
  const std::vector<Row> all = {
      {"a transposition", {{"t", "transpose", {"h"}, {"e"}, none}}, DType::bf16},
      {"two of them",
       {{"p", "permute", {"h"}, {"m"}, turned}, {"t", "transpose", {"m"}, {"e"}, none}},
       DType::bf16},
      {"of what is computed",
       {{"p", "relu", {"h"}, {"m"}, none}, {"t", "transpose", {"m"}, {"e"}, none}},
       DType::f32},
      {"arithmetic", {{"p", "relu", {"h"}, {"e"}, none}}, DType::f32},
      {"one type", {{"c", "cat", {"h", "h"}, {"e"}, rows}}, DType::bf16},
      {"two types", {{"c", "cat", {"h", "f"}, {"e"}, rows}}, DType::f32},
      {"looked up by integers", {{"c", "embedding", {"h", "id"}, {"e"}, none}}, DType::bf16},
      {"integers", {{"t", "transpose", {"id"}, {"e"}, none}}, DType::i32},
      {"a pad",
       {{"c", "pad", {"h"}, {"e"}, {{"pad", std::vector<std::int64_t>{1, 1}}}}},
       DType::f32},
  };
  for (const Row& row : all) {
    INFO(row.name);
    Task task;
    task.tensors = {tensor("h", Role::in, {"rows", "n"}), tensor("f", Role::in, {"rows", "n"}),
                    tensor("id", Role::in, {"rows", "n"})};
    task.tensors[0].type = DType::bf16;
    task.tensors[2].type = DType::i32;
    task.operations = row.operations;
    CHECK(edge_type(task, "e") == row.type);
    task.precision = Precision::fp64;
    CHECK(edge_type(task, "e") == (row.type == DType::f32 ? DType::f64 : row.type));
  }
}

TEST_CASE("a turned 16-bit weight is an operand of 16-bit products") {
  Task task = chain_task();
  task.precision = Precision::bf16;
  for (Tensor& one : task.tensors) one.type = DType::bf16;
  task.tensors[1].shape = {"k", "n"};
  task.operations = {{"turn", "transpose", {"w"}, {"t"}, {}},
                     {"product", "linear", {"x", "t"}, {"y"}, {}}};
  task.tensors.erase(task.tensors.begin() + 2, task.tensors.begin() + 4);
  task.tensors.back().shape = {"rows", "n"};
  task.axes.pop_back();
  task.time_shapes = {{{{"rows", 96}, {"k", 80}, {"n", 64}}}};
  task.check_shapes.clear();
  task.edges.clear();
  task.reference = {};
  task.work = {};
  const auto completed = complete(task);
  if (!completed) FAIL(completed.error().message);
  const auto part = served_part(task, {1}, builtin_families());
  if (!part) FAIL(part.error().message);
  CHECK(part->task.family == "gemm");
  CHECK(find_tensor(part->task, "B")->type == DType::bf16);
  CHECK(served_part(task, {0}, builtin_families()));
  const auto exposed = exposed_task(task, {"t"});
  REQUIRE(exposed);
  CHECK(find_tensor(*exposed, "t")->type == DType::bf16);
}

TEST_CASE("buffers that live at once never share memory") {
  Rng rng = Rng::of(3, "lifetimes");
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> all;
    const std::int64_t count = 1 + rng.below(12);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = static_cast<std::size_t>(rng.below(8));
      const auto last = first + static_cast<std::size_t>(rng.below(4));
      all.push_back({"e" + std::to_string(i), Expr(8 + i), first, last});
    }
    const SharedBuffers shared = share_buffers(all);
    std::size_t most = 0;
    for (std::size_t at = 0; at < 12; ++at) {
      std::set<std::string> taken;
      std::size_t live = 0;
      for (const Lifetime& one : all) {
        if (one.first > at || one.last < at) continue;
        CHECK(taken.insert(shared.buffer_of.at(one.name)).second);
        ++live;
      }
      most = std::max(most, live);
    }
    CHECK(shared.buffers.size() == most);  // intervals need no more than meet anywhere
    for (const Lifetime& one : all) {
      const auto buffer = std::find_if(
          shared.buffers.begin(), shared.buffers.end(),
          [&](const PlanBuffer& b) { return b.name == shared.buffer_of.at(one.name); });
      REQUIRE(buffer != shared.buffers.end());
      const auto bytes = evaluate(buffer->bytes, scope_of({}));
      CHECK(std::get<std::int64_t>(bytes) >= std::stoll(one.bytes.text));
    }
  }
}

// Two parts of one template text.
std::vector<PartKernel> two_parts(const Task& task) {
  const std::string text =
      "#define BODY 1\nconstexpr int BX = 32;\n"
      "extern \"C\" __global__ void main_kernel(const float* in, float* out) { out[0] = BODY; }\n";
  LaunchPlan plan;
  plan.require = {"n % BX == 0"};
  plan.let = {{"tiles", "cdiv(rows * n, BX)"}};
  plan.buffers = {{"part", "tiles * elem.z"}, {"count", "4", BufferContent::restored}};
  plan.launches = {{.name = "main",
                    .entry = "main_kernel",
                    .grid = {"min(tiles, resident.main)"},
                    .block = {"BX"},
                    .args = {{.name = "h"}, {.name = "z"}, {.name = "part"}, {.name = "count"}}}};
  auto first = graph_part(task, {1}), second = graph_part(task, {2});
  REQUIRE(first);
  REQUIRE(second);
  LaunchPlan other = plan;
  other.buffers[0].bytes = "tiles * elem.a";
  other.launches[0].args = {{.name = "z"}, {.name = "a"}, {.name = "part"}, {.name = "none?"}};
  other.buffers.pop_back();
  return {{*first, kernel(text, plan, {{"BX", 32}})}, {*second, kernel(text, other, {{"BX", 64}})}};
}

TEST_CASE("names of parts stay apart in text and plan") {
  const Task task = chain_task();
  const auto parts = two_parts(task);
  const auto joined = join_parts(task, parts);
  if (!joined) FAIL(joined.error().message);
  const LaunchPlan& plan = joined->plan;
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].entry == "p1_main_kernel");
  CHECK(plan.launches[1].name == "p2_main");
  CHECK(plan.launches[0].grid[0].text == "min(p1_tiles, resident.p1_main)");
  CHECK(plan.require[1].text == "n % p2_BX == 0");
  CHECK(joined->constants == Constants{{"p1_BX", 32}, {"p2_BX", 64}});
  CHECK(plan.launches[1].args[3].name == "p2_no_none?");
  CHECK_THAT(joined->text,
             Catch::Contains("void p1_main_kernel(") && Catch::Contains("void p2_main_kernel(") &&
                 Catch::Contains("namespace part_2 {") && Catch::Contains("#undef BODY"));
  // h and z at once; a takes h's place, the second part's scratch that of the first's.
  CHECK(plan.launches[0].args[0].name == "edge_h");
  CHECK(plan.launches[1].args[1].name == "edge_h");
  CHECK(plan.launches[0].args[1].name == plan.launches[1].args[0].name);
  CHECK(plan.launches[0].args[2].name == plan.launches[1].args[2].name);
  CHECK(plan.launches[0].args[3].name == "p1_count");
  const auto all = exposed_task(task, edge_names(task));
  REQUIRE(all);
  const auto exposed = join_parts(*all, parts);
  REQUIRE(exposed);
  CHECK(exposed->plan.launches[0].args[1].name == "z");
}

TEST_CASE("arrays of shared memory that parts declare in two ways have names of their own") {
  const Task task = chain_task();
  auto parts = two_parts(task);
  const auto joined_with = [&](const std::string& first, const std::string& second) {
    const std::string declared = " out[0] = BODY;";
    for (std::size_t i = 0; i < 2; ++i) {
      std::string& text = parts[i].source.text;
      text = two_parts(task)[i].source.text;
      text.replace(text.find(declared), declared.size(),
                   "\n  extern __shared__ " + (i == 0 ? first : second) +
                       " memory[];\n  out[0] = static_cast<float>(memory[0]);");
    }
    const auto joined = join_parts(task, parts);
    REQUIRE(joined);
    return joined->text;
  };
  CHECK_THAT(joined_with("float", "__align__(128) unsigned char"),
             Catch::Contains("#define memory p1_memory\n") &&
                 Catch::Contains("#define memory p2_memory\n") &&
                 Catch::Contains("#undef memory\n}  // namespace part_2"));
  CHECK_THAT(joined_with("float", "float"), !Catch::Contains("#define memory"));
  CHECK(clashing_arrays({"extern __shared__ float rows [];", "extern __shared__ int rows[4];",
                         "extern __shared__ float [];"}) == std::set<std::string>{"rows"});
}

TEST_CASE("parts of one text share it, and their launches and buffers stay apart") {
  const Task task = chain_task();
  auto parts = two_parts(task);
  parts[1].source.constants = parts[0].source.constants;
  const auto joined = join_parts(task, parts);
  if (!joined) FAIL(joined.error().message);
  const LaunchPlan& plan = joined->plan;
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].entry == "p1_main_kernel");
  CHECK(plan.launches[1].entry == "p1_main_kernel");
  CHECK(plan.launches[1].name == "p2_main");
  CHECK(plan.launches[1].args[1].name == "edge_h");
  CHECK_THAT(joined->text, Catch::Contains("void p1_main_kernel(") &&
                               !Catch::Contains("namespace part_2 {") &&
                               Catch::Contains("by the kernels of part 1"));
}

TEST_CASE("parts of one kind are told apart from others by what they compute") {
  const auto task = support::deep_task(3, 4, 64);
  REQUIRE(task);
  const auto part = [](const Task& of, std::vector<int> operations) {
    auto made = graph_part(of, operations);
    if (!made) FAIL(made.error().message);
    return *made;
  };
  const auto first = part(*task, {0, 1}), second = part(*task, {2, 3}), last = part(*task, {4, 5});
  CHECK(kind_of(first) == kind_of(second));
  CHECK(kind_of(first) == kind_of(last));
  CHECK(kind_of(first) != kind_of(part(*task, {0})));
  const PartTask told = told_as(second, first);
  CHECK(told.name == second.name);
  CHECK(task_id(told.task) == task_id(first.task));
  CHECK(told.tensors.at("x") == "z0");
  CHECK(told.tensors.at("w0") == "w1");
  CHECK(told.tensors.at("z0") == "z1");

  Task other = *task;
  other.operations[3].attributes["eps"] = 1e-3;
  CHECK(kind_of(part(other, {2, 3})) != kind_of(first));
  other = *task;
  other.tensors[2].fill.high = 0.5;  // w1
  CHECK(kind_of(part(other, {2, 3})) != kind_of(first));
  const EdgeFills fills = {{"z0", {.high = 0.9}}};
  const auto measured = graph_part(*task, {2, 3}, fills);
  REQUIRE(measured);
  CHECK(kind_of(*measured) != kind_of(first));
  CHECK(kind_of(*measured, &*task) == kind_of(first, &*task));
}

TEST_CASE("a part of constants alone becomes setup launches with tables of its own") {
  struct Row {
    const char* name;
    Role role;
    BufferContent count;
    bool exposed, prepared;
  };
  const Row row = GENERATE(values<Row>({
      {"a constant", Role::constant, BufferContent::restored, false, true},
      {"an input", Role::in, BufferContent::restored, false, false},
      {"a buffer that is cleared each time", Role::constant, BufferContent::zeroed, false, false},
      {"an edge that is looked at", Role::constant, BufferContent::restored, true, false},
  }));
  INFO(row.name);
  Task task = chain_task();
  for (Tensor& one : task.tensors) {
    if (one.role == Role::in && one.name != "v") one.role = row.role;
  }
  auto parts = two_parts(task);
  parts[0].form = *graph_part(task, {0, 1});
  parts[0].source.plan.buffers[1].content = row.count;
  parts[0].source.plan.launches[0].args[0].name = "x";
  const Task joined_of = row.exposed ? *exposed_task(task, {"z"}) : task;
  const auto joined = join_parts(joined_of, parts);
  if (!joined) FAIL(joined.error().message);
  const LaunchPlan& plan = joined->plan;
  REQUIRE(plan.launches.size() == 2);
  CHECK((plan.launches[0].when == When::setup) == row.prepared);
  // The edge that act makes is of constants too.
  CHECK((plan.launches[1].when == When::setup) == row.prepared);
  const auto content = [&](const std::string& name) {
    const auto found = std::find_if(plan.buffers.begin(), plan.buffers.end(),
                                    [&](const PlanBuffer& one) { return one.name == name; });
    return found == plan.buffers.end() ? BufferContent::zeroed : found->content;
  };
  if (!row.prepared) return;
  CHECK(content("edge_z") == BufferContent::table);
  CHECK(content("edge_a") == BufferContent::table);
  CHECK(content("p1_part") == BufferContent::table);
  CHECK(content("p1_count") == BufferContent::restored);
  CHECK_THAT(joined->text, Catch::Contains("once before, of constants alone"));
}

// y is x beside a relu of z, both of which other kernels may write.
TEST_CASE("views lie in the buffer of their cat, which lives as long as they do", "[views]") {
  Task task;
  task.name = "beside";
  task.axes = {{"rows"}, {"k"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("z", Role::in, {"rows", "k"}),
                  tensor("y", Role::out, {"rows", "k + k"})};
  task.operations = {{"left", "relu", {"x"}, {"a"}, {}},
                     {"right", "gelu", {"z"}, {"b"}, {}},
                     {"join", "cat", {"a", "b"}, {"c"}, {{"dim", std::int64_t{1}}}},
                     {"last", "softmax", {"c"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 96}, {"k", 64}}}};
  REQUIRE(complete(task));
  Views views;
  views.places = {{"a", {"c", 0, {"k + k", 1}}}, {"b", {"c", "k", {"k + k", 1}}}};
  views.cats = {{"c", {}}};
  std::vector<PartKernel> parts;
  for (int i = 0; i < 4; ++i) {
    const auto form = graph_part(task, {i}, {}, views);
    if (!form) FAIL(form.error().message);
    parts.push_back({*form, {}});
    if (form->only_views) continue;
    LaunchPlan plan;
    PlanLaunch launch{.entry = "f"};
    for (const Tensor& one : form->task.tensors) launch.args.push_back({.name = one.name});
    for (const auto& [own, place] : form->places) {
      plan.let.emplace_back("view_offset_" + own, 0);
      launch.args.push_back({.kind = PlanArgument::Kind::i64, .value = "view_offset_" + own});
    }
    plan.launches = {launch};
    parts.back().source = kernel("extern \"C\" __global__ void f() {}", plan);
  }
  CHECK(parts[2].form.only_views);
  const auto joined = join_parts(task, parts);
  if (!joined) FAIL(joined.error().message);
  const LaunchPlan& plan = joined->plan;
  REQUIRE(plan.launches.size() == 3);
  REQUIRE(plan.buffers.size() == 1);
  CHECK(plan.buffers[0].name == "edge_c");
  CHECK(plan.launches[0].args[1].name == "edge_c");
  CHECK(plan.launches[1].args[1].name == "edge_c");
  CHECK(plan.launches[1].args[2].value == Expr("p2_view_offset_b"));
  CHECK(plan.launches[2].args[0].name == "edge_c");
  const auto offset = std::find_if(plan.let.begin(), plan.let.end(),
                                   [](const auto& one) { return one.first == "p2_view_offset_b"; });
  REQUIRE(offset != plan.let.end());
  CHECK(offset->second == Expr("k"));
  CHECK_THAT(joined->text, Catch::Contains("//  b lies in c, from element k on\n"));
  CHECK_THAT(joined->text, Catch::Contains("//  3: join, no kernel: "));

  parts[1].source.plan.let.clear();
  parts[1].source.plan.launches[0].args.pop_back();
  const auto refused = join_parts(task, parts);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("takes no offset of 'b'"));
}

TEST_CASE("a part that cannot be joined is named") {
  const Task task = chain_task();
  auto parts = two_parts(task);
  parts[1].source.plan.launches[0].args[0].name = "elsewhere";
  const auto joined = join_parts(task, parts);
  REQUIRE_FALSE(joined);
  CHECK_THAT(joined.error().message,
             Catch::Contains("part 2 (act)") && Catch::Contains("'elsewhere'"));
  CHECK_FALSE(join_parts(task, {}));
}

TEST_CASE("edges of a task are outputs of the exposed one") {
  const auto exposed = exposed_task(chain_task(), {"h", "z", "a"});
  if (!exposed) FAIL(exposed.error().message);
  CHECK(exposed->tensors.size() == 8);
  CHECK(exposed->edges.empty());
  CHECK(find_tensor(*exposed, "z")->role == Role::out);
  const auto some = exposed_task(chain_task(), {"h"});
  REQUIRE(some);
  CHECK(find_tensor(*some, "z") == nullptr);
  CHECK(find_edge(*some, "z") != nullptr);
}

}  // namespace
}  // namespace cupilot
