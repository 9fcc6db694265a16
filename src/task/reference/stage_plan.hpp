// The launches that compute one output of a reference: which stages are stored first, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "task/reference/program.hpp"

namespace cupilot {

struct StageLaunch {
  std::string entry;
  int from = -1, out = -1;  // buffers
  std::int64_t span = 0, parts = 1, from_parts = 0;
  std::int64_t count = 0;  // threads
};

struct StagePlan {
  std::vector<std::int64_t> buffers;  // bytes each
  std::vector<int> stored;            // of ReferenceProgram::stages: its buffer; -1: not stored
  std::vector<StageLaunch> launches;  // in order, before the output's own entry
  std::string entry;                  // it
  double terms = 0;                   // terms that all launches and the output combine
  std::int64_t bytes() const;
};

// A plan for `elements` elements of an output. Stages are stored where that saves work; none where
// `store` is false. Error usage: a size that cannot be evaluated.
Result<StagePlan> stage_plan(const Task& task, const ReferenceProgram& program,
                             ReferenceBuild build, const Workload& workload,
                             const std::string& output, std::int64_t elements, bool store = true);

// The work of a staged reference for all outputs of a workload; nothing for one of text.
struct ReferenceWork {
  double terms = 0;    // that it combines
  double numbers = 0;  // that it leaves: elements of outputs and of stages that are stored
};
ReferenceWork reference_work(const Task& task, const Workload& workload);
// Terms that a staged reference combines for all outputs of a workload, or 0 for one of text.
double reference_terms(const Task& task, const Workload& workload);
// Those above which the interpreter is not asked for all values: some minutes of a processor.
constexpr double most_interpreted_terms = 0x1p31;
// Says that a reference at a shape is more than the interpreter is asked for.
Error too_dear(const Task& task, const Workload& workload);

}  // namespace cupilot
