// Reports the cost of language models in a run, read from its tape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/run_report.hpp>

namespace cupilot::cli {

// The part of one agent, or of one model.
struct RoleUse {
  std::string name;
  std::int64_t questions = 0, again = 0;   // again: repeats of an unreadable answer
  std::int64_t failed = 0, cut = 0;        // cut: part of the failed
  std::int64_t written = 0, accepted = 0;  // kernels of a writer
  // Counts the run's new best kernels that it wrote, or proposed where a template wrote them.
  std::int64_t improved = 0;
  double gain =
      1;  // product of what they were faster than the best before each; the first has none
  std::int64_t tokens = 0, reserved_tokens = 0;  // reserved: as in ModelUse
  double cost = 0, reserved_cost = 0, seconds = 0;
};

struct ModelUse {
  std::int64_t exchanges = 0, failed = 0;
  std::int64_t prompt_tokens =
      0;  // mean of an exchange, as the endpoint counted; without its word, at three bytes a token
  bool estimated = false;
  double reused = 0;  // share of the prompts' bytes that stood, as a prefix, in an earlier prompt;
                      // 0 where the tape has no prompts
  std::int64_t tokens = 0;
  std::int64_t reserved_tokens = 0;    // set aside where no usage is known, beside `tokens`
  double reserved_cost = 0;            // beside `cost`
  std::vector<RoleUse> roles{};        // by agent
  std::vector<RoleUse> models{};       // by model; "no answer": of no model
  bool best_is_theirs = false;         // a model wrote the champion
  std::int64_t improvements = 0;       // new best kernels of the run, the first one too
  std::int64_t tokens_until_best = 0;  // of the questions up to the last of them
  double cost_until_best = 0;
  double cost = 0;  // in the currency of the price table; 0: no prices
};

// Nothing where the run directory has no tape that can be read.
std::optional<ModelUse> model_use(const std::string& run_dir);

// Two tables, a row a model and a row an agent: questions, failures, kernels, gain, tokens, money,
// seconds.
std::vector<ReportTable> model_use_tables(const ModelUse& use);
// A line on all of it, with the tables below.
std::string model_use_text(const ModelUse& use, std::int64_t evaluations);

}  // namespace cupilot::cli
