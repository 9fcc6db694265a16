#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/hash.hpp"
#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

const std::string data = std::string(CUPILOT_SOURCE_DIR) + "/tests/data/";

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A folder that goes away.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cupilot-task-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

TEST_CASE("a user's task file with its own reference") {
  const auto task = load_task(data + "softmax/task.json");
  REQUIRE(task);
  CHECK(task->name == "row_softmax");
  CHECK(task->family == "softmax");
  CHECK(task->axes[1].kind == AxisKind::reduced);
  CHECK(task->tensors[0].fill.high == 2.0);
  CHECK(task->tensors[1].check.length.text == "cols");
  CHECK(task->time_shapes[0].sizes.at("cols") == 1024);
  CHECK(task->reference.text.find("reference_y") != std::string::npos);
  CHECK(*textbook_flops(*task, task->time_shapes[0]) == 5 * 512 * 1024);
  CHECK(*compulsory_bytes(*task, task->time_shapes[0]) == 2 * 4 * 512 * 1024);
}

TEST_CASE("a task survives its file") {
  const GemmSpec spec = GENERATE(from_range(std::vector<GemmSpec>{
      {},
      {.m = 3,
       .n = 5,
       .k = 7,
       .batch = 2,
       .dtype = DType::f16,
       .out = DType::f32,
       .layout = "tn",
       .alpha = 0.1,
       .beta = -1e-30},
      {.precision = Precision::fp32_emulated, .bias = true, .act = Activation::gelu},
  }));
  const Task task = *gemm_task(spec);
  const auto text = task_to_json(task);
  REQUIRE(text);
  const auto again = task_from_json(*text, "again");
  INFO((again ? "" : again.error().message));
  REQUIRE(again);
  CHECK(task_id(*again) == task_id(task));
  CHECK(*task_to_json(*again) == *text);
}

TEST_CASE("the written form is the golden file") {
  Task task = *load_task(data + "softmax/task.json");
  CHECK(*task_to_json(task) == read(data + "task/softmax.golden.json"));
}

TEST_CASE("the values that a tensor may hold survive a task's file") {
  Task task = *gemm_task(GemmSpec{});
  const std::string id = task_id(task);
  CHECK(task_to_json(task)->find("\"values\"") == std::string::npos);
  task.tensors[0].fill.kind = FillKind::uniform;
  for (const FillValues values : {FillValues::finite, FillValues::range}) {
    task.tensors[0].fill.values = values;
    const auto again = task_from_json(*task_to_json(task), "again");
    INFO((again ? "" : again.error().message));
    REQUIRE(again);
    CHECK(again->tensors[0].fill.values == values);
    CHECK(task_id(*again) == task_id(task));
    CHECK(task_id(task) != id);
  }
  task.tensors[0].fill.kind = FillKind::normal;
  const auto without_ends = task_to_json(task);
  REQUIRE_FALSE(without_ends);
  CHECK(without_ends.error().message.find("range needs two ends") != std::string::npos);
}

TEST_CASE("a wrong field is named with its reason and the way out") {
  struct Case {
    const char *from, *to, *message, *hint;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"\"cupilot_task\": 1", "\"cupilot_task\": 3", "cupilot_task: is of another version",
       "write 1"},
      {"\"cupilot_task\": 1,", "", "cupilot_task: is missing", "task.md"},
      {"\"kind\": \"within\"", "\"kind\": \"within\", \"arithmetic\": \"i32\"",
       "tensors[1].check.arithmetic: arithmetic is neither fp32 nor a narrower type", "bf16"},
      {"\"precision\"", "\"precison\"", "precison: is an unknown field; nearest: precision",
       "fields here"},
      {"\"family\"", "\"familly\"", "familly: is an unknown field; nearest: family", "fields here"},
      {"\"role\": \"out\"", "\"roll\": \"out\"",
       "tensors[1].roll: is an unknown field; nearest: role", "fields here"},
      {"\"kind\": \"reduced\"", "\"kind\": \"reduce\"",
       "axes[1].kind: 'reduce' is unknown; nearest: reduced", "free"},
      {"\"type\": \"fp32\"", "\"type\": \"fp7\"", "tensors[0].type: 'fp7' is no known type",
       "bf16"},
      {"\"type\": \"fp32\"", "\"type\": 32", "tensors[0].type: 32 is not a text", "quotes"},
      {"\"fp32-strict\"", "\"exact\"", "precision: 'exact' is no known class", "fp32-strict"},
      {"[\"rows\", \"cols\"]", "[\"rows\", \"cols+\"]",
       "tensors[0].shape[1]: expression \"cols+\", column 6", "expr.md"},
      {"[\"rows\", \"cols\"]", "[\"rows\", \"columns\"]", "unknown name 'columns'", ""},
      {"[\"rows\", \"cols\"]", "[\"rows\", 1.5]",
       "tensors[0].shape[1]: 1.5 is neither a whole number nor an expression", "2*m"},
      {"[\"rows\", \"cols\"]", "[\"rows\", -9223372036854775808]",
       "is neither a whole number nor an expression", "2*m"},
      {"[\"rows\", \"cols\"]", "\"rows\"", "tensors[0].shape: \"rows\" is not an array", "["},
      {"\"high\": 2", "\"high\": \"2\"", "tensors[0].fill.high: \"2\" is not a number",
       "without quotes"},
      {"\"high\": 2", "\"high\": 1e999", "cannot be read as JSON", ""},
      {"\"rows\": 512", "\"rows\": 512.5", "time_shapes[0].sizes.rows: 512.5 is not a whole number",
       "digits"},
      {"\"rows\": 512", "\"rows\": 99999999999999999999", "time_shapes[0].sizes.rows", "digits"},
      {"\"rows\": 512", "\"rows\": 0", "time_shapes[0].sizes.rows: 0 is below 1", ""},
      {"\"rows\": 512,", "\"rows\": 512, \"rows\": 3,", "'rows' stands twice", "keep one"},
      {"\"rows\": 512,", "\"row\": 512,", "axis 'rows' has no size", ""},
      {"{\"flops\": \"5*rows*cols\"}", "7", "work: 7 is not an object", "{"},
      {"\"softmax_reference.cu\"", "\"nothing.cu\"", "no such file", "path"},
      {"\"softmax_reference.cu\"", "\".\"", "not a file", "path"},
      {"\"reference\": \"softmax_reference.cu\"", "\"work2\": 1", "reference: is missing",
       "reference_text"},
      {"\"reference\"", "\"reference_text\": \"x\", \"reference\"", "stands beside reference_text",
       ""},
      {"\"axes\": [", "\"axes\": [,", "not JSON at line 5, column 12", "commas"},
      {"{\n", "[\n", "not JSON", ""},
  }));
  INFO(c.to);
  const Folder folder;
  folder.write("softmax_reference.cu", read(data + "softmax/softmax_reference.cu"));
  const auto task = load_task(
      folder.write("task.json", replaced(read(data + "softmax/task.json"), c.from, c.to)));
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains("task.json") && Catch::Contains(c.message));
  CHECK_THAT(task.error().hint, Catch::Contains(c.hint));
}

