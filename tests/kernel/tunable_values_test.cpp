#include "catch.hpp"

#include <set>

#include <cupilot/rng.hpp>

#include "kernel/device_limits.hpp"
#include "kernel/support.hpp"
#include "kernel/tunable_values.hpp"
#include "support/gemm.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

Tunable example(const std::string& extra = {}) {
  const std::string head = R"json(/* cupilot tunable 1
{"name":"t","family":"gemm","parameters":{
   "BM":{"name":"block_m","technique":"block_tile","domain":[32,64,256],"plain":32},
   "STAGES":{"name":"stages","technique":"multistage","domain":[1,2,4,8],"plain":1},
   "ASYNC":{"name":"async_copy","technique":"async_copy","domain":[0,1],"plain":0},
   "OWN":{"domain":[3,5],"plain":3}},
 "restrict":["BM*STAGES<=512"],"registers":"BM",)json";
  const std::string tail = R"json(
 "plan":{"let":{"bytes":"BM*STAGES*256"},
         "launches":[{"entry":"k","grid":["cdiv(m,BM)"],"block":["BM*4"],"shared":"bytes","args":[]}]}}
*/
x)json";
  const auto read = parse_tunable(head + extra + tail, "t.cu");
  if (!read) FAIL(read.error().message);
  return *read;
}

Strategy of(std::vector<Use> uses) {
  Strategy strategy;
  strategy.uses = std::move(uses);
  return strategy;
}

// What calls for each of the templates that work on tiles by wgmma.
const std::vector<GemmSpec> wgmma_specs = {
    {.dtype = DType::bf16},
    {.dtype = DType::e4m3, .precision = Precision::fp8, .layout = "nt"},
    {.dtype = DType::e4m3, .precision = Precision::fp8_promoted, .layout = "nt"},
    {.dtype = DType::e4m3, .precision = Precision::fp8, .layout = "tn"},
    {.dtype = DType::e4m3, .layout = "nt", .scale = Scaling::tensor},
    {.dtype = DType::f32, .precision = Precision::fp32_emulated},
};

}  // namespace

TEST_CASE("a strategy's values become constants", "[kernel]") {
  struct Row {
    std::vector<Use> uses;
    Constants constants;
  };
  const std::vector<Row> rows = {
      {{}, {{"BM", 32}, {"STAGES", 1}, {"ASYNC", 0}, {"OWN", 3}}},
      {{{"block_tile", {{"block_m", 64}}, "", {}}},
       {{"BM", 64}, {"STAGES", 1}, {"ASYNC", 0}, {"OWN", 3}}},
      // The catalogue's default of block_m is 128 and of stages 3: the nearest of the domain, the
      // first of two equal ones.
      {{{"block_tile", {}, "", {}}, {"multistage", {}, "", {}}},
       {{"BM", 64}, {"STAGES", 2}, {"ASYNC", 0}, {"OWN", 3}}},
      {{{"async_copy", {}, "", {}}}, {{"BM", 32}, {"STAGES", 1}, {"ASYNC", 1}, {"OWN", 3}}},
      {{{"async_copy", {{"async_copy", 0}}, "", {}}},
       {{"BM", 32}, {"STAGES", 1}, {"ASYNC", 0}, {"OWN", 3}}},
      {{{"t", {{"OWN", 5}}, "", {}}}, {{"BM", 32}, {"STAGES", 1}, {"ASYNC", 0}, {"OWN", 5}}},
      {{{"t", {}, "", {}}}, {{"BM", 32}, {"STAGES", 1}, {"ASYNC", 0}, {"OWN", 3}}},
  };
  for (const Row& row : rows) {
    const auto constants = constants_for(example(), matmul_task(), of(row.uses));
    REQUIRE(constants);
    CHECK(*constants == row.constants);
  }
}

TEST_CASE("a value outside its domain or a name of the task is an error", "[kernel]") {
  const auto outside =
      constants_for(example(), matmul_task(), of({{"block_tile", {{"block_m", 48}}, "", {}}}));
  REQUIRE_FALSE(outside);
  CHECK(outside.error().message.find(
            "block_m=48 of block_tile is outside the domain of template t") == 0);
  Task task = matmul_task();
  task.constants["BM"] = 1;
  const auto clash = constants_for(example(), task, of({}));
  REQUIRE_FALSE(clash);
  CHECK(clash.error().message.find("parameter BM is also a constant") != std::string::npos);
}

TEST_CASE("a broken restriction is named", "[kernel]") {
  const DeviceSpec device{.name = "h200"};
  const auto broken = [&](const Tunable& tunable, std::int64_t bm, std::int64_t stages) {
    return broken_restriction(tunable, matmul_task(), device,
                              {{"BM", bm}, {"STAGES", stages}, {"ASYNC", 0}, {"OWN", 3}})
        .value_or("");
  };
  CHECK(broken(example(), 64, 8).empty());
  CHECK(broken(example(), 256, 4) == "BM*STAGES<=512");
  CHECK(broken(example(), 256, 1) == "about 256 registers a thread, at most 255");
  Tunable wide = example();
  wide.restrictions.clear();
  wide.registers = 0;
  CHECK(broken(wide, 512, 1) == "k: a block side of 2048");
  CHECK(broken(wide, 256, 8) == "k: 524288 bytes of shared memory, h200 allows 232448");
  wide.registers = 136;
  CHECK(broken(wide, 128, 1) == "k: 512 threads of about 136 registers, an SM has 65536");
  wide.restrictions = {"nobody"};
  CHECK(broken(wide, 32, 1).find("nobody: ") == 0);
  wide.restrictions = {"dev.sms==132&&elem.A==4&&class.fp32_strict"};
  CHECK(broken(wide, 32, 1).empty());
}

