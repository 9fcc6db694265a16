// Ends a search: the fastest are timed again beside one another, and the best is confirmed
// by fresh processes.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include <cupilot/family.hpp>

#include "agents/models/shown_kernel.hpp"
#include "base/counting_seconds.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/run/driver.hpp"
#include "evolution/search/knowledge.hpp"

namespace cupilot {
namespace {

constexpr int finalists_considered = 12, timed_again = 4, again_rounds = 9, confirm_rounds = 15;

// `words` where they say the task to a reader who has the built-in families alone; else none.
std::vector<std::string> words_for_all(const Task& task, const std::vector<std::string>& words) {
  if (words.size() < 2) return words;
  const auto said = task_from_words(words);
  return said && task_id(*said) == task_id(task) ? words : std::vector<std::string>();
}

}  // namespace

std::vector<Finalist> Driver::finalists() const {
  std::vector<Finalist> all;
  for (const Individual& individual : search_->fastest(finalists_considered)) {
    all.push_back({static_cast<std::int64_t>(individual.id) - 1, individual.strategy,
                   individual.time_us, known_.source_of(individual.id)});
  }
  return all;
}

// The fastest of many noisy times is a lucky one; a second look at a few, interleaved, is not
// chosen for luck.
Result<void> Driver::time_again(std::vector<Finalist>& all) {
  const Phase phase("again");
  const std::size_t count = std::min<std::size_t>(all.size(), timed_again);
  if (context_.backend->provenance() != Provenance::measured || count < 2) return {};
  if (!context_.confirms) return {};
  if (!has_time_to_time_again(count)) {
    tell("the fastest are not timed again: the time that is left is for the confirmation");
    return {};
  }
  const double began = host_.monotonic_seconds();
  auto compiled = compile_finalists(pipe_, host_, std::span(all).first(count), [&] {
    if (heartbeat_.is_due()) heartbeat_.tell("compiling the fastest anew", began);
  });
  if (compiled.is_error()) return compiled.error();
  if (compiled.is_rejected()) return {};
  for (std::size_t i = 0; i < count; ++i) all[i].kernel = std::move((*compiled)[i]);
  // Contents whose reference values the device keeps; the confirmation meets its own.
  const MeasureOptions rules{again_rounds, 4.0, true, measure_seed()};
  const auto time = [&] { return time_finalists(pipe_, std::span(all).first(count), rules); };
  return aside(host_, heartbeat_, "timing the fastest again", asides_, time);
}

Result<FinalRecord> Driver::confirm(const Finalist& finalist, bool screened,
                                    CompiledKernel& kernel) {
  const Phase phase("confirm");
  if (auto renewed = context_.backend->inspector().renew(); !renewed) return renewed.error();
  EvaluationOptions rules;
  rules.level = ProofLevel::finalist;
  rules.screened_before = screened && context_.screen != nullptr;
  rules.compiled = finalist.kernel ? &*finalist.kernel : nullptr;
  rules.anew = true;
  rules.proof_seed =
      Rng::of(options_.search.seed, "finalist", static_cast<std::uint64_t>(finalist.slot)).next();
  rules.measure = {confirm_rounds, 8.0, true, rules.proof_seed + 1};
  if (context_.backend->provenance() == Provenance::measured) {
    rules.count = [this](bool) { return counting_.plan_last(); };
    if (options_.max_seconds > 0)
      rules.round_seconds = [this, most = rules.measure.max_seconds] {
        return std::clamp(seconds_left() - timing_reserve_seconds(), 1.0, most);
      };
  }
  return confirm_finalist(pipe_, finalist, rules, baselines_.baselines, options_.against,
                          options_.own_baselines, kernel);
}

Result<Candidate> Driver::proved_candidate(std::int64_t slot) const {
  const auto id = static_cast<std::uint64_t>(slot) + 1;
  if (leader_ && leader_->id == id) return *leader_;
  return kept_candidate(host_, options_.run_dir, id);
}

Result<FinalRecord> Driver::confirm_in_time(const Finalist& finalist, CompiledKernel& kernel) {
  const bool leads = leader_ && leader_->id == static_cast<std::uint64_t>(finalist.slot) + 1;
  if (!context_.confirms && (leads || !options_.run_dir.empty())) {
    const auto leader = proved_candidate(finalist.slot);
    if (!leader) return leader.error();
    return let_stand(*leader, "parts of a search in seconds are not, but in the program that wins",
                     kernel);
  }
  const bool may_stand =
      context_.backend->provenance() == Provenance::modelled && options_.max_seconds > 0 && leads;
  std::atomic<bool> over{false};
  const StopScope in_time({options_.cancel, &over});
  const auto look = [&] {
    if (may_stand && host_.monotonic_seconds() >= overtime_end()) over = true;
  };
  auto record = do_part(
      "confirm", fmt::format("confirming #{}", finalist.slot + 1),
      [&] { return confirm(finalist, true, kernel); }, look);
  if (record || !over || cancelled()) return record;
  const StopScope unhurried({options_.cancel});
  return let_stand(*leader_, "the run's seconds ended before", kernel);
}

bool Driver::is_confirmed_at_once(const Proposal& proposal) const {
  return proposal.last && options_.evaluator == nullptr && context_.confirms && in_flight_ == 0 &&
         context_.backend->provenance() == Provenance::measured && !search_->best();
}

Result<void> Driver::confirm_at_once(const Proposal& proposal) {
  const double began = host_.monotonic_seconds();
  CompiledKernel kernel;
  auto record = do_part("confirm", fmt::format("confirming #{}", proposal.id), [&] {
    return confirm({proposal.slot, proposal.strategy}, false, kernel);
  });
  if (!record && cancelled()) return {};  // it stays open for a resumed run
  if (!record) return std::move(record.error()).while_doing(fmt::format("slot {}", proposal.slot));
  Evaluated done{proposal, record->candidate, {host_.monotonic_seconds() - began}};
  ++in_flight_;
  if (auto taken = take(std::move(done)); !taken) return taken;
  if (std::holds_alternative<Rejected>(record->candidate.outcome)) return commit();
  at_once_ = AtOnce{std::move(*record), std::move(kernel)};
  return stop(time_spent);
}

// The leader, as the search proved it.
Result<FinalRecord> Driver::let_stand(const Candidate& leader, const std::string& why,
                                      CompiledKernel& kernel) {
  auto compiled = context_.backend->compile(leader.source);
  if (compiled.is_error()) return Error(compiled.error()).while_doing("compiling the best");
  if (compiled.is_rejected())
    return Error{ErrorCode::failure,
                 "the best did not compile again: " + compiled.rejected().message, ""};
  kernel = std::move(*compiled);
  return unconfirmed_leader(leader, baselines_.baselines, why);
}

EvolveReport Driver::report_so_far() const {
  EvolveReport report;
  report.baselines = baselines_.baselines;
  report.evaluations = ledger_.evaluations();
  report.proposed = ledger_.proposed();
  report.rejected = ledger_.rejected();
  report.wall_seconds = host_.monotonic_seconds() - started_;
  report.resumed = resumed_;
  report.seed = options_.search.seed;
  report.device = context_.backend->identity();
  report.stopped = stopped_;
  report.run_dir = options_.run_dir;
  report.notices = baselines_.notices;
  report.part_seconds = part_seconds_;
  report.refusals = refusals();
  tell_phases(report);
  return report;
}

std::vector<Refusal> Driver::refusals() const {
  FirstRefusals all = ledger_.first_refusals();
  for (const auto& [code, refusal] : final_refusals_) keep_first(all, refusal);
  std::vector<Refusal> told = explained(all, host_, options_.run_dir, own_);
  // Without a run directory nothing else has the kernels' texts.
  for (Refusal& refusal : told) {
    const auto known = told_.find(refusal.why.code);
    const bool same = known != told_.end() && known->second.candidate == refusal.candidate;
    if (same && options_.run_dir.empty()) refusal = known->second;
  }
  return told;
}

PhaseSeconds Driver::own_phases() const {
  PhaseSeconds all = phases_.seconds();
  for (const auto& [path, seconds] : asides_.phases) all[path] += seconds;
  return all;
}

CpuSpent Driver::own_cpu() const {
  CpuSpent all = phases_.cpu();
  all.add(asides_.cpu);
  return all;
}

void Driver::tell_phases(EvolveReport& report) const {
  report.phase_seconds = ledger_.phases();
  for (const auto& [path, seconds] : own_phases()) report.phase_seconds[path] += seconds;
  report.counting_seconds = counting_seconds(report.phase_seconds);
  tell_cpu(report);
}

void Driver::tell_cpu(EvolveReport& report) const {
  CpuSpent cpu = ledger_.cpu();
  cpu.add(own_cpu());
  cupilot::tell_cpu(report, std::move(cpu));
}

// The fastest that fresh processes confirm.
Result<std::optional<Driver::Confirmed>> Driver::confirm_one(const std::vector<Finalist>& all,
                                                             std::int64_t& failed) {
  CompiledKernel kernel;
  for (const Finalist& finalist : all) {
    if (cancelled()) break;
    const bool known = at_once_ && at_once_->record.slot == finalist.slot;
    auto record = known ? std::move(at_once_->record) : confirm_in_time(finalist, kernel);
    if (known) kernel = std::move(at_once_->kernel);
    if (!record) return record.error();
    if (const auto* why = std::get_if<Rejected>(&record->candidate.outcome))
      record->candidate.outcome =
          reject("confirm.failed", why->code + ": " + why->message, why->where);
    if (journal_) journal_->add(RecordType::final_trial, to_json(*record));
    if (auto done = commit(); !done) return done.error();
    const auto* rejected = std::get_if<Rejected>(&record->candidate.outcome);
    if (rejected == nullptr)
      return std::optional(Confirmed{best_of(*record), std::move(kernel), finalist.slot,
                                     std::move(record->notices)});
    ++failed;
    tell("#" + std::to_string(finalist.slot + 1) + " was not confirmed: " + rejected->message);
    keep_first(final_refusals_, first_refusal(record->candidate));
  }
  return std::optional<Confirmed>();
}

namespace {

// Those of the codes met most often first; what merely came twice last.
std::vector<const Refusal*> by_weight(const EvolveReport& report) {
  std::vector<const Refusal*> all;
  for (const Refusal& refusal : report.refusals) all.push_back(&refusal);
  const auto weight = [&](const Refusal* one) {
    const auto count = report.rejected.find(one->why.code);
    return one->why.code == "gate.duplicate" || count == report.rejected.end() ? 0 : count->second;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Refusal* a, const Refusal* b) { return weight(a) > weight(b); });
  return all;
}

constexpr std::size_t refusals_told = 3;

// Seconds that plain settings' proofs took of a run that had fewer for its candidates; else 0.
double lost_to_plain(const EvolveReport& report) {
  const auto part = [&](const char* name) {
    const auto found = report.part_seconds.find(name);
    return found == report.part_seconds.end() ? 0 : found->second;
  };
  const double plain = part("plain setting");
  const bool lost = report.stopped == "time spent" && report.evaluations == 0;
  return lost && plain > part("search") ? plain : 0;
}

}  // namespace

