// Generator, translator, crosser and reviser: each gets one whole file.
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "agents/models/ask.hpp"
#include "agents/models/prompt_parts.hpp"
#include "agents/models/untrusted.hpp"
#include "agents/write/device_headers.hpp"
#include "agents/write/template_text.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_base = 24000, longest_statement = 6000, longest_reason = 2400;

// As a reader is shown it: plan in front, device headers as includes.
std::string kernel_text(std::string_view name, const KernelSource& source) {
  KernelSource shown = source;
  shown.text = with_includes(source.text);
  shown.template_name.clear();
  shown.strategy_id.clear();
  return fenced(name, standalone_text(shown, {}), longest_base);
}

struct Base {
  std::string kernel, constants;
};

// A template's kernel in two parts, of which only the second differs between strategies: what is
// the same comes first, where an endpoint may keep it.
Base base_text(const KernelSource& source) {
  if (source.template_name.empty()) return {kernel_text("kernel", source), ""};
  const std::size_t chosen = source.text.find(chosen_mark), types = source.text.find(types_mark);
  if (chosen == std::string::npos || types == std::string::npos || types < chosen)
    return {kernel_text("kernel", source), ""};
  KernelSource same = source;
  same.text = source.text.substr(types);
  same.constants.clear();
  return {kernel_text("kernel", same),
          "Its constants, which stand before it:\n" +
              fenced("constants", source.text.substr(chosen, types - chosen), longest_reason)};
}

Read<KernelSource> read_whole(const ChatReply& reply, const Strategy& strategy) {
  Read<KernelSource> read = read_kernel_reply(reply);
  auto* source = std::get_if<KernelSource>(&read);
  if (source == nullptr) return read;
  std::string text;
  std::set<std::string> seen;
  if (auto done = inline_device_headers(source->text, "the answer", seen, text); !done)
    return Unreadable{ReplyFault::bad_header, done.error().message};
  source->text = std::move(text);
  source->strategy_id = strategy_id(strategy);
  return read;
}

Answer<KernelSource> ask_for_kernel(ChatClient& client, const Question& question,
                                    const WriterBrief& brief) {
  return ask<KernelSource>(
      client, question, [&](const ChatReply& reply) { return read_whole(reply, *brief.strategy); });
}

}  // namespace

std::string writer_head(const Task& task, const DeviceSpec& device) {
  return filled_prompt("writer_head",
                       {{"arch", device.arch},
                        {"task", task_text(task)},
                        {"device", device_text(device, task.precision)},
                        {"precision", std::string(name_of(task.precision))},
                        {"headers", header_outlines(task.precision, device.compute_major)}});
}

Answer<KernelSource> ask_generator(ChatClient& client, const std::string& head,
                                   const WriterBrief& brief, const std::string& statement) {
  const std::string said =
      statement.empty() ? "" : fenced("what it computes", statement, longest_statement);
  const std::string prompt = filled_prompt(
      "generator", {{"strategy", strategy_text(*brief.strategy)}, {"statement", said}});
  return ask_for_kernel(client, {"generator", brief.key + "/write", head, prompt, ""}, brief);
}

Answer<KernelSource> ask_translator(ChatClient& client, const std::string& head,
                                    const WriterBrief& brief, const KernelSource& base) {
  Base shown = base_text(base);
  const std::string prompt =
      filled_prompt("translator", {{"base", std::move(shown.kernel)},
                                   {"constants", std::move(shown.constants)},
                                   {"strategy", strategy_text(*brief.strategy)},
                                   {"digest", digest_text(brief.digest)}});
  return ask_for_kernel(client, {"translator", brief.key + "/write", head, prompt, ""}, brief);
}

Answer<KernelSource> ask_crosser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief, const KernelSource& base,
                                 const KernelSource& other) {
  const std::string prompt =
      filled_prompt("crossing", {{"digest", digest_text(brief.digest)},
                                 {"base", kernel_text("first kernel", base)},
                                 {"other", kernel_text("second kernel", other)}});
  return ask_for_kernel(client, {"translator", brief.key + "/write", head, prompt, ""}, brief);
}

Answer<KernelSource> ask_reviser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief) {
  const Rejected& why = brief.failed->why;
  const std::string reason =
      why.where.empty() ? why.message : fmt::format("{}\nat {}", why.message, why.where);
  const std::string prompt =
      filled_prompt("reviser", {{"strategy", strategy_text(*brief.strategy)},
                                {"base", kernel_text("kernel", brief.failed->source)},
                                {"stage", std::string(name_of(why.stage))},
                                {"code", why.code},
                                {"meaning", std::string(meaning_of(why.code))},
                                {"reason", fenced("reason", reason, longest_reason)},
                                {"attempt", std::to_string(brief.failed->attempt)}});
  return ask_for_kernel(client, {"reviser", brief.key + "/repair", head, prompt, ""}, brief);
}

}  // namespace cupilot
