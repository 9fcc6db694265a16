// A page of all questions to models and their answers.
#pragma once

#include <optional>
#include <string>

#include <cupilot/result.hpp>

#include "screens/model_report.hpp"

namespace cupilot::cli {

// Writes DIR/questions.html from the run's tape: the tables of models and agents,
// then each question and answer
// under the anchor of its key ("slot-17-write-0") with the outcome of its candidate, whose first
// question has the anchor "candidate-18" too. Returns its
// path; nothing where the run has no tape.
std::optional<Result<std::string>> write_questions_page(const std::string& run_dir,
                                                        const ModelUse& use,
                                                        std::int64_t evaluations);

}  // namespace cupilot::cli
