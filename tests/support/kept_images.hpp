// What tests open devices with where what they look at is not the compiling: images that another
// test, or the same under other sanitizers, had compiled are taken from the folder that
// CUPILOT_COMPILE_CACHE names.
#pragma once

#include <cstdlib>

#include <cupilot/backend.hpp>

namespace cupilot::testing {

inline BackendOptions kept_images(BackendOptions options = {}) {
  if (const char* folder = std::getenv("CUPILOT_COMPILE_CACHE")) options.compile_cache = folder;
  return options;
}

}  // namespace cupilot::testing
