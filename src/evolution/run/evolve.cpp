#include <cupilot/evolve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/checker_power.hpp>
#include <cupilot/parts/contestants.hpp>

#include "base/guard.hpp"
#include "base/stop.hpp"
#include "evolution/journal/kept_families.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/journal/tally.hpp"
#include "evolution/run/driver.hpp"
#include "evolution/run/kernel_run.hpp"
#include "evolution/search/options.hpp"
#include "task/file_content.hpp"
#include "task/host_judge.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

Host& host_of(const EvolveOptions& options) {
  return options.host != nullptr ? *options.host : real_host();
}

// The evaluations that the run may take; 0: any number.
std::int64_t evaluations_of(const RunState& state) {
  std::int64_t limit = state.header.search.max_evaluations;
  for (const SearchEvent& event : state.events) {
    if (const auto* decision = std::get_if<DecisionRecord>(&event);
        decision != nullptr && decision->kind == "extend") {
      limit = std::max(limit, decision->max_evaluations);
    }
  }
  return limit;
}

// True if the caller's limits go beyond those of the run, or beyond what ended it.
bool extends(const RunState& state, const EvolveOptions& options) {
  const std::int64_t limit = evaluations_of(state);
  const bool unlimited = limit == 0 && !state.end;
  if (!unlimited && options.raise_evaluations > limit) return true;
  return state.end && state.end->stopped == "time spent" && options.max_seconds > 0;
}

// Tells a caller who asks for fewer evaluations that a resume takes none away.
void tell_kept_limit(const RunState& state, const EvolveOptions& options,
                     std::vector<std::string>& notices) {
  const std::int64_t limit = evaluations_of(state);
  if (options.raise_evaluations <= 0 || options.raise_evaluations >= limit) return;
  std::string notice = fmt::format("the run's limit of {} evaluations stays: {} does not raise it",
                                   limit, options.raise_evaluations);
  if (std::find(notices.begin(), notices.end(), notice) != notices.end()) return;
  notices.push_back(std::move(notice));
  if (options.observer != nullptr) options.observer->on_notice(notices.back());
}

// A number that JSON cannot hold would make a journal that nobody can read.
Result<void> check_numbers(const EvolveOptions& options) {
  const std::pair<const char*, double> numbers[] = {
      {"max_seconds (--seconds)", options.max_seconds},
      {"seconds_before", options.seconds_before},
      {"raise_evaluations", static_cast<double>(options.raise_evaluations)},
      {"the share of models (--model-share)", options.seats.share}};
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value) && value >= 0) continue;
    return Error{ErrorCode::usage,
                 fmt::format("{} is {}, which is no finite number from 0 up", name, value),
                 "give a number; 0 is no limit"};
  }
  return check(options.search);
}

// Times of two cards of one model differ by some percent; of two models they say nothing.
Result<void> same_device(const RunState& state, const Backend& backend,
                         const EvolveOptions& options, std::vector<std::string>& notices) {
  if (state.header.identity == backend.identity()) return {};
  const DeviceSpec& before = state.header.device;
  const DeviceSpec& now = backend.device();
  const bool same_model = before.name == now.name && before.label == now.label &&
                          before.arch == now.arch && before.sms == now.sms &&
                          backend.provenance() == Provenance::measured;
  const std::string both =
      "the run was made on " + state.header.identity + ", this is " + backend.identity();
  if (!same_model || !options.other_card)
    return Error{ErrorCode::usage, both + ": their times cannot be compared",
                 same_model ? "open that device again, or say --other-card: kernels keep the times "
                              "that they have, the champion is timed here"
                            : "open the device " + state.header.device_name};
  notices.push_back(both + ", another card of the model: kernels timed before keep their times");
  if (options.observer != nullptr) options.observer->on_notice(notices.back());
  return {};
}

EvolveOptions without_a_pool_named_off(EvolveOptions options) {
  if (options.pool == "off") options.pool.clear();
  return options;
}

// A task whose own check cannot tell right from wrong is not searched, unless `how` allows it.
Result<void> prove_the_check(RunContext& context, const EvolveOptions& options,
                             const KernelRun& how, Heartbeat& heartbeat) {
  if (context.checker == nullptr) return {};
  Spending spent;
  auto power = aside(host_of(options), heartbeat, "trying the task's own check", spent,
                     [&] { return check_power(context.task, *context.checker); });
  if (std::string large = large_at_the_least(*context.task); !large.empty())
    context.notices.push_back(std::move(large));
  if (power) return {};
  const bool dear_on_a_screen =
      power.error().code == ErrorCode::not_done && context.checker != context.backend;
  if (power.error().code == ErrorCode::no_device || dear_on_a_screen) {
    context.notices.push_back("the task's own check was not put to the test: " +
                              power.error().message);
    return {};
  }
  if (!how.weak_check_allowed || power.error().code != ErrorCode::usage) return power.error();
  context.notices.push_back("unproved by the outputs of the whole, which parts prove: " +
                            power.error().message);
  return {};
}

