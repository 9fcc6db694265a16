// Breeds from a population of measured strategies.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include <cupilot/parts/policy.hpp>

#include "evolution/search/population.hpp"
#include "evolution/search/slot_store.hpp"
#include "predict/surrogate.hpp"

namespace cupilot {

inline constexpr int latest_kept = 64;  // slots that are looked at whatever became of them
// Points of the surrogate. Its fit costs their cube: a search that goes on for long has a cheaper
// one, and slots to spare.
inline constexpr std::int64_t surrogate_points = 320, surrogate_points_late = 96, late = 2048;

// A slot as breeding remembers it.
struct BredSlot {
  Strategy strategy;  // proposed
  std::string strategy_id;
  bool accepted = false;
  double fitness = 0;
  double prior = 0;  // EvolutionPolicy::prior_of
  int repairs = 0;   // repairs of the kernel that this slot repairs
};

// An accepted kernel that another one may be bred from.
struct Ancestor {
  Strategy strategy;
  double time_us = 0;
};

class EvolutionPolicy final : public Policy {
 public:
  EvolutionPolicy(const SearchOptions& options, const Space& space, Strategist& strategist,
                  Zone zone, double plain_us, Knowledge knowledge);
  Result<std::optional<Proposal>> propose(const PolicyView& view, Rng rng) override;
  void accept(const Proposal& proposal) override;
  void observe(const SlotOutcome& outcome) override;
  std::vector<Individual> population() const override;
  // saved_policy.cpp of the room that knows how parts of a search are written.
  std::string save() const override;
  bool load(std::string_view saved) override;

 private:
  int generation_of(std::int64_t slot) const;
  std::int64_t first_of_generation(int generation) const;
  // A new epoch keeps the fastest kernels only.
  void begin_slot(std::int64_t slot);
  // Forgets what nothing asks for any more.
  void forget_old();
  // Notes a refusal for its own sake.
  void note_failure(const SlotOutcome& outcome);

  // The `count` best accepted slots below `end`, ascending; `end` never falls.
  std::vector<std::int64_t> best_below(std::int64_t end, std::size_t count);
  // Makes the surrogate what it is at `slot`: a function of the slots alone, so that a replayed
  // search needs no fits.
  void fit_surrogate(std::int64_t slot);
  // The fitness expected of a strategy before anything ran: the usual one where a forecast cannot
  // say, 0 without forecasts.
  double prior_of(const Strategy& strategy) const;
  // True if predictions can tell two strategies apart.
  bool foresees() const;
  bool tuning(const PolicyView& view) const;

  // breeding.cpp. nullopt: the space is exhausted.
  Result<std::optional<Proposal>> fresh(const PolicyView& view, Rng rng);
  struct OffspringPlan {
    int size = 1;            // 1: the strategist's word is taken
    double seeds = 0;        // share of seeds in it
    bool spreading = false;  // seeds of a search that expects nothing
  };
  OffspringPlan offspring_plan(const PolicyView& view, Rng& rng) const;
  // Slots whose strategies are looked at when one is proposed.
  static std::int64_t first_looked_at(const PolicyView& view) {
    return std::max<std::int64_t>(0, view.slot - latest_kept);
  }
  std::string unmet_core(const PolicyView& view) const;
  Result<std::optional<Strategy>> first_of_core(const PolicyView& view, const Rng& rng);
  // The strategist's child for this slot: the one of a brood that promises most.
  Result<std::optional<Strategy>> child(const PolicyView& view, Rng rng, BreedKind& kind);
  // Returns anything up to `mark` for a strategy that promises no more.
  double promise(const Strategy& strategy, double mark) const {
    return surrogate_.promise(strategy, prior_of(strategy), population_.fittest(), mark);
  }
  Strategy local_search(const PolicyView& view, Strategy pick, double value, const Rng& rng) const;
  // Builds the brief of a slot; without parents it lists the whole population.
  StrategyBrief brief_for(const PolicyView& view, bool of_parents) const;
  // Fills in kind and parents of a brief; returns the ids of the parents' strategies.
  std::vector<std::string> choose_parents(StrategyBrief& brief, BreedKind kind,
                                          const std::string& core, const Rng& rng) const;
  // Parents for the questions that an expensive slot may ask beside that of `brief`, whose parents
  // are `ids`: others for each.
  std::vector<StrategyBrief::Beside> parents_beside(const PolicyView& view,
                                                    const StrategyBrief& brief,
                                                    const std::vector<std::string>& ids,
                                                    const std::string& core, const Rng& rng) const;
  // True if one of the tried has both as parents.
  bool was_crossed(const std::string& a, const std::string& b) const;
  Proposal repair() const;  // repairs the first of `repairable_`
  std::optional<Strategy> tuned(const PolicyView& view, Rng rng);
  std::optional<Strategy> random_untried(const PolicyView& view) const;

  SearchOptions options_;
  const Space& space_;
  Strategist& strategist_;
  Zone zone_;
  double plain_us_;
  Knowledge knowledge_;

  SlotStore<BredSlot> slots_;
  std::int64_t begun_ = 0;     // the last slot that was begun
  std::int64_t observed_ = 0;  // slots below it
  Population population_;
  EffectBook effects_;
  Surrogate surrogate_;
  int surrogate_generation_ = -1;  // it was fitted for; another one's is fitted anew
  std::vector<std::int64_t>
      repairable_;  // refused slots whose kernel is to be mended, in slot order
  std::unordered_map<std::string, Ancestor> ancestors_;  // by strategy id
  std::deque<StrategyBrief::Tried> history_;             // the latest results
  std::deque<StrategyBrief::Failure> failures_;  // the latest that were refused for their own sake
  std::map<std::string, std::vector<Strategy>>
      neighbourhood_;                      // neighbours of recent champions, by strategy id
  std::vector<std::int64_t> best_ranked_;  // the best accepted slots below `ranked_`
  std::int64_t ranked_ = 0;
  double usual_prior_ = 0;  // mean over the slots
};

}  // namespace cupilot
