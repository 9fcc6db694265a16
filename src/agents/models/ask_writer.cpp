// Generator, translator, crosser and reviser: each gets one whole file.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "agents/models/ask.hpp"
#include "agents/models/prompt_parts.hpp"
#include "agents/models/shown_kernel.hpp"
#include "agents/models/untrusted.hpp"
#include "agents/write/device_headers.hpp"
#include "agents/write/template_text.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_statement = 6000, longest_reason = 2400, longest_quote = 160,
                      longest_about = 300;

// "line 12 (`y[i] = x[i];`)" of a line of the compiled text, in which device headers stand whole.
// `before`: lines that stand before it where it is shown.
std::string shown_place(const std::string& text, std::size_t line, std::size_t before) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return fmt::format("line {}", line);
    ++begin;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const std::string quoted = tamed_line(text.substr(begin, end - begin), longest_quote);
  // A header that has ended shrinks to its include; one that has not is where the line stands.
  const std::string above = with_includes(text.substr(0, end) + "\n");
  const auto number = static_cast<std::size_t>(std::count(above.begin(), above.end(), '\n'));
  const std::string whole = with_includes(text);
  if (whole.compare(0, above.size(), above) != 0)
    return fmt::format("a device header (`{}`)", quoted);
  return fmt::format("line {} (`{}`)", before + number, quoted);
}

struct BaseText {
  std::string kernel, constants;
};

// A template's kernel in two parts, of which only the second differs between strategies: what is
// the same comes first, where an endpoint may keep it.
BaseText base_text(const KernelSource& source) {
  if (source.template_name.empty()) return {kernel_text("kernel", source), ""};
  const std::size_t chosen = source.text.find(chosen_mark), types = source.text.find(types_mark);
  if (chosen == std::string::npos || types == std::string::npos || types < chosen)
    return {kernel_text("kernel", source), ""};
  KernelSource same = source;
  same.text = source.text.substr(types);
  same.constants.clear();
  return {kernel_text("kernel", same),
          "Its constants, which stand before it in the same file:\n" +
              fenced("constants", source.text.substr(chosen, types - chosen), longest_reason)};
}

// A line of a source that a refusal names, as "kernel.cu(12)" or "<dir>/kernel.cu:12".
struct NamedLine {
  std::size_t begin = 0, end = 0;  // in the refusal
  std::string number{};
};

// A refusal may hold a stranger's text of any length, on which std::regex recurses.
std::optional<NamedLine> next_named_line(const std::string& text, std::size_t from) {
  constexpr std::string_view extension = ".cu";
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  const auto is_of_path = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./<>-").find(c) != std::string_view::npos;
  };
  for (std::size_t mark = text.find(extension, from); mark != std::string::npos;
       mark = text.find(extension, mark + 1)) {
    const std::size_t after = mark + extension.size();
    if (after >= text.size() || (text[after] != '(' && text[after] != ':')) continue;
    NamedLine line{mark, after + 1};
    while (is_digit(line.end)) ++line.end;
    line.number = text.substr(after + 1, line.end - after - 1);
    if (line.number.empty()) continue;
    while (line.begin > from && is_of_path(text[line.begin - 1])) --line.begin;
    if (line.end < text.size() && text[line.end] == ')') ++line.end;
    return line;
  }
  return std::nullopt;
}

// A refusal that names lines of the compiled text, in the lines of the text that is shown, with the
// line itself quoted.
std::string in_shown_lines(const std::string& reason, const KernelSource& source) {
  // The plan stands in front of what is shown.
  const std::string shown = shown_text(source);
  const auto before = std::count(shown.begin(), shown.end(), '\n') - [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }(with_includes(source.text));
  std::string told;
  std::size_t from = 0;
  while (const auto line = next_named_line(reason, from)) {
    told += reason.substr(from, line->begin - from);
    from = line->end;
    told += shown_place(source.text, std::stoul(line->number.substr(0, 9)),
                        static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, before)));
  }
  return told + reason.substr(from);
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

// Outlines of the headers that the head does not show and the kernel may need: those that its base
// names, and those for copies by hardware and for mma.sync where the strategy speaks of them.
std::string needed_headers(const WriterBrief& brief, std::vector<std::string> names) {
  constexpr std::string_view words[] = {"bulk", "barrier", "tensor_map",
                                        "tma",  "cluster", "warp_specialisation"};
  const std::string said = strategy_text(*brief.strategy);
  const bool copies = std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return said.find(word) != std::string::npos;
  });
  if (copies) {
    for (std::string& name : copy_headers(brief.device->compute_major))
      names.push_back(std::move(name));
  }
  if (said.find("mma_core") != std::string::npos && said.find("wgmma_core") == std::string::npos)
    names.push_back("mma.cuh");
  std::vector<std::string> shown = common_headers();
  if (is_matmul_like(*brief.task)) {
    for (std::string& name : product_headers(brief.task->precision, brief.device->compute_major))
      shown.push_back(std::move(name));
  }
  std::vector<std::string> needed;
  for (std::string& name : names) {
    if (std::find(shown.begin(), shown.end(), name) != shown.end()) continue;
    shown.push_back(name);
    needed.push_back(std::move(name));
  }
  const std::string text = outlines_of(needed);
  return text.empty() ? text : "Further device headers:\n\n" + text + "\n";
}

// Rules complete what a strategy leaves open, and may speak against its free techniques.
std::string asked_text(const Strategy& strategy) {
  const auto is_free = [](const Use& use) { return !use.text.empty(); };
  const bool completed = std::any_of(strategy.uses.begin(), strategy.uses.end(), is_free) &&
                         !std::all_of(strategy.uses.begin(), strategy.uses.end(), is_free);
  return strategy_text(strategy) +
         (completed ? "Where another technique or value contradicts the text of `free`, follow the "
                      "text.\n"
                    : "");
}

}  // namespace

