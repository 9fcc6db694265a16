#include "evolution/run/driver.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <cupilot/parts/policy.hpp>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/version.hpp>

#include "base/guard.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/local_evaluator.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/run/baselines.hpp"
#include "evolution/run/timely_chat.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

// A small budget would be spent on generation 0: it gets smaller ones, and more of them. Where they
// would be too small to breed from, drawing serves as well.
void size_to_budget(SearchOptions& options) {
  constexpr std::int64_t worth_breeding = 24;
  if (options.max_evaluations < worth_breeding) return;
  const auto most = [&](int usual, std::int64_t part, int least) {
    return static_cast<int>(
        std::clamp<std::int64_t>(options.max_evaluations / part, std::min(usual, least), usual));
  };
  options.initial = most(options.initial, 3, 8);
  options.children = most(options.children, 6, 4);
}

// A search whose every kernel a model writes looks back less: its answers are all that takes long,
// and a first right kernel and refusals are to be seen before the next questions.
constexpr int model_lookahead = 4;

SearchOptions resolved(SearchOptions options, const RunContext& context) {
  if (options.lookahead != 0) return options;
  const Backend& backend = *context.backend;
  const bool real = backend.provenance() == Provenance::measured;
  const int compiles = backend.traits().parallel_compiles;
  options.lookahead = context.model_alone
                          ? std::max(model_lookahead, options.parallel)
                          : std::max(least_lookahead, real ? compiles + compiles / 2 : 0);
  size_to_budget(options);
  return options;
}

// One candidate more than run at once: what it needs of the host is made ready meanwhile.
int places_on(const Backend& backend) {
  return backend.traits().parallel_trials + (backend.provenance() == Provenance::measured ? 1 : 0);
}

// Proposals in flight.
int width_of(const EvolveOptions& options, const Backend& backend) {
  const int worth =
      options.evaluator != nullptr ? options.evaluator->capacity() : capacity_of(backend);
  const int width = options.search.parallel > 0 ? options.search.parallel : worth;
  return std::clamp(width, 1, std::max(1, options.search.lookahead));
}

// True if it was accepted and nothing leads, or a slower one.
bool is_faster(const Candidate& candidate, const std::optional<Candidate>& leader) {
  const auto* one = std::get_if<Accepted>(&candidate.outcome);
  const auto* other = leader ? std::get_if<Accepted>(&leader->outcome) : nullptr;
  return one != nullptr &&
         (other == nullptr || one->measurement.time_us < other->measurement.time_us);
}

}  // namespace

Driver::Driver(RunContext context, const EvolveOptions& options, std::optional<Journal> journal,
               double began, const Heartbeat& heartbeat)
    : context_(std::move(context)),
      options_(options),
      host_(options.host != nullptr ? *options.host : real_host()),
      journal_(std::move(journal)),
      task_(*context_.task),
      pipe_{context_.task, context_.backend, context_.writer, options.search.seed, context_.screen},
      started_(began),
      counting_(host_, context_.backend->provenance(), began),
      heartbeat_(heartbeat),
      idle_limit_(host_, options.model_patience, options.cancel),
      ledger_(options.search.max_evaluations),
      known_(options.search.steering.code_crossover),
      phases_([this] { return host_.monotonic_seconds(); },
              [this] { return host_.thread_cpu_seconds(); }),
      places_(places_on(*context_.backend), [this](DevicePlaces::For what) {
        const std::atomic<double>& last =
            what == DevicePlaces::For::proof ? last_proof_ : last_time_;
        return host_.monotonic_seconds() >= last.load();
      }) {
  own_ = own_templates(options.tunables, options.tunables, options.families);
  part_seconds_["beginning"] = host_.monotonic_seconds() - began;
  options_.search = resolved(options.search, context_);
  width_ = width_of(options_, *context_.backend);
  if (context_.chat != nullptr)
    heartbeat_.watch([chat = context_.chat.get()] { return chat->open(); });
}

Result<void> Driver::commit() {
  if (!journal_) return {};
  const Phase phase("journal");
  return journal_->commit();
}

