// Sentences about a plan that belong to each of its times.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// Says which launches run once before and are not timed; empty: none.
std::vector<std::string> sentences_of(const ResolvedPlan& plan);

// Ways to set off the two or more launches of a timed run.
enum class Launched { captured, apart, modelled };
std::string launched_sentence(std::size_t launches, Launched how);

}  // namespace cupilot
