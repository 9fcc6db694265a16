#include <fmt/format.h>

#include "agents/models/ask.hpp"
#include "agents/models/prompt_parts.hpp"
#include "agents/models/shown_kernel.hpp"
#include "agents/models/untrusted.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_aligned = 12000;  // bytes of the kernel that it is shown

}  // namespace

Answer<std::string> ask_aligner(ChatClient& client, const Strategy& aligned,
                                const std::vector<std::string>& changes, const KernelSource& kernel,
                                const std::string& key) {
  std::string list;
  for (const std::string& change : changes) list += "- " + tamed_line(change, 200) + "\n";
  Strategy bare = aligned;
  bare.rationale.clear();
  const Question question =
      question_of("aligner", key, "",
                  {{"kernel", kernel_text("kernel", kernel, longest_aligned)},
                   {"changes", list},
                   {"strategy", strategy_text(bare)},
                   {"rationale", fenced("reason", aligned.rationale, longest_rationale)}});
  return ask<std::string>(client, question, [](const ChatReply& reply) {
    return read_prose_reply(reply, longest_rationale);
  });
}

}  // namespace cupilot
