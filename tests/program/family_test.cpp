// Families from folders and from memory: what is read, what is refused, which tasks words make.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <cupilot/family.hpp>

#include "catch.hpp"

namespace fs = std::filesystem;

namespace cupilot {
namespace {

const std::string reference =
    "__device__ real reference_y(const Inputs& in, long long index) { return in.factor * "
    "in.x(index); }\n";

// The example of docs/formats/family.md.
std::string documented_recipe() {
  std::ifstream page(CUPILOT_SOURCE_DIR "/docs/formats/family.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  const auto begin = text.find("```json\n") + 8;
  return text.substr(begin, text.find("```", begin) - begin);
}

std::map<std::string, std::string> scale_rows() {
  return {{"family.json", documented_recipe()}, {"reference.cu", reference}};
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

Families with(Family family) {
  Families families = builtin_families();
  const auto added = add_family(std::move(family), families);
  if (!added) FAIL(added.error().message);
  return families;
}

Families documented() {
  auto family = family_from("elsewhere", scale_rows());
  if (!family) FAIL(family.error().message);
  return with(std::move(*family));
}

TEST_CASE("the documented family makes its tasks from words", "[program]") {
  const Families families = documented();
  const Family* family = find_family(families, "scale_rows");
  REQUIRE(family != nullptr);
  CHECK(family->words.size() == 5);
  CHECK(family->words[2].options == std::vector<std::string>{"fp32", "bf16"});
  CHECK(family->words[3].default_value == "2");
  CHECK_FALSE(family->built_in);

  const auto plain = task_from_words({"scale_rows"}, families);
  if (!plain) FAIL(plain.error().message);
  CHECK(plain->family == "scale_rows");
  CHECK(plain->time_shapes[0].sizes == Sizes{{"rows", 64}, {"cols", 96}});
  CHECK(plain->constants.at("HAS_BIAS") == 0);
  CHECK(find_tensor(*plain, "bias") == nullptr);
  CHECK(plain->precision == Precision::fp32_strict);
  CHECK(plain->reference.text == reference);

  const auto all = task_from_words(
      {"scale_rows", "bias=yes", "factor=0.1", "dtype=bf16", "cols=7", "rows=3"}, families);
  if (!all) FAIL(all.error().message);
  REQUIRE(find_tensor(*all, "bias") != nullptr);
  CHECK(find_tensor(*all, "bias")->type == DType::bf16);
  CHECK(all->scalars[0].value == static_cast<double>(0.1f));
  CHECK(all->precision == Precision::bf16);
}

TEST_CASE("a word that cannot be is refused with the reason and the way out", "[program]") {
  struct Row {
    std::vector<std::string> words;
    const char *message, *hint;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {{}, "no task given", "attention batch="},
      {{"scale_row"}, "unknown task 'scale_row'", "did you mean scale_rows?"},
      {{"transmogrify"}, "unknown task 'transmogrify'", "cupilot tasks"},
      {{"no/such.json", "rows=1"}, "takes no further words, but there is 'rows=1'", "time_shapes"},
      {{"no/such.json"}, "no such file", "path"},
      {{"scale_rows", "rows=0"}, "scale_rows: rows=0 is below 1", "whole numbers from 1"},
      {{"scale_rows", "cols=65537"}, "scale_rows: cols=65537 is above 65536", "split the rows"},
      {{"scale_rows", "dtyp=bf16"}, "unknown key 'dtyp'; nearest: dtype", "rows, cols, dtype"},
      {{"scale_rows", "dtype=fp16"}, "dtype=fp16 is not a type scale_rows takes", "fp32, bf16"},
      {{"scale_rows", "factor=1e39"}, "factor=1e+39 does not fit fp32", "factor is passed as fp32"},
      {{"scale_rows", "bias=2"}, "bias=2 is neither true nor false", "bias=1 or bias=0"},
      {{"scale_rows", "rows"}, "'rows' is not of the form key=value", "keys: rows"},
      {{"scale_rows", "rows=1", "rows=2"}, "rows is given twice", "once"},
      {{"scale_rows", "rows=140737488355328"}, "more than 2^47 bytes", "smaller"},
  }));
  const auto task = task_from_words(row.words, documented());
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
  CHECK_THAT(task.error().hint, Catch::Contains(row.hint));
}

TEST_CASE("a family.json that cannot be is refused by name", "[program]") {
  struct Row {
    const char *what, *with, *message;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"\"cupilot_family\": 1", "\"cupilot_family\": 2", "cupilot_family: is of another version"},
      {"\"kind\": \"flag\"", "\"kind\": \"flog\"", "words[4].kind"},
      {"\"default\": 64", "\"default\": 0", "words[0].default: is no value of this word"},
      {"\"default\": \"fp32\"", "\"default\": \"fp16\"", "words[2].default"},
      {"[\"fp32\", \"bf16\"]", "[\"fp32\", \"bf17\"]", "'bf17' is no known type"},
      {"\"computes\"", "\"computs\"", "computs"},
      {"\"name\": \"cols\", \"kind\"", "\"name\": \"rows\", \"kind\"", "'rows' stands twice"},
      {"\"when\": \"cols > 65536\"", "\"when\": \"cols >\"", "refuse[0].when"},
  }));
  auto texts = scale_rows();
  texts["family.json"] = replaced(texts["family.json"], row.what, row.with);
  const auto family = family_from("elsewhere", texts);
  REQUIRE_FALSE(family);
  CHECK(family.error().code == ErrorCode::usage);
  CHECK_THAT(family.error().message, Catch::Contains(row.message));
}

