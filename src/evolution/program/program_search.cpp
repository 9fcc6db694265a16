#include "evolution/program/program_search.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/parts/policy.hpp>
#include <cupilot/parts/program_strategy.hpp>

#include "evolution/journal/events.hpp"
#include "evolution/journal/kept_families.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/journal/tally.hpp"
#include "evolution/program/calibrate.hpp"
#include "evolution/program/choose.hpp"
#include "evolution/program/content.hpp"
#include "evolution/program/part_forms.hpp"
#include "evolution/program/part_observer.hpp"
#include "evolution/program/program_time.hpp"
#include "evolution/program/writer.hpp"
#include "evolution/run/kernel_run.hpp"
#include "program/composites.hpp"
#include "program/equal_parts.hpp"
#include "program/step_values.hpp"
#include "task/prepared.hpp"
#include "task/repeats.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t least_slot = 4, most_slot = 64;  // evaluations
// Limits slots where seconds are limited: each part of some partition needs a slot within them.
constexpr std::int64_t most_slot_in_time = 8;
// Limits programs by the sum of their parts' times over the fastest program's.
constexpr double most_over_best = 1.5;
constexpr std::size_t programs_tried = 6;
constexpr std::int64_t most_launched_steps = 1024;

Host& host_of(const EvolveOptions& options) {
  return options.host != nullptr ? *options.host : real_host();
}

Families known_families(const EvolveOptions& options) {
  return options.families.empty() ? builtin_families() : options.families;
}

bool is_served(const Families& families, const Task& task) {
  const auto templates = templates_of(families, task);
  return std::any_of(templates.begin(), templates.end(),
                     [&](const Tunable& one) { return serves(one, task); });
}

// The time of the library's call among baselines; 0: none.
double library_us(const std::vector<Baseline>& baselines) {
  for (const Baseline& one : baselines) {
    for (const std::string_view library : library_techniques)
      if (one.name.starts_with(library)) return one.time_us;
  }
  return 0;
}

// The parts of a task's partitions, their searches, and what came of them.
class ProgramSearch {
 public:
  ProgramSearch(const Task& task, Backend& backend, const EvolveOptions& options)
      : backend_(backend),
        options_(options),
        host_(host_of(options)),
        families_(known_families(options)),
        program_(compose_with_views(task, families_)),
        task_(program_.task),
        forms_(program_, families_, backend, options.search.seed),
        time_(options, host_, backend.provenance() == Provenance::measured) {
    record_.lookahead = options.search.lookahead;
    record_.pool = options.pool;
  }

  // Cuts the graph. Error usage: no partition is legal; it names the operations without a template.
  Result<void> cut() {
    for (const Repeat& repeat : task_.repeats) {
      const auto count = fixed_count(task_, repeat);
      if (!count || *count > most_launched_steps)
        return Error{ErrorCode::usage,
                     fmt::format("task {}: repeat '{}' runs {} times; a program's launches are a "
                                 "list, of at most {} steps",
                                 task_.name, repeat.name, repeat.count.text, most_launched_steps),
                     "let count be a number (a constant of the task), or write a tunable that runs "
                     "the whole loop in a kernel (docs/formats/tunable.md)"};
    }
    forms_.set_fills(edge_fills(task_, backend_));
    const auto all = partitions_in_time();
    if (cancelled()) return interrupted();
    record_.listed = all.listed;
    for (const auto& [name, place] : program_.views.places)
      record_.views.push_back({name, place.root, place.offset.text});
    if (all.all.empty()) return unserved();
    std::map<Part, std::size_t> numbers;
    for (const Partition& partition : all.all) {
      std::vector<std::size_t> parts;
      for (const Part& part : partition) {
        const auto [known, fresh] = numbers.emplace(part, forms_in_order_.size());
        if (fresh) add_part(part);
        parts.push_back(known->second);
      }
      record_.partitions.push_back(std::move(parts));
    }
    return {};
  }

