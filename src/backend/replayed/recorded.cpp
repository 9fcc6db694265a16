#include <cupilot/parts/host.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <cupilot/parts/rejection.hpp>

#include "backend/devices.hpp"
#include "backend/replayed/recording.hpp"
#include "base/json.hpp"

namespace cupilot {
namespace {

using Json = SortedJson;

Result<Recording> read_recording(const std::string& dir) {
  const std::string journal = dir + "/journal", table = dir + "/landscape.jsonl";
  if (auto bytes = real_host().read_file(journal)) return recording_of_journal(*bytes, journal);
  auto text = real_host().read_file(table);
  if (text) return recording_of_table(*text, table);
  return Error{ErrorCode::usage, "recorded:" + dir + ": " + text.error().message,
               "give the directory of an earlier run, or make one with `cupilot record`"};
}

constexpr const char* version_key = "cupilot_task";
constexpr std::size_t shown_id = 12;  // characters

bool before_running(const Rejected& rejected) {
  return rejected.stage == Stage::write || rejected.stage == Stage::gate ||
         rejected.stage == Stage::compile || rejected.stage == Stage::load;
}

Json task_object(const Result<std::string>& text) {
  Json json = text ? Json::parse(*text, nullptr, false) : Json();
  return json.is_object() ? json : Json::object();
}

// `recorded`: the recording's, as this program reads it.
Error other_task(const Recording& recording, const std::string& identity, const TaskRef& recorded,
                 const TaskRef& task) {
  const Json there = task_object(task_to_json(recorded)), here = task_object(task_to_json(task));
  std::set<std::string> keys;
  for (const Json* one : {&there, &here}) {
    for (const auto& [key, value] : one->items()) keys.insert(key);
  }
  std::erase_if(keys, [&](const std::string& key) {
    return key == version_key || there.value(key, Json()) == here.value(key, Json());
  });
  const bool asked_for = std::any_of(keys.begin(), keys.end(), [](const std::string& key) {
    return key == "time_shapes" || key == "precision" || key == "tensors" || key == "constants";
  });
  const auto named = [](const TaskRef& one, const Json& json) {
    return fmt::format("{} of version {}", one.id().substr(0, shown_id),
                       json.value(version_key, 0));
  };
  return {ErrorCode::usage,
          fmt::format("{} holds times of another task than {}: {} (task {} there, {} here; they "
                      "differ in {})",
                      identity, task->name, fmt::join(recording.task_words, " "),
                      named(recorded, task_object(recording.task_json)), named(task, here),
                      fmt::join(keys, ", ")),
          asked_for ? "ask for that one, or record yours with `cupilot record`"
                    : "record it again with `cupilot record`: the task was made otherwise then"};
}

// Answers what was measured before, for any seed, at the cost of a look-up.
class RecordedBackend : public Backend {
 public:
  RecordedBackend(Recording recording, std::string identity) : recording_(std::move(recording)) {
    if (auto task = task_from_json(recording_.task_json, identity))
      task_ = TaskRef(std::move(*task));
    traits_.spec = recording_.device;
    traits_.provenance = recording_.provenance;
    traits_.identity = std::move(identity);
    traits_.techniques = recording_.techniques;
    traits_.runs = false;
    traits_.notices = {"times were " + std::string(name_of(recording_.provenance)) + " on " +
                       recording_.identity +
                       " in an earlier run and are replayed: nothing runs now"};
    if (!recording_.notice.empty()) traits_.notices.push_back(recording_.notice);
  }

  const DeviceTraits& traits() const override { return traits_; }

  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh) override {
    const Answer* answer = find(source);
    if (answer == nullptr)
      return reject("measure.failed", "the recording does not hold this strategy");
    if (!answer->accepted && before_running(answer->rejected)) return answer->rejected;
    CompiledKernel kernel;
    kernel.source = source;
    kernel.id = kernel_id(source);
    kernel.arch = recording_.device.arch;
    kernel.compiler = "recorded";
    kernel.facts.normalized_hash = answer->kernel_hash;
    return kernel;
  }

  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    if (auto fits = is_of(task); !fits) return fits.error();
    const Answer* answer = find(kernel.source);
    TrialReport report;
    for (const Case& what : cases) {
      auto outputs = right_outputs(task, what.workload);
      if (!outputs) return outputs.error();
      CaseReport& entry = report.cases.emplace_back();
      entry.what = what;
      entry.outputs = std::move(*outputs);
      const bool failed =
          answer != nullptr && !answer->accepted &&
          (answer->rejected.stage == Stage::run || answer->rejected.stage == Stage::verify);
      if (failed) {
        entry.faults.push_back(
            {answer->rejected.code, answer->rejected.message, answer->rejected.where});
        break;
      }
    }
    return report;
  }

  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload&,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    if (auto fits = is_of(task); !fits) return fits.error();
    std::vector<SubjectReport> reports;
    double first_us = 0;
    for (const Subject& contestant : contestants) {
      SubjectReport& report = reports.emplace_back();
      report.name = contestant.name;
      report.measurement = time_of(contestant);
      if (!report.measurement) continue;
      if (first_us == 0) first_us = report.measurement->time_us;
      report.ratio.assign(static_cast<std::size_t>(std::max(1, options.rounds)),
                          report.measurement->time_us / first_us);
    }
    return reports;
  }

 private:
  // Strategies are found by what they are, not by what they were timed on.
  Result<void> is_of(const TaskRef& task) const {
    if (!task_ || task_->id() == task.id()) return {};
    return other_task(recording_, identity(), *task_, task);
  }

  const Answer* find(const KernelSource& source) const {
    return find_answer(recording_, source.strategy_id);
  }

  Attempt<Measurement> time_of(const Subject& contestant) const {
    if (contestant.kind == Subject::Kind::candidate) {
      const Answer* answer = find(contestant.kernel->source);
      if (answer == nullptr)
        return reject("measure.failed", "the recording does not hold this strategy");
      if (!answer->accepted) return answer->rejected;
      return answer->measurement;
    }
    for (const auto& [name, us] : recording_.baselines) {
      const bool plain = name == "plain";
      if (plain != (contestant.kind == Subject::Kind::plain)) continue;
      if (contestant.kind == Subject::Kind::contestant) break;
      Measurement measurement;
      measurement.provenance = recording_.provenance;
      measurement.time_us = measurement.interval_low_us = measurement.interval_high_us = us;
      measurement.samples_us = {us};
      return measurement;
    }
    return reject("measure.failed", "the recording holds no time of " + contestant.name);
  }

  static Result<std::vector<OutputReport>> right_outputs(const Task& task,
                                                         const Workload& workload) {
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
  DeviceTraits traits_;
  std::optional<TaskRef> task_;  // nullopt: it is unknown what was timed
};

}  // namespace

Result<std::unique_ptr<Backend>> open_recorded(const std::string& dir, const BackendOptions&) {
  auto recording = read_recording(dir);
  if (!recording) return recording.error();
  if (recording->answers.empty()) {
    return Error{ErrorCode::usage, dir + " holds no results", "record more with `cupilot record`"};
  }
  const std::string identity = "recorded:" + recording->identity;
  return std::unique_ptr<Backend>(
      std::make_unique<RecordedBackend>(std::move(*recording), identity));
}

}  // namespace cupilot