TEST_CASE("a file cut anywhere is refused, never half read") {
  const std::string whole = *task_to_json(*gemm_task({.m = 4, .n = 4, .k = 4}));
  for (std::size_t length = 0; length + 2 < whole.size(); length += 13) {
    const auto task = task_from_json(std::string_view(whole).substr(0, length), "cut");
    REQUIRE_FALSE(task);
    INFO(length << ": " << task.error().message);
    CHECK(task.error().message.find("cut") == 0);
  }
  CHECK_THAT(
      task_from_json(std::string_view(whole).substr(0, whole.size() / 2), "cut").error().message,
      Catch::Contains("the file ends early"));
}

TEST_CASE("files that are no task") {
  const Folder folder;
  for (const auto& [text, message] : std::vector<std::pair<std::string, const char*>>{
           {"", "empty"},
           {"[]", "not a JSON object"},
           {"{}", "is missing"},
           {"\xFF\xFE", "not JSON"},
           {std::string(100000, '['), ""},
           {"{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}", "nested deeper than 32"},
           {std::string("{\"a\0b\": 1}", 10), ""},
       }) {
    const auto task = load_task(folder.write("odd.json", text));
    REQUIRE_FALSE(task);
    CHECK_THAT(task.error().message, Catch::Contains(message));
  }
  CHECK_THAT(load_task(folder.path.string() + "/none.json").error().message,
             Catch::Contains("no such file"));
  CHECK_THAT(load_task(folder.path.string()).error().message, Catch::Contains("not a file"));
  CHECK_THAT(load_task(folder.write("big.json", std::string(5u << 20, ' '))).error().message,
             Catch::Contains("larger than 4 MiB"));
}

TEST_CASE("a text without a place may not name files") {
  const auto task = task_from_json(read(data + "softmax/task.json"), "stdin");
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains("reference"));
}

TEST_CASE("a task file names content by a path from its own folder on") {
  const Folder folder;
  const std::string bytes(512 * 1024 * 4, '\0');
  folder.write("softmax_reference.cu", read(data + "softmax/softmax_reference.cu"));
  folder.write("x.bin", "head" + bytes);
  const auto text_of = [&](const std::string& fill) {
    return replaced(read(data + "softmax/task.json"), R"({"kind": "normal", "low": 0, "high": 2})",
                    fill);
  };
  const std::string fields = R"("kind": "file", "file": "x.bin", "offset": 4, "bytes": 2097152)";
  const std::string digest = sha256_hex(bytes);
  const auto load = [&](const std::string& fill) {
    return load_task(folder.write("task.json", text_of(fill)));
  };
  const auto task = load("{" + fields + R"(, "sha256": ")" + digest + R"("})");
  if (!task) FAIL(task.error().message);
  const FileContent& file = task->tensors[0].fill.file;
  CHECK(file.path == (folder.path / "x.bin").string());
  const auto again = task_from_json(*task_to_json(*task), "again");
  if (!again) FAIL(again.error().message);
  CHECK(again->tensors[0].fill.file.path == file.path);
  CHECK(again->tensors[0].fill.file.offset == 4);
  CHECK(task_id(*again) == task_id(*task));

  const auto wrong = load("{" + fields + R"(, "sha256": ")" + std::string(64, '1') + R"("})");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == ErrorCode::usage);
  CHECK_THAT(wrong.error().message, Catch::Contains("have SHA-256 " + digest));
  CHECK_THAT(load("{" + fields + "}").error().message, Catch::Contains("sha256: is missing"));
  CHECK_THAT(load("{" + fields + R"(, "sha256": "12"})").error().message,
             Catch::Contains("'12' is no SHA-256"));
  CHECK_THAT(load(R"({"kind": "normal", "file": "x.bin"})").error().message,
             Catch::Contains("file: is an unknown field"));
}

}  // namespace
}  // namespace cupilot
