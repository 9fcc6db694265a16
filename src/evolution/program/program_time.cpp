#include "evolution/program/program_time.hpp"

#include <algorithm>
#include <string>

#include "base/phases.hpp"

namespace cupilot {
namespace {

constexpr double share_of_parts = 0.6;  // of the time; the program's own proof has the rest
// A program's evaluation takes what its parts' kernels took together; its confirmation compiles it,
// proves it as a finalist, times it in more rounds and meets new contents.
constexpr double elite_proof = 3, finalist_proof = 1 + 1.5 * elite_proof, finalist_visits = 3,
                 finalist_contents = 2.3, finalist_slack = 1.1;

double seconds_of(const PhaseSeconds& phases, const std::string& prefix, const std::string& end) {
  double sum = 0;
  for (auto it = phases.lower_bound(prefix); it != phases.end() && it->first.starts_with(prefix);
       ++it) {
    if (!is_waiting(it->first) && it->first.ends_with(end)) sum += it->second;
  }
  return sum;
}

}  // namespace

ProgramTime::ProgramTime(const EvolveOptions& options, Host& host, bool at_once)
    : host_(host),
      end_(host.monotonic_seconds() + options.max_seconds - options.seconds_before),
      max_(options.max_seconds),
      at_once_(at_once && options.max_seconds > 0) {}

void ProgramTime::note(std::size_t part, const EvolveReport& report) {
  if (report.evaluations == 0) return;
  const auto kernels = static_cast<double>(report.evaluations);
  const auto spent = [&](const char* phase, const char* end = "") {
    return seconds_of(report.phase_seconds, phase, end);
  };
  const auto references = [&](const char* phase) {
    return spent(phase, "/judge/references") + spent(phase, "/own reference");
  };
  kernels_[part] = {spent("search/compile") / kernels,
                    (spent("search/proof") - references("search/proof")) / kernels,
                    (spent("search/timing") - references("search/timing")) / kernels,
                    references("search/proof") + references("search/timing")};
}

ProgramTime::Seconds ProgramTime::mean() const {
  Seconds sum;
  const double each = kernels_.empty() ? 0 : 1.0 / static_cast<double>(kernels_.size());
  for (const auto& [part, one] : kernels_) {
    sum.compile += each * one.compile;
    sum.proof += each * one.proof;
    sum.timing += each * one.timing;
    sum.references += each * one.references;
  }
  return sum;
}

double ProgramTime::left() const { return end_ - host_.monotonic_seconds(); }

double ProgramTime::evaluation_seconds(std::size_t parts) const {
  const Seconds one = mean();
  return static_cast<double>(parts) * (one.compile + one.proof + one.timing + one.references);
}

double ProgramTime::confirmation_seconds(std::size_t parts) const {
  const Seconds one = mean();
  return finalist_slack * static_cast<double>(parts) *
         (one.compile + finalist_proof * one.proof + finalist_visits * one.timing +
          finalist_contents * one.references);
}

double ProgramTime::program_seconds(std::size_t parts) const {
  return confirmation_seconds(parts) + (at_once_ ? 0 : evaluation_seconds(parts));
}

// One that took the lead, which is proved as an elite.
double ProgramTime::least_kernel() const {
  const Seconds one = mean();
  return one.compile + (1 + elite_proof) * one.proof + one.timing;
}

bool ProgramTime::has_one_left(std::size_t parts) const {
  return at_once_ && !has_program_ &&
         left() < 2 * evaluation_seconds(parts) + confirmation_seconds(parts) + least_kernel();
}

double ProgramTime::left_for_parts(std::size_t parts) const {
  const double shared = left() - (1 - share_of_parts) * max_;
  const double until = has_program_ ? search_end_.load() - host_.monotonic_seconds()
                                    : left() - program_seconds(parts);
  const double seconds = std::min(shared, until);
  return seconds >= least_kernel() ? std::max(0.0, seconds) : 0;
}

double ProgramTime::of_slot(std::size_t parts, std::int64_t unsearched, std::int64_t shares) const {
  const double beside = (left() - program_seconds(parts)) / static_cast<double>(unsearched);
  return std::max({1.0, std::min(least_kernel(), left()),
                   std::min(left() / static_cast<double>(shares), beside)});
}

}  // namespace cupilot
