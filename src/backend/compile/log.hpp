// Reads from the compile log the lines of ptxas about the entries it assembled.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <cupilot/result.hpp>

namespace cupilot {

struct AssembledEntry {
  int registers = 0;
  int shared_bytes = 0;  // static
  int stack_bytes = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
};

// Entries by their name in the PTX, from ptxas's "-v" lines. Lines it does not know are skipped.
std::map<std::string, AssembledEntry> read_assembler_log(std::string_view log);

// Rejected{compile.serialised} for a note of the C75xx family: wgmma serialised, setmaxnreg or
// another directive ignored. But for what assembling a part of a program alone ignores
// (ignores_setmaxnreg).
std::optional<Rejected> find_serialised(std::string_view log);

// True if setmaxnreg was ignored because the text was assembled as a part of a program, as
// nvJitLink does with each PTX: that tells nothing of the kernel.
bool ignores_setmaxnreg(std::string_view log);

}  // namespace cupilot
