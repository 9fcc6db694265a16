// Validators of numbers in flags.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

namespace cupilot::cli {

// A whole number in decimal digits: CLI11 reads 010 as eight, and wraps or clamps what passes its
// type.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);

template <typename T>
CLI::Validator whole(std::uint64_t least) {
  return whole(least, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
}

// A quantity: finite, and not negative.
extern const CLI::Validator quantity;

}  // namespace cupilot::cli
