#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <cupilot/parts/kernel_source.hpp>

#include "kernel/support.hpp"

using namespace cupilot;
using namespace cupilot::test;

TEST_CASE("the plans of real kernels survive reading and writing", "[kernel]") {
  const std::string name =
      GENERATE("plan_persistent_tma.json", "plan_split_k.json", "plan_cluster_softmax.json",
               "plan_cooperative_norm.json", "plan_stencil.json");
  INFO(name);
  const std::string text = file_text(data(name));
  const auto plan = launch_plan_from_json(text);
  REQUIRE(plan);
  const std::string written = launch_plan_to_json(*plan);
  CHECK(nlohmann::json::parse(written) == nlohmann::json::parse(text));
  const auto again = launch_plan_from_json(written);
  REQUIRE(again);
  CHECK(launch_plan_to_json(*again) == written);
}

TEST_CASE("a launch plan reads into its fields", "[kernel]") {
  const auto plan = launch_plan_from_json(file_text(data("plan_persistent_tma.json")));
  REQUIRE(plan);
  REQUIRE(plan->launches.size() == 2);
  CHECK(plan->launches[0].when == When::setup);
  CHECK(plan->launches[0].name == "tile_order");
  CHECK(plan->launches[1].name == "main");
  CHECK(plan->launches[1].args[4].kind == PlanArgument::Kind::i32);
  CHECK(plan->launches[1].args[4].value.text == "tiles");
  CHECK(plan->buffers[0].content == BufferContent::table);
  CHECK(plan->maps[2].box == std::vector<Expr>{64, 16});
  CHECK(plan->maps[0].swizzle == 128);
  CHECK(plan->let[1].first == "kb");
}

