// Estimates the questions and the cost of a run with models: its first prompts are made, measured
// and never sent.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/model_agents.hpp>
#include <cupilot/parts/models.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "models.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

constexpr double bytes_a_token = 3.5;
constexpr std::int64_t strategy_answer = 800, kernel_answer = 4000, sentence_answer = 100;
constexpr double tokens_a_second = 50;  // of an answer; endpoints differ widely

// Answers nothing and remembers how long the questions were.
class Measure : public ChatClient {
 public:
  struct Prompt {
    std::int64_t tokens = 0, kept = 0;
  };
  Result<ChatReply> complete(const ChatRequest& request) override {
    Prompt prompt;
    for (std::size_t i = 0; i < request.messages.size(); ++i) {
      const auto tokens = static_cast<std::int64_t>(
          std::ceil(static_cast<double>(request.messages[i].text.size()) / bytes_a_token));
      prompt.tokens += tokens;
      if (i < request.constant_messages) prompt.kept += tokens;
    }
    Prompt& longest = prompts[request.agent];
    if (prompt.tokens > longest.tokens) longest = prompt;
    return Error{ErrorCode::endpoint, "a plan asks nobody", ""};
  }
  std::map<std::string, Prompt> prompts;
};

// One agent's share of a run: between `least` and `most` questions. `with_others`: most of them
// when the other agents ask their most.
struct Row {
  std::string agent;
  std::int64_t least = 0, most = 0, with_others = 0;
  Measure::Prompt prompt;
  std::int64_t answer = 0;  // tokens
  const ModelSpec* model = nullptr;
};

// Models' part of a run, and its questions that are open at once.
struct Places {
  double share = 0;  // of the slots
  int kernels = 1, strategies = 1;
};

struct Sum {
  std::int64_t calls = 0;
  double tokens = 0, cost = 0, seconds = 0;
};

// Returns the model that a role such as "cheap, strong", "cheap > strong" or "one | other" asks
// first.
std::string first_model(const std::string& role) {
  std::string name = role.substr(0, role.find_first_of(",>|"));
  while (name.ends_with(' ')) name.pop_back();
  return name;
}

const ModelSpec* model_of(const ModelsConfig& config, const std::string& agent) {
  auto role = config.roles.find(agent);
  if (role == config.roles.end()) role = config.roles.find("*");
  for (const ModelSpec& model : config.models) {
    if (role != config.roles.end() && model.name == first_model(role->second)) return &model;
  }
  return nullptr;
}

// A kernel as long as an answer.
KernelSource usual_kernel() {
  const std::string line = "  y[i] = x[i];\n";
  KernelSource source;
  while (static_cast<double>(source.text.size()) < kernel_answer * bytes_a_token)
    source.text += line;
  source.plan.launches.resize(1);
  return source;
}

// The questions on a kernel: its writing, its repair, and what alignment changed.
void measure_writing(const ModelSeat& seat, KernelWriter& templates, const Strategy& strategy) {
  const auto writer = model_writer(seat, templates);
  WriterBrief writing{seat.task, &strategy, seat.device};
  writing.key = "plan";
  // None of them can be written: nobody answers.
  static_cast<void>(writer->write(writing));
  writing.failed = {usual_kernel(), {Stage::run, "run.race", "two threads write it", ""}, 1};
  static_cast<void>(writer->write(writing));
  Strategy claimed = strategy;
  claimed.uses = {{"async_copy", {}, "", {}}};
  claimed.rationale = "copies run beside the sums of the step before";
  writing.strategy = &claimed;
  CompiledKernel kernel;
  kernel.source = usual_kernel();
  static_cast<void>(writer->realised(writing, kernel, {}));
}