constexpr std::string_view tested =
    "Tested are random values, NaN, infinities, denormals, zeros, rows of one value, rows around "
    "1e6, single values of 1e15, sizes of 1 and 2, primes, and sizes beside a multiple of a tile, "
    "where `require` admits them. NaN and infinities must appear where the reference has them; a "
    "row "
    "may begin with -inf, and -inf minus -inf is NaN. Outputs hold garbage before a run; two "
    "inputs may be the same memory.";

std::string writer_head(const Task& task, const DeviceSpec& device) {
  std::vector<std::string> headers = common_headers();
  if (is_matmul_like(task)) {
    for (std::string& name : product_headers(task.precision, device.compute_major))
      headers.push_back(std::move(name));
  }
  return filled_prompt("writer_head",
                       {{"arch", device.arch},
                        {"task", task_text(task)},
                        {"device", device_text(device, task.precision) + limits_text(task, device)},
                        {"constants", constants_text(task)},
                        {"precision", precision_text(task)},
                        {"tested", std::string(tested)},
                        {"headers", outlines_of(headers)}});
}

namespace {

// True if an element of an output may take many elements of an input.
bool has_folds(const Task& task) {
  const auto is_reduced = [](const Axis& axis) { return axis.kind == AxisKind::reduced; };
  const auto folds = [](const Operation& one) {
    const OperatorRow* row = find_operator(one.kind);
    return row == nullptr || row->stages.empty() ||
           std::any_of(row->stages.begin(), row->stages.end(),
                       [](const OperatorStage& stage) { return stage.kind != StageKind::map; });
  };
  if (std::any_of(task.axes.begin(), task.axes.end(), is_reduced)) return true;
  if (task.operations.empty()) return task.reference.text.find("for (") != std::string::npos;
  return std::any_of(task.operations.begin(), task.operations.end(), folds);
}

// The example of the task's kind of work: products, folds of rows, or maps.
std::string_view shipped_example(const Task& task) {
  if (is_matmul_like(task)) return "example_product";
  return has_folds(task) ? "example_rows" : "example_map";
}

std::string example_text(const Task& task, const ProvedKernel& example) {
  if (example.kernel.empty()) return filled_prompt(shipped_example(task), {}) + "\n";
  const std::string computes =
      example.computes.empty()
          ? ""
          : "What it computes:\n\n" + fenced("reference", example.computes, longest_reason);
  return filled_prompt("example_proved",
                       {{"about", tamed_line(example.about, longest_about)},
                        {"computes", computes},
                        {"kernel", fenced("proved kernel", example.kernel, longest_base)}}) +
         "\n";
}

}  // namespace

Answer<KernelSource> ask_generator(ChatClient& client, const std::string& head,
                                   const WriterBrief& brief, const std::string& statement,
                                   const ProvedKernel& example) {
  const std::string said =
      statement.empty() ? "" : fenced("what it computes", statement, longest_statement);
  const Question question =
      question_of("generator", brief.key, head,
                  {{"strategy", asked_text(*brief.strategy)},
                   {"statement", said},
                   {"example", example_text(*brief.task, example)},
                   {"headers", needed_headers(brief, headers_in(example.kernel))}});
  return ask_for_kernel(client, question, brief);
}

Answer<KernelSource> ask_translator(ChatClient& client, const std::string& head,
                                    const WriterBrief& brief, const WriterBrief::Base& base) {
  BaseText shown = base_text(base.source);
  const std::vector<std::string> lines = difference(base.strategy, *brief.strategy);
  const Question question = question_of(
      "translator", brief.key, head,
      {{"base", std::move(shown.kernel)},
       {"constants", std::move(shown.constants)},
       {"strategy", asked_text(*brief.strategy)},
       {"difference", lines.empty() ? "- nothing: write it in another way that may be faster\n"
                                    : fmt::format("{}\n", fmt::join(lines, "\n"))},
       {"digest", digest_text(base.digest, "kernel above")},
       {"headers", needed_headers(brief, headers_in(base.source.text))}});
  return ask_for_kernel(client, question, brief);
}

Answer<KernelSource> ask_crosser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief, const WriterBrief::Base& base,
                                 const WriterBrief::Base& other) {
  const Question question = question_of("crossing", brief.key, head,
                                        {{"digest", digest_text(base.digest, "first kernel")},
                                         {"base", kernel_text("first kernel", base.source)},
                                         {"other", kernel_text("second kernel", other.source)}});
  return ask_for_kernel(client, question, brief);
}

Answer<KernelSource> ask_reviser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief) {
  const Rejected& why = brief.failed->why;
  const KernelSource& source = brief.failed->source;
  const std::string said =
      why.where.empty() ? why.message : fmt::format("{}\nat {}", why.message, why.where);
  const Question question =
      question_of("reviser", brief.key, head,
                  {{"strategy", asked_text(*brief.strategy)},
                   {"base", kernel_text("kernel", source)},
                   {"stage", std::string(name_of(why.stage))},
                   {"code", why.code},
                   {"meaning", std::string(meaning_of(why.code))},
                   {"reason", fenced("reason", in_shown_lines(said, source), longest_reason)},
                   {"headers", needed_headers(brief, headers_in(source.text))},
                   {"attempt", std::to_string(brief.failed->attempt)}});
  return ask_for_kernel(client, question, brief);
}

}  // namespace cupilot
