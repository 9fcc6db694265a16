#include "endurance/invariants.hpp"

#include <cmath>
#include <variant>

#include "evolution/journal/records.hpp"

namespace cupilot::testing {
namespace {

// An accepted kernel shows what it was accepted on.
bool has_evidence(const Accepted& accepted) {
  std::int64_t compared = 0;
  for (const CaseReport& report : accepted.verification.cases) {
    if (!report.faults.empty()) return false;
    for (const OutputReport& output : report.outputs) {
      if (output.failed != 0 || !(output.worst_ratio <= 1)) return false;
      compared += output.compared;
    }
  }
  const Measurement& time = accepted.measurement;
  return compared > 0 && !time.samples_us.empty() && std::isfinite(time.time_us) &&
         time.time_us > 0;
}

bool may_be_accepted(Nature nature) {
  return nature == Nature::honest || nature == Nature::turncoat;
}

}  // namespace

void Watcher::durable(std::string_view bytes) {
  // Frames of a batch are numbered on from the last one's; only their wholeness matters here.
  while (bytes.size() >= frame_overhead) {
    std::uint32_t length = 0, type = 0;
    for (int i = 3; i >= 0; --i)
      length = length << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    for (int i = 7; i >= 4; --i)
      type = type << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    if (bytes.size() < frame_overhead + length) break;
    take({type, 0, std::string(bytes.substr(16, length))});
    bytes.remove_prefix(frame_overhead + length);
  }
  note(bytes.empty(), "a batch ends with half a record");
}

void Watcher::reread(const std::vector<FramedRecord>& records) {
  std::vector<std::string> broken = std::move(broken_);
  *this = Watcher(*device_, max_evaluations_);
  broken_ = std::move(broken);
  for (const FramedRecord& record : records) take(record);
}

void Watcher::take(const FramedRecord& record) {
  const auto type = static_cast<RecordType>(record.type);
  // A new budget voids what was concluded.
  if (type == RecordType::decision) ended_ = false;
  note(!ended_, "a record follows the end");
  if (type == RecordType::proposal) {
    const auto proposal = proposal_from(record.payload);
    note(static_cast<bool>(proposal), "a proposal cannot be read");
    if (!proposal) return;
    proposed_.insert(strategy_id(proposal->strategy));
    note(!paid_again_, "paid twice for a settled slot while the search goes on");
    note(slots_.insert(proposal->slot).second, "a slot is proposed twice");
    open_.insert(proposal->slot);
    // What is proposed may all be evaluated.
    note(evaluated_ <= max_evaluations_, "more evaluations than the budget");
  }
  if (type == RecordType::result) take_result(record.payload);
  if (type == RecordType::final_trial) take_final(record.payload);
  if (type == RecordType::end) {
    const auto end = end_from(record.payload);
    note(static_cast<bool>(end), "an end cannot be read");
    if (!end) return;
    note(end->best_slot < 0 || confirmed_.count(end->best_slot) != 0,
         "the end names a best that was not confirmed");
    note(end->evaluations == evaluated_, "the end counts other evaluations than there are");
    ended_ = true;
  }
}

void Watcher::take_result(const std::string& payload) {
  const auto result = result_from(payload);
  note(static_cast<bool>(result), "a result cannot be read");
  if (!result) return;
  note(open_.erase(result->slot) == 1, "a result without an open proposal");
  settled_.insert(result->candidate.strategy_id);
  evaluated_ += result->candidate.evaluated ? 1 : 0;
  note(evaluated_ <= max_evaluations_, "more evaluations than the budget");
  const auto* accepted = std::get_if<Accepted>(&result->candidate.outcome);
  if (accepted == nullptr) return;
  note(has_evidence(*accepted), "a verdict without evidence");
  note(may_be_accepted(device_->nature_of(result->candidate.kernel_hash)),
       "a kernel was believed that is not honest");
  const double truth = device_->true_time_us(result->candidate.kernel_hash);
  note(accepted->measurement.time_us == truth, "a time that the device did not give");
}

void Watcher::take_final(const std::string& payload) {
  const auto final = final_from(payload);
  note(static_cast<bool>(final), "a final cannot be read");
  ++finals_;
  if (!final) return;
  const auto* accepted = std::get_if<Accepted>(&final->candidate.outcome);
  if (accepted == nullptr) return;
  note(has_evidence(*accepted), "a confirmation without evidence");
  note(accepted->verification.processes >= 2, "a confirmation by one process");
  note(slots_.count(final->slot) == 1, "a confirmed kernel that was never proposed");
  confirmed_.insert(final->slot);
}

void Watcher::compiling(const std::string& strategy_id) {
  note(proposed_.count(strategy_id) == 1, "spent on what a crash would forget");
  // Once a search is over, finalists are compiled again; candidates that its time gave up may still
  // be open then.
  if (settled_.count(strategy_id) != 0 && !open_.empty()) paid_again_ = true;
}

}  // namespace cupilot::testing
