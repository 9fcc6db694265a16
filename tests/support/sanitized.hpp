// Whether a sanitizer watches. It sees on a part of many alike cases what it sees on all of them,
// at many times the price of a release build, which runs them all.
#pragma once

extern "C" {
__attribute__((weak)) void __asan_init();
__attribute__((weak)) void __tsan_init();
}

namespace cupilot::testing {

// Asked of the program, not of the compiler: AddressSanitizer's programs have the objects that a
// release's tests have.
inline bool sanitized_for_addresses() { return __asan_init != nullptr; }
inline bool sanitized_for_threads() { return __tsan_init != nullptr; }
inline bool sanitized() { return sanitized_for_addresses() || sanitized_for_threads(); }

}  // namespace cupilot::testing
