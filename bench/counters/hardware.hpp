// Subjects on a GPU, their launches counted by its performance monitors.
#pragma once

#include <string>
#include <vector>

#include "subject.hpp"

namespace counters {

struct HardwareRow {
  std::string subject, label;
  std::vector<double> values;  // of each metric
};

struct HardwareRun {
  std::string chip;
  std::size_t passes = 0;
  double seconds = 0;
  std::vector<HardwareRow> rows;
  std::vector<std::string> failed;  // subjects whose launches failed, and why
};

// Every launch counted with a cold L2, memory put back before each pass.
Result<HardwareRun> count_on_device(const std::vector<Subject>& subjects, CompilePool& pool,
                                    const std::vector<std::string>& metrics);

// Launches of known work, counted and written with what they should be. 0: all within a percent, 8: not.
int check_known(CompilePool& pool, const std::string& path);

}  // namespace counters
