// `cupilot tunable import`: names the script that converts other tuners' lists. `cupilot tunable
// write`: a tunable's kernel at one setting, as a kernel file.
#include <cupilot/backend.hpp>
#include <cupilot/result.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "kernel_files.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

int tunable_import_command() {
  return fail(Error{ErrorCode::usage, "a script beside the program converts other tuners' lists",
                    "scripts/import-tuner LIST --kernel FILE.cu --family FAMILY, installed in "
                    "share/cupilot/scripts; docs/formats/kernel-tuner.md"},
              false);
}

int tunable_write_command(const KernelFlags& flags) {
  Result<std::unique_ptr<Backend>> backend = open_device(flags.common.device, 0, false);
  if (!backend) return fail(backend.error(), false);
  Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags, (*backend)->device());
  if (!kernel) return fail(kernel.error(), false);
  say(standalone_text(kernel->source, flags.task));
  return 0;
}

}  // namespace cupilot::cli
