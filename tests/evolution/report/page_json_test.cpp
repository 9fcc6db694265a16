#include "evolution/report/page_json.hpp"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

PageKernel kernel(std::uint64_t candidate, double us, std::string strategy) {
  return {candidate,
          static_cast<int>(candidate / 8),
          us,
          Provenance::modelled,
          21.25,
          1e12 / us,
          std::move(strategy)};
}

PageData sample() {
  PageData data;
  data.task = "gemm";
  data.device = "virtual:h200";
  data.proposed = 12;
  data.kernels = {kernel(1, 20.123456789, "simt block 64x64"), kernel(9, 6.5, "gemv 8x16")};
  data.champion = data.kernels[1];
  data.baselines = {{"plain", 40.5, Provenance::modelled, {}, 0}};
  data.roofline = RooflineChart{};
  data.roofline->title = "gemm on NVIDIA H200";
  data.roofline->source = "datasheet";
  data.roofline->slopes = {{"DRAM", 4.8e12}};
  data.roofline->roofs = {{"bf16", 989e12}};
  data.roofline->floor = {64, 307e12, "floor 0.04 us"};
  data.lineage = {{data.kernels[0], {}, true}, {data.kernels[1], {1}, true}};
  data.rejections = {{"gate.duplicate", 2}, {"verify.bound", 1}};
  data.phases = {{"journal", 0.25}, {"search/compile", 12.5}};
  return data;
}

// What a reader of the block gets.
nlohmann::json read_back(const PageData& data) { return nlohmann::json::parse(page_json(data)); }

std::string page_of_run(const TempDir& dir, const std::string& name) {
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / name, 60);
  REQUIRE_OK(evolve(Task{}, *device, options));
  return read_all(dir / name + "/report.html");
}

std::string block_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"cupilot-data\">";
  const auto from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const auto to = page.find("</script>", from);
  return page.substr(from + begin.size(), to - from - begin.size());
}

}  // namespace

TEST_CASE("the JSON block of a page is written as its golden file has it", "[page]") {
  std::ifstream file("tests/evolution/report/golden/page.json");
  std::ostringstream golden;
  golden << file.rdbuf();
  CHECK(page_json(sample()) + "\n" == golden.str());
}

TEST_CASE("no text of a run ends the script element or breaks the JSON", "[page]") {
  const std::string texts[] = {"</script><script>alert(1)</script>",
                               "<!-- <script>",
                               "\"quoted\" \\ back",
                               "line\nend\ttab",
                               std::string("nul\0byte", 8),
                               "\xe2\x80\xa8 separator",
                               "plain"};
  for (const std::string& text : texts) {
    INFO(text);
    PageData data = sample();
    data.task = data.device = text;
    data.kernels[0].strategy = data.baselines[0].name = text;
    data.roofline->title = data.roofline->floor->label = text;
    data.rejections = {{text, 1}};
    data.phases = {{text, 1}};
    const std::string block = page_json(data);
    CHECK(block.find('<') == std::string::npos);
    CHECK(block.find('\n') == std::string::npos);
    const auto json = nlohmann::json::parse(block);
    CHECK(json["task"] == text);
    CHECK(json["kernels"][0]["strategy"] == text);
    CHECK(json["baselines"][0]["name"] == text);
    CHECK(json["roofline"]["floor"]["label"] == text);
    CHECK(json["rejections"][0]["code"] == text);
    CHECK(json["phases"][0]["phase"] == text);
  }
  PageData data = sample();
  data.task = "broken \xff utf-8";
  CHECK(read_back(data)["task"] == "broken \xef\xbf\xbd utf-8");
}

TEST_CASE("a page's data may lack everything, and numbers that are none are null", "[page]") {
  const auto empty = read_back(PageData{});
  CHECK(empty["kernels"].empty());
  CHECK(empty["lineage"].is_array());
  CHECK(empty["champion"].is_null());
  CHECK(empty["roofline"].is_null());
  PageData data = sample();
  data.kernels[0].intensity = std::numeric_limits<double>::infinity();
  data.kernels[1].flops_per_s = std::numeric_limits<double>::quiet_NaN();
  data.roofline->floor.reset();
  const auto json = read_back(data);
  CHECK(json["kernels"][0]["intensity"].is_null());
  CHECK(json["kernels"][1]["flops_per_s"].is_null());
  CHECK(json["roofline"]["floor"].is_null());
}

TEST_CASE("a page holds its run: every verified kernel, the champion's ancestors, all rejections",
          "[page][threads]") {
  const TempDir dir;
  const std::string page = page_of_run(dir, "run");
  const auto json = nlohmann::json::parse(block_of(page));
  const auto run = read_run(dir / "run");
  REQUIRE_OK(run);
  std::int64_t rejected = 0;
  for (const auto& [code, count] : run->report.rejected) rejected += count;
  CHECK(static_cast<std::int64_t>(json["kernels"].size()) == run->report.proposed - rejected);
  CHECK(json["rejections"].size() == run->report.rejected.size());
  CHECK(json["phases"].size() == run->report.phase_seconds.size());
  CHECK(json["champion"]["candidate"] == run->report.best->candidate.id);
  CHECK(json["proposed"] == run->report.proposed);
  // Each ancestor's parents are ancestors, each other kernel has one; the champion is the last.
  std::map<std::uint64_t, bool> ancestor;
  for (const auto& relative : json["lineage"])
    ancestor[relative["candidate"]] = relative["ancestor"].get<bool>();
  REQUIRE(ancestor.count(run->report.best->candidate.id) == 1);
  CHECK(ancestor.at(run->report.best->candidate.id));
  CHECK(ancestor.size() > 1);
  for (const auto& relative : json["lineage"]) {
    INFO(relative.dump());
    std::size_t above = 0;
    for (const std::uint64_t parent : relative["parents"])
      above += ancestor.count(parent) > 0 && ancestor.at(parent) ? 1 : 0;
    if (relative["ancestor"]) {
      CHECK(above == relative["parents"].size());
    } else {
      CHECK(above > 0);
    }
  }
}

TEST_CASE("a page stands alone and names whose software it contains", "[page][threads]") {
  const TempDir dir;
  const std::string page = page_of_run(dir, "run");
  for (const char* text :
       {"<noscript>", "Apache ECharts", "BSD 3-Clause", "id=\"progress\"", "id=\"roofline\"",
        "id=\"lineage\"", "id=\"rejections\"", "id=\"phases\""}) {
    INFO(text);
    CHECK(page.find(text) != std::string::npos);
  }
  for (const char* text : {" src=", "<link", "@import", "url("}) {
    INFO(text);
    CHECK(page.substr(0, page.find("<!--")).find(text) == std::string::npos);
  }
  // Two scripts begin and end: the data and the charts.
  std::size_t ends = 0;
  for (auto at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++ends;
  CHECK(ends == 2);
}