Result<void> Driver::measure_baselines() {
  std::vector<std::string> notices = context_.backend->traits().notices;
  notices.insert(notices.end(), context_.notices.begin(), context_.notices.end());
  const auto own = prove_own(pipe_, options_.own_baselines, notices);
  if (!own) return own.error();
  const double began = host_.monotonic_seconds();  // of timing, which is repeated after the search
  auto timed = time_baselines(pipe_, options_.plain_baseline, context_.asks_library, *own,
                              std::move(notices));
  if (!timed) return timed.error();
  baselines_ = std::move(*timed);
  baselines_seconds_ = host_.monotonic_seconds() - began;
  return {};
}

Result<void> Driver::begin() {
  if (!journal_) return {};
  HeaderRecord header;
  header.program = version;
  auto task_json = task_to_json(task_);
  if (!task_json) return task_json.error();
  header.task_json = std::move(*task_json);
  header.task_words = options_.task_words;
  header.search = options_.search;
  header.max_seconds = options_.max_seconds;
  header.tunables = options_.tunables;
  header.random_search = options_.random_search;
  header.plain_baseline = options_.plain_baseline;
  header.against = options_.against;
  header.own_baselines = options_.own_baselines;
  if (options_.chat != nullptr) header.seats = context_.seats;
  header.identity = context_.backend->identity();
  header.device_name = options_.device_name.empty() ? header.identity : options_.device_name;
  header.provenance = context_.backend->provenance();
  header.device = context_.backend->device();
  header.pool = options_.pool;
  header.pool_tags = options_.pool_tags;
  header.techniques = context_.backend->traits().techniques;
  if (context_.screen != nullptr) header.screen = context_.screen->identity();
  header.remembered = context_.knowledge.remembered;
  header.remembered_effects = context_.knowledge.effects;
  header.learnt = context_.learnt;
  header.started = host_.utc_now();
  journal_->add(RecordType::header, to_json(header));
  // The header is safe before anything is spent, so that a full or read-only disk is told at once.
  return commit();
}

// Nothing is bred from a strategy that left the population a few generations ago.
void Driver::forget_digests() {
  if (++remembered_ < std::max<std::int64_t>(256, 4 * options_.search.lookahead)) return;
  remembered_ = 0;
  std::vector<std::string> alive;
  for (const Individual& one : search_->archive()) alive.push_back(strategy_id(one.strategy));
  known_.forget_digests(alive);
}

Error Driver::explain(Error error) const {
  if (options_.run_dir.empty()) return error;
  if (const auto best = search_ ? search_->best() : std::nullopt) {
    error.message += fmt::format(
        " (best so far, unconfirmed: {:.4g} us {}, #{}; the journal keeps all that was told)",
        best->time_us, name_of(context_.backend->provenance()), best->id);
  }
  const std::string resumed = "`cupilot resume " + options_.run_dir + "`";
  if (error.hint.empty()) error.hint = "continue with " + resumed;
  // A resume asks again what was asked in vain. A search that came to its end has no question open.
  const bool of_models = error.code == ErrorCode::endpoint || error.code == ErrorCode::budget;
  if (of_models && context_.chat != nullptr && stopped_.empty())
    error.hint += "; then " + resumed + " with the same --models goes on";
  return error;
}

Result<void> Driver::dispatch(const Proposal& proposal) {
  if (is_confirmed_at_once(proposal)) return confirm_at_once(proposal);
  ++in_flight_;
  const auto stage = std::make_shared<EvaluationStage>();
  stages_[proposal.id] = stage;
  EvaluationJob job;
  job.proposal = proposal;
  job.brief = known_.brief_for(proposal,
                               static_cast<std::uint64_t>(search_->state_->visible(proposal.slot)));
  job.elite_below_us = search_->known_best_us(proposal.slot);
  job.begins = [stage](const char* begun) {
    if (begun == std::string_view("done")) {
      stage->ended = true;
    } else {
      stage->name = begun;
    }
  };
  job.refuse = [this, slot = proposal.slot](const std::string& hash) {
    const std::lock_guard lock(owners_mutex_);
    return had_before(*search_, hash, slot);
  };
  evaluator_->submit(std::move(job));
  return {};
}

Result<void> Driver::dispatch_all(const std::vector<Proposal>& proposals) {
  for (const Proposal& proposal : proposals) {
    if (auto begun = dispatch(proposal); !begun) return begun;
  }
  return {};
}

