// The search as a state machine without threads, clock or files. evolve(), resume(), a host's own
// loop and simulations drive it. One thread at a time; separate searches are independent.
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
class Policy;  // parts/policy.hpp

// Parts of a search that can be switched off, for ablations.
struct SearchFeatures {
  bool roofline = true;         // zone and verdicts choose starts and changes
  bool pool = true;             // use Knowledge::remembered and effects of earlier runs
  bool crossover = true;        // children of two parents
  bool surrogate = true;        // predict the best of a slot's offspring from measured ones
  bool model = true;            // use Knowledge::forecast before anything was measured
  bool alignment = true;        // correct the strategies of models' kernels by their PTX
  bool code_crossover = false;  // models cross source texts instead of strategies
  bool operator==(const SearchFeatures&) const = default;
};

// Decides what is tried next. evolution: breeds from a population; random: draws uniformly, the
// baseline of other policies.
enum class SearchPolicy { evolution, random };
std::string_view name_of(SearchPolicy policy);

struct SearchOptions {
  std::uint64_t seed = 1;
  SearchPolicy policy = SearchPolicy::evolution;
  int population = 24;            // individuals kept
  int initial = 32;               // slots of generation 0, spread over strategy space
  int children = 16;              // slots of each later generation
  int elites = 4;                 // kept by speed alone
  int tournament = 3;             // drawn a tournament
  int generations_per_epoch = 4;  // then the population is re-seeded from the best kernels
  // Slot s is bred from results of slots <= s - lookahead, and of all up to the first accepted one
  // under one_first. 0 selects max(12, 1.5 x compile jobs);
  // the second term applies to measuring devices under evolve() only and keeps their compilers
  // busy. Where a model writes every kernel evolve() selects max(4, parallel).
  int lookahead = 0;
  // Opens one slot at a time until a kernel was accepted, from which the later ones begin. Has no
  // meaning but where the strategist proposes for every slot.
  bool one_first = true;
  double utilisation_weight = 0.15;  // weight of the zone's utilisation in fitness
  double tune_share =
      0.2;  // Share of the evaluation budget reserved for numeric tuning of the champion.
  // Children bred per slot, of which a surrogate picks one; 1: no surrogate (expensive
  // strategists).
  int offspring_per_slot = 12;
  // Number of times that a refused free-form kernel goes back to its writer, each in a slot of its
  // own; 0: never.
  int repairs = 0;
  // Limits; 0: none. An evaluation is one kernel handed to the compiler.
  std::int64_t max_evaluations = 200;
  int max_generations = 0;
  double target_us = 0;  // stop when reached
  // Proposals that a driver keeps in flight; never changes results. 0: as many as the backend can
  // use.
  int parallel = 0;
  SearchFeatures steering{};
};

// Knowledge of a space before the first result.
struct Knowledge {
  // Strategies that were fast for similar tasks in earlier runs, best match first, feasible here.
  std::vector<Strategy> remembered{};
  // effects in those runs; count: number of such runs
  std::vector<StrategyBrief::Effect> effects{};
  CostModel forecast{};  // default: no predictions
};

// A slot of the search: what to evaluate.
struct Proposal {
  std::uint64_t id = 0;  // = slot + 1, ascending
  int epoch = 0, generation = 0;
  std::int64_t slot = 0;
  BreedKind kind = BreedKind::seed;
  Strategy strategy{};
  std::uint64_t failed = 0;  // repair: id of the proposal with the refused kernel
  // The strategist's model became unavailable in this generation, at this slot or an earlier one.
  bool silent = false;
  std::string strategist{};  // Strategist::saved() after the proposal of an expensive slot
  // The time allows no other: on a device that measures, its confirmation is its evaluation.
  bool last = false;
};

struct Waiting {
  std::vector<std::uint64_t> ids{};
};  // results of these are needed first
struct Finished {
  std::string reason{};
};
using Ask = std::variant<std::vector<Proposal>, Waiting, Finished>;
enum class TellStatus { accepted, forgotten, duplicate, unknown_id };

// The part of an outcome that the search needs; the journal keeps the rest.
struct Score {
  bool accepted = false;
  bool evaluated = false;  // counts against max_evaluations
  // Hash of the normalised PTX; a later slot with the hash of an earlier one counts as its
  // duplicate.
  std::string kernel_hash{};
  double time_us = 0;
  Verdict verdict{};
  std::string rejection{};  // code, when rejected
  bool repairable = false;  // rejected for a fault in its free-form text
  std::optional<Strategy>
      realised{};  // The strategy that the kernel realises; default: the proposed one.
};

class Search {
 public:
  // `space` and `strategist` must outlive the search. plain_us: the plain baseline's time, the unit
  // of fitness.
  Search(const SearchOptions& options, const Space& space, Strategist& strategist, Zone zone,
         double plain_us, Knowledge knowledge = {});
  // Searches by any policy; `options.policy` has no meaning.
  Search(const SearchOptions& options, double plain_us, std::unique_ptr<Policy> policy);
  ~Search();
  Search(Search&&) noexcept;

  Result<Ask> ask(int count);
  TellStatus tell(std::uint64_t id, const Score& score);
  // Takes a recorded proposal as this search's next slot, without asking the strategist. Error: it
  // is not the next one.
  Result<void> replay(const Proposal& proposal);
  // Gives up on the proposal: the slot counts as tried without result.
  TellStatus forget(std::uint64_t id);
  // Ends the search for a reason outside of it (clock, signal); the driver records it.
  void stop(const std::string& reason);
  // Raises the limits for the slots to come, after a limit or a stop ended the search; ignores
  // lower ones.
  void extend(std::int64_t max_evaluations, int max_generations);

  std::optional<Individual> best() const;
  std::vector<Individual> archive() const;  // population, fastest first
  // Returns at most `count` of all accepted, fastest first. A search remembers its thousand
  // fastest.
  std::vector<Individual> fastest(int count) const;
  // Returns the fastest time among slots <= slot - lookahead, which breeding of `slot` may know; 0:
  // none.
  double known_best_us(std::int64_t slot) const;
  // Returns the first slot with this kernel hash among slots <= slot - lookahead; -1: none.
  std::int64_t known_owner(const std::string& kernel_hash, std::int64_t slot) const;
  // True if a slot <= slot - lookahead had this kernel hash and a time below the floor, so that the
  // kernel is quarantined.
  bool known_banned(const std::string& kernel_hash, std::int64_t slot) const;
  std::int64_t evaluations() const;
  std::int64_t proposed() const;
  int generation() const;
  // Returns a text that is equal exactly when two searches are in the same state.
  std::string fingerprint() const;
  // Returns the state as bytes for restore() of a new search with the same options, space and
  // knowledge. Empty once the search is finished. Valid within this version of the program only.
  std::string saved() const;
  // Returns false for bytes that saved() did not return; the search must not be used then.
  bool restore(std::string_view saved);

 private:
  friend class Driver;  // writes the state without copying it
  struct CUPILOT_HIDDEN State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
