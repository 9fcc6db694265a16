// Types of a journal's records, by the numbers in their frames (docs/formats/journal.md).
#pragma once

#include <cstdint>

namespace cupilot {

enum class RecordType : std::uint32_t {
  header = 1,
  baselines = 2,
  proposal = 3,
  result = 4,
  decision = 5,
  final_trial = 6,
  end = 7
};

}  // namespace cupilot
