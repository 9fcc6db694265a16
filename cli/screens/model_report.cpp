#include "screens/model_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>

#include "screens/say.hpp"

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

bool is_model_written(const Candidate& candidate) {
  return !candidate.kernel_id.empty() && candidate.source.template_name.empty();
}

// The slot of "slot 17/write/0"; -1: another question.
std::int64_t slot_of(const std::string& key) {
  constexpr std::string_view begin = "slot ";
  if (!key.starts_with(begin)) return -1;
  std::int64_t slot = -1;
  std::from_chars(key.data() + begin.size(), key.data() + key.size(), slot);
  return slot;
}

void add_to_role(const TapeEntry& entry, RoleUse& role) {
  ++role.questions;
  role.again += entry.key.ends_with("/1") ? 1 : 0;
  const bool cut = !entry.error && entry.reply.finish == ChatFinish::cut;
  role.cut += cut ? 1 : 0;
  role.failed += entry.error || entry.reply.finish != ChatFinish::complete ? 1 : 0;
  role.tokens += entry.spent.tokens;
  role.cost += entry.spent.cost;
  role.seconds += entry.spent.seconds;
}

// Kernels by the agent that wrote each, from the candidates of their slots.
void count_kernels(const std::string& run_dir, const std::map<std::int64_t, std::string>& writers,
                   std::map<std::string, RoleUse>& roles) {
  for (const auto& [slot, agent] : writers) {
    const auto found = read_candidate(run_dir, std::to_string(slot + 1));
    if (!found || !is_model_written(found->candidate)) continue;
    ++roles[agent].written;
    roles[agent].accepted += std::holds_alternative<Accepted>(found->candidate.outcome) ? 1 : 0;
  }
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
  std::map<std::string, RoleUse> roles;
  std::map<std::int64_t, std::string> writers;
  for (const TapeEntry& entry : tape->entries) {
    ++use.exchanges;
    use.failed += entry.error || entry.reply.finish != ChatFinish::complete ? 1 : 0;
    add_to_role(entry, roles[entry.agent]);
    const bool writes = entry.key.find("/write/") != std::string::npos ||
                        entry.key.find("/repair/") != std::string::npos;
    if (writes && slot_of(entry.key) >= 0) writers[slot_of(entry.key)] = entry.agent;
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
  count_kernels(run_dir, writers, roles);
  for (auto& [agent, role] : roles) {
    role.agent = agent;
    use.roles.push_back(role);
  }
  const auto best = read_candidate(run_dir, "best");
  use.best_is_theirs = best && is_model_written(best->candidate);
  use.reserved_tokens = tape->spent.reserved_tokens;
  use.reserved_cost = tape->spent.reserved_cost;
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
  if (use.reserved_tokens > 0)
    line +=
        fmt::format(" ({} tokens{} of it only reserved: no usage is known)", use.reserved_tokens,
                    use.reserved_cost > 0 ? fmt::format(", {:.4g}", use.reserved_cost) : "");
  return line + (use.best_is_theirs ? "; a model wrote the best kernel" : "");
}

std::string model_use_table(const ModelUse& use) {
  std::vector<std::vector<std::string>> rows = {{"agent", "questions", "again", "failed", "cut",
                                                 "kernels", "accepted", "tokens", "cost",
                                                 "seconds"}};
  for (const RoleUse& role : use.roles) {
    const bool writes = role.written > 0;
    rows.push_back({role.agent, std::to_string(role.questions), std::to_string(role.again),
                    std::to_string(role.failed), std::to_string(role.cut),
                    writes ? std::to_string(role.written) : "",
                    writes ? std::to_string(role.accepted) : "", std::to_string(role.tokens),
                    role.cost > 0 ? fmt::format("{:.4g}", role.cost) : "",
                    fmt::format("{:.0f}", role.seconds)});
  }
  return table(rows);
}

}  // namespace cupilot::cli
