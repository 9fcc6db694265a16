// What a search asks its host to do.
#pragma once

#include <cupilot/evolution.hpp>

#include "catch.hpp"
#include "evolution/support.hpp"

namespace cupilot::testing {

inline std::vector<Job> jobs_of(Evolution& evolution, int count) {
  auto asked = evolution.ask(count);
  REQUIRE_OK(asked);
  auto* jobs = std::get_if<std::vector<Job>>(&*asked);
  return jobs != nullptr ? std::move(*jobs) : std::vector<Job>{};
}

}  // namespace cupilot::testing
