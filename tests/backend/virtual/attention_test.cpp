// Attention in three launches, and of 16-bit elements in one: by its own words, and as a graph.
#include <cupilot/family.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

Task of(std::vector<std::string> words) {
  words.insert(words.begin(), "attention");
  auto task = task_from_words(words);
  REQUIRE(task);
  return *task;
}

TEST_CASE("attention by its words is right, causal or not", "[attention][threads]") {
  const Values small = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_M", 16}, {"WARP_N", 16}};
  check_accepted(of({"batch=2", "queries=35", "keys=37", "width=19", "out=7"}), "attention_mma",
                 small);
  Values wide = small;
  wide["VECTOR"] = 4;
  wide["STAGES"] = 3;
  wide["BLOCK_K"] = 8;
  check_accepted(of({"batch=1", "queries=5", "keys=70", "width=20", "out=36", "causal=1"}),
                 "attention_mma", wide);
  check_accepted(of({"batch=1", "queries=70", "keys=6", "width=4", "out=8"}), "attention_mma",
                 {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"WARP_M", 64}, {"WARP_N", 16}, {"VECTOR", 2}});
}

TEST_CASE("attention of 16-bit elements is right, causal or not", "[attention][threads]") {
  const std::string dtype = GENERATE("dtype=bf16", "dtype=fp16");
  INFO(dtype);
  const Values small = {{"KEYS", 16}, {"BLOCK_M", 32}, {"BLOCK_N", 16}, {"BLOCK_K", 16}};
  check_accepted(of({"batch=2", "queries=35", "keys=37", "width=19", "out=7", dtype}),
                 "attention_stream", small);
  // Several slabs of K, several columns of blocks, a ring of three.
  Values wide = small;
  wide["VECTOR"] = 4;
  wide["STAGES"] = 3;
  wide["PLANES"] = 3;
  check_accepted(of({"batch=1", "queries=5", "keys=70", "width=40", "out=36", "causal=1", dtype}),
                 "attention_stream", wide);
  // Blocks whose last tiles of keys nobody sees, warps with several rows of tensor-core tiles.
  check_accepted(of({"batch=2", "queries=40", "keys=150", "width=64", "out=24", "causal=1", dtype}),
                 "attention_stream",
                 {{"KEYS", 32},
                  {"BLOCK_M", 32},
                  {"BLOCK_N", 32},
                  {"BLOCK_K", 64},
                  {"WARP_M", 32},
                  {"VECTOR", 8},
                  {"SKIP", 1}});
}

TEST_CASE("attention by warpgroups is right, causal or not", "[attention][threads]") {
  const std::string dtype = GENERATE("dtype=bf16", "dtype=fp16");
  INFO(dtype);
  const Values small = {{"KEYS", 64}, {"CONSUMERS", 1}};
  check_accepted(of({"batch=2", "queries=70", "keys=77", "width=40", "out=72", dtype}),
                 "attention_wgmma", small);
  // Blocks that stay and take turns, three planes, heads of two lines.
  check_accepted(of({"batch=3", "queries=200", "keys=170", "width=96", "out=80", dtype}),
                 "attention_wgmma",
                 {{"KEYS", 80},
                  {"CONSUMERS", 2},
                  {"WIDTH", 128},
                  {"BLOCK_N", 96},
                  {"PLANES", 3},
                  {"STAGES", 3},
                  {"TURNS", 1},
                  {"WAVES", 1}});
  check_accepted(of({"batch=1", "queries=64", "keys=130", "width=64", "out=64", dtype}),
                 "attention_wgmma",
                 {{"KEYS", 64}, {"CONSUMERS", 3}, {"OVERLAP", 0}, {"STAGES", 2}});
  // Tiles of keys that nobody sees, of which a launch finds infinities; pairs of tiles of queries.
  const auto masked =
      of({"batch=2", "queries=200", "keys=400", "width=64", "out=64", "causal=1", dtype});
  CHECK(named(templates_of(builtin_families(), masked), masked, "attention_wgmma") == nullptr);
  check_accepted(masked, "attention_wgmma_causal", small);
  check_accepted(masked, "attention_wgmma_causal",
                 {{"KEYS", 80}, {"CONSUMERS", 2}, {"TURNS", 1}, {"WAVES", 1}});
}

