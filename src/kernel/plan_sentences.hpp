// Sentences about a plan that belong to each of its times.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// Says which launches run once before and are not timed; empty: none.
std::vector<std::string> sentences_of(const ResolvedPlan& plan);

// How the launches of a run, two or more, are set off for a time.
enum class Launched { captured, apart, modelled };
std::string launched_sentence(std::size_t launches, Launched how);

}  // namespace cupilot
