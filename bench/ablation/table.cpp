#include "table.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <cupilot/verdict.hpp>

#include "base/measurement_json.hpp"

namespace cupilot {
namespace {

using Json = nlohmann::json;

constexpr std::size_t digits = 16;  // of a strategy's id, in files

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Strategy strategy_of(const Json& row) {
  auto strategy = strategy_from_json(
      Json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
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

// The counts of a strategy's launches, added up.
Counts counts_of(const Json& json) {
  Counts counts;
  counts.source = CounterSource::interpreted;
  for (const Json& launch : json.at("launches")) {
    for (const auto& [name, value] : launch.at("counts").items()) {
      Count& count = counts[parts::enum_of<Counter>(name, static_cast<int>(counter_count))];
      count.value += value.get<double>();
      count.low = count.high = count.value;
      count.how = CountHow::estimated;
    }
  }
  return counts;
}

// Each line names a strategy by the first digits of its id.
void read_counts(const std::string& path, Table& table) {
  std::ifstream file(path);
  std::map<std::string, TableRow*> rows;
  for (TableRow& row : table.rows) rows[row.id.substr(0, digits)] = &row;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    const auto row = rows.find(json.at("id").get<std::string>().substr(0, digits));
    if (row != rows.end()) row->second->counts = counts_of(json);
  }
}

void find_best(Table& table) {
  table.best_us = 0;
  for (const TableRow& row : table.rows) {
    if (row.time_us > 0 && (table.best_us == 0 || row.time_us < table.best_us))
      table.best_us = row.time_us;
  }
}

}  // namespace

const TableRow* Table::find(const Strategy& strategy) const {
  const std::string id = strategy_id(strategy);
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const TableRow& one) { return one.id == id; });
  return row == rows.end() ? nullptr : &*row;
}

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
  return score;
}

std::size_t Table::near(double factor) const {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const TableRow& row) {
    return row.time_us > 0 && row.time_us <= best_us * factor;
  }));
}

std::size_t Table::counted() const {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const TableRow& row) {
    return row.counts.source != CounterSource::none;
  }));
}

Table Table::without(const Table& other) const {
  std::set<std::string> theirs;
  for (const TableRow& row : other.rows) theirs.insert(row.id);
  Table rest = *this;
  std::erase_if(rest.rows, [&](const TableRow& row) { return theirs.count(row.id) != 0; });
  find_best(rest);
  return rest;
}

Result<Table> read_table(const std::string& folder, const std::string& counts_folder) {
  const std::string path = folder + "/landscape.jsonl";
  std::ifstream file(path);
  Table table;
  table.name = folder.substr(folder.find_last_of('/') + 1);
  std::string task_text;
  try {
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      if (json.contains("task")) take_header(json, table, task_text);
      if (json.contains("techniques")) table.rows.push_back(row_of(json));
    }
    read_counts(counts_folder + "/counts-" + table.name + ".jsonl", table);
  } catch (const Json::exception& fault) {
    return Error{ErrorCode::failure, path + ": " + fault.what(), "record it anew"};
  }
  if (table.rows.empty())
    return Error{ErrorCode::usage, path + " holds no strategies",
                 "give a recorded landscape's folder"};
  auto task = task_from_json(task_text, path);
  if (!task) return task.error();
  table.task = std::move(*task);
  find_best(table);
  return table;
}

}  // namespace cupilot