  // Takes up what the run directory says of earlier slots.
  Result<void> take_up() {
    if (options_.run_dir.empty() || !host_.exists(program_path(options_.run_dir))) return {};
    const std::string path = program_path(options_.run_dir);
    auto text = host_.read_file(path);
    if (!text) return text.error();
    auto known = program_record_from(*text, path);
    if (!known) return known.error();
    const auto same = [](const ProgramPartRecord& a, const ProgramPartRecord& b) {
      return a.on == b.on && a.task_id == b.task_id;
    };
    if (!std::equal(known->parts.begin(), known->parts.end(), record_.parts.begin(),
                    record_.parts.end(), same))
      return Error{ErrorCode::usage, path + ": the graph is cut into other parts now",
                   "resume with the program, the families and the libraries that began the run"};
    if (known->pool.empty()) known->pool = record_.pool;
    leave_out_missing_libraries(*known);
    record_ = std::move(*known);
    note_earlier_times();
    return {};
  }

  // Searches parts until `max_evaluations` of all (0: no limit) or the time are spent. `best_us`:
  // of the fastest program, 0: none.
  Result<void> search_parts(std::int64_t max_evaluations, double best_us) {
    record_.max_evaluations = max_evaluations;
    time_.has_program(best_us > 0);
    if (record_.slot_evaluations == 0) {
      const auto operations = static_cast<std::int64_t>(task_.operations.size());
      const std::int64_t share = max_evaluations / (2 * operations + 2);
      record_.slot_evaluations =
          max_evaluations == 0 ? 16 : std::clamp(share, least_slot, most_slot);
      if (options_.max_seconds > 0)
        record_.slot_evaluations = std::min(record_.slot_evaluations, most_slot_in_time);
    }
    while (true) {
      if (cancelled()) return interrupted();
      const auto part = next_part(record_);
      if (!part || !is_affordable()) return {};
      if (auto searched = search_part(*part); !searched) return searched;
      if (auto kept = keep(); !kept) return kept;
    }
  }

  // Programs of partitions whose parts have kernels or are steps of the library, by the sum of the
  // parts' times; a program with steps is followed by that of kernels alone, where there is one.
  // `best_us`: of the fastest program, 0: none; those that are far from it are left out.
  std::vector<Strategy> programs(double best_us) const {
    std::vector<Strategy> all;
    const auto parts = standings(record_);
    for (const auto& partition : ready_partitions(record_)) {
      if (best_us > 0 && expected_us(partition, parts) > most_over_best * best_us) break;
      all.push_back(program_of(partition, parts, true));
      const auto any = [&](auto holds) {
        return std::any_of(partition.begin(), partition.end(), holds);
      };
      if (any([&](std::size_t part) { return parts[part].by_library(); }) &&
          !any([&](std::size_t part) { return !parts[part].views && parts[part].time_us <= 0; }))
        all.push_back(program_of(partition, parts, false));
      if (all.size() >= programs_tried) break;
    }
    return all;
  }

  // True where the time allows no second program.
  bool has_one_left() const {
    const auto ready = ready_partitions(record_);
    return !ready.empty() && time_.has_one_left(ready.front().size());
  }

  const ComposedTask& program() const { return program_; }
  const ProgramRecord& record() const { return record_; }
  std::atomic<double>* search_end() { return time_.search_end(); }

  // The error of a search that ends before any partition has a kernel for each part.
  std::optional<Error> no_program() const {
    if (!ready_partitions(record_).empty()) return std::nullopt;
    const auto parts = standings(record_);
    std::vector<std::size_t> missing;
    for (const auto& partition : record_.partitions) {
      std::vector<std::size_t> here;
      std::copy_if(partition.begin(), partition.end(), std::back_inserter(here),
                   [&](std::size_t part) { return !parts[part].is_ready(); });
      if (missing.empty() || here.size() < missing.size()) missing = std::move(here);
    }
    std::string names;
    for (const std::size_t part : missing)
      names += (names.empty() ? "" : ", ") + forms_in_order_[part]->name;
    return Error{ErrorCode::no_candidate,
                 "no partition has a kernel for each of its parts; the nearest lacks " + names,
                 options_.max_seconds > 0 && time_.left() <= 0
                     ? "give more seconds"
                     : "`cupilot report` says why each part has none"};
  }

