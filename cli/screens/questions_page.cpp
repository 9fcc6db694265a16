#include "screens/questions_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>

#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

constexpr std::string_view style =
    "body{font:14px sans-serif;max-width:70em;margin:2em auto;padding:0 "
    "1em;overflow-wrap:anywhere}pre{background:#f4f4f4;padding:.7em;"
    "white-space:pre-wrap;font-size:12px}pre.table{white-space:pre;overflow-x:auto}summary{cursor:"
    "pointer}h2{font-size:15px}";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string anchor_of(const std::string& key) {
  std::string anchor;
  for (const char c : key) anchor += c == ' ' || c == '/' ? '-' : c;
  return escaped(anchor);
}

// 18 of "slot 17/write/0"; 0: the question belongs to no slot.
std::int64_t candidate_of(const std::string& key) {
  constexpr std::string_view begin = "slot ";
  return key.starts_with(begin) ? std::strtoll(key.c_str() + begin.size(), nullptr, 10) + 1 : 0;
}

// "candidate 18: 8.21 us" of a question that belongs to a slot.
std::string outcome_text(const std::vector<RunOutcome>& outcomes, const std::string& key) {
  const std::int64_t candidate = candidate_of(key);
  const auto found =
      std::lower_bound(outcomes.begin(), outcomes.end(), candidate - 1,
                       [](const RunOutcome& one, std::int64_t slot) { return one.slot < slot; });
  if (candidate == 0 || found == outcomes.end() || found->slot != candidate - 1) return "";
  std::string text = fmt::format("candidate {}: ", candidate);
  const Outcome& outcome = found->candidate.outcome;
  if (const auto* accepted = std::get_if<Accepted>(&outcome))
    return text + time_text(accepted->measurement.time_us);
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return text + escaped(rejected->code + ": " + rejected->message);
  return text + "lost";
}

// "300 tokens, 2 s", without what was only set aside, which is told apart.
std::string spent_text(const ModelsSpent& spent) {
  std::string text = fmt::format("{} tokens, {:.0f} s", spent.tokens - spent.reserved_tokens,
                                 spent.seconds - spent.reserved_seconds);
  if (spent.reserved_tokens > 0) text += fmt::format(", {} tokens reserved", spent.reserved_tokens);
  return text;
}

std::string entry_text(const std::vector<RunOutcome>& outcomes, const TapeEntry& entry) {
  constexpr const char* roles[] = {"system", "user", "assistant"};
  std::string text = fmt::format("<h2 id=\"{}\">{} · {} · {}</h2>\n<p>{}</p>\n",
                                 anchor_of(entry.key), escaped(entry.key), escaped(entry.agent),
                                 spent_text(entry.spent), outcome_text(outcomes, entry.key));
  for (const ChatMessage& message : entry.messages)
    text += fmt::format("<details><summary>{}, {} bytes</summary><pre>{}</pre></details>\n",
                        roles[static_cast<int>(message.role)], message.text.size(),
                        escaped(message.text));
  const std::string answer =
      entry.error ? "no answer: " + entry.error->message
                  : fmt::format("{}:\n{}", name_of(entry.reply.finish), entry.reply.text);
  return text + "<details open><summary>answer</summary><pre>" + escaped(answer) +
         "</pre></details>\n";
}

}  // namespace

std::optional<Result<std::string>> write_questions_page(const std::string& run_dir,
                                                        const ModelUse& use,
                                                        std::int64_t evaluations) {
  const auto tape = read_tape(run_dir + "/tape.jsonl");
  const auto outcomes = outcomes_of_run(run_dir);
  if (!tape || !outcomes) return std::nullopt;
  const std::string said = model_use_text(use, evaluations);  // a sentence, and tables below it
  const std::size_t end = std::min(said.find('\n'), said.size());
  std::string page = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>questions of {}</title><style>{}</style>\n"
      "<p><a href=\"report.html\">report</a></p><p>{}</p><pre class=\"table\">{}</pre>\n",
      escaped(run_dir), style, escaped(said.substr(0, end)), escaped(said.substr(end)));
  std::set<std::int64_t> met;  // candidates; report.html points at their first questions
  for (const TapeEntry& entry : tape->entries) {
    const std::int64_t candidate = candidate_of(entry.key);
    if (candidate > 0 && met.insert(candidate).second)
      page += fmt::format("<a id=\"candidate-{}\"></a>", candidate);
    page += entry_text(*outcomes, entry);
  }
  const std::string path = run_dir + "/questions.html";
  if (auto written = real_host().write_file_atomically(path, page, false); !written)
    return Result<std::string>(written.error());
  return Result<std::string>(path);
}

}  // namespace cupilot::cli
