// Tasks and refusals of the family gemm, as the program made them when gemm was C++ code.
#include <fstream>
#include <set>
#include <sstream>

#include <cupilot/family.hpp>

#include "base/embedded.hpp"
#include "base/json.hpp"
#include "catch.hpp"

namespace cupilot {
namespace {

OrderedJson golden(const std::string& name) {
  std::ifstream file(std::string(CUPILOT_SOURCE_DIR "/tests/program/data/") + name);
  return OrderedJson::parse(file);
}

std::vector<std::string> gemm_words(const std::string& line) {
  std::vector<std::string> words = {"gemm"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST_CASE("the words of gemm make the tasks they always made", "[program]") {
  std::set<std::string> ids;
  for (const OrderedJson& row : golden("gemm_tasks.json")) {
    const auto line = row.at("words").get<std::string>();
    INFO(line);
    const auto task = task_from_words(gemm_words(line));
    if (!task) FAIL_CHECK(task.error().message);
    if (!task) continue;
    CHECK(task_id(*task) == row.at("id").get<std::string>());
    OrderedJson json = OrderedJson::parse(*task_to_json(*task));
    const std::string file = task->family == "gemm" ? "gemm.cu" : "scaled_gemm.cu";
    CHECK(json.at("reference_text").get<std::string>() ==
          find_embedded(kernel_files(), "reference/matmul/" + file));
    json.erase("reference_text");
    CHECK(json.dump() == row.at("task").dump());
    ids.insert(task_id(*task));
  }
  CHECK(ids.size() > 50);
}

TEST_CASE("what the words of gemm were refused for, they are refused for", "[program]") {
  int rows = 0;
  for (const OrderedJson& row : golden("gemm_refusals.json")) {
    const auto line = row.at("words").get<std::string>();
    INFO(line);
    const auto task = task_from_words(gemm_words(line));
    REQUIRE_FALSE(task);
    CHECK(task.error().code == ErrorCode::usage);
    CHECK(task.error().message == row.at("message").get<std::string>());
    CHECK(task.error().hint == row.at("hint").get<std::string>());
    ++rows;
  }
  CHECK(rows > 40);
}

}  // namespace
}  // namespace cupilot
