// One simulated night: a search by evolve() and resume() on a machine that fails it, and what was seen to break.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupilot::testing {

struct WorldRules {
  std::uint64_t seed = 1;
  bool troubled = true;  // crashes, full disks, lost devices, signals; false: a calm machine with the same kernels
};

struct WorldReport {
  std::vector<std::string> broken;  // invariants, "": none
  std::string journal;              // SHA-256 of all records in order, durations too: they are virtual
  std::string essence;              // of the results and the best: what troubles must not change
  int sittings = 0, crashes = 0, disk_faults = 0, device_losses = 0, signals = 0;
  bool by_time = false;  // a limit of seconds ended it, so that trouble may change what was reached
  std::int64_t evaluations = 0;
  double virtual_seconds = 0;
};

WorldReport run_world(const WorldRules& rules);

}  // namespace cupilot::testing
