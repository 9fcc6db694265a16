// A run directory read once, however long its journal: for who shows all of it, and for who is
// about to go on with it.
#pragma once

#include <cstdint>
#include <string>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/roofline_chart.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// What must be known of a run before its device is opened. Proposals and results are passed over
// unread.
struct RunBeginning {
  Task task{};
  std::string device_name{};  // to open the backend again
  std::uint64_t seed = 1;
  bool models = false;  // were in its seats, from the beginning or since a resume
};
Result<RunBeginning> read_beginning(const std::string& run_dir);

// read_run, write_report and roofline_of_run in one.
struct RunReport {
  RunSummary summary{};
  Result<RooflineChart> chart;
  Result<std::string> page;  // path of report.html; Error: it could not be written
};
Result<RunReport> report_run(const std::string& run_dir);

}  // namespace cupilot
CUPILOT_EXPORTS_END
