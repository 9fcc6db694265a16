#include <cupilot/search.hpp>

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "evolution/search/population.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

// Proposals refused before the compiler cost nothing of the budget; this bounds them.
constexpr std::int64_t proposals_per_evaluation = 20;

std::string line_of(const SearchSlot& slot) {
  return slot.strategy_id + " " + std::string(name_of(slot.proposal.kind)) + " " +
         std::to_string(static_cast<int>(slot.status)) + " " + std::to_string(slot.score.time_us) +
         " " + slot.score.rejection + " " + slot.score.kernel_hash + "\n";
}

std::unique_ptr<Policy> policy_of(const SearchOptions& options, const Space& space,
                                  Strategist& strategist, Zone zone, double plain_us,
                                  Knowledge knowledge) {
  if (options.policy == SearchPolicy::random) return random_policy(space);
  return evolution_policy(options, space, strategist, zone, plain_us, std::move(knowledge));
}

}  // namespace

SearchOptions sane(SearchOptions o) {
  o.population = std::max(1, o.population);
  o.initial = std::max(1, o.initial);
  o.children = std::max(1, o.children);
  o.elites = std::clamp(o.elites, 1, o.population);
  o.tournament = std::max(1, o.tournament);
  o.generations_per_epoch = std::max(1, o.generations_per_epoch);
  o.lookahead = o.lookahead == 0 ? least_lookahead : std::max(1, o.lookahead);
  o.offspring_per_slot = std::max(1, o.offspring_per_slot);
  o.repairs = std::max(0, o.repairs);
  o.tune_share = std::clamp(o.tune_share, 0.0, 1.0);
  if (!o.steering.roofline) o.utilisation_weight = 0;
  return o;
}

double unit_of_fitness(double plain_us) { return plain_us > 0 ? plain_us : 1; }

int generation_of(const SearchOptions& options, std::int64_t slot) {
  return slot < options.initial ? 0
                                : 1 + static_cast<int>((slot - options.initial) / options.children);
}

int epoch_of(const SearchOptions& options, std::int64_t slot) {
  return generation_of(options, slot) / options.generations_per_epoch;
}

Individual individual_of(const SearchOptions& options, double plain_us, const Proposal& proposal,
                         const Score& score) {
  const double fitness =
      std::log2(plain_us / score.time_us) + options.utilisation_weight * score.verdict.utilisation;
  return {proposal.id, score.realised ? *score.realised : proposal.strategy, score.time_us, fitness,
          score.verdict};
}

Search::State::State(const SearchOptions& o, double plain, std::unique_ptr<Policy> p)
    : options(sane(o)),
      plain_us(unit_of_fitness(plain)),
      policy(std::move(p)),
      tried(o.max_evaluations),
      owners(o.max_evaluations) {}

Result<std::optional<Proposal>> Search::State::propose(std::int64_t slot) {
  PolicyView view;
  view.slot = slot;
  view.epoch = epoch_of(options, slot);
  view.generation = generation_of(options, slot);
  // Slots that are not absorbed are taken as evaluated, so that the view shows nothing that a slot
  // may not see.
  view.spent = absorbed_evaluated + (slot - absorbed);
  view.max_evaluations = options.max_evaluations;
  view.best_us = best_us;
  view.tried = [this](const std::string& id) { return tried.contains(id); };
  auto proposed =
      policy->propose(view, Rng::of(options.seed, "breed", static_cast<std::uint64_t>(slot)));
  if (!proposed || !*proposed) return proposed;
  Proposal& proposal = **proposed;
  proposal.strategy.origin = std::string(name_of(proposal.kind));
  proposal.id = static_cast<std::uint64_t>(slot) + 1;
  proposal.epoch = view.epoch;
  proposal.generation = view.generation;
  proposal.slot = slot;
  return proposed;
}

void Search::State::append(Proposal proposal) {
  SearchSlot slot;
  slot.strategy_id = strategy_id(proposal.strategy);
  slot.proposal = std::move(proposal);
  tried.insert(slot.strategy_id, slot.proposal.slot);
  open_ids.push_back(slot.proposal.id);
  policy->accept(slot.proposal);
  slots.append(std::move(slot));
  forget_old();
}

void Search::State::forget_old() {
  if (absorbed < slots.first() + worth_forgetting) return;
  std::set<std::int64_t> needed;
  for (const auto& [us, slot] : fastest_times) needed.insert(slot);
  slots.forget(absorbed, needed);
}

std::int64_t Search::State::visible(std::int64_t slot) const {
  const std::int64_t usual = std::max<std::int64_t>(0, slot - options.lookahead + 1);
  if (!one_first) return usual;
  return first_right < 0 ? slot : std::max(usual, std::min(slot, first_right + 1));
}

void Search::State::settle(SearchSlot& slot) {
  if (first_right < 0 && slot.score.accepted) first_right = slot.proposal.slot;
  std::erase(open_ids, slot.proposal.id);
  if (slot.status == SearchSlot::Status::told && slot.score.evaluated) ++evaluated;
  while (first_open < slots.size() && slots[first_open].status != SearchSlot::Status::open)
    ++first_open;
}

