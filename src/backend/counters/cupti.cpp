#include "backend/counters/cupti.hpp"

#ifdef CUPILOT_HAS_CUPTI
#include <dlfcn.h>

#include <fmt/core.h>

#include "backend/worker/library.hpp"

namespace cupilot {
namespace {

Cupti load_cupti() {
  Cupti calls;
  const OpenedLibrary library = open_library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"});
  calls.reason = library.reason;
  if (library.handle == nullptr) return calls;
#define CUPILOT_LOAD(name)                                                           \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library.handle, #name)); \
  if (calls.name == nullptr && calls.reason.empty())                                 \
    calls.reason = fmt::format("{} lacks {}", library.path, #name);
  CUPILOT_CUPTI_CALLS(CUPILOT_LOAD)
#undef CUPILOT_LOAD
  return calls;
}

}  // namespace

const Cupti& cupti() {
  static const Cupti calls = load_cupti();
  return calls;
}

Error error_of(const CuptiFailure& failure) {
  const char* text = nullptr;
  cupti().cuptiGetResultString(failure.code, &text);
  const bool refused = failure.code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  return {ErrorCode::no_device,
          fmt::format("hardware counters: {}: {}", failure.what,
                      text != nullptr ? text : std::to_string(failure.code)),
          refused
              ? "run as root, or have the administrator set NVreg_RestrictProfilingToAdminUsers=0"
              : ""};
}

Error lacking() {
  return {ErrorCode::no_device, "hardware counters: CUPTI " + cupti().reason,
          "install CUPTI of the CUDA toolkit, 12.6 or later, or go without counters"};
}

}  // namespace cupilot
#endif
