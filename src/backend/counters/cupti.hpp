// CUPTI, opened at run time. Without its headers CUPILOT_HAS_CUPTI is not set, and nothing is
// declared here.
#pragma once

#if __has_include(<cupti_range_profiler.h>)
#define CUPILOT_HAS_CUPTI 1
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>
#include <string>

#include <cupilot/result.hpp>

namespace cupilot {

// clang-format off
#define CUPILOT_CUPTI_CALLS(X) \
  X(cuptiGetResultString) X(cuptiDeviceGetChipName) X(cuptiProfilerInitialize) X(cuptiProfilerGetCounterAvailability) \
  X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) X(cuptiProfilerHostConfigAddMetrics) \
  X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) X(cuptiProfilerHostGetNumOfPasses) \
  X(cuptiProfilerHostEvaluateToGpuValues) X(cuptiRangeProfilerEnable) X(cuptiRangeProfilerDisable) \
  X(cuptiRangeProfilerGetCounterDataSize) X(cuptiRangeProfilerCounterDataImageInitialize) X(cuptiRangeProfilerSetConfig) \
  X(cuptiRangeProfilerStart) X(cuptiRangeProfilerStop) X(cuptiRangeProfilerPushRange) X(cuptiRangeProfilerPopRange) \
  X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataInfo)
// clang-format on

struct Cupti {
#define CUPILOT_MEMBER(name) decltype(&::name) name = nullptr;
  CUPILOT_CUPTI_CALLS(CUPILOT_MEMBER)
#undef CUPILOT_MEMBER
  std::string reason;  // why it cannot be used; empty when it can
};
const Cupti& cupti();
// Returns the error for a CUPTI that cannot be used.
Error lacking();

// A call failed; caught where public functions begin.
struct CuptiFailure {
  CUptiResult code;
  const char* what;
};
inline void check(CUptiResult code, const char* what) {
  if (code != CUPTI_SUCCESS) throw CuptiFailure{code, what};
}
Error error_of(const CuptiFailure& failure);

// Parameter blocks carry their own size.
template <class Params>
Params sized(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}
#define CUPILOT_PARAMS(name, type) type name = sized<type>(type##_STRUCT_SIZE)

}  // namespace cupilot
#endif