Result<bool> Driver::fill() {
  const int width = width_;
  while (in_flight_ < width && !unfinished_.empty()) {
    const Proposal proposal = std::move(unfinished_.front());
    unfinished_.erase(unfinished_.begin());
    if (auto begun = dispatch(proposal); !begun) return begun.error();
  }
  bool more = true;
  std::vector<Proposal> fresh;
  while (in_flight_ + static_cast<int>(fresh.size()) < width) {
    const Phase phase("propose");
    if (context_.chat != nullptr) context_.chat->ends_at(deadline());
    if (context_.search_end != nullptr) context_.search_end->store(deadline());
    const auto ask = [this] {
      std::unique_lock lock(owners_mutex_);
      // Candidates ask for owners of their hashes while a model is waited for.
      const LentLock lent(lock);
      return search_->ask(1);
    };
    auto asked = context_.chat != nullptr
                     ? aside(host_, heartbeat_, "waiting for the model", asides_, ask,
                             [this] { idle_limit_.look(only_models_work()); })
                     : ask();
    if (!asked) return asked.error();
    if (std::holds_alternative<Waiting>(*asked)) {
      if (in_flight_ > 0 || !fresh.empty()) break;
      return Error{ErrorCode::failure, "the search waits for results that nobody works on",
                   "this is a fault of cupilot"};
    }
    if (const auto* finished = std::get_if<Finished>(&*asked)) {
      stopped_ = finished->reason;
      more = false;
      break;
    }
    for (Proposal& proposal : std::get<std::vector<Proposal>>(*asked)) {
      if (journal_) journal_->add(RecordType::proposal, to_json(proposal));
      ledger_.propose(proposal);
      open_.emplace(proposal.id, proposal);
      fresh.push_back(std::move(proposal));
    }
    if (context_.chat == nullptr) continue;
    // The next question may take long: what was proposed is written and proved meanwhile.
    if (auto done = commit(); !done) return done.error();
    if (auto begun = dispatch_all(fresh); !begun) return begun.error();
    fresh.clear();
  }
  // Proposals are safe before anything is spent on them.
  if (auto done = commit(); !done) return done.error();
  if (auto begun = dispatch_all(fresh); !begun) return begun.error();
  return more && stopped_.empty();
}

Result<void> Driver::take(Evaluated done) {
  const Phase phase("tell");
  --in_flight_;
  stages_.erase(done.proposal.id);
  if (!done.candidate && cancelled())
    return {};  // it may have been cut short, and stays open for a resumed run
  const bool late = !done.candidate && TimelyChat::is_late(done.candidate.error());
  if (done.given_up || late) {
    ++given_up_;
    late_questions_ += late ? 1 : 0;
    return {};  // as above
  }
  if (!done.candidate) {
    return std::move(done.candidate.error())
        .while_doing(fmt::format("slot {}", done.proposal.slot));
  }
  ResultRecord record;
  record.epoch = done.proposal.epoch;
  record.generation = done.proposal.generation;
  record.slot = done.proposal.slot;
  record.candidate = std::move(*done.candidate);
  record.candidate.id = done.proposal.id;
  record.seconds = done.cost.seconds;
  record.phases = std::move(done.cost.phase_seconds);
  record.cpu = {std::move(done.cost.cpu_seconds), done.cost.device_cpu_seconds};
  if (!options_.run_dir.empty()) {
    const Phase writing("journal");
    auto kept = keep_source(host_, options_.run_dir, record.candidate, options_.task_words);
    if (!kept) return kept;
    journal_->add(RecordType::result, to_json(record));
  }
  known_.keep(record.candidate);
  if (is_faster(record.candidate, leader_)) leader_ = record.candidate;
  open_.erase(record.candidate.id);
  tell_models(record);
  {
    const std::lock_guard lock(owners_mutex_);
    cupilot::tell(*search_, record.candidate);
  }
  forget_digests();
  const bool fresh = ledger_.settle(record);
  if (options_.observer != nullptr) options_.observer->on_candidate(record.candidate);
  if (std::holds_alternative<Rejected>(record.candidate.outcome))
    note_refusal(record.candidate, fresh);
  return {};
}

