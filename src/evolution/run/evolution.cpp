#include <cupilot/evolution.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "evolution/evaluate/pipe.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/run/context.hpp"
#include "evolution/run/evolution_text.hpp"
#include "evolution/search/known_kernels.hpp"
#include "evolution/search/options.hpp"

namespace cupilot {
namespace {

Error nonsense(std::uint64_t id, const std::string& reason, std::string hint) {
  return {ErrorCode::usage, fmt::format("the answer for job {}: {}", id, reason), std::move(hint)};
}

std::optional<Error> fault_of_time(std::uint64_t id, double us) {
  if (!std::isfinite(us) || us <= 0) {
    return nonsense(id, fmt::format("a time of {} us is not a positive number", us),
                    "tell a rejection, or forget the job");
  }
  if (us > longest_us) {
    return nonsense(id, fmt::format("a time of {:.4g} us is longer than a day", us),
                    "times are in microseconds");
  }
  return std::nullopt;
}

std::optional<Error> fault_of_counts(std::uint64_t id, const Counts& counts) {
  for (std::size_t i = 0; i < counter_count; ++i) {
    for (const double number : {counts.all[i].value, counts.all[i].low, counts.all[i].high}) {
      if (std::isfinite(number) && number >= 0) continue;
      return nonsense(id,
                      fmt::format("the count {} holds {}, no number from 0 up",
                                  name_of(static_cast<Counter>(i)), number),
                      "leave Counts::source none where nothing was counted");
    }
  }
  return std::nullopt;
}

std::optional<Error> fault_of_warps(std::uint64_t id, const WarpCycles& warps) {
  for (std::size_t i = 0; i <= stall_count; ++i) {
    const double number = i == stall_count ? warps.resident : warps.spent[i];
    if (std::isfinite(number) && number >= 0) continue;
    return nonsense(
        id,
        fmt::format("the warps' cycles {} hold {}, no number from 0 up",
                    i == stall_count ? "resident" : name_of(static_cast<Stall>(i)), number),
        "leave WarpCycles::resident 0 where they were not counted");
  }
  return std::nullopt;
}

const RejectionCode* find_code(std::string_view code) {
  const auto codes = rejection_codes();
  const auto found = std::find_if(codes.begin(), codes.end(),
                                  [&](const RejectionCode& row) { return row.code == code; });
  return found == codes.end() ? nullptr : &*found;
}

std::optional<Error> fault_of_code(std::uint64_t id, const std::string& code) {
  if (find_code(code) != nullptr) return std::nullopt;
  return nonsense(id, fmt::format("there is no rejection code '{}'", code),
                  "docs/formats/rejections.md lists them");
}

Counter operations_of(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return Counter::flops_fp64;
    case Precision::fp32_emulated:
    case Precision::bf16x3:
    case Precision::bf16:
      return Counter::ops_tensor_bf16;
    case Precision::tf32:
      return Counter::ops_tensor_tf32;
    case Precision::fp16:
      return Counter::ops_tensor_fp16;
    case Precision::fp8:
    case Precision::fp8_promoted:
      return Counter::ops_tensor_fp8;
    case Precision::integer:
      return Counter::ops_tensor_int8;
    case Precision::fp32_strict:
      break;
  }
  return Counter::flops_fp32;
}

// The least that the task's work says of any kernel, for a host that counts nothing.
Counts analytic_counts(const Task& task, const Workload& workload) {
  Counts counts;
  counts.source = CounterSource::analytic;
  const auto set = [&](Counter counter, const Result<std::int64_t>& value) {
    if (!value) return;
    const auto number = static_cast<double>(*value);
    counts[counter] = {number, number, number, CountHow::estimated};
  };
  set(Counter::dram_read_bytes, compulsory_bytes(task, workload));
  set(operations_of(task.precision), textbook_flops(task, workload));
  return counts;
}

}  // namespace

struct Evolution::State {
  EvolutionRecord record;
  SearchComponents components;
  std::optional<Search> search;
  double least_us = 0;        // a shorter time is not believed
  std::optional<Error> owed;  // met by ask() after it had made jobs; the next ask() returns it

