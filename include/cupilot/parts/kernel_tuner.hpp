// Converts parameter and restriction lists of Kernel Tuner, and the JSON that several autotuners
// share, into a tunable.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct TunerImport {
  std::string family{};   // family of the tasks that the kernel serves; required
  std::string name{};     // name of the tunable; default: the kernel's name in lower case
  std::string problem{};  // sizes the grid spans, "nx,ny": expressions over the task's axes; empty:
                          // the list's problem_size
};

// `list`: JSON, or Python literals (docs/formats/kernel-tuner.md). `kernel`: CUDA C++ that uses the
// parameters by name; its signature gives the launch arguments. Returns the text of a tunable .cu
// that parse_tunable reads. Error usage names the place in the list, or the line of the kernel, and
// what to write instead of what cannot be translated.
Result<std::string> import_tuner_list(std::string_view list, const std::string& origin,
                                      std::string_view kernel, const TunerImport& options);

}  // namespace cupilot
CUPILOT_EXPORTS_END
