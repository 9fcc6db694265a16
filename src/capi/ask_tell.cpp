#include <cstdlib>
#include <cstring>

#include <cupilot/parts/rejection.hpp>

#include "capi/handles.hpp"

using namespace cupilot;
using namespace cupilot::c;

namespace {

cupilot_job* handle_of(Job job) {
  auto handle = std::make_unique<cupilot_job>();
  handle->strategy = strategy_to_json(job.proposal.strategy);
  handle->description = describe(job.proposal.strategy);
  if (job.source) handle->plan = launch_plan_to_json(job.source->plan);
  handle->job = std::move(job);
  return handle.release();
}

// A cupilot_told for a receipt; `error` says why a taken answer counts as a rejection.
int32_t told(const Receipt& receipt, cupilot_error* error) {
  if (!receipt.counts_as) return static_cast<int32_t>(receipt.told);
  tell_error(error,
             {ErrorCode::refused, receipt.counts_as->code + ": " + receipt.counts_as->message, ""});
  return CUPILOT_REFUSED;
}

int32_t answer(cupilot_evolution* evolution, cupilot_error* error, auto tell) {
  return guarded<int32_t>(error, CUPILOT_ERROR, [&]() -> Result<int32_t> {
    if (evolution == nullptr) return null_argument("evolution");
    auto receipt = tell(evolution->evolution);
    if (!receipt) return receipt.error();
    return told(*receipt, error);
  });
}

}  // namespace

cupilot_evolution* cupilot_begin(const cupilot_task* task, const char* name,
                                 const cupilot_options* given, cupilot_error* error) {
  return guarded<cupilot_evolution*>(error, nullptr, [&]() -> Result<cupilot_evolution*> {
    if (task == nullptr) return null_argument("task");
    if (name == nullptr) return null_argument("chip");
    auto options = options_of(given);
    if (!options) return options.error();
    auto device = chip(name);
    if (!device) return device.error();
    EvolutionOptions how{.search = search_options(*options), .plain_us = options->plain_us};
    how.tunables = tunables_of(*options);
    auto evolution = Evolution::begin(task->task, *device, how);
    if (!evolution) return evolution.error();
    return new cupilot_evolution{std::move(*evolution)};
  });
}

void cupilot_evolution_free(cupilot_evolution* evolution) { delete evolution; }

int32_t cupilot_ask(cupilot_evolution* evolution, cupilot_job** job, cupilot_error* error) {
  return guarded<int32_t>(error, CUPILOT_ERROR, [&]() -> Result<int32_t> {
    if (job == nullptr) return null_argument("job");
    *job = nullptr;
    if (evolution == nullptr) return null_argument("evolution");
    auto asked = evolution->evolution.ask(1);
    if (!asked) return asked.error();
    if (std::holds_alternative<Waiting>(*asked)) return CUPILOT_WAITING;
    if (std::holds_alternative<Finished>(*asked)) return CUPILOT_FINISHED;
    *job = handle_of(std::move(std::get<std::vector<Job>>(*asked).front()));
    return CUPILOT_JOB;
  });
}

int32_t cupilot_tell(cupilot_evolution* evolution, uint64_t id, double time_us,
                     const char* kernel_hash, cupilot_error* error) {
  return answer(evolution, error, [&](Evolution& host) {
    return host.tell(id, Reported{time_us, text_or_empty(kernel_hash), {}});
  });
}

int32_t cupilot_reject(cupilot_evolution* evolution, uint64_t id, const char* code,
                       const char* message, cupilot_error* error) {
  return answer(evolution, error, [&](Evolution& host) {
    return host.tell(id, Rejected{Stage::run, text_or_empty(code), text_or_empty(message), ""});
  });
}

int32_t cupilot_forget(cupilot_evolution* evolution, uint64_t id) {
  return answer(evolution, nullptr, [&](Evolution& host) -> Result<Receipt> {
    return Receipt{host.forget(id), {}};
  });
}

