#include <cupilot/evolve.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <cupilot/checker_power.hpp>

#include "base/guard.hpp"
#include "evolution/driver.hpp"
#include "evolution/forecast_score.hpp"
#include "evolution/run_files.hpp"

namespace cupilot {
namespace {

Host& host_of(const EvolveOptions& options) { return options.host != nullptr ? *options.host : real_host(); }

Result<RunState> state_of(Host& host, const std::string& run_dir, Evidence evidence = Evidence::dropped) {
  auto read = read_journal(host, run_dir);
  if (!read) return read.error();
  return fold(*read, evidence);
}

EvolveReport report_of(const RunState& state, Host& host, const std::string& run_dir) {
  EvolveReport report;
  Ledger ledger;
  for (const SearchEvent& event : state.events) {
    if (const auto* proposal = std::get_if<Proposal>(&event)) ledger.propose(*proposal);
    if (const auto* result = std::get_if<ResultRecord>(&event)) ledger.settle(*result);
    if (const auto* decision = std::get_if<DecisionRecord>(&event)) report.stopped = decision->reason;
  }
  if (state.baselines) {
    report.baselines = state.baselines->baselines;
    report.notices = state.baselines->notices;
  }
  for (const FinalRecord& record : state.finals) {
    if (std::holds_alternative<Accepted>(record.candidate.outcome)) {
      report.best = best_of(record);
      if (auto source = kept_source(host, run_dir, record.candidate.kernel_id))
        report.best->candidate.source = std::move(*source);
      for (std::string& alarm : drift_alarms(*report.best)) report.notices.push_back(std::move(alarm));
    } else {
      ++report.rejected["confirm.failed"];
    }
  }
  for (const auto& [code, count] : ledger.rejected()) report.rejected[code] += count;
  report.evaluations = ledger.evaluations();
  report.proposed = ledger.proposed();
  report.phase_seconds = ledger.phases();
  report.controller_cpu_seconds = ledger.cpu_seconds();
  report.seed = state.header.search.seed;
  report.device = state.header.identity;
  report.run_dir = run_dir;
  if (state.end) {
    report.stopped = state.end->stopped;
    report.wall_seconds = state.end->wall_seconds;
    for (const auto& [path, seconds] : state.end->phases) report.phase_seconds[path] += seconds;
    report.controller_cpu_seconds += state.end->cpu_seconds;
  }
  report.counting_seconds = counting_seconds(report.phase_seconds);
  return report;
}

// One screen line a generation.
std::string line_of(const Progress& p) {
  std::int64_t refused = 0;
  for (const auto& [code, count] : p.rejected) refused += count;
  char text[160];
  std::snprintf(text, sizeof text,
                "epoch %d generation %d: %lld evaluated, %lld verified, %lld rejected, best %.4g us: ", p.epoch, p.generation,
                static_cast<long long>(p.evaluations), static_cast<long long>(p.accepted), static_cast<long long>(refused),
                p.best_us);
  return text + p.best_strategy;
}

// Whether the caller's limits go beyond what ended the run.
bool reopens(const RunState& state, const EvolveOptions& options) {
  if (!state.end) return false;
  std::int64_t limit = state.header.search.max_evaluations;
  for (const SearchEvent& event : state.events) {
    if (const auto* decision = std::get_if<DecisionRecord>(&event); decision != nullptr && decision->kind == "extend") {
      limit = std::max(limit, decision->max_evaluations);
    }
  }
  const bool more_time = state.end->stopped == "time spent" && options.max_seconds > 0;
  return more_time || options.raise_evaluations > limit;
}

Result<void> same_device(const RunState& state, const Backend& backend) {
  if (state.header.identity == backend.identity()) return {};
  return Error{
      ErrorCode::usage,
      "the run was made on " + state.header.identity + ", this is " + backend.identity() + ": their times cannot be compared",
      "open the device " + state.header.device_name};
}

// A task whose own check cannot tell right from wrong is not searched.
Result<void> prove_the_check(const Task& task, Circle& circle) {
  if (!circle.backend->techniques().empty()) return {};
  auto power = check_power(task, circle.screen != nullptr ? *circle.screen : *circle.backend);
  if (power) return {};
  if (power.error().code != ErrorCode::no_device) return power.error();
  circle.notices.push_back("the task's own check was not put to the test: " + power.error().message);
  return {};
}

Result<EvolveReport> begin_run(const Task& task, Backend& backend, const EvolveOptions& options) {
  const Task searched = backend.techniques().empty() ? task : landscape_task();
  auto circle = open_circle(searched, backend, options);
  if (!circle) return circle.error();
  if (auto able = prove_the_check(searched, *circle); !able) return able.error();
  std::optional<Journal> journal;
  if (!options.run_dir.empty()) {
    auto created = Journal::create(host_of(options), options.run_dir);
    if (!created) return created.error();
    journal.emplace(std::move(*created));
  }
  Driver driver(searched, std::move(*circle), options, std::move(journal));
  if (auto begun = driver.begin(); !begun) return begun.error();
  return driver.run();
}

Result<EvolveReport> continue_run(const std::string& run_dir, Backend& backend, const EvolveOptions& options) {
  Host& host = host_of(options);
  auto opened = Journal::open(host, run_dir);
  if (!opened) return opened.error();
  auto state = fold(opened->read);
  opened->read.records = {};  // a long run's are not kept twice
  if (!state) return std::move(state.error()).while_doing(run_dir);
  if (auto same = same_device(*state, backend); !same) return same.error();
  if (state->end && !reopens(*state, options)) return report_of(*state, host, run_dir);
  if (reopens(*state, options)) {
    const DecisionRecord decision{"extend", "", std::max(options.raise_evaluations, state->header.search.max_evaluations), 0};
    opened->journal.add(RecordType::decision, to_json(decision));
    if (auto done = opened->journal.commit(); !done) return done.error();
    state->events.emplace_back(decision);
    state->finals.clear();
    state->end.reset();
  }
  EvolveOptions all = options;
  const int parallel = options.search.parallel;
  all.search = state->header.search;
  all.search.parallel = parallel;
  all.run_dir = run_dir;
  all.tunables = state->header.tunables;
  all.random_search = state->header.random_search;
  if (state->header.seats) all.seats = *state->header.seats;
  all.screening = !state->header.screen.empty();
  all.task_words = state->header.task_words;
  all.device_name = state->header.device_name;
  if (all.max_seconds <= 0) all.max_seconds = state->header.max_seconds;
  // What the pool said at the beginning, whatever it says now.
  all.search.steering.pool = false;
  auto circle = open_circle(state->task, backend, all);
  if (!circle) return circle.error();
  all.search.steering = state->header.search.steering;
  circle->knowledge.remembered = state->header.remembered;
  circle->knowledge.effects = state->header.remembered_effects;
  auto learnt = learn(*circle, state->task, backend.device(), all.tunables, state->header.learnt);
  if (!learnt) return learnt.error();
  Driver driver(state->task, std::move(*circle), all, std::move(opened->journal));
  if (auto restored = driver.restore(*state); !restored) return std::move(restored.error()).while_doing(run_dir);
  state->events = {};
  return driver.run();
}

}  // namespace

Result<EvolveReport> evolve(const Task& task, Backend& backend, const EvolveOptions& options) {
  return guarded([&] { return begin_run(task, backend, options); });
}

Result<EvolveReport> resume(const std::string& run_dir, Backend& backend, const EvolveOptions& options) {
  return guarded([&] { return continue_run(run_dir, backend, options); });
}

RunSummary summary_of(const RunState& state, Host& host, const std::string& run_dir) {
  RunSummary summary;
  summary.report = report_of(state, host, run_dir);
  summary.device_name = state.header.device_name;
  Ledger ledger;
  for (const SearchEvent& event : state.events) {
    if (const auto* proposal = std::get_if<Proposal>(&event)) ledger.propose(*proposal);
    if (const auto* result = std::get_if<ResultRecord>(&event)) ledger.settle(*result);
  }
  for (const Progress& progress : ledger.take_finished(state.baselines.value_or(BaselinesRecord{}), true)) {
    summary.lines.push_back(line_of(progress));
  }
  summary.task = state.task;
  if (std::string score = forecast_score(state); !score.empty()) summary.report.notices.push_back(std::move(score));
  return summary;
}

Result<RunSummary> read_run(const std::string& run_dir) {
  return guarded([&]() -> Result<RunSummary> {
    auto state = state_of(real_host(), run_dir);
    if (!state) return state.error();
    return summary_of(*state, real_host(), run_dir);
  });
}

namespace {

std::string ancestor_line(const ResultRecord& record) {
  std::string line = "slot " + std::to_string(record.slot) + " (" + record.candidate.strategy.origin + ") ";
  if (const auto* accepted = std::get_if<Accepted>(&record.candidate.outcome)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g us %s ", accepted->measurement.time_us,
                  std::string(name_of(accepted->measurement.provenance)).c_str());
    line += text;
  } else if (const auto* rejected = std::get_if<Rejected>(&record.candidate.outcome)) {
    line += rejected->code + " ";
  }
  return line + describe(record.candidate.strategy);
}

// Breadth first over the parents.
std::vector<std::string> lineage_of(const RunState& state, const Candidate& candidate) {
  std::map<std::string, const ResultRecord*> by_strategy;
  for (const SearchEvent& event : state.events) {
    if (const auto* result = std::get_if<ResultRecord>(&event)) by_strategy.emplace(result->candidate.strategy_id, result);
  }
  std::vector<std::string> lines, queue = candidate.strategy.parents;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto found = by_strategy.find(queue[i]);
    if (found == by_strategy.end() || !seen.insert(queue[i]).second) continue;
    lines.push_back(ancestor_line(*found->second));
    const auto& parents = found->second->candidate.strategy.parents;
    queue.insert(queue.end(), parents.begin(), parents.end());
  }
  return lines;
}

