#include <cupilot/parts/roofline_chart.hpp>

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file("tests/roofline/golden/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

RooflineChart sample() {
  GemmSpec spec;
  spec.m = spec.n = spec.k = 4096;
  spec.dtype = DType::bf16;
  const Task task = *gemm_task(spec);
  RooflineChart chart = *roofline_of(task, *chip("h200"));
  chart.population = {{300, 90e12, "slot 0: 1527 us"},
                      {500, 60e12, "slot 1: 2290 us"},
                      {900, 610e12, "slot 2 <b>: 225 us"}};
  chart.path = {chart.population[0], chart.population[2]};
  chart.champion = {1100, 701e12, "best: 196 us"};
  return chart;
}

TEST_CASE("The roofline in a terminal is drawn as it was", "[chart]") {
  const std::string drawn = roofline_text(sample());
  const bool same = drawn == golden("roofline.txt");
  INFO(drawn);
  CHECK(same);
}

TEST_CASE("The roofline as SVG is drawn as it was", "[chart]") {
  const std::string drawn = roofline_svg(sample());
  const bool same = drawn == golden("roofline.svg");
  INFO(drawn);
  CHECK(same);
  CHECK(drawn.find("<b>") == std::string::npos);  // labels are words, not markup
}

TEST_CASE("The roofline as SVG is well-formed: each mark is a child of the svg element",
          "[chart]") {
  RooflineChart chart = sample();
  chart.title = "\"<&>\"";
  std::istringstream drawn(roofline_svg(chart));
  boost::property_tree::ptree tree;
  REQUIRE_NOTHROW(boost::property_tree::read_xml(drawn, tree));
  const auto& svg = tree.get_child("svg");
  CHECK(svg.get<std::string>("<xmlattr>.aria-label") == "roofline: " + chart.title);
  // Grid, two slopes and two roofs; three kernels, two of them on the path, floor and champion.
  CHECK(svg.count("line") > 4);
  CHECK(svg.count("circle") == 7);
  CHECK(svg.count("path") == 1);
  for (const auto& [name, element] : svg) {
    INFO(name);
    CHECK(element.count("line") + element.count("circle") + element.count("text") == 0);
  }
}

TEST_CASE(
    "The ceilings of a class are its own rate and the plain one's, sustained once they were "
    "measured",
    "[chart]") {
  GemmSpec spec;
  spec.dtype = DType::bf16;
  const Task bf16 = *gemm_task(spec), fp32 = *gemm_task(GemmSpec{});
  DeviceSpec device = *chip("h200");
  const auto sheet = roofline_of(bf16, device);
  REQUIRE(sheet);
  REQUIRE(sheet->roofs.size() == 2);
  CHECK(sheet->roofs[0].value == device.peak_flops[static_cast<std::size_t>(Precision::bf16)]);
  CHECK(sheet->slopes[0].value == device.dram_bytes_per_s);
  CHECK(sheet->source.find("not measured") == 0);
  CHECK(roofline_of(fp32, device)->roofs.size() == 1);
  device.ceilings = "measured on this device";
  const auto measured = roofline_of(bf16, device);
  CHECK(measured->roofs[0].value ==
        device.sustained_flops[static_cast<std::size_t>(Precision::bf16)]);
  CHECK(measured->slopes[0].value == device.dram_sustained);
  // The floor is the datasheet's either way.
  CHECK(measured->floor->rate == sheet->floor->rate);
  Task shapeless = fp32;
  shapeless.time_shapes.clear();
  CHECK_FALSE(roofline_of(shapeless, device));
}

TEST_CASE("A chart without kernels, of points at nothing or of no ceilings is still one",
          "[chart]") {
  RooflineChart empty;
  CHECK(roofline_text(empty).find("a kernel") != std::string::npos);
  CHECK(roofline_svg(empty).find("</svg>") != std::string::npos);
  RooflineChart odd = sample();
  odd.population.push_back({0, 0, "nothing"});
  odd.population.push_back({-1, 1e300 * 1e300, "no number"});
  const std::string text = roofline_text(odd, 10, 2);
  CHECK(std::count(text.begin(), text.end(), '\n') > 6);
  CHECK(roofline_svg(odd).find("inf") == std::string::npos);
  CHECK(roofline_svg(odd).find("nan") == std::string::npos);
}

}  // namespace
}  // namespace cupilot