char* cupilot_save(const cupilot_evolution* evolution, cupilot_error* error) {
  return guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    if (evolution == nullptr) return null_argument("evolution");
    auto saved = evolution->evolution.save();
    if (!saved) return saved.error();
    char* text = static_cast<char*>(std::malloc(saved->size() + 1));
    if (text == nullptr) return Error{ErrorCode::failure, "no memory for the saved search", ""};
    std::memcpy(text, saved->c_str(), saved->size() + 1);
    return text;
  });
}

cupilot_evolution* cupilot_load(const char* saved, cupilot_error* error) {
  return guarded<cupilot_evolution*>(error, nullptr, [&]() -> Result<cupilot_evolution*> {
    if (saved == nullptr) return null_argument("saved");
    auto evolution = Evolution::load(saved);
    if (!evolution) return evolution.error();
    return new cupilot_evolution{std::move(*evolution)};
  });
}

size_t cupilot_open(const cupilot_evolution* evolution, uint64_t* ids, size_t capacity) {
  return guarded<size_t>(nullptr, 0, [&]() -> Result<size_t> {
    if (evolution == nullptr) return null_argument("evolution");
    const auto open = evolution->evolution.open();
    if (ids != nullptr) std::copy_n(open.begin(), std::min(capacity, open.size()), ids);
    return open.size();
  });
}

uint64_t cupilot_best(const cupilot_evolution* evolution, double* time_us) {
  return guarded<uint64_t>(nullptr, 0, [&]() -> Result<uint64_t> {
    if (evolution == nullptr) return null_argument("evolution");
    const auto best = evolution->evolution.best();
    if (time_us != nullptr) *time_us = best ? best->time_us : 0;
    return best ? best->id : 0;
  });
}

cupilot_job* cupilot_job_of(const cupilot_evolution* evolution, uint64_t id, cupilot_error* error) {
  return guarded<cupilot_job*>(error, nullptr, [&]() -> Result<cupilot_job*> {
    if (evolution == nullptr) return null_argument("evolution");
    auto job = evolution->evolution.job(id);
    if (!job) return job.error();
    return handle_of(std::move(*job));
  });
}

uint64_t cupilot_job_id(const cupilot_job* job) {
  return job != nullptr ? job->job.proposal.id : 0;
}
const char* cupilot_job_source(const cupilot_job* job) {
  return job != nullptr && job->job.source ? job->job.source->text.c_str() : "";
}
const char* cupilot_job_strategy(const cupilot_job* job) {
  return job != nullptr ? job->strategy.c_str() : "";
}
const char* cupilot_job_plan(const cupilot_job* job) {
  return job != nullptr ? job->plan.c_str() : "";
}
const char* cupilot_job_description(const cupilot_job* job) {
  return job != nullptr ? job->description.c_str() : "";
}

int64_t cupilot_job_constant(const cupilot_job* job, const char* name, int64_t fallback) {
  return guarded<int64_t>(nullptr, fallback, [&]() -> Result<int64_t> {
    if (job == nullptr || name == nullptr || !job->job.source) return fallback;
    const auto found = job->job.source->constants.find(name);
    return found == job->job.source->constants.end() ? fallback : found->second;
  });
}

size_t cupilot_job_launches(const cupilot_job* job, size_t shape) {
  return job == nullptr || shape >= job->job.plans.size() ? 0
                                                          : job->job.plans[shape].launches.size();
}

int32_t cupilot_job_launch(const cupilot_job* job, size_t shape, size_t index,
                           cupilot_launch* launch) {
  if (launch == nullptr || index >= cupilot_job_launches(job, shape)) return CUPILOT_ERROR;
  const ResolvedLaunch& from = job->job.plans[shape].launches[index];
  launch->entry = from.entry.c_str();
  for (std::size_t i = 0; i < 3; ++i) {
    launch->grid[i] = from.grid[i];
    launch->block[i] = from.block[i];
    launch->cluster[i] = from.cluster[i];
  }
  launch->shared_bytes = from.shared;
  return 0;
}

void cupilot_job_free(cupilot_job* job) { delete job; }
