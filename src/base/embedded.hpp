// Kernel texts compiled into the library (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace cupilot {

struct EmbeddedFile {
  std::string_view name;  // path under kernels/: "templates/gemm_simt.cu"
  std::string_view text;
};

// Text of `name` among `files`, or empty.
inline std::string_view find_embedded(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return file.text;
  }
  return {};
}

}  // namespace cupilot