TEST_CASE("a wrong launch plan is refused by name", "[kernel]") {
  struct Row {
    const char* json;
    const char* says;
  };
  const Row row = GENERATE(values<Row>({
      {"", "not JSON"},
      {"[]", "not a JSON object"},
      {"{", "not JSON"},
      {"{}", "launches: is missing"},
      {R"({"launches":[]})", "launches: is empty"},
      {R"({"launches":{}})", "launches: {} is not an array"},
      {R"({"launch":[]})", "launch: is an unknown field; nearest: launches"},
      {R"({"launches":[{"entry":"k","grids":[1],"block":[32],"args":[]}]})",
       "launches[0].grids: is an unknown field"},
      {R"({"launches":[{"entry":"k","block":[32],"args":[]}]})", "launches[0].grid: is missing"},
      {R"({"launches":[{"entry":"k","grid":[1,1,1,1],"block":[32],"args":[]}]})",
       "launches[0].grid: has 4 members"},
      {R"({"launches":[{"entry":"k","grid":[],"block":[32],"args":[]}]})",
       "launches[0].grid: has 0 members"},
      {R"({"launches":[{"entry":"k","grid":["m+"],"block":[32],"args":[]}]})",
       "launches[0].grid[0]: expression \"m+\""},
      {R"({"launches":[{"entry":"k","grid":[1.5],"block":[32],"args":[]}]})",
       "launches[0].grid[0]: 1.5 is neither a whole number nor an expression"},
      {R"({"launches":[{"entry":"k","grid":[18446744073709551615],"block":[32],"args":[]}]})",
       "launches[0].grid[0]"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"i24":"m"}]}]})",
       "launches[0].args[0].i24: is an unknown field"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":0,"fields":[]}]}]})",
       "launches[0].args[0].bytes: 0 is no size of a parameter"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":32765,"fields":[]}]}]})",
       "launches[0].args[0].bytes: 32765 is no size of a parameter"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":8}]}]})",
       "launches[0].args[0].fields: is missing"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":8,"fields":[{"at":8,"value":"A"}]}]}]})",
       "launches[0].args[0].fields[0].at: 8 lies outside of 8 bytes"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":8,"fields":[{"at":0}]}]}]})",
       "launches[0].args[0].fields[0].value: is missing"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":8,"fields":[{"at":0,"value":{"bytes":4,"fields":[]}}]}]}]})",
       "launches[0].args[0].fields[0].value: is a record in a record"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"i32":1,"i64":2}]}]})",
       "want exactly one of i8, i16, i32"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":["a b"]}]})",
       "no name of a tensor"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[3]}]})",
       "launches[0].args[0]: 3 is not an object"},
      {R"({"launches":[{"entry":"","grid":[1],"block":[32],"args":[]}]})", "launches[0].entry"},
      {R"({"launches":[{"entry":"k","when":"now","grid":[1],"block":[32],"args":[]}]})",
       "when: 'now' is unknown; nearest: run"},
      {R"({"launches":[{"entry":"k","cooperative":1,"grid":[1],"block":[32],"args":[]}]})",
       "cooperative: 1 is neither true nor false"},
      {R"({"launches":[{"entry":"k","grid":[1],"grid":[2],"block":[32],"args":[]}]})",
       "'grid' stands twice"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]},{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "two are called \"k\""},
      {R"({"let":{"1x":1},"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "let.1x"},
      {R"({"buffers":[{"name":"p"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "buffers[0].bytes: is missing"},
      {R"({"buffers":[{"name":"p","bytes":4,"content":"old"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "content: 'old' is unknown"},
      {R"({"buffers":[{"name":"p","bytes":4},{"name":"p","bytes":4}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "p: two buffers, maps or textures have this name"},
      {R"({"maps":[{"name":"a","of":"A","type":"fp7","dims":[8],"box":[8]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "unknown type \"fp7\""},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[8,8],"box":[8,8]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "2 dims want 1 pitches, got 0"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[8],"box":[8,8]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "maps[0].box"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[8],"box":[8],"swizzle":16}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "16 is no swizzle"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"kind":1}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "textures[0].kind: is an unknown field"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"type":"f64"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "type: 'f64' is unknown"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"channels":3}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "3 is no number of channels"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"layered":true}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "textures[0].layered"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8,8],"memory":"linear"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "linear memory has 1 dims, got 2"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8,8],"memory":"pitch2d"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "pitch2d memory has a pitch"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8,8],"pitch":32}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "no other has"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"memory":"linear","surface":true}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "textures[0].surface"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"address":"wrap"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "want normalized coordinates"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"memory":"linear","filter":"linear"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "textures[0].memory"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"type":"u8","filter":"linear"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "wants f16, f32 or fractions"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8],"read":"fraction"}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "integers of 8 and 16 bits alone"},
  }));
  INFO(row.json);
  const auto plan = launch_plan_from_json(row.json);
  REQUIRE_FALSE(plan);
  INFO(plan.error().message);
  CHECK(plan.error().message.find(row.says) != std::string::npos);
  CHECK(plan.error().code == ErrorCode::usage);
}

TEST_CASE("typed numbers and records by value are read and written alike", "[kernel]") {
  const std::string json =
      R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"i8":"m"},{"i16":7},{"f32":0.125},{"f64":-2.5},{"bytes":24,"fields":[{"at":0,"value":"A"},{"at":8,"value":{"i32":"m + 1"}},{"at":16,"value":"B?"}]}]}]})";
  const auto plan = launch_plan_from_json(json);
  if (!plan) FAIL(plan.error().message);
  CHECK(launch_plan_to_json(*plan) == json);
  const std::vector<PlanArgument>& args = plan->launches[0].args;
  CHECK(args[0].kind == PlanArgument::Kind::i8);
  CHECK(args[2].number == 0.125);
  REQUIRE(args[4].kind == PlanArgument::Kind::record);
  CHECK(args[4].bytes == 24);
  REQUIRE(args[4].fields.size() == 3);
  CHECK(args[4].fields[1].at == 8);
  CHECK(args[4].fields[1].value.text == "m + 1");
}