 private:
  Strategy program_of(const std::vector<std::size_t>& partition,
                      const std::vector<PartStanding>& parts, bool steps) const {
    ProgramStrategy program;
    double sum = 0;
    for (const std::size_t part : partition) {
      const PartStanding& one = parts[part];
      const bool step = steps && one.by_library();
      std::vector<Use> uses;
      if (!one.views)
        uses = step ? std::vector<Use>{{one.library}} : record_.slots[one.best_slot].strategy.uses;
      program.parts.push_back({record_.parts[part].on, {uses, "", {}, ""}});
      sum += step || !one.by_library() ? one.expected_us()
                                       : static_cast<double>(one.times) * one.time_us;
    }
    program.rationale = fmt::format("its parts take {:.4g} us alone", sum);
    return as_strategy(program);
  }

  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  // Partitions by what their parts take; says that it cuts where that takes long.
  Partitions partitions_in_time() {
    constexpr double silent_seconds = 2;
    constexpr double forecast_share = 0.1;  // of limited seconds; then floors alone are asked for
    const double began = host_.monotonic_seconds();
    double told = began;
    const auto served = [&](const Part& part) {
      const double now = host_.monotonic_seconds();
      if (options_.observer != nullptr && now >= told + silent_seconds) {
        told = now;
        options_.observer->on_activity({"cutting the graph into parts",
                                        now - began,
                                        now - began + options_.seconds_before,
                                        0,
                                        {}});
      }
      return !cancelled() && forms_.form_of(part) != nullptr;
    };
    const auto seconds = [&](const Part& part) {
      const double spent = host_.monotonic_seconds() - began;
      const bool late = options_.max_seconds > 0 && spent > forecast_share * options_.max_seconds;
      const double expected = late ? 0 : forms_.forecast_of(part);
      return forms_.is_prepared(part) ? 0.0
                                      : static_cast<double>(forms_.times_of(part)) *
                                            std::max(forms_.floor_of(part), expected);
    };
    return partitions(operation_graph(task_), {served, seconds});
  }

