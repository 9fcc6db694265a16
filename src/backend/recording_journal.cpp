#include <utility>

#include "backend/recording.hpp"
#include "base/measurement_json.hpp"
#include "base/record_file.hpp"

namespace cupilot {
namespace {

using parts::Json;

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

}  // namespace

Result<Recording> recording_of_journal(const std::string& bytes, const std::string& path) {
  const ReadRecords read = read_records(bytes);
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

}  // namespace cupilot
