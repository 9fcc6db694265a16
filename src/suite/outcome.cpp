#include "suite/outcome.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <cupilot/verdict.hpp>

#include "base/median.hpp"
#include "evolution/evaluate/timing.hpp"

namespace cupilot {
namespace {

// The floor by rates that were reached instead of those of the datasheet.
double sustained_floor_us(const Task& task, const DeviceSpec& device, const Accepted& accepted) {
  DeviceSpec sustained = device;
  sustained.dram_bytes_per_s = device.dram_sustained;
  sustained.peak_flops = device.sustained_flops;
  const auto written = mean_floor(task, device, task.precision);
  const bool short_cut = written && accepted.verdict.floor_us < floor_margin * *written;
  const auto floor = short_cut ? short_cut_floor(task, sustained, accepted.measurement.counts)
                               : mean_floor(task, sustained, accepted.verification.proved);
  return floor ? *floor : 0;
}

SuiteTime time_of(const Baseline& baseline) {
  SuiteTime time{baseline.name, baseline.time_us, 0, 0, 0, baseline.says};
  if (baseline.ratio.empty()) return time;
  time.ratio = median(baseline.ratio);
  std::tie(time.low, time.high) = median_interval(baseline.ratio);
  return time;
}

double contestant_seconds_of(const EvolveReport& report) {
  double sum = 0;
  for (const auto& [path, seconds] : report.phase_seconds) {
    if (path.ends_with("/contestants")) sum += seconds;
  }
  return sum;
}

void take_champion(SuiteRow& row, const Task& task, const Backend& backend, const Best& best) {
  const auto* accepted = std::get_if<Accepted>(&best.candidate.outcome);
  if (accepted == nullptr) return;
  row.proved = name_of(accepted->verification.proved);
  row.provenance = name_of(accepted->measurement.provenance);
  row.time_us = accepted->measurement.time_us;
  row.datasheet_floor_us = accepted->verdict.floor_us;
  row.floor_us = sustained_floor_us(task, backend.device(), *accepted);
  row.rates =
      backend.device().ceilings.empty() ? backend.device().source : backend.device().ceilings;
  row.strategy = describe(best.candidate.strategy);
  for (const Baseline& baseline : best.baselines) row.times.push_back(time_of(baseline));
}

SortedJson time_json(const SuiteTime& time) {
  SortedJson json = {{"name", time.name},
                     {"time_us", time.time_us},
                     {"ratio", time.ratio},
                     {"interval", {time.low, time.high}}};
  if (!time.says.empty()) json["says"] = time.says;
  return json;
}

SuiteTime time_from(const SortedJson& json) {
  return {json.at("name").get<std::string>(),      json.at("time_us").get<double>(),
          json.at("ratio").get<double>(),          json.at("interval").at(0).get<double>(),
          json.at("interval").at(1).get<double>(), json.value("says", "")};
}

// Texts of a row by name: one table for both directions.
constexpr std::pair<const char*, std::string SuiteRow::*> texts[] = {
    {"id", &SuiteRow::id},         {"title", &SuiteRow::title},
    {"family", &SuiteRow::family}, {"precision", &SuiteRow::precision},
    {"apart", &SuiteRow::apart},   {"error", &SuiteRow::error},
    {"device", &SuiteRow::device}, {"identity", &SuiteRow::identity},
    {"proved", &SuiteRow::proved}, {"provenance", &SuiteRow::provenance},
    {"rates", &SuiteRow::rates},   {"strategy", &SuiteRow::strategy}};
constexpr std::pair<const char*, double SuiteRow::*> reals[] = {
    {"time_us", &SuiteRow::time_us},
    {"floor_us", &SuiteRow::floor_us},
    {"datasheet_floor_us", &SuiteRow::datasheet_floor_us},
    {"seconds", &SuiteRow::seconds},
    {"contestant_seconds", &SuiteRow::contestant_seconds}};

}  // namespace

SuiteRow row_of(const SuiteTask& task) {
  SuiteRow row;
  row.id = task.word.substr(task.word.find('/') + 1);
  row.title = task.title;
  row.family = task.task.family;
  row.precision = name_of(task.task.precision);
  row.apart = task.apart;
  return row;
}

void take_report(SuiteRow& row, const Task& task, const Backend& backend,
                 const Result<EvolveReport>& report, double wall_seconds) {
  row.ended = true;
  row.device = backend.device().label.empty() ? backend.device().name : backend.device().label;
  row.identity = backend.identity();
  if (!report) {
    row.error = report.error().message;
    row.seconds = wall_seconds;
    return;
  }
  row.evaluations = report->evaluations;
  row.contestant_seconds = contestant_seconds_of(*report);
  row.seconds = std::max(0.0, report->wall_seconds - row.contestant_seconds);
  if (const auto begun = report->phase_seconds.find("contestants");
      begun != report->phase_seconds.end())
    row.contestant_seconds += begun->second;
  row.notices = report->notices;
  if (report->best) take_champion(row, task, backend, *report->best);
  if (row.time_us <= 0)
    row.error = report->stopped.empty() ? "no champion" : "no champion: " + report->stopped;
}

SortedJson row_json(const SuiteRow& row) {
  SortedJson json = {{"ended", row.ended},
                     {"evaluations", row.evaluations},
                     {"notices", row.notices},
                     {"times", SortedJson::array()}};
  for (const auto& [name, field] : texts) json[name] = row.*field;
  for (const auto& [name, field] : reals) json[name] = row.*field;
  for (const SuiteTime& time : row.times) json["times"].push_back(time_json(time));
  return json;
}

Result<SuiteRow> row_from(const std::string& text, const std::string& origin) {
  try {
    const SortedJson json = SortedJson::parse(text);
    SuiteRow row;
    row.ended = json.at("ended").get<bool>();
    row.evaluations = json.at("evaluations").get<std::int64_t>();
    row.notices = json.at("notices").get<std::vector<std::string>>();
    for (const auto& [name, field] : texts) json.at(name).get_to(row.*field);
    for (const auto& [name, field] : reals) json.at(name).get_to(row.*field);
    for (const SortedJson& time : json.at("times")) row.times.push_back(time_from(time));
    return row;
  } catch (const SortedJson::exception& error) {
    return Error{ErrorCode::usage, fmt::format("{}: {}", origin, error.what()),
                 "delete the file to have its task searched again"};
  }
}

std::string outcome_path(const std::string& run_dir, const std::string& id) {
  return run_dir + "/outcomes/" + id + ".json";
}
std::string task_dir(const std::string& run_dir, const std::string& id) {
  return run_dir + "/tasks/" + id;
}
std::string settings_path(const std::string& run_dir) { return run_dir + "/suite.json"; }

}  // namespace cupilot