  EvolutionSlot* slot_of(std::uint64_t id) {
    return id == 0 || id > record.slots.size() ? nullptr
                                               : &record.slots[static_cast<std::size_t>(id - 1)];
  }
  // TellStatus::accepted: the proposal is open.
  TellStatus standing(std::uint64_t id) {
    const EvolutionSlot* slot = slot_of(id);
    if (slot == nullptr) return TellStatus::unknown_id;
    if (slot->status == EvolutionSlot::Status::open) return TellStatus::accepted;
    return slot->status == EvolutionSlot::Status::told ? TellStatus::duplicate
                                                       : TellStatus::forgotten;
  }
  void settle(std::uint64_t id, Score score) {
    search->tell(id, score);
    EvolutionSlot* slot = slot_of(id);
    slot->status = EvolutionSlot::Status::told;
    slot->score = std::move(score);
  }
  TellStatus forget(std::uint64_t id) {
    const TellStatus told = search->forget(id);
    if (told == TellStatus::accepted) slot_of(id)->status = EvolutionSlot::Status::forgotten;
    return told;
  }

  Receipt settle_accepted(std::uint64_t id, Score score, std::optional<Rejected> refused);
  Attempt<Job> job_of(const Proposal& proposal) const;
  std::vector<ResolvedPlan> plans_of(const KernelSource& source) const;
  Result<void> replay();
  static Result<std::unique_ptr<State>> open(EvolutionRecord record, Strategist* strategist);
};

Receipt Evolution::State::settle_accepted(std::uint64_t id, Score score,
                                          std::optional<Rejected> refused) {
  if (auto had = had_before(*search, score.kernel_hash, static_cast<std::int64_t>(id) - 1))
    refused = std::move(had);
  if (refused) {
    score.accepted = false;
    score.time_us = 0;
    score.verdict = {};
    score.rejection = refused->code;
  }
  settle(id, std::move(score));
  return {TellStatus::accepted, std::move(refused)};
}

std::vector<ResolvedPlan> Evolution::State::plans_of(const KernelSource& source) const {
  std::vector<ResolvedPlan> plans;
  if (source.plan.launches.empty()) return plans;
  for (const Workload& workload : record.task->time_shapes) {
    auto resolution = resolve(source, record.task, workload, record.device, nullptr);
    if (!resolution || !std::holds_alternative<ResolvedPlan>(*resolution)) return {};
    plans.push_back(std::get<ResolvedPlan>(std::move(*resolution)));
  }
  return plans;
}

Attempt<Job> Evolution::State::job_of(const Proposal& proposal) const {
  Job job;
  job.proposal = proposal;
  job.elite_below_us = search->known_best_us(proposal.slot);
  if (!record.options.write) return job;
  if (const auto lack = components.writer->lacks(record.task, proposal.strategy)) {
    return reject("write.uncovered", "no writer realises " + *lack);
  }
  auto written = components.writer->write({record.task, &proposal.strategy, &record.device, {}});
  if (!written) return written.failure();
  job.source = std::move(*written);
  job.plans = plans_of(*job.source);
  return job;
}

Result<void> Evolution::State::replay() {
  for (const EvolutionSlot& slot : record.slots) {
    if (auto replayed = search->replay(slot.proposal); !replayed) return replayed;
    if (slot.status == EvolutionSlot::Status::told) search->tell(slot.proposal.id, slot.score);
    if (slot.status == EvolutionSlot::Status::forgotten) search->forget(slot.proposal.id);
  }
  return {};
}

Result<std::unique_ptr<Evolution::State>> Evolution::State::open(EvolutionRecord record,
                                                                 Strategist* strategist) {
  auto state = std::make_unique<State>();
  state->record = std::move(record);
  const auto& [task, device, options, own_strategist, slots] = state->record;
  if (!std::isfinite(options.plain_us) || options.plain_us < 0) {
    return Error{ErrorCode::usage, "EvolutionOptions::plain_us is not a time",
                 "give microseconds, or 0 for unknown"};
  }
  if (auto sound = check(options.search); !sound) return sound.error();
  if (own_strategist && strategist == nullptr) {
    return Error{ErrorCode::usage, "the saved search had a strategist of the host's",
                 "give it to load() again"};
  }
  if (!own_strategist && strategist != nullptr) {
    return Error{ErrorCode::usage, "the saved search had the built-in strategist",
                 "load() it without one, or begin() anew"};
  }
  auto components = find_components(task, device, options.techniques, options.tunables, {},
                                    options.random_search);
  if (!components) return components.error();
  state->components = std::move(*components);
  if (strategist != nullptr) state->components.strategist = strategist;
  auto least = least_mean_us(task, device, task->precision);
  if (!least) return least.error();
  state->least_us = *least;
  state->search.emplace(options.search, *state->components.space, *state->components.strategist,
                        state->components.zone, options.plain_us, state->components.knowledge);
  if (auto replayed = state->replay(); !replayed) return replayed.error();
  return state;
}

