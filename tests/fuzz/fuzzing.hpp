// A target under mutants of its texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/parsers.hpp"

namespace cupilot::fuzz {

struct Effort {
  std::uint64_t seed = 1,
                mutants = 150;  // at least so many, after every text that they are made from
  double seconds = 0;           // and for at least so long
  // Alone in its process: texts that reach new branches become texts to begin from, and one that
  // takes a minute ends the process.
  bool alone = false;
};

struct Tally {
  std::uint64_t texts = 0, taken = 0;
  double slowest_seconds = 0, cpu_seconds = 0;  // of one text; of all
  std::size_t branches = 0;
  std::vector<std::string>
      grown;  // the fewest texts found that reach as many branches as all did, shortest first
  std::vector<std::string> wrong;  // Target::wrong of texts, and where each is kept
};

Tally fuzzed(const Target& target, const Effort& effort);

// What crashes is kept as CUPILOT_FUZZ_KEEP/TARGET.crash (where not set: in the working directory)
// before the process ends.
void keep_what_crashes(bool keep);

}  // namespace cupilot::fuzz
