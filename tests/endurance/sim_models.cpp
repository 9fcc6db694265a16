#include "endurance/sim_models.hpp"

#include <set>

#include "llm/open_models.hpp"
#include "llm/tape_lines.hpp"

namespace cupilot::testing {
namespace {

ModelsConfig config_of(const ModelBudget& budget) {
  ModelsConfig config;
  ModelEndpoint endpoint;
  endpoint.name = "simulated";
  endpoint.url = "https://models.example/v1";
  config.endpoints = {endpoint};
  ModelSpec planner;
  planner.name = planner.model = "planner";
  planner.endpoint = endpoint.name;
  planner.output_tokens = 1000;
  planner.stream = false;
  ModelSpec coder = planner;
  coder.name = coder.model = "coder";
  coder.stream = true;
  config.models = {planner, coder};
  config.roles = {{"strategist", "planner"}, {"*", "coder"}};
  config.budget = budget;
  return config;
}

}  // namespace

Result<std::unique_ptr<SimModels>> SimModels::seat(SimHost& host, SimDevice& device,
                                                   SimEndpoint& endpoint, const ModelBudget& budget,
                                                   double max_seconds) {
  ModelOptions options;
  options.tape = sim_tape;
  options.host = &host;
  options.sleep = [&host](double seconds) { host.spend(seconds); };
  if (auto made = host.make_directories("run"); !made) return made.error();
  auto client = open_models_by([&](const HttpRequest& request) { return endpoint.carry(request); },
                               config_of(budget), options);
  if (!client) return client.error();
  std::unique_ptr<SimModels> models(new SimModels);
  models->client_ = std::move(*client);
  const double end = max_seconds > 0 ? host.monotonic_seconds() + max_seconds : 0;
  models->chat_ = std::make_unique<TimelyChat>(*models->client_, host, nullptr, end);
  models->task_ = landscape_task();
  auto components =
      find_components(models->task_, device.device(), device.traits().techniques, {}, {}, false);
  if (!components) return components.error();
  models->components_ = std::move(*components);
  ModelSeat seat;
  seat.client = models->chat_.get();
  seat.task = TaskRef(models->task_);
  seat.device = &device.device();
  models->strategist_ = model_strategist(seat, *models->components_.strategist);
  models->writer_ = model_writer(seat, *models->components_.writer);
  return models;
}

TapeLook look_at_tape(SimHost& host, const SimEndpoint& endpoint, const ModelBudget& budget) {
  TapeLook look;
  auto bytes = host.read_file(sim_tape);
  if (!bytes) {
    if (endpoint.billed_tokens() > 0) look.faults.emplace_back("a bill without a tape");
    return look;
  }
  const auto tape = tape_lines_from(*bytes, sim_tape);
  if (!tape) {
    look.faults.push_back("a tape that cannot be read: " + tape.error().message);
    return look;
  }
  // The tape may say more than that: attempts before the one that a crash cut short are on it as
  // they were reserved.
  if (budget.tokens > 0 && endpoint.billed_tokens() > budget.tokens)
    look.faults.emplace_back("a bill over the budget");
  if (tape->spent.tokens < endpoint.billed_tokens())
    look.faults.emplace_back("more on the bill than on the tape");
  std::set<std::string> keys, twice;
  for (const TapeQuestion& question : tape->questions) {
    // A question without an answer may be asked again.
    if (!question.entry.error && !keys.insert(question.entry.key).second)
      twice.insert(question.entry.key);
    look.silences += question.entry.agent == "strategist" && question.entry.error ? 1 : 0;
  }
  for (const std::string& key : twice) look.faults.push_back("asked twice: " + key);
  return look;
}

}  // namespace cupilot::testing
