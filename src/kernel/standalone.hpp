// A standalone kernel whose text is at hand.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/parts/kernel_source.hpp>

namespace cupilot {

// As read_standalone; `path` names the text in errors and says its language.
Result<StandaloneKernel> standalone_from(std::string_view text, const std::string& path);

}  // namespace cupilot
