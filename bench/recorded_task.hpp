// The task of a recorded landscape by its words; those of a GEMM may leave the family's name out.
#pragma once

#include <string>
#include <vector>

#include "support/gemm.hpp"

namespace cupilot {

inline Result<Task> recorded_task(const std::vector<std::string>& words) {
  const bool sizes = !words.empty() && words.front().find('=') != std::string::npos;
  return sizes ? gemm_of(words) : task_from_words(words);
}

}  // namespace cupilot
