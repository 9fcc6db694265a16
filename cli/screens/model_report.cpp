#include "screens/model_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <cupilot/parts/models.hpp>

namespace cupilot::cli {
namespace {

constexpr std::size_t compared = 64;  // earlier prompts of which one may still be kept

std::string prompt_of(const TapeEntry& entry) {
  std::string text;
  for (const ChatMessage& message : entry.messages) text += message.text;
  return text;
}

// Bytes that `text` begins with as one of the latest did.
std::size_t shared_prefix(const std::string& text, const std::vector<std::string>& before) {
  std::size_t most = 0;
  const std::size_t first = before.size() - std::min(before.size(), compared);
  for (std::size_t i = first; i < before.size(); ++i) {
    const auto differs =
        std::mismatch(text.begin(), text.end(), before[i].begin(), before[i].end()).first;
    most = std::max(most, static_cast<std::size_t>(differs - text.begin()));
  }
  return most;
}

}  // namespace

std::optional<ModelUse> model_use(const std::string& run_dir, std::int64_t evaluations) {
  const std::string path = run_dir + "/tape.jsonl";
  if (!real_host().exists(path)) return std::nullopt;
  const auto tape = read_tape(path);
  if (!tape) return std::nullopt;
  ModelUse use;
  std::int64_t counted = 0;
  std::size_t bytes = 0, shared = 0;
  std::vector<std::string> before;
  for (const TapeEntry& entry : tape->entries) {
    ++use.exchanges;
    use.failed += entry.error ? 1 : 0;
    const std::string text = prompt_of(entry);
    const std::int64_t tokens = entry.reply.usage.input_tokens;
    use.estimated = use.estimated || tokens == 0 || entry.reply.usage.estimated;
    counted += tokens > 0 ? tokens : static_cast<std::int64_t>((text.size() + 2) / 3);
    bytes += text.size();
    shared += shared_prefix(text, before);
    before.push_back(text);
  }
  if (use.exchanges > 0) use.prompt_tokens = counted / use.exchanges;
  if (bytes > 0) use.reused = static_cast<double>(shared) / static_cast<double>(bytes);
  use.tokens = tape->spent.tokens;
  use.cost = tape->spent.cost;
  if (evaluations > 0) use.cost_per_candidate = use.cost / static_cast<double>(evaluations);
  return use;
}

std::string model_use_line(const ModelUse& use) {
  std::string line =
      fmt::format("models: {} exchanges, {} of them failed", use.exchanges, use.failed);
  if (use.prompt_tokens > 0)
    line +=
        fmt::format("; prompts of {} tokens in the mean{}, {:.0f} % of them a prefix met before",
                    use.prompt_tokens, use.estimated ? " (estimated)" : "", 100 * use.reused);
  line += fmt::format("; {} tokens in all", use.tokens);
  if (use.cost > 0)
    line += fmt::format(", cost {:.4g}, {:.4g} a candidate", use.cost, use.cost_per_candidate);
  return line;
}

}  // namespace cupilot::cli
