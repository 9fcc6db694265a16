// Defines the handles of cupilot.h and carries errors across it.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <vector>

#include <cupilot/cupilot.h>
#include <cupilot/evolution.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/task.hpp>

struct cupilot_task {
  cupilot::Task task;
};

struct cupilot_evolution {
  cupilot::Evolution evolution;
};

struct cupilot_job {
  cupilot::Job job;
  std::string strategy, plan, description;
};

struct cupilot_stop {
  std::atomic<bool> wanted = false;
};

struct cupilot_report {
  cupilot::EvolveReport report;
  std::string source, description, provenance;
};

namespace cupilot::c {

// Cut to what `error` holds; null: told to nobody.
void tell_error(cupilot_error* error, const Error& what) noexcept;
Error null_argument(const char* name);

// Runs `body`, which returns Result<T>; T or `failed`. Nothing is thrown past it.
template <class T, class Body>
T guarded(cupilot_error* error, T failed, Body body) noexcept {
  try {
    auto result = body();
    if (result) return std::move(*result);
    tell_error(error, result.error());
  } catch (const std::exception& fault) {
    tell_error(error, {ErrorCode::failure, fault.what(), ""});
  } catch (...) {
    tell_error(error, {ErrorCode::failure, "an unknown exception", ""});
  }
  return failed;
}

// The caller's options, as many bytes of them as it knows; the rest are zero.
Result<cupilot_options> options_of(const cupilot_options* given);
SearchOptions search_options(const cupilot_options& options);
std::vector<std::string> tunables_of(const cupilot_options& options);
inline std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace cupilot::c
