#include <cupilot/in_process.hpp>

#include "capi/handles.hpp"

using namespace cupilot;
using namespace cupilot::c;

namespace {

Result<cupilot_report*> handle_of(EvolveReport report) {
  if (!report.best && report.stopped == "interrupted") {
    return Error{ErrorCode::no_candidate,
                 "the search was stopped as asked, after " + std::to_string(report.evaluations) +
                     " evaluations",
                 report.run_dir.empty() ? "" : "cupilot_resume goes on with " + report.run_dir};
  }
  if (!report.best) {
    return Error{ErrorCode::no_candidate,
                 "the search ended without a confirmed kernel: " + report.stopped,
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

BackendOptions backend_options(const cupilot_options& options) {
  BackendOptions opening;
  opening.worker_path = text_or_empty(options.worker_path);
  return opening;
}

EvolveOptions evolve_options(const cupilot_options& options) {
  EvolveOptions how;
  how.search = search_options(options);
  how.max_seconds = options.max_seconds;
  how.run_dir = text_or_empty(options.run_dir);
  how.worker_path = text_or_empty(options.worker_path);
  how.tunables = tunables_of(options);
  how.plain_baseline = options.no_plain == 0;
  how.cancel = options.stop != nullptr ? &options.stop->wanted : nullptr;
  return how;
}

// A search on the device that `open` opens.
template <class Open>
cupilot_report* evolve_on(const cupilot_task* task, const char* device,
                          const cupilot_options* given, cupilot_error* error, Open open) {
  return guarded<cupilot_report*>(error, nullptr, [&]() -> Result<cupilot_report*> {
    if (task == nullptr) return null_argument("task");
    if (device == nullptr) return null_argument("device");
    auto options = options_of(given);
    if (!options) return options.error();
    Result<std::unique_ptr<Backend>> backend = open(backend_options(*options));
    if (!backend) return backend.error();
    EvolveOptions how = evolve_options(*options);
    how.device_name = device;
    auto report = evolve(task->task, **backend, how);
    if (!report) return report.error();
    return handle_of(std::move(*report));
  });
}

}  // namespace

cupilot_report* cupilot_evolve(const cupilot_task* task, const char* device,
                               const cupilot_options* options, cupilot_error* error) {
  return evolve_on(task, device, options, error,
                   [&](const BackendOptions& opening) { return open_backend(device, opening); });
}

cupilot_report* cupilot_evolve_in_process(const cupilot_task* task, void* context, void* stream,
                                          const cupilot_options* options, cupilot_error* error) {
  return evolve_on(task, "", options, error, [&](const BackendOptions& opening) {
    return open_in_process(context, stream, opening);
  });
}

cupilot_report* cupilot_resume(const char* run_dir, const char* device,
                               const cupilot_options* given, cupilot_error* error) {
  return guarded<cupilot_report*>(error, nullptr, [&]() -> Result<cupilot_report*> {
    if (run_dir == nullptr) return null_argument("run_dir");
    auto options = options_of(given);
    if (!options) return options.error();
    auto run = read_run(run_dir);
    if (!run) return run.error();
    auto backend =
        open_backend(device != nullptr ? device : run->device_name, backend_options(*options));
    if (!backend) return backend.error();
    EvolveOptions how = evolve_options(*options);
    how.raise_evaluations = options->max_evaluations;
    auto report = resume(run_dir, **backend, how);
    if (!report) return report.error();
    return handle_of(std::move(*report));
  });
}

cupilot_stop* cupilot_stop_new(void) {
  return guarded<cupilot_stop*>(nullptr, nullptr,
                                []() -> Result<cupilot_stop*> { return new cupilot_stop; });
}
void cupilot_request_stop(cupilot_stop* stop) {
  if (stop != nullptr) stop->wanted = true;
}
void cupilot_stop_free(cupilot_stop* stop) { delete stop; }

const char* cupilot_report_source(const cupilot_report* report) {
  return report != nullptr ? report->source.c_str() : "";
}
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

int64_t cupilot_report_evaluations(const cupilot_report* report) {
  return report != nullptr ? report->report.evaluations : 0;
}

double cupilot_report_baseline_us(const cupilot_report* report, const char* name) {
  if (report == nullptr || name == nullptr) return 0;
  for (const Baseline& baseline : report->report.best->baselines) {
    if (baseline.name == name) return baseline.time_us;
  }
  return 0;
}

size_t cupilot_report_refusals(const cupilot_report* report) {
  return report != nullptr ? report->report.refusals.size() : 0;
}

int32_t cupilot_report_refusal(const cupilot_report* report, size_t index,
                               cupilot_refusal* refusal) {
  if (refusal == nullptr || index >= cupilot_report_refusals(report)) return -1;
  const Refusal& one = report->report.refusals[index];
  *refusal = {one.candidate,
              one.setting.c_str(),
              one.why.code.c_str(),
              one.why.message.c_str(),
              one.next.c_str(),
              one.file.c_str(),
              static_cast<int32_t>(one.line),
              one.source_line.c_str()};
  return 0;
}

void cupilot_report_free(cupilot_report* report) { delete report; }