// Tells whether a template's kernel is refused once this is written in the place of that, on
// content.
bool wrong_with(const Task& task, const char* name, const Values& values, ContentKind content,
                const std::string& old, const std::string& now) {
  INFO(name << ": " << now);
  const auto templates = templates_of(builtin_families(), task);
  const Tunable* tunable = named(templates, task, name);
  REQUIRE(tunable != nullptr);
  auto source = instantiate(*tunable, task, virtual_h200().device(), values);
  REQUIRE(source);
  const std::size_t at = source->text.find(old);
  REQUIRE(at != std::string::npos);
  source->text.replace(at, old.size(), now);
  auto kernel = virtual_h200().compile(*source);
  REQUIRE(kernel);
  Case one;
  one.workload = task.time_shapes[0];
  one.content = {1, content};
  const auto report = virtual_h200().run(TaskRef(task), *kernel, std::vector<Case>{one});
  REQUIRE(report);
  return !verdict_of(report).empty();
}

TEST_CASE("attention whose weights are rounded to 16 bits is refused", "[attention][threads]") {
  const Task task = of({"batch=2", "queries=40", "keys=40", "width=40", "out=40", "dtype=bf16"});
  const auto refused = [&](const char* name, const Values& values, const char* old,
                           const char* now) {
    return wrong_with(task, name, values, ContentKind::hard_line, old, now);
  };
  const Values wide = {{"VECTOR", 8}}, one = {{"CONSUMERS", 1}, {"KEYS", 64}};
  CHECK_FALSE(
      refused("attention_stream", wide, "plane > 0 && first_plane", "first_plane && plane > 0"));
  CHECK(refused("attention_stream", wide, "plane > 0 && first_plane", "plane > 0"));
  CHECK_FALSE(refused("attention_wgmma", one, "int plane = PLANES - 1;", "int plane{PLANES - 1};"));
  CHECK(refused("attention_wgmma", one, "int plane = PLANES - 1;", "int plane = 0;"));
}

TEST_CASE("infinities of values that nobody sees are found", "[attention][threads]") {
  const Task task =
      of({"batch=2", "queries=70", "keys=300", "width=16", "out=16", "dtype=bf16", "causal=1"});
  const auto refused = [&](const char* now) {
    return wrong_with(task, "attention_wgmma_causal", {{"CONSUMERS", 1}, {"KEYS", 64}},
                      ContentKind::special, "if (look) mark(", now);
  };
  CHECK_FALSE(refused("if (look == true) mark("));
  CHECK(refused("if (false) mark("));
}

// Attention over b by h of queries, with these attributes.
Result<Task> graph(std::map<std::string, Attribute> attributes, bool mask = false,
                   Precision precision = Precision::fp32_emulated, DType type = DType::f32) {
  std::vector<Tensor> tensors = {input("keys", {"b", "h", "m", "d"}),
                                 input("K", {"b", "h", "n", "d"}), input("V", {"b", "h", "n", "e"}),
                                 output("y", {"b", "h", "m", "e"})};
  std::vector<std::string> inputs = {"keys", "K", "V"};
  if (mask) {
    tensors.push_back(input("mask", {"m", "n"}));
    inputs.push_back("mask");
  }
  for (Tensor& tensor : tensors) tensor.type = type;
  return graph_task(std::move(tensors), {{"a", "attention", inputs, {"y"}, std::move(attributes)}},
                    {{"b", 2}, {"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", 6}}, precision);
}

