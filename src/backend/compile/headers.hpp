// The headers a source may include: everything else is text of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cupilot {

// A header of the C library, of which NVRTC has none: types and limits alone, handed to it as text.
struct StandardHeader {
  const char* name;
  const char* text;
};
std::span<const StandardHeader> standard_headers();

// Headers inside the toolkit that are handed to NVRTC in place of its own; no source may name them.
std::span<const StandardHeader> stand_in_headers();

// Names as written between <> or "": the standard headers above and device headers of the CUDA
// toolkit.
std::span<const std::string> allowed_includes();

}  // namespace cupilot
