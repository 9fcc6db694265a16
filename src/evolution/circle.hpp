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
  Backend* screen = nullptr;            // Pipe::screen
  std::unique_ptr<Backend> own_screen;  // it, where the caller gave none
  // What the run should say of itself from the start: why nothing screens, what the task's own check was shown to reject.
  std::vector<std::string> notices;
};

// Error{usage} when nothing can write the task, or the task is not valid.
Result<Circle> open_circle(const Task& task, Backend& backend, const EvolveOptions& options);

}  // namespace cupilot
