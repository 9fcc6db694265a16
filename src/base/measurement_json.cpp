#include "base/measurement_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <cupilot/parts/rejection.hpp>

namespace cupilot::parts {
namespace {

constexpr int stages = 9, provenances = 3, hows = 5, sources = 5;

Counts counts_of(const Json& json) {
  Counts counts;
  counts.source = enum_of<CounterSource>(json.at("rung").get<std::string>(), sources);
  for (const auto& [name, entry] : json.at("all").items()) {
    for (std::size_t i = 0; i < counter_count; ++i) {
      if (name_of(static_cast<Counter>(i)) != name) continue;
      counts.all[i] = {entry.at(0).get<double>(), entry.at(1).get<double>(),
                       entry.at(2).get<double>(),
                       enum_of<CountHow>(entry.at(3).get<std::string>(), hows)};
    }
  }
  return counts;
}

}  // namespace

double finite(double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -1.7e308, 1.7e308);
}

Json finite_all(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(finite(value));
  return all;
}

Json put(const Counts& counts) {
  Json all = Json::object();
  for (std::size_t i = 0; i < counter_count; ++i) {
    const Count& count = counts.all[i];
    if (count.how == CountHow::unknown) continue;
    all[std::string(name_of(static_cast<Counter>(i)))] = {finite(count.value), finite(count.low),
                                                          finite(count.high), name_of(count.how)};
  }
  return {{"rung", name_of(counts.source)}, {"all", std::move(all)}};
}

Json put(const Measurement& m) {
  Json json{{"provenance", name_of(m.provenance)},
            {"time_us", finite(m.time_us)},
            {"spread_us", finite(m.spread_us)},
            {"samples_us", finite_all(m.samples_us)},
            {"cache", m.cache},
            {"interval_us", {finite(m.interval_low_us), finite(m.interval_high_us)}},
            {"binding", m.binding},
            {"counts", put(m.counts)}};
  if (m.provenance != Provenance::measured) return json;
  json["host_us"] = finite(m.host_us);
  json["resolution_us"] = finite(m.resolution_us);
  json["too_short"] = m.too_short;
  json["conditions"] = m.conditions;
  return json;
}

Measurement measurement_of(const Json& json) {
  Measurement m;
  m.provenance = enum_of<Provenance>(json.at("provenance").get<std::string>(), provenances);
  m.time_us = json.at("time_us").get<double>();
  m.spread_us = json.at("spread_us").get<double>();
  m.samples_us = json.at("samples_us").get<std::vector<double>>();
  m.cache = json.at("cache").get<std::string>();
  m.interval_low_us = json.at("interval_us").at(0).get<double>();
  m.interval_high_us = json.at("interval_us").at(1).get<double>();
  m.binding = json.at("binding").get<std::string>();
  m.counts = counts_of(json.at("counts"));
  m.host_us = json.value("host_us", 0.0);
  m.resolution_us = json.value("resolution_us", 0.0);
  m.too_short = json.value("too_short", false);
  m.conditions = json.value("conditions", std::vector<std::string>());
  return m;
}

Json put(const Rejected& r) {
  return {
      {"stage", name_of(r.stage)}, {"code", r.code}, {"message", r.message}, {"where", r.where}};
}

Rejected rejected_of(const Json& json) {
  return {enum_of<Stage>(json.at("stage").get<std::string>(), stages),
          json.at("code").get<std::string>(), json.at("message").get<std::string>(),
          json.at("where").get<std::string>()};
}

Json put(const DeviceSpec& d) {
  return {{"name", d.name},
          {"label", d.label},
          {"arch", d.arch},
          {"compute", {d.compute_major, d.compute_minor}},
          {"sms", d.sms},
          {"clock_hz", d.clock_hz},
          {"dram_bytes_per_s", d.dram_bytes_per_s},
          {"dram_sustained", d.dram_sustained},
          {"l2_bytes_per_s", d.l2_bytes_per_s},
          {"l2_bytes", d.l2_bytes},
          {"memory_bytes", d.memory_bytes},
          {"shared_per_block", d.shared_per_block},
          {"shared_per_sm", d.shared_per_sm},
          {"shared_reserved", d.shared_reserved},
          {"registers_per_sm", d.registers_per_sm},
          {"threads_per_block", d.threads_per_block},
          {"threads_per_sm", d.threads_per_sm},
          {"blocks_per_sm", d.blocks_per_sm},
          {"launch_seconds", d.launch_seconds},
          {"sustained_flops", d.sustained_flops},
          {"peak_flops", d.peak_flops},
          {"shared_bytes_per_s", d.shared_bytes_per_s},
          {"source", d.source},
          {"ceilings", d.ceilings}};
}

DeviceSpec device_of(const Json& json) {
  DeviceSpec d;
  json.at("name").get_to(d.name);
  json.at("label").get_to(d.label);
  json.at("arch").get_to(d.arch);
  json.at("compute").at(0).get_to(d.compute_major);
  json.at("compute").at(1).get_to(d.compute_minor);
  json.at("sms").get_to(d.sms);
  json.at("clock_hz").get_to(d.clock_hz);
  json.at("dram_bytes_per_s").get_to(d.dram_bytes_per_s);
  json.at("dram_sustained").get_to(d.dram_sustained);
  json.at("l2_bytes_per_s").get_to(d.l2_bytes_per_s);
  json.at("l2_bytes").get_to(d.l2_bytes);
  json.at("memory_bytes").get_to(d.memory_bytes);
  json.at("shared_per_block").get_to(d.shared_per_block);
  json.at("shared_per_sm").get_to(d.shared_per_sm);
  json.at("shared_reserved").get_to(d.shared_reserved);
  json.at("registers_per_sm").get_to(d.registers_per_sm);
  json.at("threads_per_block").get_to(d.threads_per_block);
  json.at("threads_per_sm").get_to(d.threads_per_sm);
  json.at("blocks_per_sm").get_to(d.blocks_per_sm);
  json.at("launch_seconds").get_to(d.launch_seconds);
  json.at("sustained_flops").get_to(d.sustained_flops);
  json.at("peak_flops").get_to(d.peak_flops);
  json.at("source").get_to(d.source);
  d.shared_bytes_per_s = json.value("shared_bytes_per_s", 0.0);
  d.ceilings = json.value("ceilings", "");
  return d;
}

}  // namespace cupilot::parts