  // Proves and times a part as the library's step, once: not where the part's first search found a
  // kernel that takes no longer than the library's call beside it, or had no time for that call.
  Result<void> time_step(const PartTask& form, bool asked, ProgramSlotRecord& slot) {
    if (standings(record_)[slot.part].slots > 0) return {};
    if (slot.time_us > 0 && (slot.time_us <= slot.library_us || !asked)) return {};
    const auto source = forms_.step_of(form);
    if (!source) return {};
    const Pipe pipe{TaskRef(form.task), &backend_, nullptr, options_.search.seed, options_.screen};
    const auto candidate = evaluate_source(pipe, *source, ProofLevel::elite);
    if (!candidate) return Error(candidate.error()).while_doing("timing a step of " + form.name);
    if (const auto* accepted = std::get_if<Accepted>(&candidate->outcome))
      slot.step_us = accepted->measurement.time_us;
    else if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome))
      slot.step_refused = fmt::format("{}: {}", rejected->code, rejected->message);
    return {};
  }

  // Steps that the device's libraries do not compute now are no part of a program any longer.
  void leave_out_missing_libraries(ProgramRecord& known) const {
    for (ProgramSlotRecord& slot : known.slots) {
      if (slot.step_us <= 0) continue;
      const std::string& library = known.parts[slot.part].library;
      const auto step = forms_.step_of(*forms_in_order_[slot.part]);
      if (step && step->template_name == library) continue;
      slot.step_us = 0;
      slot.step_refused = library + " was there when it was timed, and is not now";
    }
  }

  // Takes what earlier sittings measured of the parts' kernels. A part's run that cannot be read is
  // told where it is searched.
  void note_earlier_times() {
    if (options_.max_seconds <= 0) return;
    std::set<std::size_t> searched;
    for (const ProgramSlotRecord& slot : record_.slots) searched.insert(slot.part);
    for (const std::size_t part : searched) {
      const auto walk = walk_run(host_, folder_of(part));
      if (walk) time_.note(part, walk->summary.report);
    }
  }

  void add_part(const Part& part) {
    const PartTask& form = *forms_.form_of(part);
    ProgramPartRecord record{.on = names_of(program_, part),
                             .task_id = task_id(form.task),
                             .floor_us = forms_.floor_of(part),
                             .prepared = forms_.is_prepared(part),
                             .times = forms_.times_of(part)};
    if (const std::string kind = kind_of(form, &task_); !kind.empty()) {
      const auto [known, fresh] = kinds_.emplace(kind, record_.parts.size());
      if (!fresh) record.like = known->second;
    }
    record.forecast_us =
        record.like ? record_.parts[*record.like].forecast_us : forms_.forecast_of(part);
    record.views = form.only_views;
    if (const auto step = forms_.step_of(form)) record.library = step->template_name;
    record_.parts.push_back(std::move(record));
    forms_in_order_.push_back(&form);
    parts_.push_back(part);
  }

  Error unserved() const {
    std::string names;
    std::set<std::string> updated;  // tensors that they read and write
    for (std::size_t i = 0; i < task_.operations.size(); ++i) {
      if (forms_.known_form(Part{static_cast<int>(i)}) != nullptr) continue;
      const Operation& operation = task_.operations[i];
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", operation.name, operation.kind);
      for (const std::string& name : operation.outputs) {
        const Tensor* tensor = find_tensor(task_, name);
        if (tensor != nullptr && tensor->role == Role::in_out) updated.insert(name);
      }
    }
    std::string reason, step = "write";
    if (!updated.empty()) {
      const std::string which = fmt::format("{}", fmt::join(updated, ", "));
      reason = fmt::format(
          "; {} {} in_out, which built-in templates write only where each element is read at its "
          "own place alone, by operations of one part without sums, or where it is fp32 of one "
          "dimension and no other value is made of it",
          which, updated.size() == 1 ? "is" : "are");
      step = fmt::format(
          "give {} the role in, and its new value an out tensor of its own; or write", which);
    }
    return {ErrorCode::usage,
            fmt::format("no template serves task {} of family '{}', and it cannot be cut into "
                        "parts that templates serve: none serves {} alone{}",
                        task_.name, task_.family, names.empty() ? "a part" : names, reason),
            step + " a tunable for it (docs/formats/tunable.md), or let a model write (--models)"};
  }

  Error interrupted() const { return {ErrorCode::failure, "interrupted", ""}; }

  // False where the budget or the time is spent; every partition needs one slot of each part first.
  bool is_affordable() const {
    const auto ready = ready_partitions(record_);
    const bool in_time =
        options_.max_seconds <= 0 ||
        (ready.empty() ? time_.left() : time_.left_for_parts(ready.front().size())) > 0;
    if (!in_time) return false;
    if (record_.max_evaluations == 0) return true;
    std::int64_t spent = 0;
    const auto parts = standings(record_);
    for (std::size_t i = 0; i < parts.size(); ++i)
      spent += record_.parts[i].like ? 0 : parts[i].evaluations;
    return ready.empty() || spent + record_.slot_evaluations <= record_.max_evaluations;
  }

  std::string folder_of(std::size_t part) const {
    if (options_.run_dir.empty()) return "";
    constexpr std::size_t longest = 60;
    const std::string& name = forms_in_order_[part]->name;
    const bool fits = name.size() <= longest;
    return options_.run_dir + "/parts/" + (fits ? name : record_.parts[part].task_id.substr(0, 16));
  }

  EvolveOptions options_of(std::size_t part, std::int64_t evaluations) const {
    EvolveOptions one;
    one.search = options_.search;
    one.search.max_evaluations = evaluations;
    one.search.lookahead = record_.lookahead;
    one.search.max_generations = 0;
    one.search.target_us = 0;  // of the program, not of a part
    one.run_dir = folder_of(part);
    one.families = options_.families;
    one.random_search = options_.random_search;
    one.plain_baseline = false;
    one.screening = options_.screening;
    one.screen = options_.screen;
    one.worker_path = options_.worker_path;
    one.cancel = options_.cancel;
    one.pool = record_.pool;
    one.pool_tags = options_.pool_tags;
    one.device_name = options_.device_name;
    one.host = options_.host;
    if (options_.max_seconds > 0) one.max_seconds = slot_seconds(part);
    return one;
  }

  double slot_seconds(std::size_t part) const {
    const PartsNeeded needed = parts_needed(record_, part);
    const std::int64_t shares = time_shares(record_, part, program_.has_body());
    if (ready_partitions(record_).empty())
      return time_.of_slot(needed.all, needed.unsearched, shares);
    return std::max(1.0, time_.left_for_parts(needed.all) / static_cast<double>(shares));
  }

  Result<void> search_part(std::size_t part) {
    const PartTask& form = *forms_in_order_[part];
    const auto before = standings(record_)[part];
    ProgramSlotRecord slot{.part = part,
                           .evaluations = before.evaluations + record_.slot_evaluations};
    PartObserver observer(options_.observer, form.name);
    EvolveOptions one = options_of(part, slot.evaluations);  // with the seconds that are left now
    one.observer = &observer;
    const bool begun = !one.run_dir.empty() && host_.exists(journal_path(one.run_dir));
    // A search in seconds leaves a part's confirmation to that of its program.
    const KernelRun how{
        .confirms = options_.max_seconds <= 0,
        .asks_library = one.max_seconds <= 0 || time_.has_time_for_library(one.max_seconds)};
    if (begun) one.raise_evaluations = slot.evaluations;
    const auto report =
        forms_.is_step_alone(parts_[part])
            ? Result<EvolveReport>(Error{ErrorCode::no_candidate, "no template serves it", ""})
        : begun ? resume_kernel(one.run_dir, backend_, one, how)
                : evolve_kernel(form.task, backend_, one, how);
    if (cancelled()) return interrupted();
    if (report) time_.note(part, *report);
    if (!report) {
      const ErrorCode code = report.error().code;
      const bool own =
          code == ErrorCode::usage || code == ErrorCode::no_candidate || code == ErrorCode::budget;
      if (!own) return Error(report.error()).while_doing("searching part " + form.name);
      slot.refused = report.error().message;
    } else if (report->best) {
      const Candidate& best = report->best->candidate;
      slot.time_us = std::get<Accepted>(best.outcome).measurement.time_us;
      slot.strategy = best.strategy;
      slot.library_us = library_us(report->best->baselines);
    }
    if (auto timed = time_step(form, how.asks_library, slot); !timed) return timed;
    record_.slots.push_back(std::move(slot));
    tell(part);
    return {};
  }

  void tell(std::size_t part) const {
    if (options_.observer == nullptr) return;
    const PartStanding one = standings(record_)[part];
    std::string name = forms_in_order_[part]->name;
    const auto equal = std::count_if(
        record_.parts.begin(), record_.parts.end(),
        [&](const ProgramPartRecord& other) { return other.like == std::optional(part); });
    if (equal > 0) name += fmt::format(" (and {} equal ones)", equal);
    options_.observer->on_notice(
        one.time_us > 0
            ? fmt::format("part {}: {:.4g} us {} after {} evaluations{}", name, one.time_us,
                          name_of(backend_.provenance()), one.evaluations, step_text(one))
            : fmt::format("part {}: no kernel after {} evaluations: {}{}", name, one.evaluations,
                          record_.slots.back().refused, step_text(one)));
  }

  Result<void> keep() {
    if (options_.run_dir.empty()) return {};
    return host_.write_file_atomically(program_path(options_.run_dir), to_json(record_), true);
  }

  Backend& backend_;
  const EvolveOptions& options_;
  Host& host_;
  Families families_;
  ComposedTask program_;
  const Task& task_;  // of program_
  PartForms forms_;   // of program_
  ProgramTime time_;
  std::vector<const PartTask*> forms_in_order_;  // as record_.parts
  std::vector<Part> parts_;                      // likewise
  std::map<std::string, std::size_t> kinds_;     // kind_of a part -> the first of it
  ProgramRecord record_;
};