// Before the search hears of it: a gain is one over the best so far.
void Driver::tell_models(const ResultRecord& record) const {
  if (context_.chat == nullptr) return;
  ChatOutcome outcome;
  outcome.key = fmt::format("slot {}", record.slot);
  outcome.proposed = context_.strategist->is_expensive(record.slot, record.generation);
  const auto* accepted = std::get_if<Accepted>(&record.candidate.outcome);
  const auto best = search_->best();
  if (accepted != nullptr && best && accepted->measurement.time_us > 0)
    outcome.log2_gain = std::max(0.0, std::log2(best->time_us / accepted->measurement.time_us));
  context_.chat->told(outcome);
}

// The text of a kernel is at hand now, and in no journal.
void Driver::note_refusal(const Candidate& candidate, bool fresh) {
  FirstRefusal refusal = first_refusal(candidate);
  const auto& first = ledger_.first_refusals();
  const auto known = first.find(refusal.why.code);
  const bool leads = known == first.end() || known->second.candidate == candidate.id;
  if (!fresh && !leads) return;
  Refusal told = explained(refusal, candidate.source.text, own_);
  if (fresh && options_.observer != nullptr) {
    heartbeat_.heard();
    options_.observer->on_refusal(told);
  }
  told_.insert_or_assign(refusal.why.code, std::move(told));
}

