// The part that an instruction's operands take in it. Internal.
#pragma once

#include "ptx/syntax/opcode.hpp"

namespace cupilot::ptx {

enum class Roles {
  result_first,  // the first is written by every thread that runs it, the others are read
  read,          // all are read
  unknown,
};

// Says unknown of opcodes whose instructions keep registers longer than they run, or read those of
// threads that take no part.
Roles roles_of(Opcode opcode);

}  // namespace cupilot::ptx
