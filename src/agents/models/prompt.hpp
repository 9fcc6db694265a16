// Prompt templates (src/agents/prompts): text with {{places}}.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cupilot {

using PromptValues = std::map<std::string, std::string, std::less<>>;

// The template "translator" with its places filled; what is filled in is not read again. A template
// that does not exist, a place without value or a value without place is a programming error and
// asserts.
std::string filled_prompt(std::string_view name, const PromptValues& values);

// Returns the most tokens that a text may cost before an endpoint counted it: three bytes a token
// is dense code.
std::int64_t estimated_tokens(std::string_view text);

}  // namespace cupilot