// Proposes programs; searches their parts before.
class ProgramPolicy final : public Policy {
 public:
  explicit ProgramPolicy(ProgramSearch& search) : search_(search) {}

  Result<std::optional<Proposal>> propose(const PolicyView& view, Rng) override {
    if (auto searched = search_.search_parts(view.max_evaluations, view.best_us); !searched)
      return searched.error();
    for (Strategy& program : search_.programs(view.best_us)) {
      if (view.tried(strategy_id(program))) continue;
      Proposal proposal;
      proposal.kind = BreedKind::seed;
      proposal.strategy = std::move(program);
      proposal.last = search_.has_one_left();
      return std::optional(std::move(proposal));
    }
    if (auto none = search_.no_program()) return *none;
    return std::optional<Proposal>();
  }
  std::string end() const override { return "no program is left that its budget lets it try"; }
  void accept(const Proposal&) override {}
  void observe(const SlotOutcome&) override {}
  std::string save() const override { return ""; }
  bool load(std::string_view saved) override { return saved.empty(); }

 private:
  ProgramSearch& search_;
};

Result<EvolveReport> run_program(
    const Task& task, Backend& backend, const EvolveOptions& options,
    const std::function<Result<EvolveReport>(const EvolveOptions&, KernelRun)>& run) {
  ProgramSearch search(task, backend, options);
  if (auto cut = search.cut(); !cut) return cut.error();
  if (auto taken = search.take_up(); !taken) return taken.error();
  ProgramWriter writer(search.program(), known_families(options));
  EvolveOptions all = options;
  all.policy = [&](const SearchOptions&, const Space&) {
    return std::make_unique<ProgramPolicy>(search);
  };
  all.search.lookahead = 1;  // the most promising program comes first, alone
  all.writer = &writer;
  all.pool = "off";
  auto report = run(all, {.search_end = search.search_end()});
  if (!report) return report;
  for (std::string& line : program_lines(search.record()))
    report->notices.push_back(std::move(line));
  return report;
}

}  // namespace