// `alone`: no template serves the task.
Places places_of(const PlanFlags& flags, int at_once, bool alone, bool measures) {
  constexpr int lookahead = 12;  // of a search that measures; with more compilers it is longer
  ModelSeat seat;
  seat.alone = alone;
  seat.options.share = alone ? 1 : flags.share;
  seat.options.later = flags.later;
  const auto built_in = rule_strategist();
  const int looks_back = std::max(measures && !alone ? lookahead : usual_lookahead, at_once);
  return {seat.options.share, at_once,
          model_strategist(seat, *built_in)->questions_at_once(looks_back)};
}

// The first question of the strategist, one that crosses two strategies, and those on a kernel.
Result<Places> measure_prompts(const TaskRef& task, const Backend& backend,
                               const Families& families, const PlanFlags& flags, int at_once,
                               Measure& measure) {
  const DeviceSpec& device = backend.device();
  auto space = make_space(task, device, templates_of(families, task));
  const bool alone = !space;
  if (alone) space = free_space(task);
  if (!space) return space.error();
  const Places places =
      places_of(flags, at_once, alone, backend.provenance() == Provenance::measured);
  ModelSeat seat{&measure, task, &device};
  seat.options.share = 1;
  const auto built_in = rule_strategist();
  const auto strategist = model_strategist(seat, *built_in);
  StrategyBrief brief;
  brief.space = space->get();
  std::vector<Individual> parents;
  for (std::uint64_t i = 0; i < 2; ++i) {
    auto proposed = built_in->propose(brief, Rng::of(i, "plan"));
    if (!proposed) return proposed.error();
    if (*proposed) parents.push_back({i + 1, **proposed, 10, 1, {}});
  }
  auto first = strategist->propose(brief, Rng::of(1, "plan"));
  if (!first) return first.error();
  if (parents.size() == 2) {
    brief.kind = BreedKind::cross;
    brief.parents = parents;
    brief.generation = 1;
    brief.slot = 12;
    auto crossed = strategist->propose(brief, Rng::of(2, "plan"));
    if (!crossed) return crossed.error();
  }
  const auto templates = template_writer(templates_of(families, task));
  Strategy strategy = parents.empty() ? Strategy{} : parents[0].strategy;
  strategy.uses.push_back({"free", {}, "an idea beyond the templates", {}});
  measure_writing(seat, *templates, strategy);
  return places;
}

// Tokens of thinking that an answer holds beside what is wanted of it.
std::int64_t thinking_tokens(const ModelSpec& model) {
  constexpr std::int64_t usual = 8000;
  if (model.thinking_tokens > 0) return model.thinking_tokens;
  return model.effort.empty() || model.effort == "none" ? 0 : usual;
}

// Tokens of an agent's answer without thinking.
std::int64_t answer_of(const std::string& agent) {
  return agent == "strategist" ? strategy_answer
         : agent == "aligner"  ? sentence_answer
                               : kernel_answer;
}

// Sets an agent's questions in a run whose models have this share of its slots. A repair takes a
// slot of its own, so that kernels written and repaired are no more than the evaluations.
void count_questions(const PlanFlags& flags, double share, Row& row) {
  const auto evaluations = static_cast<double>(flags.evaluations);
  const double kernels = std::ceil(share * evaluations), first = std::round(share * initial_slots);
  const double written = share * evaluations / (1 + share * flags.repairs),
               repaired = written * flags.repairs;
  double most = kernels, with_others = kernels;
  if (row.agent == "strategist") {
    row.least = 1;
    most = with_others = 1 + std::ceil(std::max(0.0, kernels - first) / std::max(1, flags.later));
  } else if (row.agent == "reviser") {
    most = std::ceil(repaired);
    with_others = std::max(0.0, std::ceil(written + repaired) - kernels);
  }
  row.most = static_cast<std::int64_t>(most);
  row.with_others = static_cast<std::int64_t>(with_others);
}

