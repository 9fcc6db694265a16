// The search as a state machine: no thread, clock or file in it. evolve(), resume(), a host's own
// loop and simulated worlds are drivers of it. One thread at a time; separate searches are
// independent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

class CUPILOT_HIDDEN Driver;

// Parts of a search, each of which can be switched off to see what it is worth.
struct SearchFeatures {
  bool roofline = true;   // zone and verdicts choose starts and changes
  bool pool = true;       // what worked in earlier runs: remembered and effects of Knowledge
  bool crossover = true;  // children of two parents
  bool surrogate = true;  // what was measured predicts which child of a brood is best
  bool model = true;      // Knowledge::forecast predicts before anything was measured
  bool alignment = true;  // of models' kernels: their strategies are held to what their PTX shows
  bool code_crossover = false;  // models cross source texts instead of strategies
  bool operator==(const SearchFeatures&) const = default;
};

struct SearchOptions {
  std::uint64_t seed = 1;
  int population = 24;            // individuals kept
  int initial = 32;               // slots of generation 0, spread over strategy space
  int children = 16;              // slots of each later generation
  int elites = 4;                 // kept by speed alone
  int tournament = 3;             // drawn a tournament
  int generations_per_epoch = 4;  // then the population is re-seeded from the best kernels
  // Slot s is bred from results of slots <= s - lookahead. 0: 12, with evolve() half as many again
  // as a measuring device's compile jobs where that is more: its compilers wait for no result.
  int lookahead = 0;
  double utilisation_weight = 0.15;  // of the zone's utilisation in fitness
  double tune_share =
      0.2;  // share of the evaluation budget kept for numeric tuning of the champion
  int offspring_per_slot = 12;  // children bred a slot, of which a surrogate picks one; 1: no
                                // surrogate (dear strategists)
  // A refused kernel of free form goes back to its writer so often, each time as a slot of its own;
  // 0: never.
  int repairs = 0;
  // Limits; 0: none. An evaluation is one kernel handed to the compiler.
  std::int64_t max_evaluations = 200;
  int max_generations = 0;
  double target_us = 0;  // stop when reached
  int parallel =
      0;  // proposals a driver keeps in flight, 0: what the backend is worth; never changes results
  SearchFeatures steering{};
};

// What is known of a space before the first result.
struct Knowledge {
  std::vector<Strategy>
      remembered{};  // fast for like tasks in earlier runs, best match first, feasible here
  std::vector<StrategyBrief::Effect> effects{};  // of those runs, count: how many runs say so
  CostModel forecast{};                          // empty: nothing expects times
};

// A slot of the search: what to evaluate.
struct Proposal {
  std::uint64_t id = 0;  // = slot + 1, ascending
  int epoch = 0, generation = 0;
  std::int64_t slot = 0;
  BreedKind kind = BreedKind::seed;
  Strategy strategy{};
  std::uint64_t failed = 0;  // repair: id of the proposal whose kernel was refused
  bool silent =
      false;  // the strategist's model fell silent in this generation, for this slot or one before
};

struct Waiting {
  std::vector<std::uint64_t> ids{};
};  // results of these are needed first
struct Finished {
  std::string reason{};
};
using Ask = std::variant<std::vector<Proposal>, Waiting, Finished>;
enum class TellStatus { accepted, forgotten, duplicate, unknown_id };

// What the search needs to know of an outcome; all else stays in the journal.
struct Score {
  bool accepted = false;
  bool evaluated = false;     // counts against max_evaluations
  std::string kernel_hash{};  // of normalised PTX; a later slot with the hash of an earlier one
                              // counts as its duplicate
  double time_us = 0;
  Verdict verdict{};
  std::string rejection{};  // code, when rejected
  bool repairable = false;  // rejected for what its free-form text says
  std::optional<Strategy>
      realised{};  // what the kernel turned out to be; nothing: what was proposed
};

class Search {
 public:
  // `space` and `strategist` must outlive it. plain_us: the plain baseline's time, the unit of
  // fitness.
  Search(const SearchOptions& options, const Space& space, Strategist& strategist, Zone zone,
         double plain_us, Knowledge knowledge = {});
  ~Search();
  Search(Search&&) noexcept;

  Result<Ask> ask(int count);
  TellStatus tell(std::uint64_t id, const Score& score);
  // Takes a recorded proposal as this search's next slot, without asking the strategist. Error when
  // it is not the next one.
  Result<void> replay(const Proposal& proposal);
  // The proposal's worker fell silent: the slot counts as tried without result.
  TellStatus forget(std::uint64_t id);
  // A limit outside (clock, signal) ended the search; recorded by the driver.
  void stop(const std::string& reason);
  // New limits for the slots to come, after a limit or a stop ended the search; lower ones are
  // ignored.
  void extend(std::int64_t max_evaluations, int max_generations);

  std::optional<Individual> best() const;
  std::vector<Individual> archive() const;  // population, fastest first
  // The fastest of all accepted, at most `count`, fastest first. A long search remembers its
  // thousand fastest.
  std::vector<Individual> fastest(int count) const;
  // What a slot may know when it is bred: the fastest time among slots <= slot - lookahead; 0:
  // none.
  double known_best_us(std::int64_t slot) const;
  // The slot that first had this kernel hash among slots <= slot - lookahead; -1: none.
  std::int64_t known_owner(const std::string& kernel_hash, std::int64_t slot) const;
  // Whether a slot <= slot - lookahead had this kernel hash and a time below the floor: it is
  // quarantined.
  bool known_banned(const std::string& kernel_hash, std::int64_t slot) const;
  std::int64_t evaluations() const;
  std::int64_t proposed() const;
  int generation() const;
  // Text that is equal exactly when two searches are in the same state.
  std::string fingerprint() const;
  // The state as bytes, for restore() of a new search of the same options, space and knowledge: it
  // then goes on as this one. Empty once the search is finished. Of this version of the program
  // only.
  std::string saved() const;
  // False: these are not such bytes; the search must not be used.
  bool restore(std::string_view saved);

 private:
  friend class Driver;  // writes the state from where it lies
  struct CUPILOT_HIDDEN State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