Result<RunCandidate> find_candidate(const std::string& run_dir, const std::string& which) {
  auto state = state_of(real_host(), run_dir, Evidence::kept);
  if (!state) return state.error();
  const EvolveReport report = report_of(*state, real_host(), run_dir);
  RunCandidate found;
  Best shown{{}, report.baselines};
  bool known = false;
  if (which == "best") {
    if (!report.best) {
      return Error{ErrorCode::no_candidate, run_dir + " has no confirmed best kernel",
                   "continue it with `cupilot resume " + run_dir + "`"};
    }
    shown = *report.best;
    known = true;
  }
  for (const SearchEvent& event : state->events) {
    const auto* result = std::get_if<ResultRecord>(&event);
    if (known || result == nullptr) continue;
    const Candidate& candidate = result->candidate;
    const bool by_prefix =
        which.size() >= 4 && (candidate.kernel_id.rfind(which, 0) == 0 || candidate.strategy_id.rfind(which, 0) == 0);
    if (which != std::to_string(candidate.id) && !by_prefix) continue;
    shown.candidate = candidate;
    known = true;
  }
  if (!known) {
    return Error{ErrorCode::usage, run_dir + " has no candidate " + which,
                 "give best, a candidate's number, or four digits of its kernel's id"};
  }
  if (auto source = kept_source(real_host(), run_dir, shown.candidate.kernel_id)) shown.candidate.source = std::move(*source);
  found.evidence_json = evidence_json(shown, state->task, state->header.identity);
  found.candidate = std::move(shown.candidate);
  found.lineage = lineage_of(*state, found.candidate);
  return found;
}

}  // namespace

Result<RunCandidate> read_candidate(const std::string& run_dir, const std::string& which) {
  return guarded([&] { return find_candidate(run_dir, which); });
}

}  // namespace cupilot
