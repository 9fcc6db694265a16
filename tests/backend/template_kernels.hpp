// Kernels of the built-in templates, compiled for the virtual H200.
#pragma once

#include <cupilot/parts/agents.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {

inline Task gemm(const std::vector<std::string>& words) {
  auto task = gemm_of(words);
  REQUIRE(task);
  return *task;
}

// The kernel that a strategy with these values becomes, after the space has completed it.
inline CompiledKernel kernel_of(const Task& task, const std::vector<Use>& uses) {
  auto space = make_space(task, virtual_h200().device(), builtin_tunables());
  REQUIRE(space);
  const auto completed = (*space)->complete(Strategy{uses, "", {}, "test"});
  REQUIRE(completed);
  const auto writer = template_writer(builtin_tunables());
  WriterBrief brief;
  brief.task = TaskRef(task);
  brief.strategy = &completed->strategy;
  brief.device = &virtual_h200().device();
  const auto source = writer->write(brief);
  REQUIRE(source);
  auto kernel = virtual_h200().compile(*source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code << ": " << kernel.rejected().message);
  REQUIRE(kernel);
  return *kernel;
}

// The values come out of the space as they went in, or a row of a table would test another kernel
// than it says.
inline void check_kept(const Task& task, const std::vector<Use>& uses) {
  const auto space = make_space(task, virtual_h200().device(), builtin_tunables());
  REQUIRE(space);
  const auto completed = (*space)->complete(Strategy{uses, "", {}, "test"});
  REQUIRE(completed);
  for (const std::string& dropped : completed->dropped) FAIL(dropped);
}

}  // namespace cupilot
