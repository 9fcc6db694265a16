#include "landscapes.hpp"

#include <cupilot/family.hpp>

#include "recorded_task.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

using namespace cupilot;
using nlohmann::json;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "model_quality: " << message << "\n";
  std::exit(2);
}

ModelInput input_of(const json& from) {
  ModelInput input;
  input.blocks = from.at("blocks");
  input.threads_per_block = from.at("threads");
  input.cluster = from.value("cluster", 1);
  input.registers = from.at("registers");
  input.shared_bytes = from.at("shared");
  input.loads_in_flight = from.value("flight", 0.0);
  input.rounds = from.at("rounds");
  input.rounds_ahead = from.at("ahead");
  input.last_block_requests = from.at("last");
  input.repeated_text = from.value("text", 0.0);
  input.distinct_loads = from.value("distinct", 0.0);
  input.reread_bytes = from.value("reread", 0.0);
  input.reread_span = from.value("span", 0.0);
  input.stored_lines = from.value("lines", 0.0);
  for (std::size_t c = 0; c < counter_count; ++c) {
    const double value =
        from.at("counts").value(std::string(name_of(static_cast<Counter>(c))), 0.0);
    input.counts.all[c] = {value, value, value, CountHow::sampled};
  }
  return input;
}

std::map<std::string, std::vector<ModelInput>> read_counts(const std::string& path) {
  std::map<std::string, std::vector<ModelInput>> counts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const json row = json::parse(line);
    for (const json& launch : row.at("launches")) counts[row.at("id")].push_back(input_of(launch));
  }
  return counts;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

Landscape read_landscape(const std::string& folder, const std::string& counts_folder) {
  Landscape landscape;
  landscape.name = std::filesystem::path(folder).filename();
  auto counts = read_counts(counts_folder + "/counts-" + landscape.name + ".jsonl");
  std::ifstream file(folder + "/landscape.jsonl");
  std::string line;
  if (!std::getline(file, line)) fail(folder + " holds no landscape");
  const json header = json::parse(line);
  const auto words = header.at("task_words").get<std::vector<std::string>>();
  auto task = recorded_task(words);
  if (!task) fail(task.error().message);
  landscape.task = std::move(*task);
  landscape.device = *chip(header.at("device").at("name").get<std::string>());
  std::map<std::string, Row> rows;  // by id: a hash
  while (std::getline(file, line)) {
    const json row = json::parse(line);
    if (!row.contains("us")) continue;
    auto strategy = strategy_from_json(
        json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
    if (!strategy) fail(strategy.error().message);
    const std::string id = row.at("id");
    rows[id] = {std::move(*strategy), row.at("template"), id.back() % 2, median(row.at("us")),
                std::move(counts[id])};
  }
  for (auto& [id, row] : rows) landscape.rows.push_back(std::move(row));
  return landscape;
}