TEST_CASE("results pass through strips of shared memory in 16 or 32 bits only", "[kernel]") {
  std::set<std::string> seen;
  for (const GemmSpec& spec : wgmma_specs) {
    for (const DType type : {DType::f32, DType::bf16, DType::e4m3}) {
      auto task = gemm_task(spec);
      REQUIRE(task);
      for (Tensor& tensor : task->tensors) {
        if (tensor.name == "D") tensor.type = type;
      }
      for (const Tunable& tunable : builtin_tunables()) {
        auto constants = constants_for(tunable, *task, of({}));
        if (!serves(tunable, *task) || !constants || constants->count("STRIPS") == 0) continue;
        const auto broken = [&](std::int64_t strips) {
          (*constants)["STRIPS"] = strips;
          return broken_restriction(tunable, *task, {.name = "h200"}, *constants).value_or("");
        };
        INFO(tunable.name << ", D of " << name_of(type));
        CHECK(broken(0).empty());
        CHECK((broken(1).find("STRIPS") == 0) == (type == DType::e4m3));
        seen.insert(tunable.name);
      }
    }
  }
  CHECK(seen == std::set<std::string>{"gemm_wgmma", "gemm_wgmma_promoted", "gemm_wgmma_scaled",
                                      "gemm_wgmma_split", "gemm_wgmma_turned"});
}

TEST_CASE(
    "four warpgroups have 128 registers a thread when a wgmma is assembled, too few for tiles over "
    "200 wide",
    "[kernel]") {
  std::set<std::string> seen;
  for (const GemmSpec& spec : wgmma_specs) {
    const auto task = gemm_task(spec);
    REQUIRE(task);
    for (const Tunable& tunable : builtin_tunables()) {
      auto constants = constants_for(tunable, *task, of({}));
      if (!serves(tunable, *task) || !constants ||
          constants->count("PROMOTED") + constants->count("PING_PONG") == 0)
        continue;
      seen.insert(tunable.name);
      constants->insert_or_assign("TILE_M", 64);
      if (constants->count("PROMOTED") != 0)
        constants->insert_or_assign("PROMOTED", 0);  // promotion alone forbids such tiles
      constants->insert_or_assign("TILE_N", 208);
      for (const std::int64_t consumers : {2, 3}) {
        constants->insert_or_assign("CONSUMERS", consumers);
        INFO(tunable.name << ", consumers " << consumers);
        CHECK(broken_restriction(tunable, *task, {.name = "h200"}, *constants).has_value() ==
              (consumers == 3));
      }
    }
  }
  CHECK(seen == std::set<std::string>{"gemm_wgmma", "gemm_wgmma_scaled", "gemm_wgmma_turned"});
}

TEST_CASE("a template serves by family, types and class", "[kernel]") {
  struct Row {
    std::string when;
    DType type;
    bool serves;
  };
  const std::vector<Row> rows = {
      {"[]", DType::f32, true},
      {R"(["elem.A==4"])", DType::f32, true},
      {R"(["elem.A==4"])", DType::bf16, false},
      {R"(["class.bf16||class.fp16"])", DType::bf16, true},
      {R"(["class.bf16||class.fp16"])", DType::f32, false},
      {R"(["class.fp32_strict","TRANS_A==0"])", DType::f32, true},
      {R"(["TRANS_A==1"])", DType::f32, false},
      {R"(["class.fp7"])", DType::f32, false},
      {R"(["elem.Q==4"])", DType::f32, false},
  };
  for (const Row& row : rows) {
    INFO(row.when);
    const auto task = gemm_task({.m = 8, .n = 8, .k = 8, .dtype = row.type});
    REQUIRE(task);
    CHECK(serves(example("\"when\":" + row.when + ","), *task) == row.serves);
  }
  Task other = matmul_task();
  other.family = "softmax";
  CHECK_FALSE(serves(example(), other));
}

TEST_CASE("limits made ready allow what is broken by no limit", "[kernel]") {
  const DeviceSpec device{.name = "h200"};
  int allowed = 0, forbidden = 0;
  for (const GemmSpec& spec : wgmma_specs) {
    const auto task = gemm_task(spec);
    REQUIRE(task);
    for (Tunable tunable : builtin_tunables()) {
      if (!serves(tunable, *task)) continue;
      tunable.restrictions.clear();
      const DeviceLimits limits(tunable, *task, device);
      Rng rng = Rng::of(1, tunable.name);
      for (int draw = 0; draw < 100; ++draw) {
        std::vector<std::int64_t> values;
        Constants constants;
        for (const TunableParameter& p : tunable.parameters) {
          values.push_back(p.domain[static_cast<std::size_t>(
              rng.below(static_cast<std::int64_t>(p.domain.size())))]);
          constants[p.constant] = values.back();
        }
        const auto broken = broken_restriction(tunable, *task, device, constants);
        INFO(tunable.name << ": " << broken.value_or("allowed"));
        CHECK(limits.allow(values) == !broken.has_value());
        ++(broken ? forbidden : allowed);
      }
    }
  }
  CHECK(allowed > 100);
  CHECK(forbidden > 100);
}
