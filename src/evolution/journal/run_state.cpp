#include "evolution/journal/run_state.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "evolution/journal/run_files.hpp"

namespace cupilot {
namespace {

// Puts what a reader gave where it belongs.
template <class T, class Place>
Result<void> keep(Result<T> read, Place place) {
  if (!read) return read.error();
  place(std::move(*read));
  return {};
}

using Parsed = std::optional<Result<ResultRecord>>;

// Records of a long run are many: each thread reads a stretch of them.
std::vector<Parsed> parsed_results(const std::vector<FramedRecord>& records, Evidence evidence) {
  std::vector<Parsed> parsed(records.size());
  const auto parse = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (static_cast<RecordType>(records[i].type) != RecordType::result) continue;
      const std::string& text = records[i].payload;
      parsed[i] = evidence == Evidence::kept ? result_from(text) : result_without_cases(text);
    }
  };
  constexpr std::size_t worth_a_thread = 512;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp(records.size() / worth_a_thread, std::size_t{1}, cores);
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.push_back(std::async(std::launch::async, parse, parsed.size() * part / parts,
                                parsed.size() * (part + 1) / parts));
  }
  parse(0, parsed.size() / parts);
  for (std::future<void>& other : others) other.get();
  return parsed;
}

}  // namespace

Result<void> Folding::take(const FramedRecord& record, Parsed& result) {
  const std::string& text = record.payload;
  const auto pass_on = [&](auto event) { sink_(std::move(event), record); };
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::header:
      return keep(header_from(text), [&](HeaderRecord r) {
        state_.models = r.seats.has_value();
        state_.header = std::move(r);
      });
    case RecordType::baselines:
      return keep(baselines_from(text),
                  [&](BaselinesRecord r) { state_.baselines = std::move(r); });
    case RecordType::proposal:
      return keep(proposal_from(text), pass_on);
    case RecordType::result:
      return keep(std::move(*result), pass_on);
    case RecordType::decision:
      return keep(decision_from(text), [&](DecisionRecord r) {
        state_.models |= r.kind == "models";
        // A raised limit reopens the search: what was concluded before no longer stands.
        if (r.kind == "extend") {
          state_.finals.clear();
          state_.end.reset();
        }
        pass_on(std::move(r));
      });
    case RecordType::final_trial:
      return keep(final_from(text), [&](FinalRecord r) { state_.finals.push_back(std::move(r)); });
    case RecordType::end:
      return keep(end_from(text), [&](EndRecord r) { state_.end = std::move(r); });
  }
  return Error{ErrorCode::usage,
               "the journal holds a record of unknown type " + std::to_string(record.type),
               "use the version that wrote it"};
}

Result<void> Folding::add(const std::vector<FramedRecord>& records) {
  std::vector<Parsed> results = parsed_results(records, evidence_);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (auto taken = take(records[i], results[i]); !taken) return taken;
    results[i].reset();
  }
  return {};
}

Result<RunState> Folding::end() {
  auto task = task_from_json(state_.header.task_json, "the journal's task");
  if (!task) return task.error();
  state_.task = std::move(*task);
  return std::move(state_);
}

Result<RunState> fold(const ReadRecords& read, Evidence evidence) {
  std::vector<SearchEvent> events;
  Folding folding(
      [&](SearchEvent event, const FramedRecord&) { events.push_back(std::move(event)); },
      evidence);
  if (auto added = folding.add(read.records); !added) return added.error();
  auto state = folding.end();
  if (state) state->events = std::move(events);
  return state;
}

Result<Candidate> kept_candidate(Host& host, const std::string& run_dir, std::uint64_t id) {
  const auto read = read_journal(host, run_dir);
  if (!read) return read.error();
  std::optional<Candidate> found;
  Folding folding(
      [&](SearchEvent event, const FramedRecord&) {
        auto* result = std::get_if<ResultRecord>(&event);
        if (result != nullptr && result->candidate.id == id) found = std::move(result->candidate);
      },
      Evidence::kept);
  if (auto added = folding.add(read->records); !added) return added.error();
  if (auto state = folding.end(); !state) return state.error();
  if (!found) return Error{ErrorCode::failure, fmt::format("{} has no result of #{}", run_dir, id)};
  auto source = kept_source(host, run_dir, found->kernel_id);
  if (!source) return source.error();
  found->source = std::move(*source);
  return std::move(*found);
}

Best best_of(const FinalRecord& record) {
  return {record.candidate,  record.baselines, record.ratio_low,
          record.ratio_high, record.gain,      record.gain_noise};
}

std::vector<std::string> drift_alarms(const Best& best) {
  constexpr double tolerated = 0.02;
  std::vector<std::string> alarms;
  for (const Baseline& baseline : best.baselines) {
    if (std::abs(baseline.drift) <= tolerated) continue;
    alarms.push_back(
        fmt::format("baseline {} drifted by {:+.1f} % between the start of the search and the "
                    "confirmation: the device "
                    "was not in one state all along; times within the search may be off by as much",
                    baseline.name, 100 * baseline.drift));
  }
  return alarms;
}

void tell_cpu(EvolveReport& report, CpuSpent cpu) {
  report.controller_cpu_seconds = cpu.own_seconds();
  report.controller_cpu_phases = std::move(cpu.own);
  report.interpreting_cpu_seconds = cpu.as_device;
}

}  // namespace cupilot
