// Starting points from published practice, embedded in the library.
#pragma once

#include <span>

#include "base/embedded.hpp"

namespace cupilot {

std::span<const EmbeddedFile> practice_files();

}  // namespace cupilot
