// Expects a rejection code and notes that a test met it. The last test of a whole run fails for
// codes nobody met.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <cupilot/result.hpp>

#include "catch.hpp"

namespace cupilot::testing {

// One line, one write: tests that run side by side append to the same file.
inline void note_reached(std::string_view line) {
  if (const char* path = std::getenv("CUPILOT_REACHED"))
    std::ofstream(path, std::ios::app) << std::string(line) + "\n";
}

inline void expect_code(std::string_view got, std::string_view want) {
  CHECK(got == want);
  if (got == want) note_reached(want);
}

inline void expect_code(const Rejected& rejected, std::string_view want) {
  INFO(rejected.message << (rejected.where.empty() ? "" : " at ") << rejected.where);
  expect_code(rejected.code, want);
}

template <class T>
void expect_code(const Attempt<T>& attempt, std::string_view want) {
  INFO((attempt.is_error() ? attempt.error().message : ""));
  REQUIRE(attempt.is_rejected());
  expect_code(attempt.rejected(), want);
}

}  // namespace cupilot::testing
