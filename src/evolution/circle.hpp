// Everything opened for one run: who proposes, who writes, what space, which workload.
#pragma once

#include <memory>
#include <string>

#include <cupilot/agents.hpp>
#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>

namespace cupilot {

struct Circle {
  const Task* task = nullptr;
  Backend* backend = nullptr;
  std::unique_ptr<Space> space;
  std::unique_ptr<KernelWriter> writer;
  std::unique_ptr<Strategist> strategist;
  Zone zone = Zone::memory;
};

// Error{usage} when nothing can write the task, or the task is not valid.
Result<Circle> open_circle(const Task& task, Backend& backend, const EvolveOptions& options);

// Contestants timed on every time shape; times are means weighted by the shapes' weights. Reports are in the order of the
// contestants; a contestant without a time on one shape has none.
Result<std::vector<ContestantReport>> measure_all(const Task& task, Backend& backend, std::span<const Contestant> contestants,
                                                  const MeasureOptions& options);

}  // namespace cupilot
