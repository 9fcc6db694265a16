// `cupilot tunable import`: names the script that converts other tuners' lists.
#include <cupilot/result.hpp>

#include "commands/verbs.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

int tunable_import_command() {
  return fail(Error{ErrorCode::usage, "a script beside the program converts other tuners' lists",
                    "scripts/import-tuner LIST --kernel FILE.cu --family FAMILY, installed in "
                    "share/cupilot/scripts; docs/formats/kernel-tuner.md"},
              false);
}

}  // namespace cupilot::cli
