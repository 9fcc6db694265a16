#include "fastest_fit.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/policy.hpp>
#include <cupilot/verdict.hpp>

namespace cupilot::cli {
namespace {

constexpr int evaluations_of_fit = 24;
constexpr double seconds_of_fit = 20;
// Evaluations under way at once: more would see too little of what came of the others.
constexpr int lookahead_of_fit = 6;

// Proposes given strategies one after another, then lets another policy go on from them.
class GivenFirst final : public Policy {
 public:
  GivenFirst(std::vector<Strategy> given, std::unique_ptr<Policy> then)
      : given_(std::move(given)), then_(std::move(then)) {}
  Result<std::optional<Proposal>> propose(const PolicyView& view, Rng rng) override {
    const auto slot = static_cast<std::size_t>(view.slot);
    if (slot >= given_.size()) return then_->propose(view, rng);
    Proposal proposal;
    proposal.kind = BreedKind::seed;
    proposal.strategy = given_[slot];
    return std::optional(std::move(proposal));
  }
  std::string end() const override { return then_->end(); }
  void accept(const Proposal& proposal) override { then_->accept(proposal); }
  void observe(const SlotOutcome& outcome) override { then_->observe(outcome); }
  std::vector<Individual> population() const override { return then_->population(); }
  std::string save() const override { return then_->save(); }
  bool load(std::string_view saved) override { return then_->load(saved); }

 private:
  std::vector<Strategy> given_;
  std::unique_ptr<Policy> then_;
};

}  // namespace

Result<Candidate> fastest_fit(Backend& backend, const OwnStrategy& own, std::uint64_t seed,
                              Backend* screen) {
  std::vector<Strategy> given = own.fitted;
  given.insert(given.begin(), own.strategy);
  const Families families = realising(own, backend.device());
  const std::vector<Tunable> templates = templates_of(families, own.task);
  const std::unique_ptr<Strategist> strategist = rule_strategist();
  EvolveOptions options;
  options.search.max_evaluations = evaluations_of_fit;
  options.search.initial = static_cast<int>(given.size());
  options.search.lookahead = lookahead_of_fit;
  options.search.seed = seed;
  options.policy = [&](const SearchOptions& search, const Space& space) {
    Knowledge knowledge;
    knowledge.forecast = make_cost_model(own.task, backend.device(), templates);
    const Zone zone = zone_of(own.task, own.task.time_shapes.front(), backend.device());
    return std::make_unique<GivenFirst>(
        given, evolution_policy(search, space, *strategist, zone, 1, std::move(knowledge)));
  };
  options.max_seconds = seconds_of_fit;
  options.families = families;
  options.plain_baseline = false;
  options.pool = "off";
  options.screening = screen != nullptr;
  options.screen = screen;
  auto report = evolve(own.task, backend, options);
  if (!report) return std::move(report.error());
  if (!report->best) return Error{ErrorCode::no_candidate, "none was confirmed", ""};
  return std::move(report->best->candidate);
}

}  // namespace cupilot::cli