std::vector<Row> rows_of(const PlanFlags& flags, double share, const Measure& measure,
                         const ModelsConfig& config) {
  std::vector<Row> rows;
  for (const auto& [agent, prompt] : measure.prompts) {
    Row row;
    row.agent = agent;
    row.prompt = prompt;
    row.answer = answer_of(agent);
    row.model = model_of(config, agent);
    count_questions(flags, share, row);
    if (row.model != nullptr)
      row.answer = std::min(row.answer + thinking_tokens(*row.model), row.model->output_tokens);
    rows.push_back(row);
  }
  return rows;
}

// Questions on kernels that are open at once: as `parallel` or a handoff says, else as many slots
// as are bred before the first of them is known.
int questions_at_once(const PlanFlags& flags, const ModelsConfig& config) {
  if (config.parallel > 0) return config.parallel;
  return is_handoff(flags.models) ? handoff_parallel : usual_lookahead;
}

Sum sum_of(const std::vector<Row>& rows, std::int64_t Row::*calls, const Places& places) {
  Sum sum;
  double proposing = 0, writing = 0;
  for (const Row& row : rows) {
    const auto count = static_cast<double>(row.*calls);
    const auto prompt = static_cast<double>(row.prompt.tokens),
               answer = static_cast<double>(row.answer);
    const double kept = static_cast<double>(row.prompt.kept) * std::max(0.0, count - 1);
    sum.calls += row.*calls;
    sum.tokens += count * (prompt + answer);
    (row.agent == "strategist" ? proposing : writing) += count * answer / tokens_a_second;
    if (row.model == nullptr || !row.model->price) continue;
    const ModelPrice& price = *row.model->price;
    sum.cost += ((count * prompt - kept) * price.input + kept * price.cached +
                 count * answer * price.output) /
                1e6;
  }
  sum.seconds = std::max(proposing / places.strategies, writing / places.kernels);
  return sum;
}

bool is_priced(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.model != nullptr && row.model->price; });
}

// Names the models of which it is not known how long they think.
void say_thinking(const std::vector<Row>& rows, bool handoff) {
  // A handoff lacks such a setting.
  if (handoff) return;
  std::map<std::string, double> worst;  // by model: most questions with answers at their limit
  for (const Row& row : rows) {
    if (row.model == nullptr || row.model->thinking_tokens > 0 || !row.model->effort.empty())
      continue;
    worst[row.model->name] +=
        static_cast<double>(row.with_others) * static_cast<double>(row.model->output_tokens);
  }
  for (const auto& [name, tokens] : worst)
    say(
        fmt::format("{} is taken not to think: if it does, its answers take up to {:.0f} tokens in "
                    "all; give it `effort` or `thinking_tokens` in a models file",
                    name, tokens));
}

// Names the agents of which the budget holds no question: each sets aside a token a byte of its
// prompt, and all that its answer may take.
void say_too_small(const std::vector<Row>& rows, const ModelBudget& budget) {
  for (const Row& row : rows) {
    if (row.model == nullptr || row.most == 0) continue;
    const double input = static_cast<double>(row.prompt.tokens) * bytes_a_token,
                 output = static_cast<double>(row.model->output_tokens);
    if (budget.tokens > 0 && input + output > static_cast<double>(budget.tokens))
      say(fmt::format(
          "the budget of {} tokens holds no question of the {}: one sets aside {:.0f} at least",
          budget.tokens, row.agent, input + output));
    const ModelPrice price = row.model->price.value_or(ModelPrice{});
    const double cost = (input * price.input + output * price.output) / 1e6;
    if (budget.cost > 0 && cost > budget.cost)
      say(fmt::format(
          "the budget of cost {:.4g} holds no question of the {}: one sets aside {:.4g} at least",
          budget.cost, row.agent, cost));
  }
}

