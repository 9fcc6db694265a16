#include "evolution/run_state.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "evolution/known_kernels.hpp"

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
std::vector<Parsed> parsed_results(const ReadRecords& read, Evidence evidence) {
  std::vector<Parsed> parsed(read.records.size());
  const auto parse = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (static_cast<RecordType>(read.records[i].type) != RecordType::result) continue;
      const std::string& text = read.records[i].payload;
      parsed[i] = evidence == Evidence::kept ? result_from(text) : result_without_cases(text);
    }
  };
  constexpr std::size_t worth_a_thread = 2048;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp(read.records.size() / worth_a_thread, std::size_t{1}, cores);
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.push_back(std::async(std::launch::async, parse, parsed.size() * part / parts, parsed.size() * (part + 1) / parts));
  }
  parse(0, parsed.size() / parts);
  for (std::future<void>& other : others) other.get();
  return parsed;
}

Result<void> take(RunState& state, const FramedRecord& record, Parsed& result) {
  const std::string& text = record.payload;
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::header:
      return keep(header_from(text), [&](HeaderRecord r) { state.header = std::move(r); });
    case RecordType::baselines:
      return keep(baselines_from(text), [&](BaselinesRecord r) { state.baselines = std::move(r); });
    case RecordType::proposal:
      return keep(proposal_from(text), [&](Proposal r) { state.events.emplace_back(std::move(r)); });
    case RecordType::result:
      return keep(std::move(*result), [&](ResultRecord r) { state.events.emplace_back(std::move(r)); });
    case RecordType::decision:
      return keep(decision_from(text), [&](DecisionRecord r) {
        // A raised limit reopens the search: what was concluded before no longer stands.
        if (r.kind == "extend") {
          state.finals.clear();
          state.end.reset();
        }
        state.events.emplace_back(std::move(r));
      });
    case RecordType::final_trial:
      return keep(final_from(text), [&](FinalRecord r) { state.finals.push_back(std::move(r)); });
    case RecordType::end:
      return keep(end_from(text), [&](EndRecord r) { state.end = std::move(r); });
  }
  return Error{ErrorCode::usage, "the journal holds a record of unknown type " + std::to_string(record.type),
               "use the version that wrote it"};
}

}  // namespace

Result<RunState> fold(const ReadRecords& read, Evidence evidence) {
  RunState state;
  std::vector<Parsed> results = parsed_results(read, evidence);
  for (std::size_t i = 0; i < read.records.size(); ++i) {
    if (auto taken = take(state, read.records[i], results[i]); !taken) return taken.error();
    results[i].reset();
  }
  auto task = task_from_json(state.header.task_json, "the journal's task");
  if (!task) return task.error();
  state.task = std::move(*task);
  return state;
}

Score score_of(const Candidate& candidate) {
  Score score;
  score.evaluated = candidate.evaluated;
  score.kernel_hash = candidate.kernel_hash;
  if (const auto* accepted = std::get_if<Accepted>(&candidate.outcome)) {
    score.accepted = true;
    score.time_us = accepted->measurement.time_us;
    score.verdict = accepted->verdict;
  } else if (const auto* rejected = std::get_if<Rejected>(&candidate.outcome)) {
    score.rejection = rejected->code;
    score.repairable = is_repairable(candidate);
  }
  if (score.accepted && is_free_form(candidate)) score.realised = candidate.strategy;
  return score;
}

Best best_of(const FinalRecord& record) {
  return {record.candidate, record.baselines, record.ratio_low, record.ratio_high, record.gain, record.gain_noise};
}

std::vector<std::string> drift_alarms(const Best& best) {
  constexpr double tolerated = 0.02;
  std::vector<std::string> alarms;
  for (const Baseline& baseline : best.baselines) {
    if (std::abs(baseline.drift) <= tolerated) continue;
    alarms.push_back(
        fmt::format("baseline {} drifted by {:+.1f} % between the start of the search and the confirmation: the device "
                    "was not in one state all along; times within the search may be off by as much",
                    baseline.name, 100 * baseline.drift));
  }
  return alarms;
}

double counting_seconds(const PhaseSeconds& phases) {
  double sum = 0;
  for (const auto& [path, seconds] : phases) {
    const bool counting = ("/" + path + "/").find("/counters/") != std::string::npos;
    if (counting && !path.ends_with("/wait for the device")) sum += seconds;
  }
  return sum;
}

void Ledger::propose(const Proposal& proposal) {
  Row row;
  row.epoch = proposal.epoch;
  row.generation = proposal.generation;
  row.strategy = describe(proposal.strategy);
  rows_.push_back(std::move(row));
}

void Ledger::settle(const ResultRecord& record) {
  if (record.slot < 0 || record.slot >= static_cast<std::int64_t>(rows_.size())) return;
  Row& row = rows_[static_cast<std::size_t>(record.slot)];
  for (const auto& [path, seconds] : record.phases) phases_[path] += seconds;
  cpu_seconds_ += record.cpu_seconds;
  const Score score = score_of(record.candidate);
  row.settled = true;
  row.accepted = score.accepted;
  row.evaluated = score.evaluated;
  row.hash = record.candidate.kernel_hash;
  row.time_us = score.time_us;
  row.code = score.rejection;
}

void Ledger::count(Sum& sum, std::size_t begin, std::size_t end) const {
  Progress& progress = sum.progress;
  for (std::size_t i = begin; i < end; ++i) {
    const Row& row = rows_[i];
    progress.epoch = row.epoch;
    progress.generation = row.generation;
    ++progress.proposed;
    if (!row.settled) continue;
    progress.evaluations += row.evaluated ? 1 : 0;
    const bool repeated = !row.hash.empty() && !sum.hashes.insert(row.hash).second;
    if (row.accepted && !repeated) {
      ++progress.accepted;
      if (progress.best_us == 0 || row.time_us < progress.best_us) {
        progress.best_us = row.time_us;
        progress.best_strategy = row.strategy;
      }
    } else if (row.accepted) {
      ++progress.rejected["gate.duplicate"];
    } else if (!row.code.empty()) {
      ++progress.rejected[row.code];
    }
  }
}

std::map<std::string, std::int64_t> Ledger::rejected() const {
  Sum sum = sum_;
  count(sum, taken_, rows_.size());
  return sum.progress.rejected;
}

std::vector<Progress> Ledger::take_finished(const BaselinesRecord& baselines, bool closed) {
  std::vector<Progress> finished;
  while (taken_ < rows_.size()) {
    std::size_t end = taken_;
    while (end < rows_.size() && rows_[end].generation == rows_[taken_].generation && rows_[end].settled) ++end;
    const bool whole = end < rows_.size() ? rows_[end].generation != rows_[taken_].generation : closed;
    if (!whole || end == taken_) break;
    count(sum_, taken_, end);
    taken_ = end;
    Progress progress = sum_.progress;
    for (const Baseline& baseline : baselines.baselines) {
      if (baseline.name == "plain") progress.plain_us = baseline.time_us;
    }
    progress.floor_us = baselines.floor_us;
    finished.push_back(std::move(progress));
  }
  return finished;
}

std::int64_t Ledger::evaluations() const {
  return std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.settled && row.evaluated; });
}

}  // namespace cupilot
