// The words of `cupilot capture`.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// Adds the verb; when the words name it, `chosen` runs it.
void add_capture(CLI::App& app, CaptureFlags& flags, std::function<int()>& chosen);

}  // namespace cupilot::cli
