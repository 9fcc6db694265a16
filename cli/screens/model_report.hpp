// What language models cost a run, read from its tape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cupilot::cli {

struct ModelUse {
  std::int64_t exchanges = 0, failed = 0;
  std::int64_t prompt_tokens =
      0;  // mean of an exchange, as the endpoint counted; without its word, at three bytes a token
  bool estimated = false;
  double reused = 0;  // share of the prompts' bytes that stood, as a prefix, in an earlier prompt;
                      // 0 where the tape has no prompts
  std::int64_t tokens = 0;
  double cost = 0, cost_per_candidate = 0;  // in the currency of the price table; 0: no prices
};

// Nothing where the run directory has no tape that can be read.
std::optional<ModelUse> model_use(const std::string& run_dir, std::int64_t evaluations);

std::string model_use_line(const ModelUse& use);

}  // namespace cupilot::cli
