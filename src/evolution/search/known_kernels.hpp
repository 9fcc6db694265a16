// Kernels of a run that no template can write again, and what the verdicts on all of them said:
// what a writer may be shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/search.hpp>

namespace cupilot {

// True if the candidate's text came from elsewhere than a template.
bool is_free_form(const Candidate& candidate);
// True if it was refused for what a free-form text says: worth handing back to its writer.
bool is_repairable(const Candidate& candidate);

// The part of a candidate that a search needs.
Score score_of(const Candidate& candidate);
// Tells a search the candidate's outcome, or forgets its slot where it was lost.
void tell(Search& search, const Candidate& candidate);
// The reason not to run a kernel: the search knows the hash of its PTX from a slot that `slot` may
// see.
std::optional<Rejected> had_before(const Search& search, const std::string& kernel_hash,
                                   std::int64_t slot);

// One thread at a time.
class KnownKernels {
 public:
  // `all`: kernels of templates too, where their texts are crossed.
  explicit KnownKernels(bool all = false) : all_(all) {}
  // True if it wants the candidate's text.
  bool wants(const Candidate& candidate) const {
    return is_free_form(candidate) || (all_ && !candidate.kernel_id.empty());
  }
  // `candidate.source` must hold its text where that is wanted.
  void keep(const Candidate& candidate);
  // The free-form text of a proposal's kernel; null: a template writes it again from its strategy.
  const KernelSource* source_of(std::uint64_t id) const;
  // Forgets digests of strategies that are not `alive` and were not at the call before: nothing is
  // bred from them any more.
  void forget_digests(const std::vector<std::string>& alive);
  // True if it holds texts; they are not saved.
  bool has_texts() const { return all_ || !free_forms_.empty(); }
  std::string saved() const;
  // Into an empty one. False: these are not such bytes.
  bool restore(std::string_view saved);
  // Shows a writer, beside the strategy, parents' kernels and digests, or the refused kernel
  // that is to be mended. `visible`: the last proposal whose result may be known; a proposal
  // without parents is shown the first right kernel up to it.
  WriterBrief brief_for(const Proposal& proposal, std::uint64_t visible = 0);

 private:
  bool all_ = false;
  struct Kept {
    KernelSource source;
    Strategy strategy;
    std::optional<Rejected> why;  // nothing: it was accepted
  };
  WriterBrief::Base base_of(const Kept& kept, const std::string& strategy) const;
  int attempt_of(std::uint64_t id) const;
  std::map<std::uint64_t, Kept> free_forms_;
  std::map<std::uint64_t, std::uint64_t> repairs_;    // proposal -> the one it repairs
  std::map<std::string, std::uint64_t> by_strategy_;  // accepted free-form kernels
  struct Digest {
    std::vector<std::string> sentences;
    std::int64_t round = 0;  // when it was last alive
  };
  std::map<std::string, Digest> digests_;  // digests of accepted kernels, by strategy
  std::int64_t round_ = 0;                 // calls of forget_digests
};

}  // namespace cupilot
