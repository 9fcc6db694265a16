#include "table.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include <cupilot/verdict.hpp>

#include "base/measurement_json.hpp"

namespace cupilot {
namespace {

using Json = nlohmann::json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Strategy strategy_of(const Json& row) {
  auto strategy = strategy_from_json(Json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
  return strategy ? std::move(*strategy) : Strategy{};
}

void take_header(const Json& json, Table& table, std::string& task_text) {
  task_text = json.at("task").dump();
  table.device = parts::device_of(json.at("device"));
  table.plain_us = json.at("baselines").at("plain").get<double>();
}

TableRow row_of(const Json& json) {
  TableRow row;
  row.strategy = strategy_of(json);
  row.id = strategy_id(row.strategy);
  if (json.contains("us")) {
    row.time_us = median(json.at("us").get<std::vector<double>>());
  } else {
    row.rejection = "measure.failed";
  }
  return row;
}

// The counts of a strategy's launches, added up. Known only where the file names them.
void take_counts(const Json& json, Counts& counts) {
  counts.rung = "virtual";
  for (const Json& launch : json.at("launches")) {
    for (const auto& [name, value] : launch.at("counts").items()) {
      Count& count = counts[parts::enum_of<Counter>(name, static_cast<int>(counter_count))];
      count.value += value.get<double>();
      count.low = count.high = count.value;
      count.how = CountHow::estimated;
    }
  }
}

void read_counts(const std::string& path, Table& table) {
  std::ifstream file(path);
  std::map<std::string, Json> by_prefix;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object()) by_prefix[json.at("strategy").get<std::string>()] = json;
  }
  for (TableRow& row : table.rows) {
    for (const auto& [prefix, json] : by_prefix) {
      if (row.id.compare(0, prefix.size(), prefix) == 0) take_counts(json, row.counts);
    }
  }
}

// Times scaled to one temperature of the card: by the anchor kernel timed beside each.
void scale_by_anchor(std::vector<double>& anchors, Table& table) {
  std::vector<double> known;
  for (const double us : anchors) {
    if (us > 0) known.push_back(us);
  }
  const double usual = median(known);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (anchors[i] > 0) table.rows[i].time_us *= usual / anchors[i];
  }
}

}  // namespace

Score Table::score(const TableRow& row) const {
  Score score;
  score.evaluated = true;
  score.accepted = row.time_us > 0;
  score.time_us = row.time_us;
  score.rejection = row.rejection;
  if (!score.accepted) return score;
  Measurement measurement;
  measurement.time_us = row.time_us;
  measurement.counts = row.counts;
  auto verdict = judge(task, task.time_shapes.front(), device, measurement);
  if (!verdict) return score;
  score.verdict = std::move(*verdict);
  if (row.counts.rung.empty()) score.verdict.pressures.clear();  // nothing was counted: nothing is said to bind
  return score;
}

std::size_t Table::near(double factor) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const TableRow& row) { return row.time_us > 0 && row.time_us <= best_us * factor; }));
}

Result<Table> read_table(const std::string& folder) {
  const std::string path = folder + "/landscape.jsonl";
  std::ifstream file(path);
  Table table;
  table.name = folder.substr(folder.find_last_of('/') + 1);
  std::string task_text;
  std::vector<double> anchors;
  try {
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      if (json.contains("task")) {
        take_header(json, table, task_text);
      } else if (json.contains("techniques")) {
        table.rows.push_back(row_of(json));
        anchors.push_back(json.value("anchor_us", 0.0));
      }
    }
  } catch (const Json::exception& fault) {
    return Error{ErrorCode::failure, path + ": " + fault.what(), "record it anew"};
  }
  if (table.rows.empty()) return Error{ErrorCode::usage, path + " holds no strategies", "give a recorded landscape's folder"};
  auto task = task_from_json(task_text, path);
  if (!task) return task.error();
  table.task = std::move(*task);
  scale_by_anchor(anchors, table);
  read_counts(folder + "/counts.jsonl", table);
  for (const TableRow& row : table.rows) {
    if (row.time_us > 0 && (table.best_us == 0 || row.time_us < table.best_us)) table.best_us = row.time_us;
  }
  return table;
}

}  // namespace cupilot
