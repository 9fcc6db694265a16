#include "kernel/tunable_model.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "kernel/support.hpp"
#include "kernel/tunable_check.hpp"
#include "kernel/tunable_values.hpp"
#include "support/gemm.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

// A header whose lines are the fields, so that errors can name them: the first is line 2.
std::string file(const std::vector<std::string>& fields) {
  std::string text = "/* cupilot tunable 1\n{\n";
  text += R"("name": "t", "family": "gemm", "parameters": {"BM": {"domain": [16, 32, 64]}},)";
  for (const std::string& field : fields) text += "\n" + field + ",";
  text += "\n\"plan\": {\"let\": {\"tiles\": \"cdiv(m, BM)\"}, \"launches\": [{\"entry\": \"k\", ";
  text += R"("grid": ["tiles"], "block": ["width"], "args": []}]})";
  text += "\n}\n*/\n__global__ void k() { int x = BM; }\n";
  return text;
}

const std::string width = R"("let": {"width": "twice * 16", "twice": "BM / 16 * 2", "idle": "7"})";

std::string message(const Result<Tunable>& result) {
  return result ? std::string() : result.error().message;
}

}  // namespace

TEST_CASE("definitions of the header serve restrictions, registers, plan and model", "[kernel]") {
  const auto read =
      parse_tunable(file({width, R"("restrict": ["width < 128"])", R"("registers": "twice + 8")",
                          R"("model": {"blocks": "tiles", "math": "256 * width"})"}),
                    "t.cu");
  INFO(message(read));
  REQUIRE(read);
  const Task task = *gemm_task(GemmSpec{});
  const DeviceSpec device = *chip("h200");
  const auto checked = check_tunable(*read, task, device);
  INFO((checked ? std::string() : checked.error().message));
  CHECK(checked);
  CHECK_FALSE(broken_restriction(*read, task, device, {{"BM", 32}}));
  CHECK(broken_restriction(*read, task, device, {{"BM", 64}}) == "width < 128");
  // The plan holds what it uses, and so stands alone.
  NamedExprs lets = read->plan.let;
  std::vector<std::string> names;
  for (const auto& [name, expr] : lets) names.push_back(name);
  CHECK(names == std::vector<std::string>{"width", "twice", "tiles"});
}

TEST_CASE("wrong definitions and models name their line", "[kernel]") {
  struct Row {
    std::vector<std::string> fields;
    std::string says;
  };
  const std::vector<Row> rows = {
      {{R"("summary": "s")", R"("let": {"a": "b + 1", "b": "a"})"},
       "t.cu: let.a: line 5: \"b + 1\" needs itself"},
      {{R"("let": {"a": "a"})"}, "t.cu: let.a: line 4: \"a\" needs itself"},
      {{R"("let": {"tiles": "4"})"}, "t.cu: plan.let.tiles: line 5: another definition"},
      {{width, R"("model": {"let": {"x": "y", "y": "x"}, "blocks": 1})"},
       "t.cu: model.let.x: line 5: \"y\" needs itself"},
      {{width, R"("model": {"math": 1})"}, "t.cu: model.blocks: is missing"},
      {{width, R"("model": {"blocks": 1, "maths": 1})"}, "t.cu: model.maths: is an unknown field"},
      {{width, R"("model": {"blocks": "1 +"})"}, "t.cu: model.blocks: expression"},
      {{width, R"("model": {"blocks": 1, "traits": {"a b": 1}})"},
       "t.cu: model.traits.a b: is no identifier"},
  };
  for (const Row& row : rows) {
    const auto read = parse_tunable(file(row.fields), "t.cu");
    INFO(row.says << "\n" << message(read));
    REQUIRE_FALSE(read);
    CHECK(message(read).starts_with(row.says));
  }
}

TEST_CASE("names that a task does not answer name their line", "[kernel]") {
  struct Row {
    std::vector<std::string> fields;
    std::string says;
  };
  const std::vector<Row> rows = {
      {{R"("let": {"width": "BM * q"})"}, "t.cu: let.width: line 4: 'q' in \"BM * q\" is no known"},
      {{R"("let": {"width": "32", "m": "4"})"}, "t.cu: let.m: line 4: hides a size or a constant"},
      {{R"("let": {"width": "32", "rows": "m"})", R"("restrict": ["rows > 1"])"},
       "t.cu: restrict[0]: 'm' in \"m\" is a size"},
      {{width, R"("model": {"blocks": "tile"})"},
       "t.cu: model.blocks: line 5: 'tile' in \"tile\" is no known name"},
      {{width, R"("model": {"blocks": "weight.x"})"}, "t.cu: model.blocks: line 5: 'weight.x'"},
      {{width, R"("model": {"blocks": 1, "traits": {"z": "zz"}})"},
       "t.cu: model.traits.z: line 5: 'zz'"},
  };
  const Task task = *gemm_task(GemmSpec{});
  for (const Row& row : rows) {
    const auto read = parse_tunable(file(row.fields), "t.cu");
    INFO(row.says << "\n" << message(read));
    REQUIRE(read);
    const auto checked = check_tunable(*read, task, *chip("h200"));
    REQUIRE_FALSE(checked);
    INFO(checked.error().message);
    CHECK(checked.error().message.starts_with(row.says));
  }
}

