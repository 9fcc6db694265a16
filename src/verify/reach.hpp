// Runs beyond the battery, chosen by what the runs so far executed: larger sizes, axis by axis, as
// long as instructions never ran or loops never came to their second and third rounds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/verification.hpp>

#include "verify/shapes.hpp"

namespace cupilot {

// True if every instruction ran and every loop turned back twice.
bool covers_all(std::span<const EntryCoverage> coverage);

// Adds what further runs executed of the same kernel.
void add_coverage(std::vector<EntryCoverage>& into, std::span<const EntryCoverage> more);

class Reach {
 public:
  // `met`: the battery's cases.
  Reach(const Task& task, const KernelSource& source, const DeviceSpec& device, ProofLevel level,
        std::span<const Case> met);

  // The cheapest run of those left that may reach more; nullopt: none is left, all is covered, or
  // what it may cost is spent.
  std::optional<Case> next(std::span<const EntryCoverage> coverage);

 private:
  struct Step {
    std::string axis;
    Workload workload;
    double cost = 0;
  };
  void add_ladder(const Axis& axis, std::int64_t met);
  std::optional<Step> step_of(const std::string& axis, std::int64_t size) const;

  const Task& task_;
  PlanSteps steps_;
  PlanRequirements requirements_;
  std::vector<Step> ladder_;  // by rising cost
  double left_ = 0;
  Step last_;  // the step that ran last
  std::vector<EntryCoverage> before_;
  std::uint64_t seed_ = 1;
};

}  // namespace cupilot
