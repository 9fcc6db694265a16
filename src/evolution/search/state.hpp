// State of Search. Results reach the policy ("are absorbed") in slot order, and only so far as the
// slot being proposed may see; whatever arrives earlier waits in its slot.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include <cupilot/parts/policy.hpp>
#include <cupilot/search.hpp>

#include "base/digest_table.hpp"
#include "evolution/search/slot_store.hpp"

namespace cupilot {

struct FramedRecord;
class Pieces;

inline constexpr int least_lookahead = 12;  // for a search that was given none
inline constexpr std::size_t fastest_kept = 1024;
inline constexpr const char* below_the_floor = "floor.impossible";

// The options with what is left out or out of range filled in.
SearchOptions sane(SearchOptions options);
double unit_of_fitness(double plain_us);

// Return the generation and the epoch that a slot belongs to.
int generation_of(const SearchOptions& options, std::int64_t slot);
int epoch_of(const SearchOptions& options, std::int64_t slot);

// An accepted slot's.
Individual individual_of(const SearchOptions& options, double plain_us, const Proposal& proposal,
                         const Score& score);

struct SearchSlot {
  Proposal proposal;
  std::string strategy_id;
  enum class Status { open, told, forgotten } status = Status::open;
  Score score;
};

// Not exported with the class that it belongs to.
struct Search::State {
  SearchOptions options;
  double plain_us;
  std::unique_ptr<Policy> policy;

  SlotStore<SearchSlot> slots;
  DigestTable tried;                    // strategy id -> first slot
  std::set<std::int64_t> forgotten;     // slots
  std::int64_t first_open = 0;          // all slots before it are settled
  std::vector<std::uint64_t> open_ids;  // proposals without a result, in slot order
  std::int64_t evaluated = 0;           // of settled slots, absorbed or not
  bool one_first = false;               // SearchOptions::one_first, where it has a meaning
  std::int64_t first_right = -1;        // the first slot that was told to be accepted; -1: none
  std::string finished;                 // reason that no more slots come
  bool stopped = false;                 // stopped from outside: open slots are not waited for

  // Absorbed: slots [0, absorbed).
  std::int64_t absorbed = 0;
  std::int64_t absorbed_evaluated = 0;
  double best_us = 0;  // among the absorbed
  DigestTable owners;  // kernel hash -> first slot
  std::unordered_map<std::string, std::int64_t>
      banned;  // kernel hash -> first slot below the floor
  std::vector<std::pair<double, std::int64_t>>
      best_so_far;  // each improvement: (us, slot), absorbed
  std::set<std::pair<double, std::int64_t>> fastest_times;  // (us, slot) of the fastest kernels
  std::string chain;                                        // digest of all that was absorbed

  State(const SearchOptions& o, double plain, std::unique_ptr<Policy> p);

  // Returns the first slot whose result breeding of `slot` may not know.
  std::int64_t visible(std::int64_t slot) const;
  void settle(SearchSlot& slot);
  void absorb_next();
  void absorb_below(std::int64_t end);
  Result<std::optional<Proposal>> propose(std::int64_t slot);
  void append(Proposal proposal);
  enum class Room { yes, wait, no };
  Room room_for(std::int64_t next);
  TellStatus standing(std::uint64_t id) const;
  Individual individual(const SearchSlot& slot) const {
    return individual_of(options, plain_us, slot.proposal, slot.score);
  }
  // Forgets what nothing asks for any more.
  void forget_old();

  // saved_search.cpp. Throws what JSON does. Looks at the tables where they lie.
  Pieces saved() const;
  bool take_saved(std::vector<FramedRecord>& parts);
};

}  // namespace cupilot