TEST_CASE("model.json gives a model its numbers or names what is wrong", "[kernel]") {
  const auto read = parse_tunable(
      file({width, R"("model": {"blocks": 1, "math": "weight.w", "traits": {"z": 1}})"}), "t.cu");
  REQUIRE(read);
  struct Row {
    std::string json, says;
  };
  const std::vector<Row> rows = {
      {"{}", "model.json: cupilot_model: is missing"},
      {R"({"cupilot_model": 2, "templates": {}})", "model.json: cupilot_model: version 2"},
      {R"({"cupilot_model": 1, "templates": {}})",
       "model.json: templates.t.weights: 'w' is missing"},
      {R"({"cupilot_model": 1, "templates": {"t": {"joins": {}}}})",
       "model.json: templates.t.joins: is an unknown field"},
      {R"({"cupilot_model": 1, "templates": {"t": {"join": {"pipes": 0}}}})",
       "model.json: templates.t.join.pipes: 0 is outside 1 to 64"},
      {R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": 1.5}}}})",
       "model.json: templates.t.weights.w: 1.5 is not a whole number"},
      {R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": "1"}}}})",
       "model.json: templates.t.weights.w: \"1\" is not a whole number"},
      {R"({"cupilot_model": 1, "templates": {"t": {"weights": [1]}}})",
       "model.json: templates.t.weights: [1] is not an object"},
      {R"({"cupilot_model": 1, "templates": {"t": [1]}})",
       "model.json: templates.t: [1] is not an object"},
      {R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": 1, "v": 2}}}})",
       "model.json: templates.t.weights.v: the model of t.cu reads no such weight"},
      {R"({"cupilot_model": 1, "templates": {"u": {"weights": {"w": 1}}}})",
       "model.json: templates.t.weights: 'w' is missing, which the model of t.cu reads"},
      {"", "model.json: templates.t.weights: 'w' is missing, which the model of t.cu reads"},
      {R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": 1}, "traits": {"y": 1}}}})",
       "model.json: templates.t.traits.y: the template's model has no such trait"},
  };
  for (const Row& row : rows) {
    Tunable tunable = *read;
    const auto set = set_model_weights(tunable, row.json, "model.json");
    INFO(row.says);
    REQUIRE_FALSE(set);
    INFO(set.error().message);
    CHECK(set.error().message.starts_with(row.says));
  }
  Tunable tunable = *read;
  REQUIRE(set_model_weights(
      tunable,
      R"({"cupilot_model": 1, "templates": {"t": {"join": {"waits": 6}, "weights": {"w": 5}, "traits": {"z": 0.5}}}})",
      "model.json"));
  CHECK(tunable.model->join.waits == 6);
  CHECK(tunable.model->join.pipes == 4);
  CHECK(tunable.model->weights.at("w") == 5);
  CHECK(tunable.model->trait_factors.at("z") == 0.5);
}

TEST_CASE("weights that definitions of the header read count as read", "[kernel]") {
  const auto read = parse_tunable(file({R"("let": {"width": "32", "wait": "9 * weight.w"})",
                                        R"("model": {"blocks": 1, "chain": "wait"})"}),
                                  "t.cu");
  REQUIRE(read);
  Tunable tunable = *read;
  const auto set = set_model_weights(
      tunable, R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": 5}}}})", "model.json");
  INFO((set ? std::string() : set.error().message));
  CHECK(set);
  CHECK_FALSE(set_model_weights(tunable = *read, "", "model.json"));
}

TEST_CASE("a model.json names templates of its folder alone", "[kernel]") {
  const auto read =
      parse_tunable(file({width, R"("model": {"blocks": 1, "math": "weight.w"})"}), "t.cu");
  REQUIRE(read);
  Tunable with_model = *read, bare = *read;
  bare.name = "bare";
  bare.model.reset();
  const std::vector<Tunable*> folder = {&with_model, &bare};
  const auto told = [&](const std::string& entry) {
    const auto set = set_folder_weights(
        folder, R"({"cupilot_model": 1, "templates": {"t": {"weights": {"w": 3}})" + entry + "}}",
        "f/model.json");
    return set ? std::string() : set.error().message;
  };
  CHECK(told("").empty());
  CHECK(with_model.model->weights.at("w") == 3);
  for (const char* name : {"tt", "bare"}) {
    const std::string message = told(", \"" + std::string(name) + R"(": {"weights": {}})");
    INFO(message);
    CHECK(message.starts_with("f/model.json: templates." + std::string(name) +
                              ": no template of the folder with a model has that name"));
  }
}

TEST_CASE("an estimate that earlier versions read is told from a definition in use", "[kernel]") {
  auto read = parse_tunable(file({width}), "t.cu");
  REQUIRE(read);
  CHECK_FALSE(has_unread_cost(*read));
  read->plan.let.emplace_back("cost", "tiles * 4");
  CHECK(has_unread_cost(*read));
  read->plan.launches[0].grid[0] = "cost";
  CHECK_FALSE(has_unread_cost(*read));
}
