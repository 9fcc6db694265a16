// The umbrella header: everything that a program needs to search for kernels, to prove and time
// them, and to launch those that were found. Headers under parts/ come along where these use them;
// include one by name for the rest. The C API is cupilot.h.
#pragma once

#include <cupilot/backend.hpp>     // IWYU pragma: export
#include <cupilot/candidate.hpp>   // IWYU pragma: export
#include <cupilot/chat.hpp>        // IWYU pragma: export
#include <cupilot/evolution.hpp>   // IWYU pragma: export
#include <cupilot/evolve.hpp>      // IWYU pragma: export
#include <cupilot/family.hpp>      // IWYU pragma: export
#include <cupilot/in_process.hpp>  // IWYU pragma: export
#include <cupilot/result.hpp>      // IWYU pragma: export
#include <cupilot/rng.hpp>         // IWYU pragma: export
#include <cupilot/runtime.hpp>     // IWYU pragma: export
#include <cupilot/search.hpp>      // IWYU pragma: export
#include <cupilot/strategy.hpp>    // IWYU pragma: export
#include <cupilot/task.hpp>        // IWYU pragma: export
#include <cupilot/verdict.hpp>     // IWYU pragma: export
#include <cupilot/version.hpp>     // IWYU pragma: export
#include <cupilot/wisdom.hpp>      // IWYU pragma: export
