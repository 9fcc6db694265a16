// Files of kernels/ compiled into the library (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace cupilot {

struct EmbeddedFile {
  std::string_view name;  // path under kernels/: "families/NAME/family.json"
  std::string_view text;
};

// All of kernels/ but kernels/trusted: device headers ("device/types.cuh"), families
// ("families/NAME/…"), operators and their references ("reference/GROUP/…"), "techniques.json".
// Sorted by name.
std::span<const EmbeddedFile> kernel_files();

// Text of `name` among `files`, or empty.
inline std::string_view find_embedded(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return file.text;
  }
  return {};
}

}  // namespace cupilot
