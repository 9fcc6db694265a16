// Outcome of one task of a suite, and the files that keep it.
#pragma once

#include <string>

#include <cupilot/parts/suite.hpp>

#include "base/json.hpp"

namespace cupilot {

// The row of a task that has not begun.
SuiteRow row_of(const SuiteTask& task);
// Adds what a search gave, or its Error after so many seconds.
void take_report(SuiteRow& row, const Task& task, const Backend& backend,
                 const Result<EvolveReport>& report, double wall_seconds);

SortedJson row_json(const SuiteRow& row);
// Error: the text is no row.
Result<SuiteRow> row_from(const std::string& text, const std::string& origin);

std::string outcome_path(const std::string& run_dir, const std::string& id);
std::string task_dir(const std::string& run_dir, const std::string& id);
std::string settings_path(const std::string& run_dir);

}  // namespace cupilot
