// A kernel file's own headers, put in place of their includes: what is compiled is one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot::cli {

// `text` of the file `path` with each `#include` that names a readable file replaced by that file's
// text, between #line directives that keep names and lines. "NAME" is sought beside the file that
// includes it, then in `folders`; <NAME> in `folders` alone; "cupilot/NAME" at last among the
// device headers that ship. Other includes stay. `#pragma once` is obeyed. Error usage: includes
// nest without end, or the text grows beyond 8 MiB.
Result<std::string> with_own_includes(std::string_view text, const std::string& path,
                                      const std::vector<std::string>& folders);

}  // namespace cupilot::cli
