// Inside of Search. Results enter what slots are bred from ("are absorbed") in slot order, and only so far as the slot
// being bred may see; whatever arrives earlier waits in its slot.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include <cupilot/search.hpp>

#include "evolution/population.hpp"
#include "evolution/surrogate.hpp"

namespace cupilot {

inline constexpr int least_lookahead = 12;  // of a search that was given none

struct SearchSlot {
  Proposal proposal;
  std::string strategy_id;
  enum class Status { open, told, forgotten } status = Status::open;
  Score score;
  double fitness = 0;
  double prior = 0;  // State::prior_of
};

// Not exported with the class that it belongs to.
struct __attribute__((visibility("hidden"))) Search::State {
  SearchOptions options;
  const Space& space;
  Strategist& strategist;
  Zone zone;
  double plain_us;
  Knowledge knowledge;

  std::vector<SearchSlot> slots;
  std::vector<std::string> tried;  // ids of all slots; the first `tried_sorted` are sorted
  std::size_t tried_sorted = 0;
  std::int64_t first_open = 0;  // all slots before it are settled
  std::int64_t evaluated = 0;   // of settled slots, absorbed or not
  std::string finished;         // why no more slots come
  bool stopped = false;         // from outside: open slots are not waited for

  // Absorbed: slots [0, absorbed).
  std::int64_t absorbed = 0;
  std::int64_t absorbed_evaluated = 0;
  Population population;
  EffectBook effects;
  Surrogate surrogate;
  int surrogate_generation = -1;                               // it was fitted for; another one's is fitted anew
  std::vector<std::int64_t> repairable;                        // refused slots whose kernel is to be mended, in slot order
  double best_us = 0;                                          // among the absorbed
  std::unordered_map<std::string, std::int64_t> owners;        // kernel hash -> first slot
  std::unordered_map<std::string, std::int64_t> banned;        // kernel hash -> first slot below the floor
  std::unordered_map<std::string, std::int64_t> slot_of;       // strategy id -> slot
  std::vector<std::pair<double, std::int64_t>> best_so_far;    // each improvement: (us, slot), absorbed
  std::map<std::string, std::vector<Strategy>> neighbourhood;  // of recent champions, by strategy id
  std::vector<std::int64_t> best_ranked;                       // the best accepted slots below `ranked`
  std::int64_t ranked = 0;

  State(const SearchOptions& o, const Space& s, Strategist& g, Zone z, double plain, Knowledge k);

  int generation_of(std::int64_t slot) const;
  int epoch_of(std::int64_t slot) const;
  bool starts_epoch(std::int64_t slot) const;

  void settle(SearchSlot& slot);
  void absorb_next();
  void absorb_below(std::int64_t end);
  void append(Proposal proposal);
  bool tuning(std::int64_t slot) const;
  enum class Room { yes, wait, no };
  Room room_for(std::int64_t next);
  std::vector<std::uint64_t> open_ids() const;

  // A new epoch keeps the fastest kernels only.
  void reseed_at(std::int64_t slot);
  // The `count` best accepted slots below `end`, ascending; `end` never falls.
  std::vector<std::int64_t> best_below(std::int64_t end, std::size_t count);
  // To be called before `tried` is looked at.
  void sort_tried();
  // Makes the surrogate what it is at `slot`: a function of the slots alone, so that a replayed search needs no fits.
  void fit_surrogate(std::int64_t slot);

  double usual_prior = 0;  // mean over the slots
  // The fitness expected of a strategy before anything ran: the usual one where a forecast cannot say, 0 without forecasts.
  double prior_of(const Strategy& strategy) const;
  Prediction predict(const Strategy& strategy) const { return surrogate.predict(strategy, prior_of(strategy)); }
  // Whether predictions can tell two strategies apart.
  bool foresees() const;

  // breeding.cpp. nullopt: the space is exhausted.
  Result<std::optional<Proposal>> breed(std::int64_t slot);
  Result<std::optional<Proposal>> fresh(std::int64_t slot);
  struct Brood {
    int size = 1;            // 1: the strategist's word is taken
    double seeds = 0;        // share of seeds in it
    bool spreading = false;  // seeds of a search that expects nothing
    double curiosity = 0;
  };
  Brood brood_for(std::int64_t slot, Rng& rng) const;
  // The strategist's child for this slot: the one of a brood that promises most.
  Result<std::optional<Strategy>> child(std::int64_t slot, BreedKind& kind);
  double promise(const Strategy& strategy, double curiosity) const;
  Strategy polished(Strategy pick, double value, double curiosity, const Rng& rng) const;
  StrategyBrief brief_for(BreedKind kind, std::int64_t slot, Rng rng) const;
  std::vector<Strategy> recent(std::int64_t slot) const;
  bool was_tried(const std::string& id) const;
  int repairs_before(std::int64_t slot) const;  // of the kernel that this slot's is a repair of
  std::vector<StrategyBrief::Failure> recent_failures() const;
  Proposal repair();  // of the first of `repairable`
  std::optional<Strategy> tuned(Rng rng);
  std::optional<Strategy> anything(std::int64_t slot) const;
};

}  // namespace cupilot
