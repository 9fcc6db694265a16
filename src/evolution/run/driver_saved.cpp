// Saves a search and goes on from what was saved.
#include <cupilot/strategy.hpp>

#include "evolution/journal/run_files.hpp"
#include "evolution/run/driver.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {

Result<bool> Driver::restore(const RunState& state, const Checkpoint* checkpoint) {
  if (!state.baselines) return true;
  resumed_ = true;
  baselines_ = *state.baselines;
  if (auto begun = begin_search(); !begun) return begun.error();
  if (checkpoint != nullptr) {
    const Checkpoint& c = *checkpoint;
    if (!search_->restore(c.search) || !ledger_.restore(c.ledger) || !known_.restore(c.known))
      return false;
    for (const Proposal& proposal : c.open) open_.emplace(proposal.id, proposal);
    checkpointed_ = search_->proposed();
  }
  for (const SearchEvent& event : state.events) {
    if (const auto* proposal = std::get_if<Proposal>(&event)) {
      if (auto replayed = search_->replay(*proposal); !replayed) return replayed.error();
      ledger_.propose(*proposal);
      open_.emplace(proposal->id, *proposal);
    } else if (const auto* result = std::get_if<ResultRecord>(&event)) {
      tell_models(*result);
      cupilot::tell(*search_, result->candidate);
      ledger_.settle(*result);
      if (auto kept = remember(*result); !kept) return kept.error();
      open_.erase(result->candidate.id);
    } else {
      const auto& decision = std::get<DecisionRecord>(event);
      if (decision.kind == "stop") {
        search_->stop(decision.reason);
        stopped_ = decision.reason;
      } else if (decision.kind == "extend") {
        search_->extend(decision.max_evaluations, decision.max_generations);
        stopped_.clear();
      }
    }
    if (!options_.stop) static_cast<void>(ledger_.take_finished(baselines_, false));
  }
  for (const auto& [id, proposal] : open_) {
    unfinished_.push_back(proposal);
    unfinished_.back().last = false;  // this sitting has seconds of its own
  }
  generations_ = ledger_.take_finished(baselines_, false);
  return true;
}

// Texts of free form are in blobs/, not in the journal.
Result<void> Driver::remember(const ResultRecord& result) {
  Candidate candidate = result.candidate;
  candidate.id = static_cast<std::uint64_t>(result.slot) + 1;
  if (known_.wants(candidate)) {
    auto source = kept_source(host_, options_.run_dir, candidate.kernel_id);
    if (!source) return source.error();
    candidate.source = std::move(*source);
  }
  known_.keep(candidate);
  forget_digests();
  return {};
}

// Texts of free form are not in it: a run that has any is folded whole.
void Driver::write_checkpoint() {
  const std::int64_t slots = search_->proposed();
  if (!journal_ || known_.has_texts() || slots - checkpointed_ < slots_a_checkpoint(slots)) return;
  const Phase phase("checkpoint");
  Pieces search = search_->state_->saved();
  if (search.empty()) return;
  std::vector<Proposal> open;
  for (const auto& [id, proposal] : open_) open.push_back(proposal);
  checkpointed_ = slots;
  const Pieces bytes = checkpoint_bytes(journal_->mark(), open, std::move(search), ledger_.saved(),
                                        Pieces(known_.saved()));
  const auto written =
      host_.write_pieces_atomically(checkpoint_path(options_.run_dir), bytes.all(), false);
  if (!written && !checkpoint_failed_) {
    tell(written.error().message +
         "; the search goes on, and tries it again later: a resume would take longer");
  }
  checkpoint_failed_ = !written;
}

}  // namespace cupilot
