// PTX in the images that programs load: texts, fat binaries, compressed or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot {

struct PtxText {
  int arch = 0;  // 90; 0: its image does not say
  std::string text{};
};

// Each PTX of an image; none: it holds machine code alone. Error: the image is damaged, or
// compressed by what this machine lacks.
Result<std::vector<PtxText>> ptx_of_image(std::span<const std::uint8_t> image);

// An LZ4 block of so many bytes once unpacked. Error: it is damaged.
Result<std::string> unpack_lz4(std::span<const std::uint8_t> block, std::size_t bytes);

}  // namespace cupilot
