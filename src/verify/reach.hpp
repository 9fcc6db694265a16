// Runs beyond the battery: sizes that the code asks for by number; then, chosen by what the runs so
// far executed, larger sizes, axis by axis, as long as instructions never ran or loops never came
// to their second and third rounds, those beyond the task's own last.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <cupilot/parts/verification.hpp>

#include "verify/named_sizes.hpp"
#include "verify/shapes.hpp"

namespace cupilot {

// True if every instruction ran and every loop turned back twice.
bool covers_all(std::span<const EntryCoverage> coverage);

// Adds what further runs executed of the same kernel.
void add_coverage(std::vector<EntryCoverage>& into, std::span<const EntryCoverage> more);

class Reach {
 public:
  // `met`: the battery's cases. `ptx`: the kernel's text, whose comparisons name sizes to be met.
  // `timed`: every time shape ran, or blocks of its grid; else the largest sizes that can be paid
  // run, too.
  Reach(const Task& task, const KernelSource& source, const DeviceSpec& device, ProofLevel level,
        std::span<const Case> met, std::string_view ptx = {}, bool timed = true,
        std::span<const CaseReport> ran = {});

  // Takes what runs executed as the least that larger ones will.
  void tell(std::span<const CaseReport> ran);

  // The cheapest run of those left that may reach more; nullopt: none is left, all is covered, or
  // what it may cost is spent.
  std::optional<Case> next(std::span<const EntryCoverage> coverage);

  // Takes the last case as one that did not end, for this reason.
  void give_up(const std::string& reason);

  // Returns the cases that did not end and those that the code names and that cost too much; where
  // `coverage` lacks something, also the first size of each axis that could not be paid.
  std::vector<CaseLeftOut> left_out(std::span<const EntryCoverage> coverage) const;

 private:
  struct Step {
    std::string axis;
    Workload workload;
    double cost = 0;
    bool beyond = false;  // of a bounded grid: runs do not make it dearer
    std::string asked_by{};
    bool named = false;
  };
  // A run, and the warp instructions that it executed.
  struct Ran {
    Workload workload;
    double instructions = 0;
  };
  void add_ladder(const Axis& axis, std::int64_t met);
  void add_beyond(const Axis& axis);
  void add_named(std::string_view ptx, std::span<const Case> met);
  void add_numbers(const std::set<std::int64_t>& numbers);
  void add_values(std::string_view ptx, std::span<const Case> met);
  void add_further();
  std::optional<Workload> shape_for(const NamedSize& named, const Axis& axis) const;
  void add_wide(const Axis& axis);
  std::optional<Case> take(std::vector<Step>& steps, double& left);
  std::optional<Case> next_wide(std::span<const EntryCoverage> coverage);
  std::optional<Case> next_largest();
  std::optional<Workload> shape_of(const std::string& axis, std::int64_t size) const;
  std::optional<Step> step_of(const std::string& axis, std::int64_t size) const;
  double blocks_at(const std::string& axis, std::int64_t size) const;
  double cost_of(const Workload& shape) const;
  double cost_of_step(const std::string& axis, const Workload& shape) const;
  bool pays(std::vector<Step>& steps, double left);

  const Task& task_;
  const KernelSource& source_;
  const DeviceSpec& device_;
  PlanSteps steps_;
  PlanRequirements requirements_;
  std::vector<Ran> ran_;
  std::vector<Step> named_;     // sizes that the code names
  std::vector<Case> values_;    // contents with values that the code names
  std::vector<Step> ladder_;    // by rising cost
  std::vector<Step> further_;   // beyond the task's sizes, of each axis in turn
  std::vector<Step> wide_;      // one axis at a part, the others at their largest
  std::vector<Step> largest_;   // of each axis, by falling cost
  std::vector<Step> too_dear_;  // that the code names
  std::vector<Step> cut_;       // of the ladder
  std::vector<CaseLeftOut> endless_;
  double left_ = 0, left_wide_ = 0, left_further_ = 0;
  double* paid_ = nullptr;  // the last step was paid from it
  Step last_;               // the step that ran last
  std::vector<EntryCoverage> before_;
  std::uint64_t seed_ = 1;
};

}  // namespace cupilot