TEST_CASE("a task that its recipe cannot make is refused by name", "[program]") {
  struct Row {
    const char *what, *with, *message;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"\"$rows\"", "\"$row\"", "'$row' names no word"},
      {"\"=bias\"", "\"=bais\"", "bais"},
      {"{\"strict\": \"dtype\"}", "{\"strict\": \"rows\"}", "'strict' takes the name of a dtype"},
      {"\"reference.cu\"", "\"referense.cu\"", "there is no reference referense.cu"},
      {"\"time_shapes\"", "\"time_shape\"", "time_shape"},
      {"\"work\": {\"flops\": \"2*rows*cols\"},", "", "work"},
  }));
  auto texts = scale_rows();
  texts["family.json"] = replaced(texts["family.json"], row.what, row.with);
  auto family = family_from("elsewhere", texts);
  if (!family) FAIL(family.error().message);
  const auto task = task_from_words({"scale_rows"}, with(std::move(*family)));
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
}

TEST_CASE("an operator's row fills in work and reference", "[program]") {
  auto texts = scale_rows();
  std::string& recipe = texts["family.json"];
  recipe = replaced(recipe, "\"work\": {\"flops\": \"2*rows*cols\"},",
                    "\"operations\": [{\"name\": \"s\", \"kind\": \"log_softmax\", \"inputs\": "
                    "[\"x\"], \"outputs\": [\"y\"]}],");
  recipe = replaced(recipe, ",\n  \"reference\": \"reference.cu\"", "");
  auto family = family_from("elsewhere", texts);
  if (!family) FAIL(family.error().message);
  const auto task = task_from_words({"scale_rows"}, with(std::move(*family)));
  if (!task) FAIL(task.error().message);
  CHECK(task->work.flops.text == "5*(rows*cols)");
  REQUIRE(task->reference.stages.size() == 3);
  CHECK_THAT(task->reference.stages[2].term, Catch::Contains("log_("));
}

const std::string technique_rows_text =
    R"({"cupilot_techniques": 1, "techniques": [
 {"name": "row_in_registers", "summary": "s", "sentence": "Keep items items.",
  "parameters": [{"name": "items", "domain": [1, 2], "default": 1}], "targets": ["dram"]}]})";

TEST_CASE("techniques alone are a family", "[program]") {
  const auto family = family_from("mine", {{"techniques.json", technique_rows_text}});
  if (!family) FAIL(family.error().message);
  CHECK(family->name == "mine");
  REQUIRE(family->techniques.size() == 1);
  CHECK(family->techniques[0].parameters[0].fallback == 1);
  const Families families = with(*family);
  CHECK(techniques_of(families).size() == catalogue().size() + 1);
  CHECK(techniques_of(families).back().name == "row_in_registers");
  const auto task = task_from_words({"mine"}, families);
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains("makes no task of words"));
}

TEST_CASE("names are taken once", "[program]") {
  Families families = documented();
  const auto again = family_from("elsewhere", scale_rows());
  REQUIRE(again);
  auto added = add_family(*again, families);
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().message, Catch::Contains("family 'scale_rows' is already the name"));
  const auto row = family_from(
      "other", {{"techniques.json", replaced(technique_rows_text, "row_in_registers", "k_slab")}});
  REQUIRE(row);
  added = add_family(*row, families);
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().message, Catch::Contains("technique 'k_slab'"));
  Family copy;
  copy.name = "copy";
  copy.templates = {builtin_tunables().front()};
  added = add_family(copy, families);
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().message, Catch::Contains("template '"));
}

