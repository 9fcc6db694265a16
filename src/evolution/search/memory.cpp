// What a search remembers of slots that lie behind it: a digest of each strategy and kernel, and
// the few that it still asks for.
#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

constexpr std::size_t failures_told = 8;
constexpr std::int64_t worth_forgetting = 128;  // slots at a time

std::string line_of(const SearchSlot& slot) {
  return slot.strategy_id + " " + std::string(name_of(slot.proposal.kind)) + " " +
         std::to_string(static_cast<int>(slot.status)) + " " + std::to_string(slot.score.time_us) +
         " " + slot.score.rejection + " " + slot.score.kernel_hash + "\n";
}

}  // namespace

const SearchSlot* SlotStore::find(std::int64_t slot) const {
  if (slot >= first_)
    return slot < size() ? &recent_[static_cast<std::size_t>(slot - first_)] : nullptr;
  const auto found = older_.find(slot);
  return found == older_.end() ? nullptr : &found->second;
}

SearchSlot* SlotStore::find(std::int64_t slot) {
  return const_cast<SearchSlot*>(std::as_const(*this).find(slot));
}

void SlotStore::forget(std::int64_t first, const std::set<std::int64_t>& needed) {
  std::erase_if(older_, [&](const auto& entry) { return !needed.contains(entry.first); });
  for (; first_ < first; ++first_) {
    if (needed.contains(first_)) older_.emplace(first_, std::move(recent_.front()));
    recent_.pop_front();
  }
}

void SlotStore::restore(std::int64_t first, std::map<std::int64_t, SearchSlot> older) {
  first_ = first;
  recent_.clear();
  older_ = std::move(older);
}

std::int64_t Search::State::first_of_generation(int generation) const {
  return generation == 0
             ? 0
             : options.initial + static_cast<std::int64_t>(generation - 1) * options.children;
}

void Search::State::forget_old() {
  // What the fits to come look at, whichever of the latest they take.
  const std::int64_t next = slots.size(), generation = first_of_generation(generation_of(next));
  const std::int64_t first = std::min({absorbed, first_open, generation - surrogate_points / 2,
                                       generation - options.lookahead + 1, next - latest_kept});
  if (first < slots.first() + worth_forgetting) return;
  best_below(first, 0);
  std::set<std::int64_t> needed(best_ranked.begin(), best_ranked.end());
  needed.insert(repairable.begin(), repairable.end());
  for (const auto& [us, slot] : fastest_times) needed.insert(slot);
  slots.forget(first, needed);
  std::set<std::string> kin;
  for (const Member& member : population.members()) kin.insert(member.strategy_id);
  for (std::int64_t slot = absorbed; slot < next; ++slot) {
    const std::vector<std::string>& proposed = slots[slot].proposal.strategy.parents;
    const std::vector<std::string>& held = slots[slot].held().parents;
    kin.insert(proposed.begin(), proposed.end());
    kin.insert(held.begin(), held.end());
  }
  std::erase_if(ancestors, [&](const auto& entry) { return !kin.contains(entry.first); });
}

void Search::State::note_absorbed(const SearchSlot& slot) {
  chain = sha256_hex(chain + line_of(slot));
  // What was refused for its own sake: not what merely came twice.
  if (slot.score.rejection.empty() || slot.score.rejection == "gate.duplicate") return;
  failures.push_back({slot.proposal.strategy, slot.score.rejection});
  if (failures.size() > failures_told) failures.pop_front();
}

Individual Search::State::individual_of(const SearchSlot& slot) const {
  const double fitness = std::log2(plain_us / slot.score.time_us) +
                         options.utilisation_weight * slot.score.verdict.utilisation;
  return {slot.proposal.id, slot.held(), slot.score.time_us, fitness, slot.score.verdict};
}

std::vector<Individual> Search::fastest(int count) const {
  const State& s = *state_;
  std::set<std::string> hashes;  // met or quarantined among what is not absorbed
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) {
    if (s.slots[i].score.rejection == below_the_floor) hashes.insert(s.slots[i].score.kernel_hash);
  }
  std::vector<Individual> all;
  for (const auto& [us, i] : s.fastest_times) {
    const SearchSlot& slot = s.slots[i];
    const std::string& hash = slot.score.kernel_hash;
    if (hash.empty() || (!s.banned.contains(hash) && !hashes.contains(hash)))
      all.push_back(s.individual_of(slot));
  }
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) {
    const SearchSlot& slot = s.slots[i];
    if (slot.status != SearchSlot::Status::told) continue;
    const std::string& hash = slot.score.kernel_hash;
    const bool fresh = hash.empty() || (!s.owners.contains(hash) && hashes.insert(hash).second);
    if (fresh && slot.score.accepted && slot.score.time_us > 0)
      all.push_back(s.individual_of(slot));
  }
  const auto keep = std::min(all.size(), static_cast<std::size_t>(std::max(0, count)));
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep), all.end(),
                    faster);
  all.resize(keep);
  return all;
}

std::string Search::fingerprint() const {
  const State& s = *state_;
  std::string text = s.finished + "|" + std::to_string(s.absorbed) + "|" +
                     std::to_string(s.evaluated) + "|" + s.chain + "\n";
  for (std::int64_t i = s.absorbed; i < s.slots.size(); ++i) text += line_of(s.slots[i]);
  for (const Member& member : s.population.members())
    text += std::to_string(member.individual.id) + " ";
  return sha256_hex(text);
}

}  // namespace cupilot