// Before anything is spent: the contestants that the champion is to be timed against are there.
// What they take to begin is none of the run's seconds, and is returned.
Result<double> open_contestants(const Task& task, Backend& backend, const EvolveOptions& options,
                                Heartbeat& heartbeat) {
  const double began = host_of(options).monotonic_seconds();
  if (auto known = check_contestants(options.against); !known) return known.error();
  for (const std::string& name : options.against) {
    if (!why_not(name, task).empty()) continue;
    Spending spent;
    auto says = aside(host_of(options), heartbeat, "opening " + name, spent,
                      [&] { return backend.inspector().contestant(name); });
    if (!says) return says.error();
  }
  return options.against.empty() ? 0.0 : host_of(options).monotonic_seconds() - began;
}

// Tensors that the device cannot hold at once cannot be timed there.
Result<void> check_memory(const Task& task, const DeviceSpec& device) {
  for (const Workload& workload : task.time_shapes) {
    double bytes = 0;
    for (const Tensor& tensor : task.tensors) {
      const Result<TensorShape> shape = shape_of(task, tensor, workload);
      if (!shape) return shape.error();
      bytes += static_cast<double>(shape->span) * static_cast<double>(size_of(tensor.type));
    }
    if (bytes <= static_cast<double>(device.memory_bytes)) continue;
    return Error{
        ErrorCode::usage,
        fmt::format("the tensors of {} take {:.1f} GiB, and {} has {:.1f}", task.name,
                    bytes / 0x1p30, device.name, static_cast<double>(device.memory_bytes) / 0x1p30),
        "give smaller sizes, or a device with more memory"};
  }
  return {};
}

bool is_cancelled(const EvolveOptions& options) {
  return options.cancel != nullptr && options.cancel->load();
}

// When the run's seconds began, by the host's clock.
double beginning(const EvolveOptions& options) {
  return host_of(options).monotonic_seconds() - options.seconds_before;
}

// A run directory could not be read again: no file holds a judge.
Result<void> check_run_dir(const Task& task, const EvolveOptions& options) {
  if (options.run_dir.empty() || !has_host_judge(task)) return {};
  return Error{ErrorCode::usage,
               fmt::format("{}: no run directory holds task '{}', whose judge is the program's own",
                           options.run_dir, task.name),
               "leave EvolveOptions::run_dir empty"};
}

Result<EvolveReport> begin_run(const Task& task, Backend& backend, const EvolveOptions& options,
                               const KernelRun& how) {
  if (auto able = check_run_dir(task, options); !able) return able.error();
  if (auto valid = check_files(task, FileShapes::some); !valid) return valid.error();
  if (auto held = check_memory(task, backend.device()); !held) return held.error();
  Heartbeat heartbeat(host_of(options), options.observer, beginning(options));
  const auto opening = open_contestants(task, backend, options, heartbeat);
  if (!opening) return opening.error();
  const double began = beginning(options);
  heartbeat.began(began);
  auto context = open_context(task, backend, options);
  if (!context) return context.error();
  context->notices.insert(context->notices.end(), how.notices.begin(), how.notices.end());
  context->confirms = how.confirms;
  context->asks_library = how.asks_library;
  context->search_end = how.search_end;
  // A cancelled run has not tried its check, and ends as it begins.
  if (auto able = prove_the_check(*context, options, how, heartbeat);
      !able && !is_cancelled(options))
    return able.error();
  std::optional<Journal> journal;
  if (!options.run_dir.empty()) {
    auto created = Journal::create(host_of(options), options.run_dir);
    if (!created) return created.error();
    journal.emplace(std::move(*created));
    if (auto kept = keep_tunables(host_of(options), options.run_dir, options.tunables); !kept)
      return kept.error();
    if (auto kept = keep_families(host_of(options), options.run_dir, options.families); !kept)
      return kept.error();
  }
  Driver driver(std::move(*context), options, std::move(journal), began, heartbeat);
  driver.spent_on_contestants(*opening);
  if (auto begun = driver.begin(); !begun) return begun.error();
  return driver.run();
}

