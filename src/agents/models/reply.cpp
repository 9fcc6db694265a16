#include "agents/models/reply.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agents/models/reply_text.hpp"
#include "agents/models/untrusted.hpp"
#include "kernel/library_step.hpp"
#include "kernel/standalone.hpp"

namespace cupilot {
namespace {

constexpr std::string_view fence = "```";

struct Line {
  std::string_view text;
  std::size_t end = 0;  // of the line with its end
};

Line line_at(std::string_view text, std::size_t from) {
  const std::size_t stop = std::min(text.find('\n', from), text.size());
  std::string_view line = text.substr(from, stop - from);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {line, std::min(stop + 1, text.size())};
}

// The inside of the one fenced block.
Read<std::string_view> fenced_block(std::string_view text) {
  std::optional<std::string_view> block;
  constexpr std::size_t none = std::string_view::npos;
  std::size_t open = none;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    const bool mark = line.text.starts_with(fence);
    if (mark && open == none) {
      if (block)
        return Unreadable{ReplyFault::several_files, "there is more than one fenced block"};
      open = line.end;
    } else if (mark && line.text.find_first_not_of("` \t") == std::string_view::npos) {
      block = text.substr(open, at - open);
      open = none;
    } else if (mark) {
      return Unreadable{ReplyFault::several_files, "a fenced block begins inside another"};
    }
    at = line.end;
  }
  if (open != none) return Unreadable{ReplyFault::unclosed, "the fenced block has no end"};
  if (!block) return Unreadable{ReplyFault::no_file, "there is no fenced block with a file"};
  return *block;
}

}  // namespace

std::string_view name_of(ReplyFault fault) {
  constexpr std::array names = {
      "cut",      "refused",    "filtered", "too_long",  "not_text", "no_file",   "several_files",
      "unclosed", "bad_header", "no_plan",  "no_kernel", "not_json", "bad_shape", "nothing_usable"};
  return names[static_cast<std::size_t>(fault)];
}

std::optional<Unreadable> unreadable(const ChatReply& reply) {
  switch (reply.finish) {
    case ChatFinish::complete:
      break;
    case ChatFinish::cut:
      return Unreadable{ReplyFault::cut,
                        "it ended at the limit of tokens: raise output_tokens in the models file"};
    case ChatFinish::refused:
      return Unreadable{ReplyFault::refused, "it was refused"};
    case ChatFinish::filtered:
      return Unreadable{ReplyFault::filtered, "the endpoint withheld it"};
    case ChatFinish::invalid:
      return Unreadable{ReplyFault::bad_shape, "it is not of the form that was asked for"};
  }
  if (reply.text.size() > longest_reply)
    return Unreadable{ReplyFault::too_long,
                      fmt::format("it is longer than {} bytes", longest_reply)};
  const bool control = std::any_of(reply.text.begin(), reply.text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F;
  });
  if (control || !is_utf8(reply.text))
    return Unreadable{ReplyFault::not_text, "it holds bytes that are no text"};
  return std::nullopt;
}

Read<KernelSource> read_kernel_reply(const ChatReply& reply) {
  if (auto fault = unreadable(reply)) return *fault;
  const Read<std::string_view> block = fenced_block(reply.text);
  if (const auto* fault = std::get_if<Unreadable>(&block)) return *fault;
  auto file = standalone_from(std::get<std::string_view>(block), "the answer");
  if (!file) return Unreadable{ReplyFault::bad_header, tamed_line(file.error().message, 300)};
  KernelSource source;
  source.text = std::move(file->source.text);
  source.plan = std::move(file->source.plan);
  source.constants = std::move(file->source.constants);
  if (source.plan.launches.empty())
    return Unreadable{ReplyFault::no_plan,
                      R"(no `// cupilot: {"plan": …}` line with a launch stands before the code)"};
  if (has_library_step(source.plan))
    return Unreadable{ReplyFault::bad_header, "its plan has a library's step; write the kernel"};
  if (source.text.find("__global__") == std::string::npos)
    return Unreadable{ReplyFault::no_kernel, "the file holds no __global__ function"};
  return source;
}

Read<std::string> read_prose_reply(const ChatReply& reply, std::size_t most) {
  if (auto fault = unreadable(reply)) return *fault;
  const std::string text = tamed_line(reply.text, most);
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return Unreadable{ReplyFault::nothing_usable, "it is empty"};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace cupilot
