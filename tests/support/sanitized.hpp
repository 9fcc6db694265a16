// Whether a sanitizer watches. It sees on a part of many alike cases what it sees on all of them, at many times the price of a
// release build, which runs them all.
#pragma once

namespace cupilot::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace cupilot::testing
