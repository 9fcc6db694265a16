// A model and the built-in strategist take turns by slot.
#include <fmt/format.h>

#include <cupilot/parts/model_agents.hpp>

#include "agents/models/asking.hpp"
#include "agents/propose/untried.hpp"

namespace cupilot {
namespace {

constexpr std::size_t asked_later =
    2;  // strategies of one question after the first: the second in case the first was tried

class ModelStrategist final : public Strategist {
 public:
  ModelStrategist(ModelSeat seat, Strategist& built_in)
      : seat_(std::move(seat)), built_in_(built_in) {}

  bool is_expensive(std::int64_t slot, int generation) const override {
    return is_mine(slot) && generation != silent_in_;
  }

  int unavailable_since() const override { return silent_in_; }
  void set_unavailable_since(int generation) override { silent_in_ = generation; }

  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    if (Result<void> checked = check_brief(brief); !checked) return checked.error();
    if (brief.kind == BreedKind::tune || !is_expensive(brief.slot, brief.generation))
      return built_in_.propose(brief, rng);
    Result<std::optional<Strategy>> asked = seat_.code_crossover ? crossed_text(brief) : ask(brief);
    if (!asked && !is_silence(asked.error())) return asked;
    note(asked ? nullptr : &asked.error(), brief.generation);
    if (!asked || !*asked) return built_in_.propose(brief, rng);
    (*asked)->origin = name_of(brief.kind);
    return asked;
  }

 private:
  // By the slot alone: which seat a slot belongs to must not depend on what came before.
  bool is_mine(std::int64_t slot) const {
    return Rng::of(1, "model seat", static_cast<std::uint64_t>(slot)).chance(seat_.options.share);
  }

  static bool is_silence(const Error& error) {
    return error.code == ErrorCode::endpoint || error.code == ErrorCode::budget;
  }

  void note(const Error* error, int generation) {
    const bool was_silent = silent_in_ >= 0;
    silent_in_ = error != nullptr ? generation : -1;
    if (!seat_.notice || was_silent == (error != nullptr)) return;
    seat_.notice(error != nullptr ? fmt::format("no model answers ({}): the built-in strategist "
                                                "goes on, and it is asked again in "
                                                "each generation",
                                                error->message)
                                  : "the model answers again");
  }

  // The seeds of generation 0 come from one question, so that they differ by intent.
  Result<std::optional<Strategy>> ask(const StrategyBrief& brief) {
    if (head_.empty()) head_ = strategist_head(*seat_.task, *seat_.device, *brief.space);
    if (brief.kind == BreedKind::seed && brief.generation == 0) {
      if (!initial_) {
        // Of nothing that the run has seen: resumed before the next generation, it asks the same.
        StrategyBrief start = brief;
        start.effects.clear();
        start.failures.clear();
        auto asked = ask_strategist(*seat_.client, head_, start,
                                    static_cast<std::size_t>(seat_.options.initial), "initial");
        if (!asked) return asked.error();
        const auto* strategies = std::get_if<std::vector<Strategy>>(&*asked);
        initial_ = strategies != nullptr ? *strategies : std::vector<Strategy>();
      }
      return first_untried(brief, *initial_);
    }
    auto asked = ask_strategist(*seat_.client, head_, brief, asked_later,
                                fmt::format("slot {}/strategy", brief.slot));
    if (!asked) return asked.error();
    const auto* strategies = std::get_if<std::vector<Strategy>>(&*asked);
    return strategies != nullptr ? first_untried(brief, *strategies) : std::nullopt;
  }

  static std::optional<Strategy> first_untried(const StrategyBrief& brief,
                                               const std::vector<Strategy>& strategies) {
    for (const Strategy& strategy : strategies) {
      if (!was_tried(brief, strategy)) return strategy;
    }
    return std::nullopt;
  }

  // What the crossing of two texts is called: the first parent's techniques, and that its text was
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
  int silent_in_ = -1;  // generation in which the model did not answer
};

}  // namespace

std::unique_ptr<Strategist> model_strategist(ModelSeat seat, Strategist& built_in) {
  return std::make_unique<ModelStrategist>(std::move(seat), built_in);
}

}  // namespace cupilot