bool needs_program(const Task& task, const Backend& backend, const EvolveOptions& options) {
  const bool others_write = options.chat != nullptr || options.writer != nullptr ||
                            options.evaluator != nullptr || options.policy ||
                            !options.tunables.empty();
  if (others_write || task.operations.empty() || task.reference.stages.empty() ||
      !backend.traits().techniques.empty() || !backend.traits().runs)
    return false;
  const std::vector<bool> prepared = prepared_operations(task);
  // One kernel would compute each time what can be prepared.
  const bool prepares = std::find(prepared.begin(), prepared.end(), true) != prepared.end();
  const Families families = known_families(options);
  return prepares || !is_served(families, task) || compose_bodies(task, families).has_body();
}

Result<EvolveReport> evolve_program(const Task& task, Backend& backend,
                                    const EvolveOptions& options) {
  const auto run = [&](const EvolveOptions& all, KernelRun how) -> Result<EvolveReport> {
    auto notices = untold_classes(backend, task);
    if (!notices) return notices.error();
    for (std::string& one : *notices)
      one =
          (one.starts_with("the result") ? "unproved, since the class grants as much: "
                                         : "unproved by errors of the whole, which parts prove: ") +
          one;
    for (std::string& one : compose_bodies(task, known_families(options)).whole)
      notices->push_back("program: " + std::move(one));
    how.notices = std::move(*notices);
    how.weak_check_allowed = true;
    return evolve_kernel(task, backend, all, how);
  };
  return run_program(task, backend, options, run);
}

Result<EvolveReport> resume_program(const std::string& run_dir, Backend& backend,
                                    const EvolveOptions& options) {
  Host& host = host_of(options);
  const auto read = read_journal(host, run_dir);
  if (!read) return read.error();
  const auto state = fold(*read);
  if (!state) return state.error();
  EvolveOptions own = as_recorded(host, state->header, options, run_dir);
  auto families = kept_families(host, run_dir, options.families);
  if (!families) return families.error();
  own.families = std::move(*families);
  return run_program(state->task, backend, own,
                     [&](const EvolveOptions& all, const KernelRun& how) {
                       return resume_kernel(run_dir, backend, all, how);
                     });
}

}  // namespace cupilot
