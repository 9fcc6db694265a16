// Kernels of the built-in templates, compiled for the virtual H200.
#pragma once

#include <cupilot/family.hpp>
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

using Values = std::map<std::string, std::int64_t>;

// The template of this name, or null where it does not serve the task.
inline const Tunable* named(const std::vector<Tunable>& templates, const Task& task,
                            const std::string& name) {
  for (const Tunable& tunable : templates) {
    if (tunable.name == name && serves(tunable, task)) return &tunable;
  }
  return nullptr;
}

// Runs the template's kernel at these values on contents of four kinds.
inline void check_accepted(const Task& task, const std::string& name, const Values& values) {
  INFO(name);
  const auto templates = templates_of(builtin_families(), task);
  const Tunable* tunable = named(templates, task, name);
  REQUIRE(tunable != nullptr);
  const auto source = instantiate(*tunable, task, virtual_h200().device(), values);
  if (!source) FAIL(source.error().message);
  auto kernel = virtual_h200().compile(*source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code << ": " << kernel.rejected().message);
  REQUIRE(kernel);
  std::vector<Case> cases;
  for (const ContentKind kind :
       {ContentKind::ordinary, ContentKind::special, ContentKind::range_rows, ContentKind::zeros}) {
    cases.emplace_back();
    cases.back().workload = task.time_shapes[0];
    cases.back().content = {cases.size(), kind};
  }
  const auto report = virtual_h200().run(TaskRef(task), *kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

}  // namespace cupilot
