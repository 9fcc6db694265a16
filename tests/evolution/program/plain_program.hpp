// Programs of parts at the plainest settings of their spaces.
#pragma once

#include <cupilot/parts/program.hpp>

#include "catch.hpp"
#include "evolution/program/support.hpp"
#include "evolution/program/writer.hpp"
#include "program/join.hpp"

namespace cupilot::testing {

// Each part at the plainest setting of its space.
inline ProgramStrategy plain_program(const Task& task, const Partition& partition) {
  ProgramStrategy program;
  const Views views = find_views(task, builtin_families());
  for (const Part& part : partition) {
    const auto form = served_part(task, part, builtin_families(), {}, views);
    REQUIRE_OK(form);
    if (form->only_views) {
      PartStrategy none;
      for (const int i : part) none.on.push_back(task.operations[static_cast<std::size_t>(i)].name);
      program.parts.push_back(std::move(none));
      continue;
    }
    const auto space =
        make_space(form->task, device().device(), templates_of(builtin_families(), form->task));
    REQUIRE_OK(space);
    const auto whole = (*space)->complete({});
    REQUIRE_OK(whole);
    PartStrategy one{{}, {whole->strategy.uses, "", {}, ""}};
    for (const int i : part) one.on.push_back(task.operations[static_cast<std::size_t>(i)].name);
    program.parts.push_back(std::move(one));
  }
  return program;
}

struct Exposed {
  TaskRef task;
  std::vector<PartKernel> parts;
  KernelSource source;
};

inline Exposed exposed_program(const Task& task, const Partition& partition) {
  ProgramWriter writer(task, {});
  auto parts = writer.write_parts(as_strategy(plain_program(task, partition)), &device().device());
  REQUIRE(parts);
  auto exposed = exposed_task(task, handed_over(*parts));
  REQUIRE_OK(exposed);
  auto source = join_parts(*exposed, *parts);
  REQUIRE_OK(source);
  return {TaskRef(std::move(*exposed)), std::move(*parts), std::move(*source)};
}

inline std::optional<Rejected> refused(const Exposed& program) {
  auto proved = prove_exposed(device(), program.task, program.parts, program.source,
                              ProofLevel::candidate, 1);
  REQUIRE_OK(proved);
  return *proved;
}

}  // namespace cupilot::testing