Error nothing_valid(const EvolveReport& report) {
  const bool unbegun = report.stopped == plain_refused;
  const bool limited = report.stopped == "evaluations spent" || report.stopped == "time spent" ||
                       report.stopped == "generations spent";
  std::string text = unbegun ? "no search was begun, " + report.stopped
                             : fmt::format("{} after {} evaluations without a valid candidate",
                                           report.stopped, report.evaluations);
  std::string codes;
  for (const auto& [code, count] : report.rejected)
    codes += fmt::format("{}{} {}", codes.empty() ? ": " : ", ", count, code);
  if (!unbegun) text += codes;
  const double plain = lost_to_plain(report);
  if (plain > 0)
    text += fmt::format(": proving the plain setting took {:.1f} of its {:.1f} s", plain,
                        report.wall_seconds);
  const std::vector<const Refusal*> refusals = by_weight(report);
  for (std::size_t i = 0; i < std::min(refusals.size(), refusals_told); ++i)
    text += (unbegun && i == 0 ? ": " : "; ") + sentence(*refusals[i]);
  const bool unrecorded =
      report.device.starts_with("recorded:") && report.rejected.contains("measure.failed");
  std::string next =
      unrecorded
          ? "the recording lacks most strategies: record more with --count, or every one with --all"
      : !refusals.empty() ? refusals.front()->next
      : plain > 0         ? fmt::format(
                                "give some {:.0f} seconds: a candidate's proof and the confirmation take "
                                        "about as long each",
                                std::ceil(report.wall_seconds + 2 * plain))
      : limited ? "give more evaluations or seconds"
                : "look at the rejections with `cupilot report`";
  // A resume would meet it again: the run's directory keeps it.
  if (unbegun && !report.run_dir.empty()) next += "; then begin again in another --run directory";
  return {limited ? ErrorCode::budget : ErrorCode::no_candidate, std::move(text), std::move(next)};
}

