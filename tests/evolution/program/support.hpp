// The device of the tests of programs.
#pragma once

#include "evolution/support.hpp"
#include "support/kept_images.hpp"

namespace cupilot::testing {

inline Backend& device() {
  static const auto backend = [] {
    auto opened = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(opened);
    return std::move(*opened);
  }();
  return *backend;
}

}  // namespace cupilot::testing
