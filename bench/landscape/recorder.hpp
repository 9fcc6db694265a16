// One landscape: compilers side by side feed a device that is never left waiting.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "counting.hpp"
#include "draw.hpp"

struct BenchSubject {
  std::string name{};
  std::vector<std::string> words{};  // as the program takes them
  cupilot::TaskRef task{};
};

struct RecordRules {
  int count = 1500;     // strategies
  int counted = 0;      // of each template, on the virtual device
  int rounds = 3;       // of each kernel
  double seconds = 60;  // after which no more is begun
  std::uint64_t seed = 1;
};

// Writes landscape.jsonl and counts.jsonl of `drawn` into `folder`; a line about what was done.
// Errors: the machine's.
cupilot::Result<std::string> record(const BenchSubject& subject, cupilot::Backend& backend,
                                    const Counting& counting, const RecordRules& rules,
                                    std::vector<Drawn> drawn, const std::string& folder);
