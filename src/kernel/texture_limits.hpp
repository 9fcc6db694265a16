// Tells what a device makes a texture or surface object of. Internal.
#pragma once

#include <cstdint>
#include <string>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

std::int64_t texel_bytes(const TextureState& state);
// From the first to past the last byte that it reads of its tensor or buffer.
std::int64_t texture_bytes(const ResolvedTexture& texture);
// Not empty: the limit of the CUDA driver that it passes.
std::string texture_limit(const ResolvedTexture& texture);

}  // namespace cupilot
