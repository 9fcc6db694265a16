#include "screens/model_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>
#include <nlohmann/json.hpp>

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

// Spent without what was only set aside.
std::int64_t tokens_of(const ModelsSpent& spent) { return spent.tokens - spent.reserved_tokens; }
double cost_of(const ModelsSpent& spent) { return spent.cost - spent.reserved_cost; }
double seconds_of(const ModelsSpent& spent) { return spent.seconds - spent.reserved_seconds; }

// The model as the models file names it, else as the endpoint does.
std::string model_of(const TapeEntry& entry) {
  if (entry.error) return "no answer";
  const std::string& name = entry.reply.by.empty() ? entry.reply.model : entry.reply.by;
  return name.empty() ? "unnamed" : name;
}

void add_to_role(const TapeEntry& entry, RoleUse& role) {
  ++role.questions;
  role.again += entry.key.ends_with("/1") ? 1 : 0;
  const bool cut = !entry.error && entry.reply.finish == ChatFinish::cut;
  role.cut += cut ? 1 : 0;
  role.failed += entry.error || entry.reply.finish != ChatFinish::complete ? 1 : 0;
  role.tokens += tokens_of(entry.spent);
  role.cost += cost_of(entry.spent);
  role.reserved_tokens += entry.spent.reserved_tokens;
  role.reserved_cost += entry.spent.reserved_cost;
  role.seconds += seconds_of(entry.spent);
}

using Uses = std::map<std::string, RoleUse>;

// Names the agents and models that were asked in a slot.
struct SlotSeats {
  std::string writer, writing_model;
  std::string planning_model;  // "": no strategist was asked for it
};

// Letters and digits, which reading an answer leaves as they are.
std::string plain(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) kept += c;
  return kept;
}

// Names the model whose earlier answer held a proposal that waited for its slot, by the reason that
// it gave; "": none did.
class Planners {
 public:
  void add(const TapeEntry& entry) {
    const auto json = nlohmann::json::parse(entry.reply.text, nullptr, false);
    if (!json.is_object() || !json.contains("strategies")) return;
    for (const auto& strategy : json["strategies"]) {
      if (!strategy.is_object()) continue;
      const auto rationale = strategy.find("rationale");
      if (rationale == strategy.end() || !rationale->is_string()) continue;
      if (const std::string reason = plain(rationale->get<std::string>()); !reason.empty())
        reasons_.push_back({slot_of(entry.key), reason, model_of(entry)});
    }
  }
  std::string planner_of(const RunOutcome& outcome) const {
    const std::string reason = plain(outcome.proposed.rationale);
    std::string model;
    for (const Reason& one : reasons_) {
      // A long one is cut when it is read.
      if (one.slot <= outcome.slot && !reason.empty() && one.text.starts_with(reason))
        model = one.model;
    }
    return model;
  }

 private:
  struct Reason {
    std::int64_t slot;
    std::string text, model;
  };
  std::vector<Reason> reasons_;
};

struct Seats {
  std::map<std::int64_t, SlotSeats> slots;
  Planners planners;
};

void add_seat(const TapeEntry& entry, Seats& all) {
  std::map<std::int64_t, SlotSeats>& seats = all.slots;
  const bool writes = entry.key.find("/write/") != std::string::npos ||
                      entry.key.find("/repair/") != std::string::npos;
  const bool answered = !entry.error && entry.reply.finish == ChatFinish::complete;
  if (writes && answered) {
    seats[slot_of(entry.key)].writer = entry.agent;
    seats[slot_of(entry.key)].writing_model = model_of(entry);
  }
  if (entry.agent != "strategist") return;
  if (answered) {
    seats[slot_of(entry.key)].planning_model = model_of(entry);
    all.planners.add(entry);
  }
  // The second answer to the same question could not be had either.
  if (!answered && entry.key.ends_with("/strategy/1"))
    seats[slot_of(entry.key)].planning_model.clear();
}

// A new best kernel, `gain` times as fast as the one before it.
void improve(RoleUse& use, double gain) {
  ++use.improved;
  use.gain *= gain;
}

// Follows the run's candidates in slot order: kernels by writer, new best ones by seat. Returns the
// slot of the last new best one; -1: there is none.
std::int64_t count_kernels(const std::vector<RunOutcome>& outcomes, const Seats& seats,
                           ModelUse& use, Uses& roles, Uses& models) {
  std::int64_t last_best = -1;
  double best_us = 0;
  for (const RunOutcome& outcome : outcomes) {
    const Candidate& candidate = outcome.candidate;
    const auto asked = seats.slots.find(outcome.slot);
    SlotSeats seat = asked == seats.slots.end() ? SlotSeats{} : asked->second;
    if (seat.planning_model.empty()) seat.planning_model = seats.planners.planner_of(outcome);
    const bool theirs = is_model_written(candidate) && !seat.writer.empty();
    const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
    if (theirs) {
      for (RoleUse* one : {&roles[seat.writer], &models[seat.writing_model]}) {
        ++one->written;
        one->accepted += accepted != nullptr ? 1 : 0;
      }
    }
    if (accepted == nullptr || accepted->measurement.time_us <= 0) continue;
    if (best_us > 0 && accepted->measurement.time_us >= best_us) continue;
    const double gain = best_us > 0 ? best_us / accepted->measurement.time_us : 1;
    best_us = accepted->measurement.time_us;
    last_best = outcome.slot;
    ++use.improvements;
    if (theirs) {
      improve(roles[seat.writer], gain);
      improve(models[seat.writing_model], gain);
    } else if (!seat.planning_model.empty()) {
      improve(roles["strategist"], gain);
      improve(models[seat.planning_model], gain);
    }
  }
  return last_best;
}