void print(const std::vector<Row>& rows, const Sum& least, const Sum& most, const Places& places,
           const ModelsConfig& config, bool handoff) {
  std::vector<std::vector<std::string>> cells = {
      {"agent", "model", "questions", "prompt tokens", "of them kept", "answer tokens"}};
  for (const Row& row : rows) {
    cells.push_back({row.agent, row.model != nullptr ? row.model->model : "none",
                     fmt::format("{} to {}", row.least, row.most),
                     fmt::format("{}", row.prompt.tokens), fmt::format("{}", row.prompt.kept),
                     fmt::format("{}", row.answer)});
  }
  say(table(cells));
  say(fmt::format("calls {} to {}, tokens {:.0f} to {:.0f}, waiting {:.0f} to {:.0f} s",
                  least.calls, most.calls, least.tokens, most.tokens, least.seconds, most.seconds));
  say(is_priced(rows)
          ? fmt::format("cost {:.2f} to {:.2f} {}", least.cost, most.cost, config.currency)
          : "cost unknown: a model has no price in the models file");
  say(fmt::format(
      "prompts are measured at {} bytes a token; answers are taken to be so long, at "
      "{:.0f} tokens a second, {} kernels and {} question{} on strategies at once; the most is "
      "when every proposal of a model needs a kernel of its own, or repairs take as "
      "many slots as they may; questions asked again are not in it",
      bytes_a_token, tokens_a_second, places.kernels, places.strategies,
      places.strategies == 1 ? "" : "s"));
  for (const Row& row : rows) {
    if (row.model == nullptr || row.model->stream) continue;
    const double seconds = static_cast<double>(row.answer) / tokens_a_second;
    if (seconds > row.model->seconds)
      say(
          fmt::format("an answer to {} may take {:.0f} s, and {} may take {:.0f}: raise `seconds` "
                      "or let it stream",
                      row.agent, seconds, row.model->name, row.model->seconds));
  }
  say_thinking(rows, handoff);
  const ModelBudget& budget = config.budget;
  say_too_small(rows, budget);
  if (budget.tokens > 0 && most.tokens > static_cast<double>(budget.tokens))
    say("the budget of tokens may end the models' part early");
  if (budget.calls > 0 && most.calls > budget.calls)
    say("the budget of calls may end the models' part early");
  if (budget.cost > 0 && most.cost > budget.cost)
    say("the budget of cost may end the models' part early");
  if (budget.seconds > 0 && most.seconds > budget.seconds)
    say("the budget of seconds may end the models' part early");
}

nlohmann::ordered_json json_of(const Sum& sum) {
  return {
      {"calls", sum.calls}, {"tokens", sum.tokens}, {"cost", sum.cost}, {"seconds", sum.seconds}};
}

}  // namespace

int plan_command(const PlanFlags& flags) {
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return fail(families.error(), flags.common.json);
  const Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return fail(task.error(), flags.common.json);
  const Result<ModelsConfig> config = models_from_words(flags.models);
  if (!config) return fail(config.error(), flags.common.json);
  const Result<std::unique_ptr<Backend>> backend = open_device(flags.common.device);
  if (!backend) return fail(backend.error(), flags.common.json);
  Measure measure;
  const Result<Places> places = measure_prompts(TaskRef(*task), **backend, *families, flags,
                                                questions_at_once(flags, *config), measure);
  if (!places) return fail(places.error(), flags.common.json);
  const std::vector<Row> rows = rows_of(flags, places->share, measure, *config);
  const Sum least = sum_of(rows, &Row::least, *places),
            most = sum_of(rows, &Row::with_others, *places);
  if (!flags.common.json) {
    print(rows, least, most, *places, *config, is_handoff(flags.models));
    return 0;
  }
  nlohmann::ordered_json json = {{"least", json_of(least)},
                                 {"most", json_of(most)},
                                 {"priced", is_priced(rows)},
                                 {"agents", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    json["agents"].push_back({{"agent", row.agent},
                              {"least", row.least},
                              {"most", row.most},
                              {"prompt_tokens", row.prompt.tokens},
                              {"kept_tokens", row.prompt.kept},
                              {"answer_tokens", row.answer}});
  }
  say(json.dump());
  return 0;
}

}  // namespace cupilot::cli
