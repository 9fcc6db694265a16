// A model and the built-in strategist take turns by slot.
#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/model_agents.hpp>

#include "agents/models/asking.hpp"
#include "agents/propose/untried.hpp"
#include "base/json.hpp"

namespace cupilot {
namespace {

constexpr std::size_t most_waiting = 16;  // strategies that wait for a slot

class ModelStrategist final : public Strategist {
 public:
  ModelStrategist(ModelSeat seat, Strategist& built_in)
      : seat_(std::move(seat)), built_in_(built_in) {}

  bool is_expensive(std::int64_t slot, int generation) const override {
    return seat_.alone || (is_mine(slot) && generation != silent_in_);
  }

  bool proposes_all() const override { return seat_.alone; }

  int questions_at_once(int lookahead) const override {
    constexpr double answers_in_turn = 2;
    constexpr int most = 8;
    if (seat_.options.questions > 0) return std::min(seat_.options.questions, most);
    const double slots = lookahead * (seat_.alone ? 1 : seat_.options.share);
    return std::clamp(static_cast<int>(std::ceil(slots / later() / answers_in_turn)), 1, most);
  }

  // The strategies that wait, one JSON text each.
  std::string saved() const override {
    SortedJson all = SortedJson::array();
    for (const Strategy& strategy : waiting_) all.push_back(strategy_to_json(strategy));
    return all.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  }
  void restore(const std::string& saved) override {
    waiting_.clear();
    const SortedJson all = SortedJson::parse(saved, nullptr, false);
    if (!all.is_array()) return;
    for (const SortedJson& one : all) {
      if (!one.is_string()) continue;
      if (auto strategy = strategy_from_json(one.get<std::string>()))
        waiting_.push_back(std::move(*strategy));
    }
  }

  int unavailable_since() const override { return silent_in_; }
  void set_unavailable_since(int generation) override { silent_in_ = generation; }

  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    if (Result<void> checked = check_brief(brief); !checked) return checked.error();
    if (!seat_.alone &&
        (brief.kind == BreedKind::tune || !is_expensive(brief.slot, brief.generation)))
      return built_in_.propose(brief, rng);
    Result<std::optional<Strategy>> asked = seat_.code_crossover ? crossed_text(brief) : ask(brief);
    if (!asked && (seat_.alone || !is_silence(asked.error()))) return asked;
    note(asked ? nullptr : &asked.error(), brief.generation);
    if (seat_.alone && !*asked) asked = std::optional(another_try(brief));
    if (!asked || !*asked) return built_in_.propose(brief, rng);
    (*asked)->origin = name_of(brief.kind);
    return asked;
  }

 private:
  // By the slot alone: which seat a slot belongs to must not depend on what came before.
  bool is_mine(std::int64_t slot) const {
    return Rng::of(1, "model seat", static_cast<std::uint64_t>(slot)).chance(seat_.options.share);
  }

  void note(const Error* error, int generation) {
    const bool was_silent = silent_in_ >= 0;
    silent_in_ = error != nullptr ? generation : -1;
    if (!seat_.notice || was_silent == (error != nullptr)) return;
    seat_.notice(error != nullptr ? fmt::format("no model answers ({}): the built-in strategist "
                                                "goes on, and it is asked again in "
                                                "each generation",
                                                reason_of(*error))
                                  : "the model answers again");
  }

  // The strategies of an answer. None where it cannot be used, which is told once for each fault.
  std::vector<Strategy> strategies_of(const Read<std::vector<Strategy>>& answer) {
    if (const auto* strategies = std::get_if<std::vector<Strategy>>(&answer)) return *strategies;
    const auto& wrong = std::get<Unreadable>(answer);
    if (seat_.notice && told_.insert(wrong.fault).second)
      seat_.notice(
          fmt::format("no strategy can be taken from the model's answer ({}: {}): {}; "
                      "questions.html of the run's report shows its answers",
                      name_of(wrong.fault), wrong.message,
                      seat_.alone ? "the parent's strategy is written anew"
                                  : "the built-in strategist proposes in its place"));
    return {};
  }

