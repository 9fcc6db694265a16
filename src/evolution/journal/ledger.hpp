// Summaries of a search, generation by generation and in all.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest_table.hpp"
#include "base/pieces.hpp"
#include "evolution/journal/records.hpp"
#include "evolution/journal/refusals.hpp"

namespace cupilot {

// Results may come in any order.
class Ledger {
 public:
  // `expected`: how many slots there will be; more are no fault.
  explicit Ledger(std::int64_t expected = 0) : sum_{{}, DigestTable(expected)} {}
  void propose(const Proposal& proposal);
  // Returns true if its candidate is the first that was refused with its code.
  bool settle(const ResultRecord& record);
  // Generations whose slots are all settled, and those before them, not yet taken. `closed`: no
  // slot will be added.
  std::vector<Progress> take_finished(const BaselinesRecord& baselines, bool closed);
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t proposed() const { return taken_ + static_cast<std::int64_t>(rows_.size()); }
  const PhaseSeconds& phases() const { return phases_; }
  const CpuSpent& cpu() const { return cpu_; }
  // By code, in slot order; an accepted kernel whose PTX an earlier slot had counts as
  // gate.duplicate.
  std::map<std::string, std::int64_t> rejected() const;
  const FirstRefusals& first_refusals() const { return first_refusals_; }
  // Seconds of whole candidates, and how many there were.
  double candidate_seconds() const { return candidate_seconds_; }
  // The most that one candidate took for a phase and those inside it, waiting left out.
  double dearest(const std::string& phase) const;
  // Seconds of the fastest accepted candidate for one phase.
  double of_fastest(const std::string& phase) const;
  // The most processor time that interpreting took for one candidate, whatever it waited for.
  double most_interpreted() const { return most_interpreted_; }
  std::int64_t settled() const { return settled_; }

  // All of it as bytes, some of them its own memory, and back into an empty one. False: these are
  // not such bytes.
  Pieces saved() const;
  bool restore(std::string_view saved);

 private:
  struct Row {
    int epoch = 0, generation = 0;
    bool settled = false, accepted = false, evaluated = false;
    std::string code{}, hash{}, strategy{};
    double time_us = 0;
  };
  struct Sum {
    Progress progress{};
    DigestTable hashes{};
  };
  void count(Sum& sum, std::size_t rows) const;
  std::deque<Row> rows_;  // rows of generations not taken
  std::int64_t taken_ = 0, evaluations_ = 0;
  PhaseSeconds phases_;   // "search/…"
  PhaseSeconds dearest_;  // by phase, the same
  PhaseSeconds fastest_;  // the same, of the fastest candidate
  double fastest_us_ = 0, most_interpreted_ = 0;
  CpuSpent cpu_;
  double candidate_seconds_ = 0;
  std::int64_t settled_ = 0;
  FirstRefusals first_refusals_;
  Sum sum_;  // over generations that were taken
};

}  // namespace cupilot
