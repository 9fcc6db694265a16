// techniques.json: what is read, where rows are put, what is refused.
#include "strategy/technique_rows.hpp"

#include <string>

#include "catch.hpp"

using namespace cupilot;

namespace {

std::string file_of(const std::string& rows) {
  return "{\"cupilot_techniques\": 1, \"techniques\": [" + rows + "]}";
}

const std::string whole_row =
    R"({"name": "a", "summary": "s", "sentence": "Do x.", "parameters": [{"name": "x", "domain":
 [1, 2], "default": 2, "labels": ["one", "two"]}], "targets": ["dram", "tail"], "needs": ["b|c"],
 "excludes": ["d"], "must": ["mma.sync"], "group": "core", "of": "windows", "before": "z"})";

}  // namespace

TEST_CASE("every field of a row is read", "[catalogue]") {
  const auto rows = technique_rows(file_of(whole_row), "here");
  if (!rows) FAIL(rows.error().message);
  REQUIRE(rows->size() == 1);
  const Technique& row = rows->front().technique;
  CHECK(row.name == "a");
  CHECK(row.summary == "s");
  CHECK(row.sentence == "Do x.");
  REQUIRE(row.parameters.size() == 1);
  CHECK(row.parameters[0].domain == std::vector<std::int64_t>{1, 2});
  CHECK(row.parameters[0].fallback == 2);
  CHECK(row.parameters[0].labels == std::vector<std::string>{"one", "two"});
  CHECK(row.targets == std::vector<Resource>{Resource::dram, Resource::tail});
  CHECK(row.needs == std::vector<std::string>{"b|c"});
  CHECK(row.excludes == std::vector<std::string>{"d"});
  CHECK(row.must == std::vector<std::string>{"mma.sync"});
  CHECK(row.group == "core");
  CHECK(row.of == "windows");
  CHECK(rows->front().before == "z");
}

TEST_CASE("rows go before the row that they name, else to the end", "[catalogue]") {
  std::vector<Technique> all = {{.name = "y"}, {.name = "z"}};
  const auto added =
      add_rows({{{.name = "a"}, "z"}, {{.name = "b"}, "z"}, {{.name = "c"}, ""}}, "here", all);
  REQUIRE(added);
  std::string names;
  for (const Technique& row : all) names += row.name;
  CHECK(names == "yabzc");
  const auto twice = add_rows({{{.name = "b"}, ""}}, "here", all);
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().message, Catch::Contains("here: technique 'b'"));
}

TEST_CASE("a row that cannot be is refused by name", "[catalogue]") {
  struct Row {
    std::string text;
    const char* message;
  };
  const auto spoiled = [](const std::string& what, const std::string& with) {
    std::string row = whole_row;
    const auto at = row.find(what);
    return file_of(row.replace(at, what.size(), with));
  };
  const Row row = GENERATE_COPY(from_range(std::vector<Row>{
      {"[", "here: technique '?'"},
      {"{\"cupilot_techniques\": 2, \"techniques\": []}", "another version than 1"},
      {"{\"cupilot_techniques\": 1}", "techniques"},
      {spoiled("\"targets\"", "\"target\""), "technique 'a': "},
      {spoiled("\"dram\"", "\"drum\""), "'drum' is no resource"},
      {spoiled("\"default\": 2", "\"default\": 3"), "default of x is not in its domain"},
      {spoiled("\"sentence\"", "\"sentense\""), "unknown field 'sentense'"},
      {spoiled("\"domain\"", "\"domains\""), "unknown field 'domains'"},
      {spoiled("\"windows\"", "\"rows\""), "`of` is left out or one of products, reductions"},
  }));
  const auto rows = technique_rows(row.text, "here");
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == ErrorCode::usage);
  CHECK_THAT(rows.error().message, Catch::Contains(row.message));
}
