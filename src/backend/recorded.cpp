#include <cupilot/host.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <cupilot/rejection.hpp>

#include "backend/backends.hpp"
#include "base/measurement_json.hpp"
#include "base/record_file.hpp"

namespace cupilot {
namespace {

using parts::Json;

// What an earlier run learnt of one strategy.
struct Answer {
  bool accepted = false;
  Measurement measurement;
  Rejected rejected;
  std::string kernel_hash;
};

struct Recording {
  std::string identity;
  Provenance provenance = Provenance::modelled;
  DeviceSpec device;
  std::vector<Technique> techniques;
  std::map<std::string, Answer> answers;    // by strategy id
  std::map<std::string, double> baselines;  // by name
};

// Journal records by type, as docs/formats/journal.md numbers them.
enum RecordNumber : std::uint32_t { header = 1, baselines = 2, result = 4 };

void take_result(const Json& json, Recording& recording) {
  const Json& candidate = json.at("candidate");
  const Json& outcome = candidate.at("outcome");
  const std::string kind = outcome.at("kind").get<std::string>();
  if (kind == "lost") return;
  Answer answer;
  answer.kernel_hash = json.at("kernel_hash").get<std::string>();
  answer.accepted = kind == "accepted";
  if (answer.accepted) {
    answer.measurement = parts::measurement_of(outcome.at("measurement"));
  } else {
    answer.rejected = parts::rejected_of(outcome.at("rejected"));
    // Whose PTX it repeated is a matter of that run; here the pipe finds it again by the hash.
    if (answer.rejected.code == "gate.duplicate") return;
  }
  recording.answers.emplace(candidate.at("strategy_id").get<std::string>(), std::move(answer));
}

Technique technique_of(const Json& json) {
  Technique technique;
  technique.name = technique.summary = technique.sentence = json.at("name").get<std::string>();
  for (const Json& entry : json.at("relieves"))
    technique.relieves.push_back(parts::enum_of<Resource>(entry.get<std::string>(), 10));
  for (const Json& entry : json.at("parameters")) {
    TechniqueParameter parameter;
    parameter.name = entry.at("name").get<std::string>();
    parameter.domain = entry.at("domain").get<std::vector<std::int64_t>>();
    parameter.fallback = entry.at("fallback").get<std::int64_t>();
    technique.parameters.push_back(std::move(parameter));
  }
  return technique;
}

void take(const FramedRecord& record, Recording& recording) {
  if (record.type != header && record.type != baselines && record.type != result) return;
  const Json json = Json::parse(record.payload);
  if (record.type == result) return take_result(json, recording);
  if (record.type == baselines) {
    for (const Json& entry : json.at("baselines")) {
      recording.baselines[entry.at("name").get<std::string>()] = entry.at("time_us").get<double>();
    }
    return;
  }
  recording.identity = json.at("identity").get<std::string>();
  recording.provenance = parts::enum_of<Provenance>(json.at("provenance").get<std::string>(), 3);
  recording.device = parts::device_of(json.at("device"));
  for (const Json& entry : json.at("techniques")) recording.techniques.push_back(technique_of(entry));
}

Result<Recording> read_recording(const std::string& dir) {
  const std::string path = dir + "/journal";
  auto bytes = real_host().read_file(path);
  if (!bytes) {
    return Error{ErrorCode::usage, "recorded:" + dir + ": " + bytes.error().message,
                 "give the directory of an earlier run, or make one with `cupilot record`"};
  }
  const ReadRecords read = read_records(*bytes);
  if (read.records.empty() || read.records.front().type != header) {
    return Error{ErrorCode::usage, path + " is no journal of cupilot", "give the directory of an earlier run"};
  }
  Recording recording;
  try {
    const Json first = Json::parse(read.records.front().payload);
    if (first.at("cupilot_journal") != 1) {
      return Error{ErrorCode::usage, path + " has format " + first.at("cupilot_journal").dump() + "; this program reads format 1",
                   "use the version that wrote it"};
    }
    for (const FramedRecord& record : read.records) take(record, recording);
  } catch (const Json::exception& fault) {
    return Error{ErrorCode::failure, path + " cannot be read: " + fault.what(), "record it anew"};
  }
  return recording;
}

bool before_running(const Rejected& rejected) {
  return rejected.stage == Stage::write || rejected.stage == Stage::gate || rejected.stage == Stage::compile ||
         rejected.stage == Stage::load;
}

// Answers what was measured before, for any seed, at the cost of a look-up.
class RecordedBackend : public Backend {
 public:
  RecordedBackend(Recording recording, std::string identity) : recording_(std::move(recording)), identity_(std::move(identity)) {}

