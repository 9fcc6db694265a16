#include "program/library_text.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"

namespace cupilot {

std::string library_text(const std::vector<std::pair<std::string_view, DType>>& types,
                         std::string_view kernel) {
  std::string text =
      fmt::format("// cupilot/types.cuh\n{}", find_embedded(kernel_files(), "device/types.cuh"));
  for (const auto& [name, type] : types) {
    const char* stored = type == DType::f32 ? "float" : type == DType::bf16 ? "bf16" : "fp16";
    text += fmt::format("typedef {} {};\n", stored, name);
  }
  return text += kernel;
}

}  // namespace cupilot
