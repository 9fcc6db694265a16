#include "rows.hpp"

#include <cmath>
#include <fstream>

#include <cupilot/parts/agents.hpp>

#include "base/measurement_json.hpp"
#include "recorded_task.hpp"

using namespace cupilot;
using parts::Json;

namespace {

double rounded(double us) { return std::round(us * 1000) / 1000; }

Json strategy_json(const Strategy& strategy) {
  Strategy bare;
  bare.uses = strategy.uses;
  return Json::parse(strategy_to_json(bare)).at("techniques");
}

Json input_json(const ModelInput& input) {
  Json counts = Json::object();
  for (std::size_t c = 0; c < counter_count; ++c) {
    const Count& count = input.counts.all[c];
    if (count.how != CountHow::unknown && count.value != 0)
      counts[std::string(name_of(static_cast<Counter>(c)))] = count.value;
  }
  return {{"blocks", input.blocks},
          {"threads", input.threads_per_block},
          {"cluster", input.cluster},
          {"registers", input.registers},
          {"shared", input.shared_bytes},
          {"flight", input.loads_in_flight},
          {"rounds", input.rounds},
          {"ahead", input.rounds_ahead},
          {"last", input.last_block_requests},
          {"text", input.repeated_text},
          {"distinct", input.distinct_loads},
          {"reread", input.reread_bytes},
          {"span", input.reread_span},
          {"lines", input.stored_lines},
          {"counts", std::move(counts)}};
}

}  // namespace

std::string header_line(const Task& task, const Backend& backend, const Header& header) {
  Json baselines = Json::object();
  for (const SubjectReport& report : header.baselines) {
    if (report.measurement) baselines[report.name] = rounded(report.measurement->time_us);
  }
  const auto text = task_to_json(task);
  const Json json = {{"cupilot_landscape_table", 1},
                     {"task", text ? Json::parse(*text) : Json()},
                     {"task_words", header.words},
                     {"identity", backend.identity()},
                     {"provenance", name_of(backend.provenance())},
                     {"device", parts::put(backend.device())},
                     {"seed", header.seed},
                     {"anchor", header.anchor},
                     {"baselines", std::move(baselines)}};
  return json.dump() + "\n";
}

std::string result_line(const Drawn& drawn, const std::string& kernel_hash,
                        const Attempt<Measurement>& measured, double anchor_us) {
  Json json = {{"id", drawn.source.strategy_id.substr(0, 16)},
               {"techniques", strategy_json(drawn.strategy)},
               {"template", drawn.source.template_name}};
  if (!kernel_hash.empty()) json["kernel"] = kernel_hash.substr(0, 16);
  if (measured) {
    Json samples = Json::array();
    for (const double us : measured->samples_us) samples.push_back(rounded(us));
    json["us"] = std::move(samples);
    if (anchor_us > 0) json["anchor_us"] = rounded(anchor_us);
  } else if (measured.is_rejected()) {
    json["rejected"] = measured.rejected().code;
    json["why"] = measured.rejected().message.substr(0, 120);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string counts_line(const Drawn& drawn, const std::vector<ModelInput>& launches) {
  Json all = Json::array();
  for (const ModelInput& input : launches) all.push_back(input_json(input));
  return Json{{"id", drawn.source.strategy_id.substr(0, 16)}, {"launches", std::move(all)}}.dump() +
         "\n";
}

Result<Recorded> rows_of(const std::string& path, const std::string& template_name, int most) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    return Error{ErrorCode::usage, path + " holds no landscape", "give a landscape.jsonl"};
  const Json header = Json::parse(line);
  const auto words = header.at("task_words").get<std::vector<std::string>>();
  auto task = recorded_task(words);
  if (!task) return task.error();
  auto device = chip(header.at("device").at("name").get<std::string>());
  if (!device) return device.error();
  Recorded recorded{std::move(*task), std::move(*device), words, {}};
  const auto writer = template_writer(templates_of(builtin_families(), recorded.task));
  while (static_cast<int>(recorded.drawn.size()) < most && std::getline(file, line)) {
    const Json row = Json::parse(line);
    if (!row.contains("us") || (template_name != "all" && row.at("template") != template_name))
      continue;
    auto strategy = strategy_from_json(
        Json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
    if (!strategy) return strategy.error();
    WriterBrief brief;
    brief.task = TaskRef(recorded.task);
    brief.strategy = &*strategy;
    brief.device = &recorded.device;
    auto source = writer->write(brief);
    if (source)
      recorded.drawn.push_back(
          {std::move(*strategy), std::move(*source), static_cast<int>(recorded.drawn.size())});
  }
  return recorded;
}
