#include <nlohmann/json.hpp>

#include <cupilot/parts/suite.hpp>

#include "catch.hpp"

using namespace cupilot;

namespace {

SuiteReport two_rows() {
  SuiteReport report;
  report.suite = "small:1";
  report.settings = "{\"seed\":1}";
  SuiteRow row;
  row.id = "1";
  row.title = "a, \"b\" | <c>";
  row.family = "softmax";
  row.precision = row.proved = "fp32-strict";
  row.ended = true;
  row.time_us = 10;
  row.floor_us = 8;
  row.times = {{"torch", 20, 2, 1.9, 2.1, "torch 9.9"}};
  report.rows = {row, row};
  report.rows[1].id = "2";
  report.rows[1].error = "nothing\nstood";
  report.rows[1].apart = "constant";
  report.rows[1].times.clear();
  summarise(report);
  return report;
}

}  // namespace

TEST_CASE("a table of comma-separated values has a line a task and quotes what needs it") {
  const std::string text = suite_csv(two_rows());
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);  // one is inside a quoted cell
  CHECK_THAT(text, Catch::Contains("torch_us,torch_ratio,torch_low,torch_high\n"));
  CHECK_THAT(text, Catch::Contains("1,\"a, \"\"b\"\" | <c>\",softmax,"));
  CHECK_THAT(text, Catch::Contains(",20,2,1.9,2.1\n"));
  CHECK_THAT(text, Catch::Contains("\"nothing\nstood\""));
}

TEST_CASE("the report as JSON holds rows, shares and means") {
  const auto json = nlohmann::json::parse(suite_json(two_rows()));
  CHECK(json.at("rows").at(0).at("floor_share") == Approx(0.8));
  CHECK(json.at("rows").at(0).at("times").at(0).at("says") == "torch 9.9");
  CHECK(json.at("solved") == 1);
  CHECK(json.at("settings").at("seed") == 1);
  bool found = false;
  for (const auto& mean : json.at("means"))
    found = found || (mean.at("against") == "torch" && mean.at("group") == "all");
  CHECK(found);
}

TEST_CASE("the page escapes texts and lists tasks apart") {
  const std::string page = suite_page(two_rows());
  CHECK_THAT(page, Catch::Contains("a, &quot;b&quot; | &lt;c>"));
  CHECK_THAT(page, Catch::Contains("<h2>Tasks apart</h2>"));
  CHECK_THAT(page, Catch::Contains("torch: torch 9.9"));
  CHECK_THAT(page, Catch::Contains("2 [1.9, 2.1]"));
}

TEST_CASE("a Markdown cell holds neither bars nor ends of lines") {
  const std::string text = suite_markdown(two_rows());
  CHECK_THAT(text, Catch::Contains("| 1 a, \"b\"   <c> |"));
  CHECK_THAT(text, Catch::Contains("| nothing stood |"));
}

TEST_CASE("a mean of fewer tasks than it leaves out is an empty cell") {
  const std::string text = suite_markdown(two_rows());
  INFO(text);
  CHECK_THAT(text, Catch::Contains("| 1.5 |  | 1 | 0 | 1 |"));
  CHECK_THAT(
      suite_page(two_rows()),
      Catch::Contains("<td class=\"n\">1.5</td><td class=\"n\"></td><td class=\"n\">1</td>"));
}
