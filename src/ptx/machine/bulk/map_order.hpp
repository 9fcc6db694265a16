// Tensor maps that kernels edit: tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap,
// and what must stand between an edit and a copy through the map. Internal.
#pragma once

#include <span>

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// The bytes of a map at a lane's address, one access of 16 after another. False after a fault.
bool read_map_bytes(Warp& warp, const Step& step, std::uint32_t lane, std::uint8_t space,
                    std::uint64_t address, std::span<std::uint8_t> bytes);

// True if the asynchronous proxy may take the map at `address` for what `bytes` say: nobody wrote
// it in this launch, or it was released and acquired since. Else a fault.
bool map_acquired(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
                  std::span<const std::uint8_t> bytes);

}  // namespace cupilot::ptx