// A stop rule looks at all generations, which a checkpoint has no longer.
std::optional<Checkpoint> checkpoint_of(Host& host, const std::string& run_dir,
                                        const EvolveOptions& options) {
  if (options.stop || !host.exists(checkpoint_path(run_dir))) return std::nullopt;
  const auto bytes = host.read_file(checkpoint_path(run_dir));
  return bytes ? checkpoint_from(*bytes) : std::nullopt;
}

Result<std::optional<EvolveReport>> some(Result<EvolveReport> report) {
  if (!report) return report.error();
  return std::optional(std::move(*report));
}

Result<EvolveReport> reported(Host& host, const std::string& run_dir) {
  auto walk = walk_run(host, run_dir);
  if (!walk) return walk.error();
  if (!walk->summary.report.best) return nothing_valid(walk->summary.report);
  return std::move(walk->summary.report);
}

// Tells what a finished run found where nothing can be written, too.
Result<std::optional<EvolveReport>> finished_or(Error error, const std::string& run_dir,
                                                const Backend& backend,
                                                const EvolveOptions& options) {
  if (error.code == ErrorCode::usage) return error;
  auto walk = walk_run(host_of(options), run_dir);
  const bool asks_more = options.raise_evaluations > 0 || options.max_seconds > 0;
  if (!walk || !walk->state.end || asks_more) {
    const bool elsewhere = error.hint.find("that can be written") != std::string::npos;
    if (elsewhere)
      error.hint =
          "a run is continued in its own directory: make it writable, or copy it to where it can "
          "be written";
    return error;
  }
  if (auto same = same_device(walk->state, backend, options, walk->summary.report.notices); !same)
    return same.error();
  if (!walk->summary.report.best) return nothing_valid(walk->summary.report);
  return std::optional(std::move(walk->summary.report));
}

// nullopt: the checkpoint cannot be used. `notices`: of the report.
Result<std::optional<EvolveReport>> continue_from(const std::optional<Checkpoint>& checkpoint,
                                                  const std::string& run_dir, Backend& backend,
                                                  const EvolveOptions& options,
                                                  const KernelRun& how,
                                                  std::vector<std::string>& notices) {
  Host& host = host_of(options);
  const double began = beginning(options);
  auto opened = Journal::open(host, run_dir, checkpoint ? checkpoint->mark : RecordMark());
  if (!opened) return finished_or(opened.error(), run_dir, backend, options);
  if (!opened->notice.empty()) {
    if (options.observer != nullptr) options.observer->on_notice(opened->notice);
    notices.push_back(opened->notice);
  }
  auto state = fold(opened->read);
  opened->read.records = {};  // a long run's are not kept twice
  if (!state) return std::move(state.error()).while_doing(run_dir);
  if (auto same = same_device(*state, backend, options, notices); !same) return same.error();
  const bool extended = extends(*state, options);
  tell_kept_limit(*state, options, notices);
  if (state->end && !extended) return some(reported(host, run_dir));
  if (extended) {
    const DecisionRecord decision{
        "extend", "", std::max(options.raise_evaluations, state->header.search.max_evaluations), 0};
    opened->journal.add(RecordType::decision, to_json(decision));
    if (auto done = opened->journal.commit(); !done) return done.error();
    state->events.emplace_back(decision);
    state->finals.clear();
    state->end.reset();
  }
  EvolveOptions all = as_recorded(host, state->header, options, run_dir);
  Heartbeat heartbeat(host_of(all), all.observer, began);
  const auto opening = open_contestants(state->task, backend, all, heartbeat);
  if (!opening) return opening.error();
  auto families = kept_families(host, run_dir, options.families);
  if (!families) return families.error();
  all.families = std::move(*families);
  // The pool's advice stays that of the beginning, whatever the pool says now.
  all.search.steering.pool = false;
  auto context = open_context(state->task, backend, all);
  if (!context) return context.error();
  if (context->chat != nullptr && !state->models) {
    opened->journal.add(RecordType::decision, to_json(DecisionRecord{"models", "", 0, 0}));
    if (auto done = opened->journal.commit(); !done) return done.error();
  }
  all.search.steering = state->header.search.steering;
  context->confirms = how.confirms;
  context->asks_library = how.asks_library;
  context->search_end = how.search_end;
  context->knowledge.remembered = state->header.remembered;
  context->knowledge.effects = state->header.remembered_effects;
  auto learnt = learn(*context, state->task, backend.device(), all.tunables, all.families,
                      state->header.learnt);
  if (!learnt) return learnt.error();
  state->events.erase(state->events.begin(), state->events.begin() + static_cast<std::ptrdiff_t>(
                                                                         opened->decisions_before));
  heartbeat.began(began + *opening);
  Driver driver(std::move(*context), all, std::move(opened->journal), began + *opening, heartbeat);
  driver.spent_on_contestants(*opening);
  auto restored = driver.restore(*state, opened->matches ? &*checkpoint : nullptr);
  if (!restored) return std::move(restored.error()).while_doing(run_dir);
  if (!*restored) return std::optional<EvolveReport>();
  state->events = {};
  return some(driver.run());
}

