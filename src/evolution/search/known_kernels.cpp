#include "evolution/search/known_kernels.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "base/json.hpp"

namespace cupilot {

bool is_free_form(const Candidate& candidate) {
  return !candidate.kernel_id.empty() && candidate.source.template_name.empty() &&
         candidate.source.language == Language::cuda;
}

bool is_repairable(const Candidate& candidate) {
  const auto* rejected = std::get_if<Rejected>(&candidate.outcome);
  if (rejected == nullptr || !is_free_form(candidate)) return false;
  // Nothing is wrong with the text of these.
  constexpr std::array<std::string_view, 3> not_the_text = {"gate.duplicate", "verify.no_shape",
                                                            "run.unsupported"};
  for (const std::string_view code : not_the_text) {
    if (rejected->code == code) return false;
  }
  return rejected->stage <= Stage::verify;
}

Score score_of(const Candidate& candidate) {
  Score score;
  score.evaluated = candidate.evaluated;
  score.kernel_hash = candidate.kernel_hash;
  if (const auto* accepted = std::get_if<Accepted>(&candidate.outcome)) {
    score.accepted = true;
    score.time_us = accepted->measurement.time_us;
    score.verdict = accepted->verdict;
  } else if (const auto* rejected = std::get_if<Rejected>(&candidate.outcome)) {
    score.rejection = rejected->code;
    score.repairable = is_repairable(candidate);
  }
  if (score.accepted && is_free_form(candidate)) score.realised = candidate.strategy;
  return score;
}

void tell(Search& search, const Candidate& candidate) {
  if (std::holds_alternative<Lost>(candidate.outcome)) {
    search.forget(candidate.id);
  } else {
    search.tell(candidate.id, score_of(candidate));
  }
}

std::optional<Rejected> had_before(const Search& search, const std::string& kernel_hash,
                                   std::int64_t slot) {
  if (kernel_hash.empty()) return std::nullopt;
  if (search.known_banned(kernel_hash, slot))
    return reject("floor.banned", "a kernel with the same PTX had a time below the floor");
  const std::int64_t owner = search.known_owner(kernel_hash, slot);
  if (owner < 0) return std::nullopt;
  return reject("gate.duplicate", fmt::format("slot {} had the same PTX", owner));
}

void KnownKernels::keep(const Candidate& candidate) {
  const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
  if (accepted != nullptr) digests_[candidate.strategy_id] = {accepted->verdict.digest, round_};
  if (!wants(candidate)) return;
  Kept& kept = free_forms_[candidate.id];
  kept.source = candidate.source;
  kept.strategy = candidate.strategy;
  if (const auto* rejected = std::get_if<Rejected>(&candidate.outcome)) kept.why = *rejected;
  if (accepted != nullptr) by_strategy_[candidate.strategy_id] = candidate.id;
}

const KernelSource* KnownKernels::source_of(std::uint64_t id) const {
  const auto found = free_forms_.find(id);
  return found == free_forms_.end() ? nullptr : &found->second.source;
}

WriterBrief::Base KnownKernels::base_of(const Kept& kept, const std::string& strategy) const {
  const auto digest = digests_.find(strategy);
  return {kept.source, kept.strategy,
          digest != digests_.end() ? digest->second.sentences : std::vector<std::string>()};
}

WriterBrief KnownKernels::brief_for(const Proposal& proposal, std::uint64_t visible) {
  WriterBrief brief;
  brief.key = fmt::format("slot {}", proposal.slot);
  if (proposal.failed != 0) {
    const auto found = free_forms_.find(proposal.failed);
    repairs_[proposal.id] = proposal.failed;
    if (found != free_forms_.end() && found->second.why)
      brief.failed = {found->second.source, *found->second.why, attempt_of(proposal.id)};
    return brief;
  }
  for (const std::string& parent : proposal.strategy.parents) {
    const auto kernel = by_strategy_.find(parent);
    if (kernel != by_strategy_.end())
      brief.bases.push_back(base_of(free_forms_.at(kernel->second), parent));
  }
  if (!proposal.strategy.parents.empty()) return brief;
  for (const auto& [id, kept] : free_forms_) {
    if (id > visible) break;
    if (kept.why) continue;
    brief.bases.push_back(base_of(kept, strategy_id(kept.strategy)));
    break;
  }
  return brief;
}

void KnownKernels::forget_digests(const std::vector<std::string>& alive) {
  for (const std::string& id : alive) {
    if (const auto found = digests_.find(id); found != digests_.end()) found->second.round = round_;
  }
  std::erase_if(digests_, [this](const auto& entry) { return entry.second.round < round_ - 1; });
  ++round_;
}

std::string KnownKernels::saved() const {
  SortedJson digests = SortedJson::object();
  for (const auto& [id, digest] : digests_) digests[id] = {digest.sentences, digest.round};
  return SortedJson({{"digests", std::move(digests)}, {"round", round_}})
      .dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

bool KnownKernels::restore(std::string_view saved) {
  try {
    const SortedJson json = SortedJson::parse(saved);
    json.at("round").get_to(round_);
    for (const auto& [id, digest] : json.at("digests").items()) {
      digests_[id] = {digest.at(0).get<std::vector<std::string>>(),
                      digest.at(1).get<std::int64_t>()};
    }
  } catch (const SortedJson::exception&) {
    return false;
  }
  return true;
}

int KnownKernels::attempt_of(std::uint64_t id) const {
  int attempt = 0;
  for (auto at = repairs_.find(id); at != repairs_.end(); at = repairs_.find(at->second)) ++attempt;
  return attempt;
}

}  // namespace cupilot