  // The seeds of generation 0 come from one question, so that they differ by intent.
  Result<std::optional<Strategy>> ask(const StrategyBrief& brief) {
    if (head_.empty()) head_ = strategist_head(*seat_.task, *seat_.device, *brief.space);
    if (brief.kind == BreedKind::seed && brief.generation == 0) {
      if (!initial_) {
        // The question holds nothing that the run has seen: resumed before the next generation, the
        // run asks the same.
        StrategyBrief start = brief;
        start.effects.clear();
        start.failures.clear();
        start.history.clear();
        const auto asked =
            ask_strategist(*seat_.client, head_, {start}, *seat_.device,
                           static_cast<std::size_t>(seat_.options.initial), "initial")
                .front();
        if (!asked) return asked.error();
        initial_ = strategies_of(*asked);
      }
      auto untried = first_untried(brief, *initial_);
      // Without templates nobody else would propose for the rest of the generation.
      if (untried || !seat_.alone || initial_->empty()) return untried;
    }
    if (auto waited = next_waiting(brief)) return waited;
    if (auto asked = ask_later(brief); !asked) return asked.error();
    return next_waiting(brief);
  }

  // Keeps the answers to the brief and to those beside it. Error: none of them was answered.
  Result<void> ask_later(const StrategyBrief& brief) {
    std::vector<StrategyBrief> briefs = {brief};
    for (const StrategyBrief::Beside& other : brief.beside) {
      briefs.push_back(brief);
      briefs.back().kind = other.kind;
      briefs.back().parents = other.parents;
    }
    const auto answers = ask_strategist(*seat_.client, head_, briefs, *seat_.device,
                                        static_cast<std::size_t>(later()),
                                        fmt::format("slot {}/strategy", brief.slot));
    const Error* silence = nullptr;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i] && !is_silence(answers[i].error())) return answers[i].error();
      if (!answers[i]) silence = &answers[i].error();
    }
    const bool silent = std::none_of(answers.begin(), answers.end(),
                                     [](const auto& answer) { return static_cast<bool>(answer); });
    if (silent) return *silence;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) keep(briefs[i], strategies_of(*answers[i]));
    }
    return {};
  }

  int later() const { return std::max(1, seat_.options.later); }

  // With the parents that they were proposed for.
  void keep(const StrategyBrief& brief, const std::vector<Strategy>& strategies) {
    for (Strategy strategy : strategies) {
      for (const Individual& parent : brief.parents)
        strategy.parents.push_back(strategy_id(parent.strategy));
      waiting_.push_back(std::move(strategy));
    }
    while (waiting_.size() > most_waiting) waiting_.pop_front();
  }

  std::optional<Strategy> next_waiting(const StrategyBrief& brief) {
    while (!waiting_.empty()) {
      Strategy strategy = std::move(waiting_.front());
      waiting_.pop_front();
      if (!was_tried(brief, strategy)) return strategy;
    }
    return std::nullopt;
  }

  // The parent's strategy for a writer's second try, where the model named nothing new.
  static Strategy another_try(const StrategyBrief& brief) {
    Strategy strategy;
    if (!brief.parents.empty()) strategy = brief.parents[0].strategy;
    std::erase_if(strategy.uses,
                  [](const Use& use) { return use.text.starts_with("written anew"); });
    strategy.parents.clear();
    strategy.uses.push_back(
        {"free",
         {},
         fmt::format("written anew, as fast as the writer can (slot {})", brief.slot),
         {}});
    strategy.rationale = "the model named no strategy that was not tried";
    return strategy;
  }

  static std::optional<Strategy> first_untried(const StrategyBrief& brief,
                                               const std::vector<Strategy>& strategies) {
    for (const Strategy& strategy : strategies) {
      if (!was_tried(brief, strategy)) return strategy;
    }
    return std::nullopt;
  }

  // Names the crossing of two texts: the first parent's techniques, with a mark that its text was
  // crossed.
  static Result<std::optional<Strategy>> crossed_text(const StrategyBrief& brief) {
    if (brief.parents.size() < 2) return std::optional<Strategy>();
    Strategy strategy = brief.parents[0].strategy;
    std::erase_if(strategy.uses,
                  [](const Use& use) { return use.text.starts_with("texts crossed"); });
    strategy.uses.push_back({"free", {}, fmt::format("texts crossed in slot {}", brief.slot), {}});
    strategy.rationale = "the texts of both parents, crossed";
    return std::optional(std::move(strategy));
  }

  ModelSeat seat_;
  Strategist& built_in_;
  std::string head_;
  std::optional<std::vector<Strategy>> initial_;
  std::deque<Strategy> waiting_;  // of answered questions, for the next slots
  std::set<ReplyFault> told_;     // of answers that could not be used
  int silent_in_ = -1;            // generation in which the model did not answer
};

}  // namespace

std::unique_ptr<Strategist> model_strategist(ModelSeat seat, Strategist& built_in) {
  return std::make_unique<ModelStrategist>(std::move(seat), built_in);
}

}  // namespace cupilot
