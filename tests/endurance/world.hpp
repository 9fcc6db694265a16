// One simulated night of half an hour or more: a search by evolve() and resume() on a machine that
// fails it, in every third world with models in its seats, and what was seen to break.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupilot::testing {

struct WorldRules {
  std::uint64_t seed = 1;
  // Crashes, full disks, lost devices, signals; false: a calm machine with the same kernels and the
  // same endpoint.
  bool troubled = true;
};

struct WorldReport {
  std::vector<std::string> broken;  // invariants, "": none
  std::string journal;  // SHA-256 of all records in order, durations too: they are virtual, but for
                        // processor time
  std::string essence;  // of the results and the best: what troubles must not change
  int sittings = 0, crashes = 0, disk_faults = 0, device_losses = 0, signals = 0;
  bool bounded = false;  // by seconds or a purse, so that trouble may change what was reached
  bool models = false;
  // Silences: questions to the strategist that were given up. After one it is asked nothing more in
  // that generation.
  std::int64_t questions = 0, endpoint_faults = 0, silences = 0;
  std::int64_t evaluations = 0;
  double virtual_seconds = 0;
};

WorldReport run_world(const WorldRules& rules);

}  // namespace cupilot::testing