void Search::State::absorb_next() {
  const SearchSlot& slot = slots[absorbed];
  const std::int64_t number = absorbed++;
  const Score& score = slot.score;
  if (score.evaluated) ++absorbed_evaluated;
  chain = sha256_hex(chain + line_of(slot));
  const bool duplicate = !score.kernel_hash.empty() && !owners.insert(score.kernel_hash, number);
  if (score.rejection == below_the_floor) banned.emplace(score.kernel_hash, number);
  if (score.accepted && score.time_us > 0 && !duplicate) {
    fastest_times.emplace(score.time_us, number);
    if (fastest_times.size() > fastest_kept) fastest_times.erase(std::prev(fastest_times.end()));
    if (best_us == 0 || score.time_us < best_us) {
      best_us = score.time_us;
      best_so_far.emplace_back(best_us, number);
    }
  }
  policy->observe({slot.proposal, slot.strategy_id, score, duplicate});
}

void Search::State::absorb_below(std::int64_t end) {
  while (absorbed < end) absorb_next();
}

Search::Search(const SearchOptions& options, const Space& space, Strategist& strategist, Zone zone,
               double plain_us, Knowledge knowledge)
    : Search(options, plain_us,
             policy_of(options, space, strategist, zone, plain_us, std::move(knowledge))) {
  state_->one_first =
      options.one_first && options.policy == SearchPolicy::evolution && strategist.proposes_all();
}
Search::Search(const SearchOptions& options, double plain_us, std::unique_ptr<Policy> policy)
    : state_(std::make_unique<State>(options, plain_us, std::move(policy))) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

// Tells by the results of earlier slots alone if slot `next` exists: fewer than max_evaluations of
// them were evaluated, none that it may see reached the target. Sets `finished` when there is no
// such slot.
Search::State::Room Search::State::room_for(std::int64_t next) {
  if (options.target_us > 0 && best_us > 0 && best_us <= options.target_us) {
    finished = "target reached";
  } else if (options.max_generations > 0 &&
             generation_of(options, next) >= options.max_generations) {
    finished = "generations spent";
  } else if (options.max_evaluations > 0) {
    if (evaluated >= options.max_evaluations) {
      finished = "evaluations spent";
    } else if (next / proposals_per_evaluation >= options.max_evaluations) {
      finished = "too many proposals never reached the compiler";
    } else if (evaluated + static_cast<std::int64_t>(open_ids.size()) >= options.max_evaluations) {
      return Room::wait;
    }
  }
  return finished.empty() ? Room::yes : Room::no;
}

Result<Ask> Search::ask(int count) {
  State& s = *state_;
  std::vector<Proposal> fresh;
  Waiting waiting;
  while (s.finished.empty() && static_cast<int>(fresh.size()) < std::max(1, count)) {
    const std::int64_t next = s.slots.size();
    const std::int64_t visible = s.visible(next);
    if (s.first_open < visible) {
      for (const std::uint64_t id : s.open_ids) {
        if (static_cast<std::int64_t>(id) <= visible) waiting.ids.push_back(id);
      }
      break;
    }
    s.absorb_below(visible);
    const State::Room room = s.room_for(next);
    if (room == State::Room::wait) waiting.ids = s.open_ids;
    if (room != State::Room::yes) break;
    auto proposed = s.propose(next);
    if (!proposed) return proposed.error();
    if (!*proposed) {
      s.finished = s.policy->end();
      break;
    }
    s.append(**proposed);
    fresh.push_back(std::move(**proposed));
  }
  if (!fresh.empty()) return Ask(std::move(fresh));
  if (s.finished.empty()) return Ask(std::move(waiting));
  if (!s.stopped) {
    waiting.ids = s.open_ids;
    if (!waiting.ids.empty()) return Ask(std::move(waiting));
  }
  s.absorb_below(s.first_open);
  return Ask(Finished{s.finished});
}

Result<void> Search::replay(const Proposal& proposal) {
  State& s = *state_;
  const std::int64_t next = s.slots.size();
  const std::int64_t visible = s.visible(next);
  if (proposal.slot != next || proposal.id != static_cast<std::uint64_t>(next) + 1 ||
      s.first_open < visible) {
    return Error{ErrorCode::failure,
                 "the recorded proposal of slot " + std::to_string(proposal.slot) +
                     " does not follow slot " + std::to_string(next - 1),
                 "the journal was not written by this search; start a new run directory"};
  }
  s.absorb_below(visible);
  s.append(proposal);
  return {};
}

// Status of a proposal that is not told of for the first time; taken: it is open.
TellStatus Search::State::standing(std::uint64_t id) const {
  const auto slot = static_cast<std::int64_t>(id) - 1;
  if (id == 0 || slot >= slots.size()) return TellStatus::unknown_id;
  if (forgotten.contains(slot)) return TellStatus::forgotten;
  const SearchSlot* found = slots.find(slot);
  return found == nullptr || found->status == SearchSlot::Status::told ? TellStatus::duplicate
                                                                       : TellStatus::accepted;
}

