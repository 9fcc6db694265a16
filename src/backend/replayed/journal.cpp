#include <string_view>
#include <utility>
#include <vector>

#include "backend/replayed/recording.hpp"
#include "base/journal_damage.hpp"
#include "base/measurement_json.hpp"
#include "base/record_file.hpp"
#include "base/record_type.hpp"

namespace cupilot {
namespace {

void take_result(const parts::Json& json, Recording& recording) {
  const parts::Json& candidate = json.at("candidate");
  const parts::Json& outcome = candidate.at("outcome");
  const std::string kind = outcome.at("kind").get<std::string>();
  if (kind == "lost") return;
  Answer answer;
  answer.kernel_hash = json.at("kernel_hash").get<std::string>();
  answer.accepted = kind == "accepted";
  if (answer.accepted) {
    answer.measurement = parts::measurement_of(outcome.at("measurement"));
  } else {
    answer.rejected = parts::rejected_of(outcome.at("rejected"));
    // The kernel that it repeats is a matter of that run; here the pipe finds it again by the hash.
    if (answer.rejected.code == "gate.duplicate") return;
  }
  recording.answers.emplace(candidate.at("strategy_id").get<std::string>(), std::move(answer));
}

Technique technique_of(const parts::Json& json) {
  Technique technique;
  technique.name = technique.summary = technique.sentence = json.at("name").get<std::string>();
  for (const parts::Json& entry : json.at("relieves"))
    technique.targets.push_back(parts::enum_of<Resource>(entry.get<std::string>(), 10));
  for (const parts::Json& entry : json.at("parameters")) {
    TechniqueParameter parameter;
    parameter.name = entry.at("name").get<std::string>();
    parameter.domain = entry.at("domain").get<std::vector<std::int64_t>>();
    parameter.fallback = entry.at("fallback").get<std::int64_t>();
    technique.parameters.push_back(std::move(parameter));
  }
  return technique;
}

void take(const FramedRecord& record, Recording& recording) {
  const auto type = static_cast<RecordType>(record.type);
  if (type != RecordType::header && type != RecordType::baselines && type != RecordType::result)
    return;
  const parts::Json json = parts::Json::parse(record.payload);
  if (type == RecordType::result) return take_result(json, recording);
  if (type == RecordType::baselines) {
    for (const parts::Json& entry : json.at("baselines")) {
      recording.baselines[entry.at("name").get<std::string>()] = entry.at("time_us").get<double>();
    }
    return;
  }
  recording.identity = json.at("identity").get<std::string>();
  recording.provenance = parts::enum_of<Provenance>(json.at("provenance").get<std::string>(), 3);
  recording.device = parts::device_of(json.at("device"));
  recording.task_json = json.value("task", parts::Json()).dump();
  recording.task_words = json.value("task_words", std::vector<std::string>());
  for (const parts::Json& entry : json.at("techniques"))
    recording.techniques.push_back(technique_of(entry));
}

// The whole records before a torn end; `notice` is of that one. Error{usage}: this is no journal,
// or a damaged one.
Result<std::vector<FramedRecord>> whole_records(const std::string& bytes, const std::string& path,
                                                std::string& notice) {
  ReadRecords read = read_records(bytes);
  const bool begins = !read.records.empty() &&
                      static_cast<RecordType>(read.records.front().type) == RecordType::header;
  Before before{read.records.size()};
  for (const FramedRecord& record : read.records)
    before.proposals += static_cast<RecordType>(record.type) == RecordType::proposal ? 1 : 0;
  const auto at = static_cast<std::int64_t>(read.valid_bytes);
  const Beyond beyond =
      read.damage.empty()
          ? Beyond{at}
          : look_beyond(std::string_view(bytes).substr(read.valid_bytes), at, before);
  if (!begins && (!read.records.empty() || beyond.records == 0))
    return Error{ErrorCode::usage, path + " is no journal of cupilot",
                 "give the directory of an earlier run"};
  if (!begins) return no_header(path, read.damage, beyond);
  if (beyond.after_a_sync) return damaged_journal(path, read.damage, beyond);
  if (!read.damage.empty())
    notice = torn_notice(path, read.damage, beyond, "what lies before it answers");
  return std::move(read.records);
}

}  // namespace

Result<Recording> recording_of_journal(const std::string& bytes, const std::string& path) {
  Recording recording;
  const auto records = whole_records(bytes, path, recording.notice);
  if (!records) return records.error();
  try {
    const parts::Json first = parts::Json::parse(records->front().payload);
    if (first.at("cupilot_journal") != 1) {
      return Error{ErrorCode::usage,
                   path + " has format " + first.at("cupilot_journal").dump() +
                       "; this program reads format 1",
                   "use the version that wrote it"};
    }
    for (const FramedRecord& record : *records) take(record, recording);
  } catch (const parts::Json::exception& fault) {
    return Error{ErrorCode::failure, path + " cannot be read: " + fault.what(), "record it anew"};
  }
  return recording;
}

}  // namespace cupilot
