// The seam inside a search: what it tries next. The search keeps slots, lookahead, budget and
// duplicates; a policy keeps whatever it learns.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/result.hpp>
#include <cupilot/rng.hpp>
#include <cupilot/search.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// The search as a proposal may depend on it: a function of the outcomes that were observed.
struct PolicyView {
  std::int64_t slot = 0;
  int epoch = 0, generation = 0;
  std::int64_t spent = 0;  // evaluations of earlier slots; one in flight counts as evaluated
  std::int64_t max_evaluations = 0;  // 0: no limit
  double best_us = 0;                // fastest time that was observed; 0: none
  // True for strategies that must not be proposed again.
  std::function<bool(const std::string& strategy_id)> tried{};
};

// A slot's result, as far as a policy needs it.
struct SlotOutcome {
  const Proposal& proposal;
  const std::string& strategy_id;  // belongs to the proposal
  const Score& score;              // empty for a slot that was forgotten
  bool duplicate = false;          // an earlier slot had the same kernel
};

// Decides what a search tries next. Must be deterministic in what it is told. One thread at a time.
class Policy {
 public:
  virtual ~Policy() = default;
  // Returns the proposal of the view's slot: kind, strategy with its parents, `failed` of a repair
  // and `last`; the search fills in the rest. nullopt: nothing more will come, for the reason that
  // end() gives. The slot may be asked for again after an error.
  virtual Result<std::optional<Proposal>> propose(const PolicyView& view, Rng rng) = 0;
  virtual std::string end() const { return "the strategy space is exhausted"; }
  // Hears of each proposal that takes a slot, in slot order: of its own ones, and of those that a
  // resumed search repeats.
  virtual void accept(const Proposal& proposal) = 0;
  // Hears of each outcome, in slot order: of slots <= slot - lookahead before `slot` is proposed.
  virtual void observe(const SlotOutcome& outcome) = 0;
  // Returns the individuals that proposals to come may be bred from.
  virtual std::vector<Individual> population() const { return {}; }
  // Returns the state as bytes for load() of a new policy that was made alike.
  virtual std::string save() const = 0;
  // Returns false for bytes that save() did not return; the policy must not be used then.
  virtual bool load(std::string_view saved) = 0;
};

// Makes the policy of a search of which nothing else is known.
using PolicyMaker =
    std::function<std::unique_ptr<Policy>(const SearchOptions& options, const Space& space)>;

// Breeds from a population of measured strategies, with predictions where there are any.
// `space` and `strategist` must outlive it. plain_us: the plain baseline's time, the unit of
// fitness.
std::unique_ptr<Policy> evolution_policy(const SearchOptions& options, const Space& space,
                                         Strategist& strategist, Zone zone, double plain_us,
                                         Knowledge knowledge = {});
// Draws uniformly from the space: the baseline of other policies. `space` must outlive it.
std::unique_ptr<Policy> random_policy(const Space& space);

}  // namespace cupilot
CUPILOT_EXPORTS_END