// The questions up to this slot's.
void add_cost_until(std::int64_t slot, const TapeContents& tape, ModelUse& use) {
  for (const TapeEntry& entry : tape.entries) {
    if (slot < 0 || slot_of(entry.key) > slot) continue;
    use.tokens_until_best += tokens_of(entry.spent);
    use.cost_until_best += cost_of(entry.spent);
  }
}

std::vector<RoleUse> named(const Uses& uses) {
  std::vector<RoleUse> all;
  for (const auto& [name, use] : uses) {
    all.push_back(use);
    all.back().name = name;
  }
  return all;
}

}  // namespace

std::optional<ModelUse> model_use(const std::string& run_dir) {
  const std::string path = run_dir + "/tape.jsonl";
  if (!real_host().exists(path)) return std::nullopt;
  const auto tape = read_tape(path);
  if (!tape) return std::nullopt;
  ModelUse use;
  std::int64_t counted = 0;
  std::size_t bytes = 0, shared = 0;
  std::vector<std::string> before;
  Uses roles, models;
  Seats seats;
  for (const TapeEntry& entry : tape->entries) {
    ++use.exchanges;
    use.failed += entry.error || entry.reply.finish != ChatFinish::complete ? 1 : 0;
    add_to_role(entry, roles[entry.agent]);
    add_to_role(entry, models[model_of(entry)]);
    add_seat(entry, seats);
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
  const auto outcomes = outcomes_of_run(run_dir);
  if (!outcomes) return std::nullopt;
  add_cost_until(count_kernels(*outcomes, seats, use, roles, models), *tape, use);
  use.roles = named(roles);
  use.models = named(models);
  const auto best = read_candidate(run_dir, "best");
  use.best_is_theirs = best && is_model_written(best->candidate);
  use.reserved_tokens = tape->spent.reserved_tokens;
  use.reserved_cost = tape->spent.reserved_cost;
  use.tokens = tokens_of(tape->spent);
  use.cost = cost_of(tape->spent);
  return use;
}

namespace {

std::string model_use_line(const ModelUse& use, std::int64_t evaluations) {
  std::string line = fmt::format("models: {} exchange{}, {} of them failed", use.exchanges,
                                 use.exchanges == 1 ? "" : "s", use.failed);
  if (use.prompt_tokens > 0)
    line +=
        fmt::format("; prompts of {} tokens in the mean{}, {:.0f} % of them a prefix met before",
                    use.prompt_tokens, use.estimated ? " (estimated)" : "", 100 * use.reused);
  line += fmt::format("; {} tokens in all", use.tokens);
  if (use.cost > 0)
    line += fmt::format(", cost {:.4g}, {:.4g} a candidate", use.cost,
                        use.cost / static_cast<double>(std::max<std::int64_t>(1, evaluations)));
  if (use.reserved_tokens > 0)
    line += fmt::format(" (beside {} tokens{} that were only reserved: no usage is known)",
                        use.reserved_tokens,
                        use.reserved_cost > 0 ? fmt::format(", {:.4g}", use.reserved_cost) : "");
  if (use.cost_until_best > 0)
    line += fmt::format("; {:.4g} until the best kernel", use.cost_until_best);
  else if (use.tokens_until_best > 0)
    line += fmt::format("; {} tokens until the best kernel", use.tokens_until_best);
  return line + (use.best_is_theirs ? "; a model wrote the best kernel" : "");
}

// "1200, 0.05": tokens and money that were set aside.
std::string reserved_text(std::int64_t tokens, double cost) {
  if (tokens == 0 && cost <= 0) return "";
  return fmt::format("{}{}", tokens, cost > 0 ? fmt::format(", {:.4g}", cost) : "");
}

// "3 of 4", the share of the run's new best kernels.
std::string share_text(const RoleUse& role, const ModelUse& use) {
  return role.improved > 0 ? fmt::format("{} of {}", role.improved, use.improvements) : "";
}

// `of`: "agent" or "model".
std::vector<std::vector<std::string>> rows_of(const std::string& of,
                                              const std::vector<RoleUse>& uses,
                                              const ModelUse& use) {
  std::vector<std::vector<std::string>> rows = {{of, "questions", "again", "failed", "cut",
                                                 "kernels", "accepted", "improved", "gain",
                                                 "tokens", "cost", "seconds"}};
  const bool reserved = std::any_of(uses.begin(), uses.end(), [](const RoleUse& role) {
    return role.reserved_tokens > 0 || role.reserved_cost > 0;
  });
  if (reserved) rows.front().push_back("reserved");
  for (const RoleUse& role : uses) {
    const bool writes = role.written > 0;
    rows.push_back(
        {role.name, std::to_string(role.questions), std::to_string(role.again),
         std::to_string(role.failed), std::to_string(role.cut),
         writes ? std::to_string(role.written) : "", writes ? std::to_string(role.accepted) : "",
         share_text(role, use), role.gain > 1 ? fmt::format("{:.2f}x", role.gain) : "",
         std::to_string(role.tokens), role.cost > 0 ? fmt::format("{:.4g}", role.cost) : "",
         fmt::format("{:.0f}", role.seconds)});
    if (reserved) rows.back().push_back(reserved_text(role.reserved_tokens, role.reserved_cost));
  }
  return rows;
}

}  // namespace

std::vector<ReportTable> model_use_tables(const ModelUse& use) {
  return {{"Models", rows_of("model", use.models, use)},
          {"Agents", rows_of("agent", use.roles, use)}};
}

std::string model_use_text(const ModelUse& use, std::int64_t evaluations) {
  std::string text = model_use_line(use, evaluations);
  for (const ReportTable& one : model_use_tables(use)) text += "\n" + table(one.rows);
  return text;
}

}  // namespace cupilot::cli
