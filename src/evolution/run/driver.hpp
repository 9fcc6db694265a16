// Drives a Search with threads, a clock and a journal. evolve() and resume() are its two
// beginnings.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <cupilot/parts/evaluator.hpp>

#include "base/phases.hpp"
#include "evolution/evaluate/counting.hpp"
#include "evolution/evaluate/local_evaluator.hpp"
#include "evolution/evaluate/pipe.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/journal/checkpoint.hpp"
#include "evolution/journal/events.hpp"
#include "evolution/journal/ledger.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/run/context.hpp"
#include "evolution/run/finals.hpp"
#include "evolution/run/waiting.hpp"
#include "evolution/search/known_kernels.hpp"

namespace cupilot {

// Tells how far a candidate in flight has come. Any thread.
struct EvaluationStage {
  std::atomic<const char*> name = "waiting for a place";
  std::atomic<bool> ended = false;  // its result waits to be collected
};

class Driver {
 public:
  // `began`: the beginning of the run's seconds, by the host's clock.
  Driver(RunContext context, const EvolveOptions& options, std::optional<Journal> journal,
         double began, const Heartbeat& heartbeat);

  // Before run(): either measures the baselines anew or takes what a journal holds.
  Result<void> begin();
  // `checkpoint`: from which the state's events go on; null: they are all there were. False: it
  // cannot be used.
  Result<bool> restore(const RunState& state, const Checkpoint* checkpoint = nullptr);

  // Seconds that contestants took to begin, before the run's own.
  void spent_on_contestants(double seconds) {
    if (seconds > 0) asides_.phases["contestants"] += seconds;
  }

  // The search and what follows it.
  Result<EvolveReport> run();
  // The search alone: no confirmation, no best/.
  Result<void> begin_search();  // once the baselines are known
  Result<void> run_search();
  std::int64_t evaluations() const { return ledger_.evaluations(); }

 private:
  static constexpr double never = 1e300;
  static constexpr const char* time_spent = "time spent";

  // driver.cpp
  Result<void> measure_baselines();
  Result<void> search();
  std::vector<Evaluated> next_done(bool more);
  Result<void> dispatch(const Proposal& proposal);
  Result<void> dispatch_all(const std::vector<Proposal>& proposals);
  Result<bool> fill();  // false: the search is finished
  Result<void> take(Evaluated done);
  void note_refusal(const Candidate& candidate, bool fresh);
  void tell_models(const ResultRecord& record) const;
  std::string in_flight() const;  // "proving 3, compiling 1"
  // The time is over, and what is in flight will be given up before it comes to the device.
  bool only_late_ones() const;
  bool only_models_work() const;  // every candidate in flight waits for a writer
  Result<void> remember(const ResultRecord& result);
  Result<void> stop(const std::string& reason);
  void report_generations(bool closed);
  void tell_late_questions();
  std::string due() const;  // why the search should end now; "": it should not
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  Error explain(Error error) const;
  std::uint64_t measure_seed() const { return timing_seed(options_.search.seed); }
  void tell(const std::string& notice) {
    heartbeat_.heard();
    if (options_.observer != nullptr) options_.observer->on_notice(notice);
  }
  // `work` on a thread of its own, as a part of the run.
  template <class Work, class Look = LooksAtNothing>
  auto do_part(const char* part, const std::string& doing, Work work, Look look = {}) {
    const double began = host_.monotonic_seconds();
    auto answer = aside(host_, heartbeat_, doing, asides_, std::move(work), std::move(look));
    part_seconds_[part] += host_.monotonic_seconds() - began;
    return answer;
  }
  Result<void> commit();
  void forget_digests();
  // After a commit, now and then. A checkpoint that cannot be written costs a resume its time,
  // nothing else.
  void write_checkpoint();

  // plain_setting.cpp
  // True if the search is worth beginning: some template's plain setting stands.
  Result<bool> prove_plain_settings();
  Result<FinalRecord> prove_plain(const PlainSetting& setting);
  Result<EvolveReport> end_unbegun();

  // budget.cpp
  // Estimates a part that follows the search, by what was measured of candidates so far.
  double usual_seconds(const std::string& phase) const;
  double working_seconds(const std::string& phase) const;  // the same without reference values
  double content_seconds() const;
  double baseline_visit_seconds() const;
  double screen_seconds() const;
  double own_reference_seconds() const;
  double proof_seconds() const;
  double elite_seconds() const;
  double again_seconds(std::size_t finalists) const;
  // Estimates what a confirmation usually takes, or the least that it is made to take where time is
  // short.
  enum class Sparing { no, yes };
  double confirm_seconds(Sparing sparing = Sparing::no) const;
  double timing_reserve_seconds() const;  // of a confirmation, beside its rounds
  bool has_time_to_time_again(std::size_t finalists) const;
  double in_flight_seconds() const;
  double deadline() const;    // the search's; 0: none
  double device_end() const;  // of candidates in flight
  // Until when candidates in flight have time to end, by the host's clock; only with a limit.
  double last_end() const;
  double overtime_end() const;  // of what is worth more than the limit
  // Tells candidates in flight until when they may begin on the device, and stops them at their
  // end.
  void set_last_call();
  double seconds_left() const;
  double to_come_seconds() const;  // after the search, by what was measured; 0: unknown
  void tell_what_is_to_come(std::size_t finalists);

