#include "evolution/journal/ledger.hpp"

#include "base/record_file.hpp"
#include "evolution/journal/record_parts.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/search/known_kernels.hpp"

namespace cupilot {

namespace {

parts::Json put_refusals(const FirstRefusals& all) {
  parts::Json rows = parts::Json::array();
  for (const auto& [code, one] : all)
    rows.push_back({one.candidate, one.setting, one.template_name, one.kernel_id,
                    static_cast<int>(one.why.stage), code, one.why.message, one.why.where});
  return rows;
}

FirstRefusals refusals_in(const parts::Json& rows) {
  FirstRefusals all;
  for (const parts::Json& row : rows) {
    FirstRefusal one{row.at(0).get<std::uint64_t>(),
                     row.at(1).get<std::string>(),
                     row.at(2).get<std::string>(),
                     row.at(3).get<std::string>(),
                     {static_cast<Stage>(row.at(4).get<int>()), row.at(5).get<std::string>(),
                      row.at(6).get<std::string>(), row.at(7).get<std::string>()}};
    const std::string code = one.why.code;
    all.emplace(code, std::move(one));
  }
  return all;
}

// Each phase's seconds with those of the phases inside it.
PhaseSeconds with_inner(const PhaseSeconds& phases) {
  PhaseSeconds sums;
  for (const auto& [path, seconds] : phases) {
    if (is_waiting(path)) continue;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      sums[path.substr(0, end)] += seconds;
    sums[path] += seconds;
  }
  return sums;
}

}  // namespace

double Ledger::dearest(const std::string& phase) const {
  const auto found = dearest_.find(phase);
  return found == dearest_.end() ? 0 : found->second;
}

double Ledger::of_fastest(const std::string& phase) const {
  const auto found = fastest_.find(phase);
  return found == fastest_.end() ? 0 : found->second;
}

void Ledger::propose(const Proposal& proposal) {
  Row row;
  row.epoch = proposal.epoch;
  row.generation = proposal.generation;
  row.strategy = describe(proposal.strategy);
  rows_.push_back(std::move(row));
}

bool Ledger::settle(const ResultRecord& record) {
  if (record.slot < taken_ || record.slot >= proposed()) return false;
  Row& row = rows_[static_cast<std::size_t>(record.slot - taken_)];
  for (const auto& [path, seconds] : record.phases) phases_[path] += seconds;
  for (const auto& [path, seconds] : with_inner(record.phases)) {
    double& most = dearest_[path];
    most = std::max(most, seconds);
  }
  cpu_.add(record.cpu);
  most_interpreted_ = std::max(most_interpreted_, record.cpu.as_device);
  const Score score = score_of(record.candidate);
  if (score.accepted && (fastest_us_ == 0 || score.time_us < fastest_us_)) {
    fastest_us_ = score.time_us;
    fastest_ = record.phases;
  }
  evaluations_ += (score.evaluated ? 1 : 0) - (row.evaluated ? 1 : 0);
  row.settled = true;
  row.accepted = score.accepted;
  row.evaluated = score.evaluated;
  row.hash = record.candidate.kernel_hash;
  row.time_us = score.time_us;
  row.code = score.rejection;
  candidate_seconds_ += record.seconds;
  ++settled_;
  if (!std::holds_alternative<Rejected>(record.candidate.outcome)) return false;
  FirstRefusal refusal = first_refusal(record.candidate);
  refusal.candidate = static_cast<std::uint64_t>(record.slot) + 1;
  return keep_first(first_refusals_, std::move(refusal));
}

// The first `rows` of those that were not taken.
void Ledger::count(Sum& sum, std::size_t rows) const {
  Progress& progress = sum.progress;
  for (std::size_t i = 0; i < rows; ++i) {
    const Row& row = rows_[i];
    progress.epoch = row.epoch;
    progress.generation = row.generation;
    ++progress.proposed;
    if (!row.settled) continue;
    progress.evaluations += row.evaluated ? 1 : 0;
    const bool repeated = !row.hash.empty() && !sum.hashes.insert(row.hash, 0);
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
  count(sum, rows_.size());
  return sum.progress.rejected;
}

std::vector<Progress> Ledger::take_finished(const BaselinesRecord& baselines, bool closed) {
  std::vector<Progress> finished;
  while (!rows_.empty()) {
    std::size_t end = 0;
    while (end < rows_.size() && rows_[end].generation == rows_.front().generation &&
           rows_[end].settled)
      ++end;
    const bool whole =
        end < rows_.size() ? rows_[end].generation != rows_.front().generation : closed;
    if (!whole || end == 0) break;
    count(sum_, end);
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(end));
    taken_ += static_cast<std::int64_t>(end);
    Progress progress = sum_.progress;
    progress.plain_us = plain_time_us(baselines.baselines);
    progress.floor_us = baselines.floor_us;
    finished.push_back(std::move(progress));
  }
  return finished;
}

Pieces Ledger::saved() const {
  parts::Json rows = parts::Json::array();
  for (const Row& row : rows_) {
    rows.push_back({row.epoch, row.generation, row.settled, row.accepted, row.evaluated, row.code,
                    row.hash, row.strategy, row.time_us});
  }
  const Progress& sum = sum_.progress;
  const parts::Json json = {{"rows", std::move(rows)},
                            {"taken", taken_},
                            {"evaluations", evaluations_},
                            {"phases", phases_},
                            {"dearest", dearest_},
                            {"fastest", fastest_},
                            {"fastest_us", fastest_us_},
                            {"most_interpreted", most_interpreted_},
                            {"cpu", cpu_.own},
                            {"cpu_as_device", cpu_.as_device},
                            {"candidate_seconds", candidate_seconds_},
                            {"settled", settled_},
                            {"refusals", put_refusals(first_refusals_)},
                            {"sum",
                             {sum.epoch, sum.generation, sum.evaluations, sum.proposed,
                              sum.accepted, sum.rejected, sum.best_us, sum.best_strategy}}};
  Pieces bytes(frame(0, 0, json.dump(-1, ' ', false, parts::Json::error_handler_t::replace)));
  std::uint64_t sequence = 1;
  add_frames(bytes, 1, sequence, Pieces::looking_at(sum_.hashes.bytes()));
  return bytes;
}

bool Ledger::restore(std::string_view saved) {
  ReadRecords read = read_records(saved);
  std::size_t next = 1;
  const auto table = take_frames(read.records, next, 1);
  if (!read.damage.empty() || !table || next != read.records.size()) return false;
  auto hashes = DigestTable::from_bytes(*table, sum_.hashes.room());
  if (!hashes) return false;
  try {
    const parts::Json json = parts::Json::parse(read.records[0].payload);
    for (const parts::Json& row : json.at("rows")) {
      rows_.push_back({row.at(0).get<int>(), row.at(1).get<int>(), row.at(2).get<bool>(),
                       row.at(3).get<bool>(), row.at(4).get<bool>(), row.at(5).get<std::string>(),
                       row.at(6).get<std::string>(), row.at(7).get<std::string>(),
                       row.at(8).get<double>()});
    }
    json.at("taken").get_to(taken_);
    json.at("evaluations").get_to(evaluations_);
    json.at("phases").get_to(phases_);
    if (json.contains("dearest")) json.at("dearest").get_to(dearest_);
    if (json.contains("fastest")) {
      json.at("fastest").get_to(fastest_);
      json.at("fastest_us").get_to(fastest_us_);
      json.at("most_interpreted").get_to(most_interpreted_);
    }
    json.at("cpu").get_to(cpu_.own);
    json.at("cpu_as_device").get_to(cpu_.as_device);
    json.at("candidate_seconds").get_to(candidate_seconds_);
    json.at("settled").get_to(settled_);
    first_refusals_ = refusals_in(json.at("refusals"));
    const parts::Json& sum = json.at("sum");
    Progress& progress = sum_.progress;
    progress.epoch = sum.at(0).get<int>();
    progress.generation = sum.at(1).get<int>();
    progress.evaluations = sum.at(2).get<std::int64_t>();
    progress.proposed = sum.at(3).get<std::int64_t>();
    progress.accepted = sum.at(4).get<std::int64_t>();
    sum.at(5).get_to(progress.rejected);
    progress.best_us = sum.at(6).get<double>();
    progress.best_strategy = sum.at(7).get<std::string>();
  } catch (const parts::Json::exception&) {
    return false;
  }
  sum_.hashes = std::move(*hashes);
  return true;
}

}  // namespace cupilot
