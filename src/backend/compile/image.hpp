// A second opinion on what the compiler made: the kernels of the assembled image, read off the
// image itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot {

// Names of the kernels with code in a cubin, sorted; nullopt when the bytes are no 64-bit ELF image
// for a GPU.
std::optional<std::vector<std::string>> kernels_in(std::span<const std::uint8_t> cubin);

// Rejected{gate.extra_entry | gate.missing_entry} when the image's kernels are not just `expected`:
// the assembler then read the text otherwise than the gate did.
std::optional<Rejected> check_image(std::span<const std::uint8_t> cubin,
                                    std::vector<std::string> expected);

}  // namespace cupilot
