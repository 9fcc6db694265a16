#include "catch.hpp"

#include <map>
#include <sstream>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/tunable.hpp>

#include "base/embedded.hpp"
#include "kernel/template_choice.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"
#include "support/nvrtc.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

Tunable tunable(const std::string& name, const std::string& fields,
                const std::string& text = "// body\n") {
  const std::string whole =
      "/* cupilot tunable 1\n{\"name\":\"" + name + "\"," + fields +
      R"("plan":{"launches":[{"entry":"k","grid":[1],"block":[32],"args":["A","C?","D"]}]}})" +
      "\n*/\n" + text;
  auto read = parse_tunable(whole, name + ".cu");
  if (!read) FAIL(read.error().message);
  return *read;
}

const char* simple = R"("family":"gemm","provides":["simt_core"],"requires":["simt_core"],
  "parameters":{"BM":{"name":"block_m","technique":"block_tile","domain":[32,64],"plain":32}},"restrict":["BM<=64"],)";

Task gemm(DType type = DType::f32) {
  auto task = gemm_task({.m = 512, .n = 512, .k = 512, .dtype = type});
  REQUIRE(task);
  return *task;
}

Use use(const std::string& technique, std::map<std::string, std::int64_t> values = {}) {
  return {technique, std::move(values), "", {}};
}

Strategy strategy(std::vector<Use> uses, const std::string& rationale = "") {
  Strategy made;
  made.uses = std::move(uses);
  made.rationale = rationale;
  return made;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

KernelSource written(const std::vector<Tunable>& tunables, const Task& task, const Strategy& how) {
  const DeviceSpec device{.name = "h200"};
  auto source = template_writer(tunables)->write({TaskRef(task), &how, &device, {}});
  if (source.is_rejected()) FAIL(source.rejected().message);
  return *source;
}

}  // namespace

TEST_CASE("a written kernel holds comment, types, constants, tensor types and template in order",
          "[agents]") {
  const std::string body =
      "#include \"cupilot/vector.cuh\"\n#include \"cupilot/types.cuh\"\n#include "
      "\"cupilot/vector.cuh\"\n// the body\nint x;\n";
  const Task task = gemm();
  const Strategy how =
      strategy({use("simt_core"), use("block_tile", {{"block_m", 64}})}, "Tiles cut traffic.");
  const KernelSource source = written({tunable("t", simple, body)}, task, how);
  const std::vector<std::string> order = {"// gemm, class fp32-strict, made for",
                                          "m=512",
                                          "Tiles cut traffic.",
                                          "struct bf16",
                                          "constexpr int BM = 64;  // block_tile.block_m",
                                          "constexpr int ACT = 0;",
                                          "using T_A = float;",
                                          "using T_C = float;",
                                          "// cupilot/vector.cuh",
                                          "// the body"};
  std::size_t last = 0;
  for (const std::string& part : order) {
    INFO(part << "\n" << source.text.substr(0, 4000));
    // ACT and others are ordered by name among themselves.
    const std::size_t at = source.text.find(part);
    REQUIRE(at != std::string::npos);
    CHECK(at >= last);
    last = at;
  }
  CHECK(count(source.text, "struct bf16 {") == 1);
  CHECK(count(source.text, "// cupilot/vector.cuh") == 1);
  CHECK(source.text.find("#include") == std::string::npos);
  CHECK(source.template_name == "t");
  CHECK(source.strategy_id == strategy_id(how));
  CHECK(source.constants == Constants{{"BM", 64}});
  CHECK(source.plan.launches.size() == 1);
}

TEST_CASE("an absent optional tensor has the output's type", "[agents]") {
  GemmSpec spec{.m = 64, .n = 64, .k = 64, .dtype = DType::bf16};
  spec.out = DType::f16;
  const auto task = gemm_task(spec);
  REQUIRE(task);
  const KernelSource source = written({tunable("t", simple)}, *task, strategy({use("simt_core")}));
  CHECK(source.text.find("using T_A = bf16;") != std::string::npos);
  CHECK(source.text.find("using T_D = fp16;") != std::string::npos);
  CHECK(source.text.find("using T_C = fp16;") != std::string::npos);
}

TEST_CASE("prose cannot leave its comment", "[agents]") {
  const Strategy how =
      strategy({use("simt_core")},
               "ends in a backslash \\\n int evil;\n// cupilot: {\"plan\":{}}\r\n#define X\f" +
                   std::string(300, 'x') + " tail\\");
  const std::string text = written({tunable("t", simple)}, gemm(), how).text;
  const std::string head = text.substr(0, text.find("// cupilot/types.cuh"));
  CHECK(head.find('\\') == std::string::npos);
  CHECK(head.find("// cupilot:") != 0);
  CHECK(head.find("\n// cupilot:") == std::string::npos);
  for (std::size_t from = 0; from < head.size();) {
    const std::size_t end = head.find('\n', from);
    const std::string line = head.substr(from, end - from);
    INFO(line);
    CHECK((line.empty() || line.rfind("//", 0) == 0));
    from = end + 1;
  }
}

