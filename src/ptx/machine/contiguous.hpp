// The quick way of most accesses to writable global memory: neighbouring lanes touch neighbouring
// words that nobody touched before. Internal.
#pragma once

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// Marks what the lanes of `mask` store or load from `offset` of the buffer on, as the slow way
// would. False: nothing is done, the slow way must ask lane by lane. `memo`: of this access.
bool take_stretch(Warp& warp, const Step& step, std::uint32_t mask, const PatternMemo& memo,
                  Buffer& buffer, std::uint64_t offset, Intent intent);

}  // namespace cupilot::ptx
