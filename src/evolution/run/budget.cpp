// A run's seconds: what is to follow the search is kept from it.
#include <algorithm>

#include <fmt/format.h>

#include "evolution/run/driver.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

constexpr double slack = 1.15;         // factor on an estimate
constexpr double least_search = 0.2;   // share of the seconds, which the search has in any case
constexpr double least_overtime = 10;  // seconds
constexpr double start_of_processes = 1, end_of_processes = 0.6;  // on a device that measures
constexpr std::size_t most_timed_again = 4;
constexpr double elite_proof = 3;       // over a candidate's, where none was measured
constexpr double elite_screen = 1.5;    // the same of the screen, whose cases run side by side
constexpr double screen_alone = 0.6;    // a screen that has the cores alone, over an elite's
constexpr double compile_alone = 0.5;   // the same of a compilation, over a candidate's
constexpr double finalist_proof = 1.5;  // over an elite's
// Contents at full size that an elite meets beside a candidate's, and those of a confirmation,
// which are all new: four of the proof, three of the timing.
constexpr double elite_contents = 3, confirm_contents = 7;
// Visits of the confirmation and of timing again, over those of a candidate and of the baselines,
// which have fixed parts too.
constexpr double confirm_visits = 15.0 / 3, again_visits = 9.0 / 3, baseline_visits = 1.5;
// A confirmation makes as many visits where its rounds are sized to the seconds that are left.
constexpr double sparing_visits = 1.5;
// Proof of a program's parts over a candidate's, which lasts as long as the program's own proof and
// the wait for it together.
constexpr double finalist_parts = 1.5;

// Sums the seconds of threads that worked on candidates; their queueing for a device is left out.
double seconds_in(const PhaseSeconds& phases, const std::string& prefix) {
  double sum = 0;
  for (auto it = phases.lower_bound(prefix); it != phases.end() && it->first.starts_with(prefix);
       ++it) {
    if (!is_waiting(it->first)) sum += it->second;
  }
  return sum;
}

// Repeats of a finalist at full size over those of a candidate, the first launch's among them.
double more_repeats(const Task& task, const DeviceSpec& device) {
  double finalist = 0;
  for (const Workload& shape : task.time_shapes)
    finalist += 1 + finalist_repeats(task, device, shape);
  return finalist / static_cast<double>(task.time_shapes.size() * (1 + candidate_repeats));
}

}  // namespace

double Driver::usual_seconds(const std::string& phase) const {
  return seconds_in(ledger_.phases(), phase) /
         std::max<double>(1, static_cast<double>(ledger_.settled()));
}

double Driver::working_seconds(const std::string& phase) const {
  return usual_seconds(phase) - usual_seconds(phase + "/judge/references") -
         usual_seconds(phase + "/own reference");
}

double Driver::again_seconds(std::size_t finalists) const {
  const std::size_t count = std::min(finalists, most_timed_again);
  if (context_.backend->provenance() != Provenance::measured || count < 2 || !context_.confirms)
    return 0;
  return slack * (compile_alone * usual_seconds("search/compile") +
                  again_visits * static_cast<double>(count) * working_seconds("search/timing"));
}

// Reference values of one content at full size: those that a candidate's proof needs are kept for
// all others, so the dearest candidate is the one that they were computed for.
double Driver::content_seconds() const { return ledger_.dearest("search/proof/judge/references"); }

double Driver::screen_seconds() const {
  const double elite = ledger_.dearest("search/elite proof/screen");
  return elite > 0 ? elite : elite_screen * usual_seconds("search/proof/screen");
}

// Values that the controller computes of the contents of one proof. Candidates that wait for the
// same values all count the wait, and the first waits for its compilation among all others.
double Driver::own_reference_seconds() const {
  return std::min(std::max(ledger_.dearest("search/proof/own reference"),
                           ledger_.dearest("search/elite proof/own reference")),
                  ledger_.most_interpreted());
}

// Estimates a candidate's proof on the device, without reference values.
double Driver::proof_seconds() const {
  return working_seconds("search/proof") - usual_seconds("search/proof/screen");
}

// Estimates an elite's proof on the device beside a candidate's, without reference values.
double Driver::elite_seconds() const {
  const double elite = ledger_.dearest("search/elite proof");
  if (elite <= 0) return elite_proof * proof_seconds();
  return std::max(0.0, elite - screen_seconds() - elite_contents * content_seconds() -
                           ledger_.dearest("search/elite proof/own reference"));
}

// Seconds of the baselines that timing them again takes: no text is compiled, and reference values
// are counted by content.
double Driver::baseline_visit_seconds() const {
  const auto spent = [&](const char* phase) { return seconds_in(asides_.phases, phase); };
  return std::max(0.0, spent("baselines") - spent("baselines/compile") -
                           spent("baselines/own reference") - spent("baselines/judge/references"));
}

