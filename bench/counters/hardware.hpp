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
Result<HardwareRun> count_on_device(const std::vector<BenchSubject>& subjects, CompilePool& pool,
                                    const std::vector<std::string>& metrics);

// Launches of known work, counted and written with what they should be. 0: all within a percent, 8:
// not.
int check_known(CompilePool& pool, const std::string& path);

// Kernels whose warps wait for one thing by their text, and what was counted of it. 0: each waited
// most for that, 8: not.
int check_stalls(CompilePool& pool, const std::string& path);

// How long rates at the power limit swing, window by window, and how an L2 rate moves with the
// place of its memory. 0: written.
int watch_settling(CompilePool& pool, const std::string& path);

}  // namespace counters
