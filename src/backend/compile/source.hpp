// Checks a source text before it is handed to a compiler: sizes, nesting, includes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot {

struct SourceCaps {
  std::size_t bytes = 256u << 10;      // of the whole text
  std::size_t line_bytes = 64u << 10;  // of one physical line
  int nesting = 200;                   // of (, [ and { together
};

// nullopt when the text may be compiled, else Rejected{gate.source_size | gate.include}. Reads the
// text as the preprocessor does: line splices, comments, string, raw string and character literals,
// and both spellings of `#`. Every `#include`,
// `#include_next`, `#import` and `#embed` outside `allowed` is refused, in skipped groups too, and
// so is any use of
// `__has_include` or `__has_embed`, which tell what files exist. `allowed` holds names as written
// between <> or "". `includes` gets the names in the `#include`s of a text that passes, in order,
// each once.
std::optional<Rejected> check_source(std::string_view text,
                                     std::span<const std::string> allowed = {},
                                     const SourceCaps& caps = {},
                                     std::vector<std::string>* includes = nullptr);

}  // namespace cupilot