TEST_CASE("a graph that is attention has the family's template", "[attention][threads]") {
  const auto plain = graph({}), causal = graph({{"causal", std::int64_t{1}}});
  REQUIRE(plain);
  REQUIRE(causal);
  for (const Task* task : {&*plain, &*causal})
    check_accepted(*task, "attention_mma", {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_N", 16}});
  auto narrow = graph({{"causal", std::int64_t{1}}}, false, Precision::bf16, DType::bf16);
  REQUIRE(narrow);
  check_accepted(*narrow, "attention_stream", {{"KEYS", 16}, {"BLOCK_N", 16}, {"SKIP", 1}});
}

TEST_CASE("scores with masks and scales of their own are made by the graph",
          "[attention][threads]") {
  const Values tiles = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_N", 16}},
               narrow = {{"KEYS", 16}, {"BLOCK_M", 32}, {"BLOCK_N", 16}};
  for (const std::map<std::string, Attribute>& attributes :
       {std::map<std::string, Attribute>{},
        {{"causal", std::int64_t{1}}, {"scale", 0.5}},
        {{"boolean_mask", std::int64_t{1}}}}) {
    for (const bool masked : {true, false}) {
      if (!masked && !attributes.contains("scale")) continue;
      INFO(attributes.size() << (masked ? " masked" : ""));
      const auto wide = graph(attributes, masked);
      REQUIRE(wide);
      check_accepted(*wide, "attention_mma", tiles);
      const auto half = graph(attributes, masked, Precision::bf16, DType::bf16);
      REQUIRE(half);
      check_accepted(*half, "attention_stream", narrow);
    }
  }
}

// Products, softmax and what stands between them as operations of their own.
struct Spelled {
  std::vector<Operation> between{};  // from "s" to "t"
  std::vector<Tensor> beside{};      // that they read
  std::int64_t over = 3;             // the dimension of the softmax
  std::vector<Expr> keys = {"b", "h", "n", "d"};
  bool turned = true;  // keys are handed on with their last dimensions exchanged
  const char* weights = "softmax";
  std::vector<Operation> after{};  // from "w" to "w2"
  bool shows_weights = false;      // as an output of their own
};

Result<Task> spelled(const Spelled& what, Precision precision, DType type) {
  std::vector<Tensor> tensors = {input("q", {"b", "h", "m", "d"}, type),
                                 input("k", what.keys, type),
                                 input("v", {"b", "h", "n", "e"}, type)};
  tensors.insert(tensors.end(), what.beside.begin(), what.beside.end());
  tensors.push_back(output("y", {"b", "h", "m", "e"}, type));
  if (what.shows_weights) tensors.push_back(output("w", {"b", "h", "m", "n"}, type));
  std::vector<Operation> operations;
  if (what.turned)
    operations.push_back({"turn",
                          "transpose",
                          {"k"},
                          {"kt"},
                          {{"dim0", std::int64_t{2}}, {"dim1", std::int64_t{3}}}});
  operations.push_back({"scores", "matmul", {"q", what.turned ? "kt" : "k"}, {"s"}});
  operations.insert(operations.end(), what.between.begin(), what.between.end());
  const std::string from = what.between.empty() ? "s" : "t";
  operations.push_back({"weights", what.weights, {from}, {"w"}, {{"dim", what.over}}});
  operations.insert(operations.end(), what.after.begin(), what.after.end());
  operations.push_back({"values", "matmul", {what.after.empty() ? "w" : "w2", "v"}, {"y"}});
  return graph_task(std::move(tensors), std::move(operations),
                    {{"b", 2}, {"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", 6}}, precision);
}

Operation scale(const char* to) { return {"scale", "mul", {"s"}, {to}, {{"other", 0.3}}}; }

TEST_CASE("attention that is spelled out has the family's template", "[attention][threads]") {
  const std::vector<Spelled> rows = {
      {},
      {.between = {scale("t")}},
      // A mask of each batch alone, and one of queries and keys that takes scores out.
      {.between = {scale("u"), {"shift", "add", {"u", "bias"}, {"t"}}},
       .beside = {input("bias", {"b", "1", "1", "n"})}},
      {.between = {scale("u"),
                   {"hide", "masked_fill", {"u", "hidden"}, {"t"}, {{"value", -30000.0}}}},
       .beside = {input("hidden", {"m", "n"}, DType::boolean)}},
      // Scores that a function bounds, as Gemma's.
      {.between = {scale("u"), {"bound", "tanh", {"u"}, {"t"}}}},
  };
  for (const Spelled& row : rows) {
    INFO(row.between.size() << " operations between");
    const auto wide = spelled(row, Precision::fp32_emulated, DType::f32);
    REQUIRE(wide);
    check_accepted(*wide, "attention_mma", {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_N", 16}});
    const auto half = spelled(row, Precision::bf16, DType::bf16);
    REQUIRE(half);
    check_accepted(*half, "attention_stream", {{"KEYS", 16}, {"BLOCK_M", 32}, {"BLOCK_N", 16}});
  }
}

TEST_CASE("attention that the template does not compute is not offered it", "[attention]") {
  const auto strict = graph({}, false, Precision::fp32_strict);
  // Weights of a query's neighbours, keys that lie turned, weights that are scaled on their way.
  const Precision emulated = Precision::fp32_emulated;
  const auto columns = spelled({.over = 2}, emulated, DType::f32),
             turned =
                 spelled({.keys = {"b", "h", "d", "n"}, .turned = false}, emulated, DType::f32),
             scaled = spelled({.after = {{"less", "mul", {"w"}, {"w2"}, {{"other", 0.5}}}}},
                              emulated, DType::f32),
             logarithms = spelled({.weights = "log_softmax"}, emulated, DType::f32),
             shown = spelled({.shows_weights = true}, emulated, DType::f32);
  for (const auto* task : {&strict, &columns, &turned, &scaled, &logarithms, &shown}) {
    REQUIRE(*task);
    for (const char* name : {"attention_mma", "attention_stream", "attention_wgmma"})
      CHECK(named(templates_of(builtin_families(), **task), **task, name) == nullptr);
  }
}

}  // namespace
}  // namespace cupilot