Evolution::Evolution(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evolution::~Evolution() = default;
Evolution::Evolution(Evolution&&) noexcept = default;
Evolution& Evolution::operator=(Evolution&&) noexcept = default;

Result<Evolution> Evolution::begin(const Task& task, const DeviceSpec& device,
                                   const EvolutionOptions& options) {
  EvolutionRecord record{TaskRef(task), device, options, options.strategist != nullptr, {}};
  record.options.strategist = nullptr;
  auto state = State::open(std::move(record), options.strategist);
  if (!state) return state.error();
  return Evolution(std::move(*state));
}

Result<Evolution> Evolution::load(std::string_view saved, Strategist* strategist) {
  auto record = evolution_from(saved);
  if (!record) return record.error();
  auto state = State::open(std::move(*record), strategist);
  if (!state) return std::move(state.error()).while_doing("continuing a saved search");
  return Evolution(std::move(*state));
}

Result<std::string> Evolution::save() const { return to_json(state_->record); }

Result<Jobs> Evolution::ask(int count) {
  if (state_->owed) return std::move(*std::exchange(state_->owed, std::nullopt));
  std::vector<Job> jobs;
  const auto after_jobs = [&](Error error) -> Result<Jobs> {
    if (jobs.empty()) return error;
    state_->owed = std::move(error);
    return Jobs(std::move(jobs));
  };
  while (static_cast<int>(jobs.size()) < std::max(1, count)) {
    auto asked = state_->search->ask(1);
    if (!asked) return after_jobs(asked.error());
    const auto* fresh = std::get_if<std::vector<Proposal>>(&*asked);
    if (fresh == nullptr && !jobs.empty()) break;
    if (auto* waiting = std::get_if<Waiting>(&*asked)) return Jobs(std::move(*waiting));
    if (auto* finished = std::get_if<Finished>(&*asked)) return Jobs(std::move(*finished));
    const Proposal& proposal = fresh->front();
    state_->record.slots.push_back({proposal, EvolutionSlot::Status::open, {}});
    auto job = state_->job_of(proposal);
    if (job.is_error())
      return after_jobs(Error(job.error()).while_doing(fmt::format("making job {}", proposal.id)));
    if (job.is_rejected()) {
      Score score;
      score.rejection = job.rejected().code;
      state_->settle(proposal.id, std::move(score));
    } else {
      jobs.push_back(std::move(*job));
    }
  }
  return Jobs(std::move(jobs));
}

Result<Receipt> Evolution::tell(std::uint64_t id, const Reported& reported) {
  State& s = *state_;
  if (const TellStatus told = s.standing(id); told != TellStatus::accepted)
    return Receipt{told, {}};
  if (s.record.options.provenance != Provenance::reported) {
    return nonsense(
        id,
        fmt::format("a host's word is reported, this search ranks {} times",
                    name_of(s.record.options.provenance)),
        "tell the candidate that evaluate() returned, or begin with Provenance::reported");
  }
  if (auto fault = fault_of_time(id, reported.time_us)) return std::move(*fault);
  if (auto fault = fault_of_counts(id, reported.counts)) return std::move(*fault);
  if (auto fault = fault_of_warps(id, reported.warps)) return std::move(*fault);
  const Task& task = s.record.task;
  Measurement measurement;
  measurement.provenance = Provenance::reported;
  measurement.time_us = reported.time_us;
  measurement.counts = reported.counts.source == CounterSource::none
                           ? analytic_counts(task, task.time_shapes.front())
                           : reported.counts;
  auto verdict =
      judge(task, task.time_shapes.front(), s.record.device, measurement, reported.warps);
  if (!verdict) return verdict.error();
  std::optional<Rejected> refused;
  const bool counted =
      task.time_shapes.size() == 1 && reported.counts.source == CounterSource::counters;
  if (reported.time_us < s.least_us &&
      !(counted && counts_allow(task, task.time_shapes.front(), s.record.device, reported.counts,
                                reported.time_us))) {
    refused = reject("floor.impossible",
                     fmt::format("{:.4g} us reported lies below the floor of {:.4g} us",
                                 reported.time_us, s.least_us));
  }
  return s.settle_accepted(
      id, {true, true, reported.kernel_hash, reported.time_us, std::move(*verdict), ""},
      std::move(refused));
}

Result<Receipt> Evolution::tell(std::uint64_t id, const Rejected& rejected) {
  if (const TellStatus told = state_->standing(id); told != TellStatus::accepted)
    return Receipt{told, {}};
  if (auto fault = fault_of_code(id, rejected.code)) return std::move(*fault);
  Score score;
  score.evaluated = find_code(rejected.code)->stage != Stage::write;
  score.rejection = rejected.code;
  state_->settle(id, std::move(score));
  return Receipt{};
}

Result<Receipt> Evolution::tell(std::uint64_t id, const Candidate& candidate) {
  State& s = *state_;
  if (std::holds_alternative<Lost>(candidate.outcome)) return Receipt{forget(id), {}};
  if (const TellStatus told = s.standing(id); told != TellStatus::accepted)
    return Receipt{told, {}};
  Score score = score_of(candidate);
  const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
  if (accepted == nullptr) {
    if (auto fault = fault_of_code(id, score.rejection)) return std::move(*fault);
    s.settle(id, std::move(score));
    return Receipt{};
  }
  const Provenance provenance = accepted->measurement.provenance;
  if (provenance != s.record.options.provenance) {
    return nonsense(id,
                    fmt::format("its time is {}, this search ranks {} times", name_of(provenance),
                                name_of(s.record.options.provenance)),
                    "one search ranks one provenance: EvolutionOptions::provenance");
  }
  if (auto fault = fault_of_time(id, score.time_us)) return std::move(*fault);
  if (auto fault = fault_of_counts(id, accepted->measurement.counts)) return std::move(*fault);
  return s.settle_accepted(id, std::move(score), std::nullopt);
}

TellStatus Evolution::forget(std::uint64_t id) { return state_->forget(id); }

Result<Job> Evolution::job(std::uint64_t id) const {
  const EvolutionSlot* slot = state_->slot_of(id);
  if (slot == nullptr) {
    return Error{ErrorCode::usage,
                 fmt::format("there is no job {}: {} were given", id, state_->record.slots.size()),
                 "give the id of a proposal"};
  }
  auto job = state_->job_of(slot->proposal);
  if (job.is_error()) return job.error();
  if (job.is_rejected())
    return Error{ErrorCode::usage,
                 fmt::format("job {} was never given: {}", id, job.rejected().message), ""};
  return std::move(*job);
}

std::vector<std::uint64_t> Evolution::open() const {
  std::vector<std::uint64_t> ids;
  for (const EvolutionSlot& slot : state_->record.slots) {
    if (slot.status == EvolutionSlot::Status::open) ids.push_back(slot.proposal.id);
  }
  return ids;
}

std::optional<Individual> Evolution::best() const { return state_->search->best(); }
const Task& Evolution::task() const { return state_->record.task; }
const Search& Evolution::search() const { return *state_->search; }

Result<Candidate> evaluate(const Pipe& pipe, const Job& job) {
  EvaluationOptions rules;
  rules.proof_seed = pipe.seed;
  rules.measure.seed = timing_seed(pipe.seed);
  rules.elite_below_us = job.elite_below_us;
  auto passed =
      job.source ? pass_source(pipe, *job.source, rules) : pass(pipe, job.proposal.strategy, rules);
  if (!passed) return passed.error();
  passed->candidate.id = job.proposal.id;
  passed->candidate.strategy = job.proposal.strategy;
  passed->candidate.strategy_id = strategy_id(job.proposal.strategy);
  return std::move(passed->candidate);
}

}  // namespace cupilot