TEST_CASE("a record takes all that a kernel's parameters may", "[kernel]") {
  const std::string json =
      R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"bytes":32764,"fields":[{"at":32760,"value":{"i32":"m"}}]}]}]})";
  const auto plan = launch_plan_from_json(json);
  if (!plan) FAIL(plan.error().message);
  CHECK(plan->launches[0].args[0].bytes == 32764);
  CHECK(launch_plan_to_json(*plan) == json);
}

TEST_CASE("textures and surfaces are read and written alike", "[kernel]") {
  const std::string json =
      R"({"launches":[{"args":["t","p","s"],"block":[32],"entry":"k","grid":[1]}],"textures":[{"address":"wrap","channels":4,"dims":["n","m",3],"filter":"linear","layered":true,"name":"t","normalized":true,"of":"A","read":"fraction","type":"u8"},{"dims":["n","m"],"memory":"pitch2d","name":"p","of":"A","pitch":"n * 4","type":"f32"},{"dims":["n"],"name":"s","of":"D","surface":true,"type":"u32"}]})";
  const auto plan = launch_plan_from_json(json);
  if (!plan) FAIL(plan.error().message);
  const auto again = launch_plan_from_json(launch_plan_to_json(*plan));
  REQUIRE(again);
  CHECK(launch_plan_to_json(*again) == launch_plan_to_json(*plan));
  for (const char* kept : {"\"address\":\"wrap\"", "\"channels\":4", "\"filter\":\"linear\"",
                           "\"layered\":true", "\"normalized\":true", "\"read\":\"fraction\"",
                           "\"memory\":\"pitch2d\"", "\"surface\":true", "\"type\":\"u32\""})
    CHECK(launch_plan_to_json(*plan).find(kept) != std::string::npos);
  REQUIRE(plan->textures.size() == 3);
  CHECK(plan->textures[0].state.layered);
  CHECK(plan->textures[1].pitch.text == "n * 4");
  CHECK(plan->textures[2].state.surface);
}

TEST_CASE("names of entries are as long as templates make them", "[kernel]") {
  const auto text = [](std::size_t bytes) {
    return R"({"launches":[{"entry":")" + std::string(bytes, 'k') +
           R"(","grid":[1],"block":[32],"args":[]}]})";
  };
  const auto plan = launch_plan_from_json(text(4096));
  REQUIRE(plan);
  CHECK(plan->launches[0].entry.size() == 4096);
  CHECK_FALSE(launch_plan_from_json(text(4097)));
}

TEST_CASE("an unknown key names the nearest", "[kernel]") {
  const auto plan = launch_plan_from_json(R"({"launchs":[]})");
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("nearest: launches") != std::string::npos);
  CHECK(plan.error().hint == "fields here: buffers, launches, let, maps, require, textures");
}

TEST_CASE("JSON nested without end is refused", "[kernel]") {
  std::string deep = R"({"let":)";
  for (int i = 0; i < 40; ++i) deep += R"({"a":)";
  deep += "1" + std::string(41, '}');
  const auto plan = launch_plan_from_json(deep);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("nested deeper") != std::string::npos);
}

TEST_CASE("a kernel's id covers text, plan, constants and language", "[kernel]") {
  KernelSource source;
  source.text = "extern \"C\" __global__ void k() {}";
  source.plan =
      *launch_plan_from_json(R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})");
  const std::string id = kernel_id(source);
  CHECK(id.size() == 64);
  CHECK(kernel_id(source) == id);
  KernelSource other = source;
  other.text += " ";
  CHECK(kernel_id(other) != id);
  other = source;
  other.plan.launches[0].block = {64};
  CHECK(kernel_id(other) != id);
  other = source;
  other.constants["BM"] = 1;
  CHECK(kernel_id(other) != id);
  other = source;
  other.language = Language::ptx;
  CHECK(kernel_id(other) != id);
  other = source;
  other.strategy_id = "s";
  CHECK(kernel_id(other) == id);
}