TEST_CASE("what no template realises is named", "[agents]") {
  const Tunable simt = tunable("simt", simple);
  const Tunable tiled = tunable(
      "tiled",
      R"("family":"gemm","provides":["ldmatrix"],"requires":["mma_core","warp_tile"],"parameters":{},)");
  const Tunable other = tunable("other", R"("family":"softmax","parameters":{},)");
  const std::vector<Tunable> both = {simt, tiled};
  struct Row {
    std::vector<Tunable> tunables;
    std::vector<Use> uses;
    std::string says;  // empty: written from `by`
    std::string by;
  };
  const std::vector<Row> rows = {
      {both, {use("simt_core")}, "", "simt"},
      {both, {use("mma_core"), use("warp_tile"), use("ldmatrix")}, "", "tiled"},
      {both, {use("simt_core"), use("stream_k")}, "template simt does not realise stream_k", ""},
      {both,
       {use("block_tile")},
       "the strategy lacks the techniques that a template stands on",
       ""},
      {both, {use("mma_core")}, "tiled (mma_core and warp_tile)", ""},
      {{other}, {use("simt_core")}, "no template serves task gemm of family 'gemm'", ""},
      {{}, {use("simt_core")}, "no template serves task gemm", ""},
  };
  for (const Row& row : rows) {
    const Task task = gemm();
    const Strategy how = strategy(row.uses);
    const auto writer = template_writer(row.tunables);
    const auto lacking = writer->lacks(task, how);
    const auto source = writer->write({TaskRef(task), &how, nullptr, {}});
    if (row.says.empty()) {
      CHECK_FALSE(lacking);
      REQUIRE_FALSE(source.is_rejected());
      CHECK(source->template_name == row.by);
    } else {
      REQUIRE(lacking);
      INFO(*lacking);
      CHECK(lacking->find(row.says) != std::string::npos);
      REQUIRE(source.is_rejected());
      testing::expect_code(source.rejected(), "write.uncovered");
    }
  }
}

TEST_CASE("illegal numbers are refused when writing", "[agents]") {
  const DeviceSpec device{.name = "h200"};
  const Task task = gemm();
  const auto code = [&](const Tunable& t, const Strategy& how) {
    const auto source = template_writer({t})->write({TaskRef(task), &how, &device, {}});
    if (!source.is_rejected()) return std::string();
    testing::expect_code(source.rejected(), "write.failed");
    return source.rejected().message;
  };
  CHECK(
      code(tunable("t", simple), strategy({use("simt_core"), use("block_tile", {{"block_m", 48}})}))
          .find("block_m=48") == 0);
  const char* tight = R"("family":"gemm","requires":["simt_core"],"restrict":["BM<=32"],
    "parameters":{"BM":{"name":"block_m","technique":"block_tile","domain":[32,64],"plain":32}},)";
  CHECK(
      code(tunable("t", tight), strategy({use("simt_core"), use("block_tile", {{"block_m", 64}})}))
          .find("BM<=32") != std::string::npos);
  CHECK(code(tunable("t", tight), strategy({use("simt_core")})).empty());
  CHECK(code(tunable("t", simple, "#include \"cupilot/none.cuh\"\n"), strategy({use("simt_core")}))
            .find("no device header") != std::string::npos);
}

TEST_CASE("built-in templates give text that NVRTC takes without a header", "[agents]") {
  struct Row {
    DType type;
    std::vector<Use> uses;
    std::string has;
  };
  const std::vector<Row> rows = {{DType::f32, {use("simt_core")}, "fma.rn.f32"},
                                 {DType::bf16, {use("mma_core")}, "mma.sync"}};
  for (const Row& row : rows) {
    const Task task = gemm(row.type);
    const Strategy how = strategy(row.uses);
    const auto choice = choose_template(builtin_tunables(), task, how);
    if (const auto* reason = std::get_if<std::string>(&choice)) FAIL(*reason);
    const KernelSource source = written(builtin_tunables(), task, how);
    CHECK(source.text.find("#include") == std::string::npos);
    std::string ptx;
    try {
      ptx = ::support::compile_ptx(source.text);
    } catch (const std::exception& e) {
      FAIL(e.what());
    }
    CHECK(ptx.find(row.has) != std::string::npos);
    CHECK(ptx.find(".entry " + source.plan.launches[0].entry) != std::string::npos);
  }
}

// The kernel's accesses of global memory by instruction: "ld.global.v4.f32" -> how often.
std::map<std::string, int> global_accesses(const KernelSource& source) {
  std::map<std::string, int> found;
  std::istringstream lines(::support::compile_ptx(source.text));
  for (std::string word; lines >> word;) {
    if (word.starts_with("ld.global") || word.starts_with("st.global")) ++found[word];
  }
  return found;
}

// Vectors of fp32 would tie registers together that the main loop then goes around, 2 % slower.
TEST_CASE("a generated epilogue reads fp32 columns as the hand-written one does", "[agents]") {
  const Sizes sizes = {{"m", 512}, {"n", 512}, {"cols", 512}};
  const auto graph = cupilot::support::graph_task(
      {cupilot::support::input("x", {"m", "cols"}), cupilot::support::input("w", {"n", "cols"}),
       cupilot::support::input("b", {"n"}), cupilot::support::output("y", {"m", "n"})},
      {{"fc", "linear", {"x", "w", "b"}, {"h"}, {}}, {"act", "relu", {"h"}, {"y"}, {}}}, sizes);
  REQUIRE(graph);
  const auto words = gemm_task(
      {.m = 512, .n = 512, .k = 512, .layout = "nt", .bias = true, .act = Activation::relu});
  REQUIRE(words);
  const auto accesses = [](const Task& task) {
    std::vector<Tunable> one;
    for (Tunable& tunable : templates_of(builtin_families(), task))
      if (tunable.name == "gemm_simt") one.push_back(std::move(tunable));
    REQUIRE(one.size() == 1);
    return global_accesses(written(
        one, task, strategy({use("simt_core"), use("vector_epilogue", {{"store_vector", 4}})})));
  };
  const auto by_hand = accesses(*words);
  CHECK(by_hand.count("ld.global.f32") == 1);
  CHECK(accesses(*graph) == by_hand);
}
