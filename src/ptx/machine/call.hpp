// Calls and the stack of local memory. Internal.
#pragma once

#include "ptx/machine/decode.hpp"

namespace cupilot::ptx {

// Lanes that wait for others, taken up again at `entry.pc`.
void push(Warp& warp, const Step& step, StackEntry entry);
bool decode_call(Decoder& d, Step& step);
// alloca, stacksave, stackrestore.
bool decode_stack(Decoder& d, Step& step);

}  // namespace cupilot::ptx