  const DeviceSpec& device() const override { return recording_.device; }
  Provenance provenance() const override { return recording_.provenance; }
  std::string identity() const override { return identity_; }
  std::vector<Technique> techniques() const override { return recording_.techniques; }
  std::vector<std::string> notices() const override {
    return {"times were " + std::string(name_of(recording_.provenance)) + " on " + recording_.identity +
            " in an earlier run and are replayed: nothing runs now"};
  }

  Attempt<CompiledKernel> compile(const KernelSource& source) override {
    const Answer* answer = find(source);
    if (answer == nullptr) return reject("measure.failed", "the recording does not hold this strategy");
    if (!answer->accepted && before_running(answer->rejected)) return answer->rejected;
    CompiledKernel kernel;
    kernel.source = source;
    kernel.id = kernel_id(source);
    kernel.arch = recording_.device.arch;
    kernel.compiler = "recorded";
    kernel.facts.normalized_hash = answer->kernel_hash;
    return kernel;
  }

  Result<TrialReport> run(const Task& task, const CompiledKernel& kernel, std::span<const Case> cases) override {
    const Answer* answer = find(kernel.source);
    TrialReport report;
    for (const Case& what : cases) {
      auto outputs = right_outputs(task, what.workload);
      if (!outputs) return outputs.error();
      CaseReport& entry = report.cases.emplace_back();
      entry.what = what;
      entry.outputs = std::move(*outputs);
      const bool failed = answer != nullptr && !answer->accepted &&
                          (answer->rejected.stage == Stage::run || answer->rejected.stage == Stage::verify);
      if (failed) {
        entry.faults.push_back({answer->rejected.code, answer->rejected.message, answer->rejected.where});
        break;
      }
    }
    return report;
  }

  Result<std::vector<ContestantReport>> measure(const Task&, const Workload&, std::span<const Contestant> contestants,
                                                const MeasureOptions& options) override {
    std::vector<ContestantReport> reports;
    double first_us = 0;
    for (const Contestant& contestant : contestants) {
      ContestantReport& report = reports.emplace_back();
      report.name = contestant.name;
      report.measurement = time_of(contestant);
      if (!report.measurement) continue;
      if (first_us == 0) first_us = report.measurement->time_us;
      report.ratio.assign(static_cast<std::size_t>(std::max(1, options.rounds)), report.measurement->time_us / first_us);
    }
    return reports;
  }

 private:
  const Answer* find(const KernelSource& source) const {
    const auto found = recording_.answers.find(source.strategy_id);
    return found == recording_.answers.end() ? nullptr : &found->second;
  }

  Attempt<Measurement> time_of(const Contestant& contestant) const {
    if (contestant.kind == Contestant::Kind::candidate) {
      const Answer* answer = find(contestant.kernel->source);
      if (answer == nullptr) return reject("measure.failed", "the recording does not hold this strategy");
      if (!answer->accepted) return answer->rejected;
      return answer->measurement;
    }
    for (const auto& [name, us] : recording_.baselines) {
      const bool plain = name == "plain";
      if (plain != (contestant.kind == Contestant::Kind::plain)) continue;
      Measurement measurement;
      measurement.provenance = recording_.provenance;
      measurement.time_us = measurement.interval_low_us = measurement.interval_high_us = us;
      measurement.samples_us = {us};
      return measurement;
    }
    return reject("measure.failed", "the recording holds no time of " + contestant.name);
  }

  static Result<std::vector<OutputReport>> right_outputs(const Task& task, const Workload& workload) {
    std::vector<OutputReport> outputs;
    for (const Tensor& tensor : task.tensors) {
      if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
      auto shape = shape_of(task, tensor, workload);
      if (!shape) return shape.error();
      OutputReport& output = outputs.emplace_back();
      output.tensor = tensor.name;
      output.elements = output.compared = shape->elements;
    }
    return outputs;
  }

  Recording recording_;
  std::string identity_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_recorded(const std::string& dir, const BackendOptions&) {
  auto recording = read_recording(dir);
  if (!recording) return recording.error();
  if (recording->answers.empty()) {
    return Error{ErrorCode::usage, dir + " holds no results", "record more with `cupilot record`"};
  }
  const std::string identity = "recorded:" + recording->identity;
  return std::unique_ptr<Backend>(std::make_unique<RecordedBackend>(std::move(*recording), identity));
}

}  // namespace cupilot