  // finish.cpp
  std::vector<Finalist> finalists() const;
  Result<void> time_again(std::vector<Finalist>& finalists);
  // `screened`: the search's screen let it pass.
  Result<FinalRecord> confirm(const Finalist& finalist, bool screened, CompiledKernel& kernel);
  // Stops an interpreted confirmation that lasts too long: a candidate that leads stands as the
  // search proved it.
  Result<FinalRecord> confirm_in_time(const Finalist& finalist, CompiledKernel& kernel);
  Result<FinalRecord> let_stand(const Candidate& leader, const std::string& why,
                                CompiledKernel& kernel);
  // Returns the search's own record of a finalist; of an earlier sitting, from the journal.
  Result<Candidate> proved_candidate(std::int64_t slot) const;
  struct Confirmed {
    Best best;
    CompiledKernel kernel;
    std::int64_t slot = 0;
    std::vector<std::string> notices;
  };
  // True for a proposal after which the time allows no other, where nothing else is on the device
  // and nothing was accepted before.
  bool is_confirmed_at_once(const Proposal& proposal) const;
  // Takes its confirmation for its evaluation; one that is accepted ends the search.
  Result<void> confirm_at_once(const Proposal& proposal);
  Result<std::optional<Confirmed>> confirm_one(const std::vector<Finalist>& all,
                                               std::int64_t& failed);
  Result<EvolveReport> conclude_run();
  Result<EvolveReport> end_run(EvolveReport report, std::int64_t best_slot);
  EvolveReport interrupted() const;
  PhaseSeconds own_phases() const;
  CpuSpent own_cpu() const;
  std::vector<Refusal> refusals() const;
  void keep_lessons(EvolveReport& report);
  EvolveReport report_so_far() const;
  void tell_phases(EvolveReport& report) const;
  void tell_cpu(EvolveReport& report) const;

  RunContext context_;
  EvolveOptions options_;
  Host& host_;
  std::optional<Journal> journal_;
  const Task& task_;  // context_'s
  Pipe pipe_;
  double started_ = 0;
  Counting counting_;
  Heartbeat heartbeat_;
  IdleLimit idle_limit_;
  Spending asides_;            // spent by errands on other threads
  PhaseSeconds part_seconds_;  // EvolveReport::part_seconds
  double search_began_ = 0, plain_proof_seconds_ = 0;
  std::vector<FinalRecord> plain_refused_;
  bool resumed_ = false;
  BaselinesRecord baselines_;
  double baselines_seconds_ = 0;
  std::optional<Search> search_;
  Ledger ledger_;
  KnownKernels known_;
  std::vector<Progress> generations_;  // reported so far; kept for a stop rule alone
  std::optional<Candidate> leader_;    // the fastest accepted one of this sitting
  struct AtOnce {
    FinalRecord record;
    CompiledKernel kernel;
  };
  std::optional<AtOnce> at_once_;  // confirmed in the search
  std::string stopped_;
  PhaseLog phases_;  // the driver's thread's
  int in_flight_ = 0, width_ = 1;
  // By the host's clock: when a candidate's proof, and its time, may begin at the latest.
  std::atomic<double> last_proof_ = never, last_time_ = never;
  std::atomic<bool> over_ = false;  // stops the candidates in flight
  DevicePlaces places_;
  std::int64_t given_up_ = 0;               // candidates that the time did not reach for
  int late_questions_ = 0;                  // to models, that the time ended before
  std::vector<Proposal> unfinished_;        // proposed in an earlier sitting, not settled
  std::map<std::uint64_t, Proposal> open_;  // proposed, not settled
  // The stage that each proposal in flight has reached.
  std::map<std::uint64_t, std::shared_ptr<EvaluationStage>> stages_;
  OwnTemplates own_;                       // the user's own, for what is told of refusals
  FirstRefusals final_refusals_;           // refusals of finalists and plain settings
  std::map<std::string, Refusal> told_;    // by code, with the kernel's text
  std::int64_t checkpointed_ = 0;          // slots at the last checkpoint
  bool checkpoint_failed_ = false;         // the last one
  std::int64_t remembered_ = 0;            // results since digests were forgotten
  std::mutex owners_mutex_;                // guards search_: jobs ask it for owners of hashes
  Evaluator* evaluator_ = nullptr;         // the caller's, or local_
  std::unique_ptr<LocalEvaluator> local_;  // last: its threads end first
};

// EvolveReport::stopped of a run that ended before its first candidate.
inline constexpr const char* plain_refused = "the plain setting is refused";

// Error of a search that ended without a valid candidate.
Error nothing_valid(const EvolveReport& report);

}  // namespace cupilot
