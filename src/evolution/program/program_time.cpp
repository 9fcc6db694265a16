#include "evolution/program/program_time.hpp"

#include <algorithm>
#include <string>

#include "base/phases.hpp"

namespace cupilot {
namespace {

constexpr double share_of_parts = 0.6;  // of the time; the program's own proof has the rest
// A program's evaluation takes what its parts' kernels took together; its confirmation compiles it
// again, proves it as a finalist, times it in more rounds and meets new contents.
constexpr double elite_proof = 3, finalist_proof = 1 + 1.5 * elite_proof, finalist_visits = 3,
                 finalist_contents = 2.3;

double seconds_of(const PhaseSeconds& phases, const std::string& prefix, const std::string& end) {
  double sum = 0;
  for (auto it = phases.lower_bound(prefix); it != phases.end() && it->first.starts_with(prefix);
       ++it) {
    if (!is_waiting(it->first) && it->first.ends_with(end)) sum += it->second;
  }
  return sum;
}

}  // namespace

ProgramTime::ProgramTime(const EvolveOptions& options, Host& host)
    : host_(host),
      end_(host.monotonic_seconds() + options.max_seconds - options.seconds_before),
      max_(options.max_seconds) {}

void ProgramTime::note(const EvolveReport& part) {
  if (part.evaluations == 0) return;
  const auto kernels = static_cast<double>(part.evaluations);
  const auto spent = [&](const char* phase, const char* end = "") {
    return seconds_of(part.phase_seconds, phase, end);
  };
  const auto references = [&](const char* phase) {
    return spent(phase, "/judge/references") + spent(phase, "/own reference");
  };
  const Seconds one = {spent("search/compile") / kernels,
                       (spent("search/proof") - references("search/proof")) / kernels,
                       (spent("search/timing") - references("search/timing")) / kernels,
                       references("search/proof") + references("search/timing")};
  ++noted_;
  const auto mean = [&](double& of, double next) { of += (next - of) / noted_; };
  mean(kernel_.compile, one.compile);
  mean(kernel_.proof, one.proof);
  mean(kernel_.timing, one.timing);
  mean(kernel_.references, one.references);
}

double ProgramTime::left() const { return end_ - host_.monotonic_seconds(); }

double ProgramTime::program_seconds(std::size_t parts) const {
  const double evaluated = kernel_.compile + kernel_.proof + kernel_.timing + kernel_.references;
  const double confirmed = kernel_.compile + finalist_proof * kernel_.proof +
                           finalist_visits * kernel_.timing +
                           finalist_contents * kernel_.references;
  return static_cast<double>(parts) * (evaluated + confirmed);
}

double ProgramTime::left_for_parts(std::size_t parts) const {
  const double shared = left() - (1 - share_of_parts) * max_;
  const double until = has_program_ ? search_end_.load() - host_.monotonic_seconds()
                                    : left() - program_seconds(parts);
  const double least = kernel_.compile + (1 + elite_proof) * kernel_.proof + kernel_.timing;
  const double seconds = std::min(shared, until);
  return seconds >= least ? std::max(0.0, seconds) : 0;
}

double ProgramTime::of_slot(std::size_t parts, std::int64_t unsearched, std::int64_t shares) const {
  const double beside = (left() - program_seconds(parts)) / static_cast<double>(unsearched);
  return std::max(1.0, std::min(left() / static_cast<double>(shares), beside));
}

}  // namespace cupilot
