// PTX that lies in the files of the program and of its libraries, as nvcc links it there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cupilot::inject {

// Adds the parts of a fat binary that are PTX to those of another.
void append_ptx(std::vector<std::uint8_t>& parts, std::span<const std::uint8_t> fatbin);
// The parts as a fat binary.
std::vector<std::uint8_t> fatbin_of(std::span<const std::uint8_t> parts);

// All PTX of the loaded files as one fat binary, but of those whose fat binaries hold over 64 MiB;
// empty: there is none.
std::vector<std::uint8_t> linked_ptx();

}  // namespace cupilot::inject