std::string Driver::in_flight() const {
  std::map<std::string, int> counts;
  for (const auto& [id, stage] : stages_) ++counts[stage->name.load()];
  std::string text;
  for (const auto& [stage, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stage, count);
  return text.empty() ? "breeding" : text;
}

// The caller's evaluator has jobs until it hands them back.
bool Driver::only_late_ones() const {
  if (options_.evaluator != nullptr || !places_.is_over()) return false;
  return std::all_of(stages_.begin(), stages_.end(), [](const auto& one) {
    const std::string_view stage = one.second->name.load();
    return stage != "proving" && stage != "timing" && !one.second->ended;
  });
}

bool Driver::only_models_work() const {
  return std::all_of(stages_.begin(), stages_.end(), [](const auto& one) {
    const std::string_view stage = one.second->name.load();
    return stage == "writing" || stage == "waiting for a place" || one.second->ended;
  });
}

Result<void> Driver::stop(const std::string& reason) {
  search_->stop(reason);
  stopped_ = reason;
  if (journal_) journal_->add(RecordType::decision, to_json(DecisionRecord{"stop", reason, 0, 0}));
  return commit();
}

void Driver::report_generations(bool closed) {
  for (Progress& progress : ledger_.take_finished(baselines_, closed)) {
    progress.wall_seconds = host_.monotonic_seconds() - started_;
    heartbeat_.heard();
    if (options_.observer != nullptr) options_.observer->on_generation(progress);
    if (options_.stop) generations_.push_back(std::move(progress));
  }
}

std::string Driver::due() const {
  if (given_up_ > 0) return time_spent;  // whatever the deadline is by now
  if (const double end = deadline(); end > 0 && host_.monotonic_seconds() >= end) return time_spent;
  return options_.stop && !generations_.empty() ? options_.stop(generations_) : "";
}

// Nothing that a turn of the search does comes to anything new before a job ends, unless the search
// itself is to end.
std::vector<Evaluated> Driver::next_done(bool more) {
  while (true) {
    set_last_call();
    std::vector<Evaluated> done = evaluator_->collect(in_flight_ > 0 ? wait_seconds : 0);
    idle_limit_.look(in_flight_ > 0 && done.empty() && only_models_work());
    if (heartbeat_.is_due()) heartbeat_.tell(in_flight(), search_began_, to_come_seconds());
    if (!done.empty() || in_flight_ == 0 || cancelled() || (!more && only_late_ones()) ||
        (more && !due().empty()))
      return done;
  }
}

// Nobody else answered in the model's place: an answer that comes later is not lost.
void Driver::tell_late_questions() {
  if (context_.chat == nullptr || cancelled() || stopped_ != time_spent) return;
  int late = late_questions_;
  for (const OpenQuestions& open : context_.chat->open()) late += open.count;
  if (late == 0) return;
  tell(fmt::format("the run's time ended with {} question{} to its models open{}", late,
                   late == 1 ? "" : "s",
                   options_.run_dir.empty()
                       ? ""
                       : fmt::format(": `cupilot resume {} --seconds S` with the same --models "
                                     "goes on with them",
                                     options_.run_dir)));
}

Result<void> Driver::search() {
  search_began_ = host_.monotonic_seconds();
  const StopScope in_time({options_.cancel, &over_});
  if (options_.evaluator == nullptr)
    local_ = std::make_unique<LocalEvaluator>(pipe_, host_, counting_, places_, width_);
  evaluator_ = local_ != nullptr ? local_.get() : options_.evaluator;
  std::optional<Error> failed;
  const auto note = [&](Result<void> result) {
    if (!result && !failed) failed = result.error();
  };
  bool more = stopped_.empty(), cut_short = false;
  while (more || in_flight_ > 0 || (!unfinished_.empty() && !failed && !cancelled())) {
    if (more && cancelled()) more = false;
    if (const std::string reason = more ? due() : ""; !reason.empty()) {
      note(stop(reason));
      more = false;
    }
    if ((more || (!unfinished_.empty() && !cancelled())) && !failed) {
      auto filled = fill();
      const bool late = !filled && TimelyChat::is_late(filled.error());
      if (late) ++given_up_, ++late_questions_;  // a candidate that is not even proposed
      cut_short = !filled && (cancelled() || late);
      if (!filled && !cut_short) note(filled.error());
      more = more && filled && *filled;
    }
    if (!failed && !cut_short) write_checkpoint();
    for (Evaluated& done : next_done(more)) note(take(std::move(done)));
    if (!failed) note(commit());
    if (failed) more = false;
    report_generations(false);
    if (!more && in_flight_ > 0 && unfinished_.empty() && only_late_ones()) {
      given_up_ += in_flight_;
      break;
    }
  }
  over_ = true;
  if (in_flight_ == 0) local_.reset();  // else what was given up ends beside what follows
  if (given_up_ > 0 && stopped_ != time_spent) note(stop(time_spent));
  tell_late_questions();
  const auto confirmed = part_seconds_.find("confirm");  // within it
  part_seconds_["search"] += host_.monotonic_seconds() - search_began_ -
                             (confirmed == part_seconds_.end() ? 0 : confirmed->second);
  // Even after a failure elsewhere, what was told is written if it can be.
  if (failed) static_cast<void>(commit());
  if (failed) return explain(std::move(*failed));
  return {};
}

Result<void> Driver::begin_search() {
  const double plain_us = plain_time_us(baselines_.baselines);
  if (options_.policy) {
    auto policy = options_.policy(options_.search, *context_.space);
    if (policy == nullptr)
      return Error{ErrorCode::usage, "EvolveOptions::policy returned no policy",
                   "return one, or leave the function out"};
    search_.emplace(options_.search, plain_us, std::move(policy));
    return {};
  }
  search_.emplace(options_.search, *context_.space, *context_.strategist, context_.zone, plain_us,
                  context_.knowledge);
  return {};
}

Result<void> Driver::run_search() {
  if (!search_) {
    auto measured =
        do_part("baselines", "timing the baselines", [this] { return measure_baselines(); });
    if (!measured) return explain(std::move(measured.error()));
    if (journal_) journal_->add(RecordType::baselines, to_json(baselines_));
    if (auto done = commit(); !done) return explain(std::move(done.error()));
    if (auto begun = begin_search(); !begun) return begun;
  }
  for (const std::string& notice : baselines_.notices) tell(notice);
  return search();
}

EvolveReport Driver::interrupted() const {
  EvolveReport report = report_so_far();
  report.stopped = "interrupted";
  return report;
}

Result<EvolveReport> Driver::run() {
  if (!search_) {
    auto stands = prove_plain_settings();
    if (cancelled()) return interrupted();
    if (!stands) return explain(std::move(stands.error()));
    if (!*stands) return end_unbegun();
  }
  auto searched = run_search();
  if (cancelled()) return interrupted();
  if (!searched) return searched.error();
  report_generations(true);
  auto concluded = conclude_run();
  if (!concluded && cancelled()) return interrupted();
  if (!concluded) return explain(std::move(concluded.error()));
  return concluded;
}

}  // namespace cupilot
