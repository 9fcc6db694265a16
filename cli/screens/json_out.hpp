// The one JSON object that --json prints for each verb.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/checker_power.hpp>
#include <cupilot/parts/operators.hpp>
#include <cupilot/parts/suite.hpp>

#include "screens/model_report.hpp"

namespace cupilot::cli {

// CPU time per proposed candidate: of the controller's own work, and of interpreting kernels.
double controller_cpu_ms(const EvolveReport& report);
double interpreting_cpu_ms(const EvolveReport& report);
// `use`: of language models; null: none.
std::string report_json(const EvolveReport& report, const Task& task,
                        const ModelUse* use = nullptr);
std::string candidate_json(const Candidate& candidate);
std::string show_json(const RunCandidate& candidate);
std::string power_json(const PowerReport& power);
std::string error_json(const Error& error);
std::string recorded_json(std::int64_t count, const std::string& dir);
std::string findings_json(const std::vector<Finding>& findings);
std::string techniques_json(const std::vector<Technique>& techniques);
std::string operators_json(const std::vector<OperatorInfo>& operators);
std::string tasks_json(const Families& families);
std::string suite_json(const Suite& suite);

struct BenchRow {
  std::string name;
  double time_us = 0, spread_us = 0, ratio = 0;  // ratio: this time / the first row's
  std::string provenance;
  std::string refused;  // why there is no time
  int rounds = 0;       // of a measured time
};
std::string bench_json(const std::vector<BenchRow>& rows, const std::string& device);

}  // namespace cupilot::cli
