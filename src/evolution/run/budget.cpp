// A run's seconds: what is to follow the search is kept from it.
#include <algorithm>

#include <fmt/format.h>

#include "evolution/run/driver.hpp"

namespace cupilot {
namespace {

constexpr double slack = 1.15;            // of an estimate
constexpr double most_of_the_time = 0.5;  // that is kept from the search
constexpr double start_of_processes = 1;  // seconds, on a device that measures
constexpr std::size_t most_timed_again = 4;
constexpr double finalist_proof = 3;  // over a candidate's, where none was measured
// Visits of the confirmation and of timing again, over those of a candidate and of the baselines.
constexpr double confirm_visits = 15.0 / 3, again_visits = 9.0 / 3, baseline_visits = 15.0 / 7;

// Of candidates, as seconds of the threads that worked on them; their queueing for a device is left
// out.
double seconds_in(const PhaseSeconds& phases, const std::string& prefix) {
  double sum = 0;
  for (auto it = phases.lower_bound(prefix); it != phases.end() && it->first.starts_with(prefix);
       ++it) {
    if (!it->first.ends_with("/wait for the device")) sum += it->second;
  }
  return sum;
}

}  // namespace

double Driver::again_seconds(std::size_t finalists) const {
  const std::size_t count = std::min(finalists, most_timed_again);
  if (context_.backend->provenance() != Provenance::measured || count < 2) return 0;
  const double candidates = std::max<double>(1, static_cast<double>(ledger_.settled()));
  const double compile = seconds_in(ledger_.phases(), "search/compile") / candidates;
  const double timing = seconds_in(ledger_.phases(), "search/timing") / candidates;
  return slack * (compile + again_visits * static_cast<double>(count) * timing);
}

double Driver::confirm_seconds() const {
  const bool real = context_.backend->provenance() == Provenance::measured;
  const double settled = static_cast<double>(ledger_.settled());
  if (settled < 1)
    return slack * (plain_proof_seconds_ + 2 * baselines_seconds_) +
           (real ? 2 * start_of_processes : 0);
  const double compile = seconds_in(ledger_.phases(), "search/compile") / settled;
  const double proof = seconds_in(ledger_.phases(), "search/proof") / settled;
  const double timing = seconds_in(ledger_.phases(), "search/timing") / settled;
  const double proved =
      std::max(plain_proof_seconds_, plain_proof_seconds_ > 0 ? proof : finalist_proof * proof);
  const double timed = (real ? confirm_visits : 1) * timing;
  const double baselines = (real ? baseline_visits : 1) * baselines_seconds_;
  return slack * (compile + proved + timed + baselines) + (real ? start_of_processes : 0);
}

// Candidates in flight when the search ends are waited for. Where none is accepted yet nothing
// follows the search, and it has all the time.
double Driver::deadline() const {
  if (options_.max_seconds <= 0) return 0;
  if (!search_ || !search_->best()) return started_ + options_.max_seconds;
  const double settled = static_cast<double>(ledger_.settled());
  const double in_flight = settled > 0 ? ledger_.candidate_seconds() / settled : 0;
  const double kept = again_seconds(most_timed_again) + confirm_seconds() + in_flight;
  return started_ + options_.max_seconds - std::min(kept, most_of_the_time * options_.max_seconds);
}

double Driver::seconds_left() const {
  return started_ + options_.max_seconds - host_.monotonic_seconds();
}

void Driver::tell_what_is_to_come(std::size_t finalists) {
  if (finalists == 0) return;
  const double again = again_seconds(finalists);
  std::string text = fmt::format("the search ended: {}; still to come: ", stopped_);
  if (again > 0) text += fmt::format("timing the fastest again, some {:.1f} s, and ", again);
  tell(text + fmt::format("confirming the best, some {:.1f} s", confirm_seconds()));
}

}  // namespace cupilot