double Driver::confirm_seconds(Sparing sparing) const {
  const double slack_of_it = sparing == Sparing::yes ? 1 : slack;
  if (!context_.confirms) return slack_of_it * usual_seconds("search/compile");
  const bool real = context_.backend->provenance() == Provenance::measured;
  const double start = real ? start_of_processes + end_of_processes : 0;
  if (ledger_.settled() < 1)
    return slack_of_it * (plain_proof_seconds_ + 2 * baselines_seconds_) + 2 * start;
  const double repeats =
      real ? more_repeats(task_, context_.backend->device()) * usual_seconds("search/proof/repeats")
           : 0;
  // A finalist that was screened before is screened again beside its proof on the device.
  const double on_device =
      proof_seconds() + finalist_proof * elite_seconds() + repeats + own_reference_seconds();
  const double proved =
      std::max({plain_proof_seconds_, on_device, screen_alone * screen_seconds(),
                finalist_parts * (proof_seconds() + usual_seconds("search/part proof"))});
  const double visits = sparing == Sparing::yes ? sparing_visits : confirm_visits;
  const double timed = (real ? visits : 1) * working_seconds("search/timing");
  const double baselines = real ? baseline_visits * baseline_visit_seconds() : baselines_seconds_;
  // The interpreter counts while the device proves, where the chip's counters are not read.
  const double read = ledger_.dearest("search/counters");
  const bool interprets = read <= 0 || !counting_.lost().empty();
  const double interpreted =
      interprets ? std::max(0.0, ledger_.dearest("search/virtual counts") - proved) : 0;
  const double counted = read + interpreted;
  // Takes the champion's own compilation, unless that stalled.
  const double compiled =
      (real ? compile_alone : 1) *
      std::min(ledger_.of_fastest("search/compile"), usual_seconds("search/compile"));
  return slack_of_it * (compiled + proved + timed + counted + confirm_contents * content_seconds() +
                        (baselines_.baselines.empty() ? 0 : baselines)) +
         start;
}

// Estimates a confirmation's timing without its rounds, and the end of the run.
double Driver::timing_reserve_seconds() const {
  const double baselines =
      baselines_.baselines.empty() ? 0 : baseline_visits * baseline_visit_seconds();
  return baselines + working_seconds("search/timing") + ledger_.dearest("search/counters") +
         end_of_processes;
}

// Nothing follows a search without an accepted candidate, so that it has all the time.
double Driver::deadline() const {
  if (options_.max_seconds <= 0) return 0;
  const double end = started_ + options_.max_seconds;
  if (!search_ || !search_->best()) return end;
  const std::size_t finalists = search_->fastest(most_timed_again).size();
  const double kept = again_seconds(finalists) + confirm_seconds() + in_flight_seconds();
  return std::max(end - kept, search_began_ + least_search * options_.max_seconds);
}

// Candidates that were proposed are let in as long as the least confirmation has its time: the
// search's own end counts on what a confirmation usually takes. Those of a first wave, as many as
// are in flight at once, are worth more than timing the fastest again.
double Driver::device_end() const {
  const bool first_wave = ledger_.settled() < width_;
  const double again = first_wave ? 0 : again_seconds(search_->fastest(most_timed_again).size());
  return std::max(deadline(),
                  started_ + options_.max_seconds - again - confirm_seconds(Sparing::yes));
}

// Estimates the time of those on the device at the search's end, one perhaps as an elite. Those
// that compile then are let in or stopped. Alone in flight, a candidate may not have begun yet.
double Driver::in_flight_seconds() const {
  const double whole =
      ledger_.candidate_seconds() / std::max(1.0, static_cast<double>(ledger_.settled()));
  const double stage = std::max(working_seconds("search/proof"), working_seconds("search/timing"));
  return (width_ == 1 ? whole : 2 * stage) + elite_seconds() + screen_seconds();
}

double Driver::overtime_end() const {
  return started_ + options_.max_seconds + std::max(options_.max_seconds, least_overtime);
}

// Before the first accepted candidate those in flight are all that the run has.
double Driver::last_end() const {
  return search_->best() ? std::max(deadline() + slack * in_flight_seconds(), device_end())
                         : overtime_end();
}

void Driver::set_last_call() {
  const bool limited = options_.max_seconds > 0 && search_->best();
  const double end = limited ? device_end() : never, least = limited ? deadline() : never;
  const double elite =
      ledger_.dearest("search/elite proof") > 0 ? elite_seconds() + screen_seconds() : 0;
  const double timed = working_seconds("search/timing") + elite;
  last_time_.store(std::max(least, end - timed));
  last_proof_.store(std::max(least, end - timed - working_seconds("search/proof")));
  if (context_.chat != nullptr) context_.chat->ends_at(deadline());
  if (options_.max_seconds > 0 && host_.monotonic_seconds() >= last_end()) over_ = true;
}

double Driver::seconds_left() const {
  return started_ + options_.max_seconds - host_.monotonic_seconds();
}

// Before the first accepted candidate the plain setting's proof alone tells what a proof takes; a
// confirmation times and counts as well.
double Driver::to_come_seconds() const {
  return search_->best() ? again_seconds(2) + confirm_seconds() : 2 * plain_proof_seconds_;
}

// The estimates' slack is for the search, which keeps to it: what it kept is there to be used.
bool Driver::has_time_to_time_again(std::size_t finalists) const {
  return options_.max_seconds <= 0 ||
         slack * seconds_left() >= again_seconds(finalists) + confirm_seconds();
}

void Driver::tell_what_is_to_come(std::size_t finalists) {
  if (finalists == 0) return;
  const double again = again_seconds(finalists);
  std::string text = fmt::format("the search ended: {}; still to come: ", stopped_);
  if (again > 0) text += fmt::format("timing the fastest again, some {:.1f} s, and ", again);
  tell(text + fmt::format("confirming the best, some {:.1f} s", confirm_seconds()));
}

}  // namespace cupilot