TellStatus Search::tell(std::uint64_t id, const Score& score) {
  State& s = *state_;
  if (const TellStatus standing = s.standing(id); standing != TellStatus::accepted) return standing;
  SearchSlot& slot = s.slots[static_cast<std::int64_t>(id) - 1];
  slot.status = SearchSlot::Status::told;
  slot.score = score;
  s.settle(slot);
  return TellStatus::accepted;
}

TellStatus Search::forget(std::uint64_t id) {
  State& s = *state_;
  if (const TellStatus standing = s.standing(id); standing != TellStatus::accepted)
    return standing == TellStatus::forgotten ? TellStatus::duplicate : standing;
  SearchSlot& slot = s.slots[static_cast<std::int64_t>(id) - 1];
  slot.status = SearchSlot::Status::forgotten;
  s.forgotten.insert(slot.proposal.slot);
  s.settle(slot);
  return TellStatus::accepted;
}

void Search::stop(const std::string& reason) {
  state_->finished = reason;
  state_->stopped = true;
}

void Search::extend(std::int64_t max_evaluations, int max_generations) {
  State& s = *state_;
  if (s.options.max_evaluations > 0) {
    s.options.max_evaluations =
        max_evaluations <= 0 ? 0 : std::max(s.options.max_evaluations, max_evaluations);
  }
  if (s.options.max_generations > 0) {
    s.options.max_generations =
        max_generations <= 0 ? 0 : std::max(s.options.max_generations, max_generations);
  }
  s.finished.clear();
  s.stopped = false;
}

std::optional<Individual> Search::best() const {
  auto first = fastest(1);
  if (first.empty()) return std::nullopt;
  return std::move(first.front());
}

std::vector<Individual> Search::archive() const {
  std::vector<Individual> all = state_->policy->population();
  std::stable_sort(all.begin(), all.end(), faster);
  return all;
}

double Search::known_best_us(std::int64_t slot) const {
  double best = 0;
  for (const auto& [us, at] : state_->best_so_far) {
    if (at <= slot - state_->options.lookahead) best = us;
  }
  return best;
}

std::int64_t Search::known_owner(const std::string& kernel_hash, std::int64_t slot) const {
  const std::int64_t owner = state_->owners.find(kernel_hash);
  return owner <= slot - state_->options.lookahead ? owner : -1;
}

bool Search::known_banned(const std::string& kernel_hash, std::int64_t slot) const {
  const auto found = state_->banned.find(kernel_hash);
  return found != state_->banned.end() && found->second <= slot - state_->options.lookahead;
}

std::int64_t Search::evaluations() const { return state_->evaluated; }
std::int64_t Search::proposed() const { return state_->slots.size(); }

int Search::generation() const {
  return state_->slots.size() == 0 ? 0 : generation_of(state_->options, state_->slots.size() - 1);
}

std::vector<Individual> Search::fastest(int count) const {
  const State& s = *state_;
  std::set<std::string> hashes;  // met or quarantined among what is not absorbed
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) {
    if (s.slots[i].score.rejection == below_the_floor) hashes.insert(s.slots[i].score.kernel_hash);
  }
  std::vector<const SearchSlot*> all;
  for (const auto& [us, i] : s.fastest_times) {
    const SearchSlot& slot = s.slots[i];
    const std::string& hash = slot.score.kernel_hash;
    if (hash.empty() || (!s.banned.contains(hash) && !hashes.contains(hash))) all.push_back(&slot);
  }
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) {
    const SearchSlot& slot = s.slots[i];
    if (slot.status != SearchSlot::Status::told) continue;
    const std::string& hash = slot.score.kernel_hash;
    const bool fresh = hash.empty() || (!s.owners.contains(hash) && hashes.insert(hash).second);
    if (fresh && slot.score.accepted && slot.score.time_us > 0) all.push_back(&slot);
  }
  const auto keep = std::min(all.size(), static_cast<std::size_t>(std::max(0, count)));
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep), all.end(),
                    [](const SearchSlot* a, const SearchSlot* b) {
                      return std::pair(a->score.time_us, a->proposal.id) <
                             std::pair(b->score.time_us, b->proposal.id);
                    });
  std::vector<Individual> kept;
  for (std::size_t i = 0; i < keep; ++i) kept.push_back(s.individual(*all[i]));
  return kept;
}

std::string Search::fingerprint() const {
  const State& s = *state_;
  std::string text = s.finished + "|" + std::to_string(s.absorbed) + "|" +
                     std::to_string(s.evaluated) + "|" + s.chain + "\n";
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) text += line_of(s.slots[i]);
  for (const Individual& one : s.policy->population()) text += std::to_string(one.id) + " ";
  return sha256_hex(text);
}

}  // namespace cupilot
