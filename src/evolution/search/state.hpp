// FillState of Search. Results enter what slots are bred from ("are absorbed") in slot order, and
// only so far as the slot being bred may see; whatever arrives earlier waits in its slot.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include <cupilot/search.hpp>

#include "base/digest_table.hpp"
#include "evolution/search/population.hpp"
#include "predict/surrogate.hpp"

namespace cupilot {

struct FramedRecord;
class Pieces;

inline constexpr int least_lookahead = 12;  // of a search that was given none
inline constexpr int latest_kept = 64;      // slots that are looked at whatever became of them
// Points of the surrogate. Its fit costs their cube: a search that goes on for long has a cheaper
// one, and slots to spare.
inline constexpr std::int64_t surrogate_points = 320, surrogate_points_late = 96, late = 2048;
inline constexpr std::size_t fastest_kept = 1024;
inline constexpr const char* below_the_floor = "floor.impossible";

struct SearchSlot {
  Proposal proposal;
  std::string strategy_id;
  enum class Status { open, told, forgotten } status = Status::open;
  Score score;
  double fitness = 0;
  double prior = 0;  // State::prior_of
  int repairs = 0;   // of the kernel that this slot's is a repair of

  const Strategy& held() const { return score.realised ? *score.realised : proposal.strategy; }
};

// The latest slots, and older ones that are still asked for.
class SlotStore {
 public:
  std::int64_t size() const { return first_ + static_cast<std::int64_t>(recent_.size()); }
  // All from it on are here.
  std::int64_t first() const { return first_; }
  SearchSlot* find(std::int64_t slot);
  const SearchSlot* find(std::int64_t slot) const;
  // Of one that is here.
  SearchSlot& operator[](std::int64_t slot) { return *find(slot); }
  const SearchSlot& operator[](std::int64_t slot) const { return *find(slot); }
  void append(SearchSlot slot) { recent_.push_back(std::move(slot)); }
  // Forgets those before `first` that are not `needed`.
  void forget(std::int64_t first, const std::set<std::int64_t>& needed);
  // As it was saved: older ones by slot, then those from `first` on.
  const std::map<std::int64_t, SearchSlot>& older() const { return older_; }
  void restore(std::int64_t first, std::map<std::int64_t, SearchSlot> older);

 private:
  std::int64_t first_ = 0;
  std::deque<SearchSlot> recent_;
  std::map<std::int64_t, SearchSlot> older_;
};

// An accepted kernel that another one may be bred from.
struct Ancestor {
  Strategy strategy;
  double time_us = 0;
};

// Not exported with the class that it belongs to.
struct Search::State {
  SearchOptions options;
  const Space& space;
  Strategist& strategist;
  Zone zone;
  double plain_us;
  Knowledge knowledge;

  SlotStore slots;
  DigestTable tried;                    // strategy id -> first slot
  std::set<std::int64_t> forgotten;     // slots
  std::int64_t first_open = 0;          // all slots before it are settled
  std::vector<std::uint64_t> open_ids;  // proposals without a result, in slot order
  std::int64_t evaluated = 0;           // of settled slots, absorbed or not
  std::string finished;                 // why no more slots come
  bool stopped = false;                 // from outside: open slots are not waited for

  // Absorbed: slots [0, absorbed).
  std::int64_t absorbed = 0;
  std::int64_t absorbed_evaluated = 0;
  Population population;
  EffectBook effects;
  Surrogate surrogate;
  int surrogate_generation = -1;  // it was fitted for; another one's is fitted anew
  std::vector<std::int64_t>
      repairable;      // refused slots whose kernel is to be mended, in slot order
  double best_us = 0;  // among the absorbed
  DigestTable owners;  // kernel hash -> first slot
  std::unordered_map<std::string, std::int64_t>
      banned;                                           // kernel hash -> first slot below the floor
  std::unordered_map<std::string, Ancestor> ancestors;  // by strategy id
  std::deque<StrategyBrief::Failure> failures;  // the latest that were refused for their own sake
  std::vector<std::pair<double, std::int64_t>>
      best_so_far;  // each improvement: (us, slot), absorbed
  std::map<std::string, std::vector<Strategy>>
      neighbourhood;                      // of recent champions, by strategy id
  std::vector<std::int64_t> best_ranked;  // the best accepted slots below `ranked`
  std::int64_t ranked = 0;
  std::set<std::pair<double, std::int64_t>> fastest_times;  // (us, slot) of the fastest kernels
  std::string chain;                                        // digest of all that was absorbed

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
  TellStatus standing(std::uint64_t id) const;

  // search_saved.cpp. Throws what JSON does.
  // Looks at the tables where they lie.
  Pieces saved() const;
  bool take_saved(std::vector<FramedRecord>& parts);

  // search_memory.cpp. Forgets what nothing asks for any more.
  void forget_old();
  std::int64_t first_of_generation(int generation) const;
  Individual individual_of(const SearchSlot& slot) const;
  // Notes an absorbed slot's refusal, and what it says of all before it.
  void note_absorbed(const SearchSlot& slot);

  // A new epoch keeps the fastest kernels only.
  void reseed_at(std::int64_t slot);
  // The `count` best accepted slots below `end`, ascending; `end` never falls.
  std::vector<std::int64_t> best_below(std::int64_t end, std::size_t count);
  // Makes the surrogate what it is at `slot`: a function of the slots alone, so that a replayed
  // search needs no fits.
  void fit_surrogate(std::int64_t slot);

  double usual_prior = 0;  // mean over the slots
  // The fitness expected of a strategy before anything ran: the usual one where a forecast cannot
  // say, 0 without forecasts.
  double prior_of(const Strategy& strategy) const;
  // Whether predictions can tell two strategies apart.
  bool foresees() const;

  // breeding.cpp. nullopt: the space is exhausted.
  Result<std::optional<Proposal>> breed(std::int64_t slot);
  Result<std::optional<Proposal>> fresh(std::int64_t slot);
  struct OffspringPlan {
    int size = 1;            // 1: the strategist's word is taken
    double seeds = 0;        // share of seeds in it
    bool spreading = false;  // seeds of a search that expects nothing
  };
  OffspringPlan offspring_plan(std::int64_t slot, Rng& rng) const;
  // The strategist's child for this slot: the one of a brood that promises most.
  Result<std::optional<Strategy>> child(std::int64_t slot, BreedKind& kind);
  // Of one that promises no more than `mark`, anything that is no more.
  double promise(const Strategy& strategy, double mark) const {
    return surrogate.promise(strategy, prior_of(strategy), population.fittest(), mark);
  }
  Strategy local_search(Strategy pick, double value, const Rng& rng) const;
  // Briefs of a slot: whoever breeds from nobody is told of all there are.
  StrategyBrief brief_for(std::int64_t slot, bool of_parents) const;
  // What is asked for, and of whom; their strategies' ids.
  std::vector<std::string> choose_parents(StrategyBrief& brief, BreedKind kind,
                                          const std::string& core, const Rng& rng) const;
  std::vector<Strategy> recent(std::int64_t slot) const;
  bool was_tried(const std::string& id) const;
  Proposal repair();  // of the first of `repairable`
  std::optional<Strategy> tuned(Rng rng);
  std::optional<Strategy> random_untried(std::int64_t slot) const;
};

}  // namespace cupilot