// Tells the pool what worked. A pool that cannot be written costs later runs its advice, not this
// run.
void Driver::keep_lessons(EvolveReport& report) {
  if (context_.pool.empty()) return;
  const Candidate& champion = report.best->candidate;
  const auto* accepted = std::get_if<Accepted>(&champion.outcome);
  if (accepted == nullptr) return;
  std::vector<Individual> fastest = search_->fastest(static_cast<int>(search_->proposed()));
  fastest.insert(fastest.begin(), {champion.id, champion.strategy, accepted->measurement.time_us, 0,
                                   accepted->verdict});
  const double plain_us = plain_time_us(report.best->baselines);
  const Backend& backend = *context_.backend;
  auto lessons = lessons_of(task_, backend.device(), backend.provenance(), plain_us, fastest,
                            options_.pool_tags);
  // The champion's, which the proof of the best was for.
  if (std::string kernel = shown_text(champion.source);
      !lessons.empty() && context_.confirms && kernel.size() <= longest_example) {
    lessons.front().kernel = std::move(kernel);
    if (task_.reference.text.size() <= longest_computes)
      lessons.front().computes = task_.reference.text;
  }
  auto kept = keep_in_pool(context_.pool, lessons);
  const std::string kind = kind_of_times(task_, backend.device(), backend.provenance());
  if (kept && options_.pool_tags.empty())
    kept = keep_outcomes(context_.pool, kind, outcomes_of(task_, fastest));
  if (!kept) {
    report.notices.push_back("nothing was kept in the pool: " + kept.error().message +
                             "; next: " + kept.error().hint);
    tell(report.notices.back());
  }
}

