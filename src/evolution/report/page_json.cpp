#include "evolution/report/page_json.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/json.hpp"

namespace cupilot {
namespace {

double six_digits(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

OrderedJson kernel_json(const PageKernel& kernel) {
  return {{"candidate", kernel.candidate},
          {"generation", kernel.generation},
          {"time_us", six_digits(kernel.time_us)},
          {"provenance", name_of(kernel.provenance)},
          {"intensity", six_digits(kernel.intensity)},
          {"flops_per_s", six_digits(kernel.flops_per_s)},
          {"strategy", kernel.strategy}};
}

OrderedJson relative_json(const PageRelative& relative) {
  OrderedJson json = kernel_json(relative.kernel);
  json["parents"] = relative.parents;
  json["ancestor"] = relative.ancestor;
  return json;
}

OrderedJson ceilings_json(const std::vector<RooflineCeiling>& ceilings, const char* unit) {
  OrderedJson json = OrderedJson::array();
  for (const RooflineCeiling& ceiling : ceilings)
    json.push_back({{"name", ceiling.name}, {unit, six_digits(ceiling.value)}});
  return json;
}

OrderedJson roofline_json(const RooflineChart& chart) {
  OrderedJson floor;
  if (chart.floor) {
    floor = {{"label", chart.floor->label},
             {"intensity", six_digits(chart.floor->intensity)},
             {"flops_per_s", six_digits(chart.floor->rate)}};
  }
  return {{"title", chart.title},
          {"source", chart.source},
          {"bandwidths", ceilings_json(chart.slopes, "bytes_per_s")},
          {"rates", ceilings_json(chart.roofs, "flops_per_s")},
          {"floor", floor}};
}

OrderedJson baselines_json(const std::vector<Baseline>& baselines) {
  OrderedJson json = OrderedJson::array();
  for (const Baseline& baseline : baselines) {
    json.push_back({{"name", baseline.name},
                    {"time_us", six_digits(baseline.time_us)},
                    {"provenance", name_of(baseline.provenance)}});
  }
  return json;
}

std::string without_markup(const std::string& json) {
  std::string out;
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_json(const PageData& data) {
  OrderedJson json = {{"cupilot_report", 1},
                      {"task", data.task},
                      {"device", data.device},
                      {"proposed", data.proposed}};
  json["kernels"] = OrderedJson::array();
  for (const PageKernel& kernel : data.kernels) json["kernels"].push_back(kernel_json(kernel));
  json["champion"] = data.champion ? kernel_json(*data.champion) : OrderedJson();
  json["baselines"] = baselines_json(data.baselines);
  json["roofline"] = data.roofline ? roofline_json(*data.roofline) : OrderedJson();
  json["lineage"] = OrderedJson::array();
  for (const PageRelative& relative : data.lineage)
    json["lineage"].push_back(relative_json(relative));
  json["rejections"] = OrderedJson::array();
  for (const auto& [code, count] : data.rejections)
    json["rejections"].push_back({{"code", code}, {"count", count}});
  json["phases"] = OrderedJson::array();
  for (const auto& [phase, seconds] : data.phases)
    json["phases"].push_back({{"phase", phase}, {"seconds", six_digits(seconds)}});
  return without_markup(json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

}  // namespace cupilot
