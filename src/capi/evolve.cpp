#include "capi/handles.hpp"

using namespace cupilot;
using namespace cupilot::c;

namespace {

Result<cupilot_report*> handle_of(EvolveReport report) {
  if (!report.best) {
    return Error{ErrorCode::no_candidate, "the search ended without a confirmed kernel: " + report.stopped,
                 "raise max_evaluations or max_seconds"};
  }
  auto handle = std::make_unique<cupilot_report>();
  const Candidate& best = report.best->candidate;
  handle->source = standalone_text(best.source, {});
  handle->description = describe(best.strategy);
  if (const auto* accepted = std::get_if<Accepted>(&best.outcome)) {
    handle->provenance = name_of(accepted->measurement.provenance);
  }
  handle->report = std::move(report);
  return handle.release();
}

}  // namespace

cupilot_report* cupilot_evolve(const cupilot_task* task, const char* device, const cupilot_options* given, cupilot_error* error) {
  return guarded<cupilot_report*>(error, nullptr, [&]() -> Result<cupilot_report*> {
    if (task == nullptr) return null_argument("task");
    if (device == nullptr) return null_argument("device");
    auto options = options_of(given);
    if (!options) return options.error();
    BackendOptions opening;
    opening.worker_path = text_or_empty(options->worker_path);
    auto backend = open_backend(device, opening);
    if (!backend) return backend.error();
    EvolveOptions how;
    how.search = search_options(*options);
    how.max_seconds = options->max_seconds;
    how.run_dir = text_or_empty(options->run_dir);
    how.device_name = device;
    how.worker_path = opening.worker_path;
    auto report = evolve(task->task, **backend, how);
    if (!report) return report.error();
    return handle_of(std::move(*report));
  });
}

const char* cupilot_report_source(const cupilot_report* report) { return report != nullptr ? report->source.c_str() : ""; }
const char* cupilot_report_description(const cupilot_report* report) {
  return report != nullptr ? report->description.c_str() : "";
}
const char* cupilot_report_provenance(const cupilot_report* report) {
  return report != nullptr ? report->provenance.c_str() : "";
}

double cupilot_report_time_us(const cupilot_report* report) {
  if (report == nullptr) return 0;
  const auto* accepted = std::get_if<Accepted>(&report->report.best->candidate.outcome);
  return accepted != nullptr ? accepted->measurement.time_us : 0;
}

double cupilot_report_baseline_us(const cupilot_report* report, const char* name) {
  if (report == nullptr || name == nullptr) return 0;
  for (const Baseline& baseline : report->report.best->baselines) {
    if (baseline.name == name) return baseline.time_us;
  }
  return 0;
}

void cupilot_report_free(cupilot_report* report) { delete report; }