Result<EvolveReport> Driver::conclude_run() {
  std::vector<Finalist> all = finalists();
  if (!at_once_) tell_what_is_to_come(all.size());
  const double began = host_.monotonic_seconds();
  if (auto timed = time_again(all); !timed) return timed.error();
  if (const double seconds = host_.monotonic_seconds() - began; seconds > 0)
    part_seconds_["again"] += seconds;
  std::int64_t failed = 0;
  auto confirmed = confirm_one(all, failed);
  if (!confirmed) return confirmed.error();
  if (!*confirmed && cancelled()) return interrupted();
  EvolveReport report = report_so_far();
  if (failed > 0) report.rejected["confirm.failed"] += failed;
  if (!*confirmed) return end_run(std::move(report), -1);
  Confirmed& best = **confirmed;
  for (std::string& notice : best.notices) {
    tell(notice);
    report.notices.push_back(std::move(notice));
  }
  for (std::string& alarm : drift_alarms(best.best)) {
    tell(alarm);
    report.notices.push_back(std::move(alarm));
  }
  if (!options_.run_dir.empty()) {
    const Phase phase("best");
    auto written = write_best(host_, options_.run_dir, task_, *context_.backend, best.best,
                              best.kernel, words_for_all(task_, options_.task_words));
    if (!written) return written.error();
  }
  report.best = std::move(best.best);
  keep_lessons(report);
  return end_run(std::move(report), best.slot);
}

// Writes the end of the journal, and the page.
Result<EvolveReport> Driver::end_run(EvolveReport report, std::int64_t best_slot) {
  tell_phases(report);
  if (journal_) {
    EndRecord end{report.stopped,      best_slot,    report.evaluations, report.proposed,
                  report.wall_seconds, own_phases(), own_cpu(),          resumed_,
                  part_seconds_};
    journal_->add(RecordType::end, to_json(end));
  }
  if (auto done = commit(); !done) return done.error();
  if (!options_.run_dir.empty()) {
    const Phase phase("page");
    if (auto page = write_report(host_, options_.run_dir); !page) return page.error();
  }
  tell_cpu(report);
  if (report.best) return report;
  return nothing_valid(report);
}

}  // namespace cupilot
