// Templates with hooks, made for one task: the functions they call are generated from its graph
// (docs/formats/tunable.md, `anchor`).
#pragma once

#include <optional>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The template with `struct Graph`, its arguments and its sizes. nullopt: the graph is none that
// its anchor serves.
std::optional<Tunable> with_hooks(const Tunable& tunable, const Task& task);

}  // namespace cupilot