TEST_CASE("a folder is a family, with headers for its templates alone", "[program]") {
  const fs::path folder = fs::temp_directory_path() / "cupilot-family" / "scale_rows";
  fs::remove_all(folder.parent_path());
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  write("family.json", documented_recipe());
  write("reference.cu", reference);
  write("device/own.cuh", "__device__ float own(float x) { return x; }\n");
  std::ifstream file(CUPILOT_SOURCE_DIR "/tests/data/softmax/softmax_tunable.cu");
  const std::string tunable((std::istreambuf_iterator<char>(file)), {});
  write("templates/my_rows.cu", replaced(tunable, "softmax_rows", "my_rows"));
  const auto families = load_families({folder.string() + "/"});
  if (!families) FAIL(families.error().message);
  REQUIRE(families->size() == builtin_families().size() + 1);
  const Family& family = families->back();
  REQUIRE(family.templates.size() == 1);
  REQUIRE(family.templates[0].headers);
  CHECK(family.templates[0].headers->contains("own.cuh"));
  CHECK(templates_of(*families, *task_from_words({"scale_rows"}, *families)).back().name ==
        "my_rows");
  CHECK(task_from_words({"scale_rows"}, *families));

  write("templates/broken.cu", "no header\n");
  const auto broken = load_families({folder.string()});
  REQUIRE_FALSE(broken);
  CHECK_THAT(broken.error().message, Catch::Contains("templates/broken.cu"));
  fs::remove_all(folder.parent_path());
  const auto none = load_families({folder.string()});
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Catch::Contains("there is no such folder"));
}

TEST_CASE("a folder's model.json gives its templates their fitted numbers", "[program]") {
  const std::string template_of_rows =
      "/* cupilot tunable 1\n"
      R"({"name": "own_rows", "family": "own", "parameters": {"WARPS": {"domain": [1, 2, 4]}},)"
      R"( "plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": ["WARPS * 32"], "args": []}]},)"
      R"( "model": {"blocks": "rows", "chain": "256 * weight.wait"}})"
      "\n*/\n__global__ void k() { int x = WARPS; }\n";
  const auto read = [&](const std::string& numbers) {
    std::map<std::string, std::string> texts = {{"templates/own_rows.cu", template_of_rows}};
    if (!numbers.empty()) texts["templates/model.json"] = numbers;
    return family_from("own", texts);
  };
  const auto numbers = [](const std::string& rows) {
    return "{\"cupilot_model\": 1, \"templates\": {" + rows + "}}";
  };
  const auto family = read(numbers(R"("own_rows": {"weights": {"wait": 700}})"));
  if (!family) FAIL(family.error().message);
  CHECK(family->templates.at(0).model->weights.at("wait") == 700);

  struct Row {
    std::string numbers, says;
  };
  const Row rows[] = {
      {"",
       "templates/model.json: templates.own_rows.weights: 'wait' is missing, which the model of "},
      {numbers(""), "templates.own_rows.weights: 'wait' is missing"},
      {numbers(R"("own_rows": {"weights": {"wait": 7, "waits": 8}})"),
       "templates/model.json: templates.own_rows.weights.waits: the model of "},
      {numbers(R"("own_rows": {"weights": {"wait": true}})"),
       "templates/model.json: templates.own_rows.weights.wait: "},
      {numbers(R"("own_rows": {"weights": {"wait": 7}}, "own_row": {"weights": {"wait": 8}})"),
       "templates/model.json: templates.own_row: no template of the folder with a model has"},
      {"[]", "templates/model.json"}};
  for (const Row& row : rows) {
    const auto refused = read(row.numbers);
    INFO(row.says);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains(row.says));
  }
}

TEST_CASE("the built-in families are whole", "[program]") {
  const Families& families = builtin_families();
  REQUIRE_FALSE(families.empty());
  std::size_t templates = 0;
  for (const Family& family : families) {
    INFO(family.name);
    CHECK(family.built_in);
    CHECK_FALSE(family.computes.empty());
    // A family of hooks serves task files and has no words.
    const bool hooked = family.words.empty();
    CHECK(static_cast<bool>(task_from_words({family.name})) != hooked);
    templates += family.templates.size();
  }
  CHECK(templates == builtin_tunables().size());
  CHECK(library_calls_of(families).size() >= 1);
}

}  // namespace
}  // namespace cupilot