Result<EvolveReport> continue_run(const std::string& run_dir, Backend& backend,
                                  const EvolveOptions& options, const KernelRun& how) {
  const auto checkpoint = checkpoint_of(host_of(options), run_dir, options);
  std::vector<std::string> notices;
  auto report = continue_from(checkpoint, run_dir, backend, options, how, notices);
  if (report && !*report)
    report = continue_from(std::nullopt, run_dir, backend, options, how, notices);
  if (!report) return report.error();
  (*report)->notices.insert((*report)->notices.end(), notices.begin(), notices.end());
  return std::move(**report);
}

}  // namespace

EvolveOptions as_recorded(Host& host, const HeaderRecord& header, const EvolveOptions& options,
                          const std::string& run_dir) {
  EvolveOptions all = options;
  all.search = header.search;
  all.search.parallel = options.search.parallel;
  all.run_dir = run_dir;
  all.tunables = kept_tunables(host, run_dir, header.tunables);
  all.random_search = header.random_search;
  all.plain_baseline = header.plain_baseline;
  all.against = header.against;
  all.own_baselines = header.own_baselines;
  if (header.seats) all.seats = *header.seats;
  all.screening = !header.screen.empty();
  all.task_words = header.task_words;
  all.device_name = header.device_name;
  if (all.max_seconds <= 0) all.max_seconds = header.max_seconds;
  if (all.pool.empty()) all.pool = header.pool;
  if (all.pool_tags.empty()) all.pool_tags = header.pool_tags;
  return without_a_pool_named_off(std::move(all));
}

Result<EvolveReport> evolve_kernel(const Task& task, Backend& backend, const EvolveOptions& options,
                                   const KernelRun& how) {
  if (auto sound = check_numbers(options); !sound) return sound.error();
  const StopScope stoppable({options.cancel});
  return guarded([&] { return begin_run(task, backend, without_a_pool_named_off(options), how); });
}

Result<EvolveReport> resume_kernel(const std::string& run_dir, Backend& backend,
                                   const EvolveOptions& options, const KernelRun& how) {
  if (auto sound = check_numbers(options); !sound) return sound.error();
  const StopScope stoppable({options.cancel});
  return guarded([&] { return continue_run(run_dir, backend, options, how); });
}

Result<RunSummary> read_run(const std::string& run_dir) {
  return guarded([&]() -> Result<RunSummary> {
    auto walk = walk_run(real_host(), run_dir);
    if (!walk) return walk.error();
    return std::move(walk->summary);
  });
}

namespace {

std::string ancestor_line(const ResultRecord& record) {
  std::string line =
      "slot " + std::to_string(record.slot) + " (" + record.candidate.strategy.origin + ") ";
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
    if (const auto* result = std::get_if<ResultRecord>(&event))
      by_strategy.emplace(result->candidate.strategy_id, result);
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
  auto read = read_journal(real_host(), run_dir);
  if (!read) return read.error();
  auto state = fold(*read, Evidence::kept);
  if (!state) return state.error();
  Tally tally;
  for (const SearchEvent& event : state->events) tally.take(event);
  const EvolveReport report = tally.report(*state, real_host(), run_dir);
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
    const bool by_prefix = which.size() >= 4 && (candidate.kernel_id.rfind(which, 0) == 0 ||
                                                 candidate.strategy_id.rfind(which, 0) == 0);
    if (which != std::to_string(candidate.id) && !by_prefix) continue;
    shown.candidate = candidate;
    known = true;
  }
  if (!known) {
    return Error{ErrorCode::usage, run_dir + " has no candidate " + which,
                 "give best, a candidate's number, or four digits of its kernel's id"};
  }
  if (auto source = kept_source(real_host(), run_dir, shown.candidate.kernel_id))
    shown.candidate.source = std::move(*source);
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
