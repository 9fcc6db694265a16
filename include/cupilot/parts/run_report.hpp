// Reads a run directory once, however long its journal, to show all of it or to continue it.
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

// The part of a run that is needed to open its device. Proposals and results are skipped.
struct RunBeginning {
  Task task{};
  std::string device_name{};  // to open the backend again
  std::uint64_t seed = 1;
  bool models = false;  // language models took part, from the beginning or since a resume
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
