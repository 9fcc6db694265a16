// Kernels as prompts show them: plan in front, device headers as includes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <cupilot/parts/kernel_source.hpp>

namespace cupilot {

inline constexpr std::size_t longest_base = 24000;

std::string shown_text(const KernelSource& source);
// Between marks that it cannot contain, at most `longest` bytes of it.
std::string kernel_text(std::string_view name, const KernelSource& source,
                        std::size_t longest = longest_base);

}  // namespace cupilot
