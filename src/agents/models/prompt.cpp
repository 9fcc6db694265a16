#include "agents/models/prompt.hpp"

#include <cassert>
#include <set>
#include <span>

#include "base/embedded.hpp"

namespace cupilot {

// Made by cupilot_embed.
std::span<const EmbeddedFile> prompt_files();

std::string filled_prompt(std::string_view name, const PromptValues& values) {
  const std::string_view text =
      find_embedded(prompt_files(), "agents/models/prompts/" + std::string(name) + ".md");
  assert(!text.empty() && "no such prompt");
  std::string out;
  std::set<std::string_view> used;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("{{", at);
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) {
      out += text.substr(at);
      break;
    }
    out += text.substr(at, open - at);
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    assert(value != values.end() && "a place of the prompt has no value");
    if (value != values.end()) {
      out += value->second;
      used.insert(value->first);
    }
    at = close + 2;
  }
  assert(used.size() == values.size() && "a value has no place in the prompt");
  return out;
}

std::int64_t estimated_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 2) / 3);
}

}  // namespace cupilot
