// Reads a model's answer strictly and within bounds: either it is of the kind asked for, or there
// is a reason why it cannot be used.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/space.hpp>

namespace cupilot {

// Reasons to reject an answer. The model is told the reason when it is asked again.
enum class ReplyFault {
  cut,            // it ended at the limit of tokens
  refused,        // the model would not
  filtered,       // the endpoint would not
  too_long,       // more bytes than any honest answer
  not_text,       // no UTF-8, or control characters
  no_file,        // no fenced block
  several_files,  // more than one fenced block
  unclosed,       // a fence without end
  bad_header,     // a `// cupilot:` line that is none
  no_plan,        // no launch in the plan
  no_kernel,      // no __global__ function
  not_json,
  bad_shape,      // JSON of another form than was asked for
  nothing_usable  // of that form, and empty
};
std::string_view name_of(ReplyFault fault);

struct Unreadable {
  ReplyFault fault = ReplyFault::no_file;
  std::string message{};  // for the model: what is wrong and where
};
template <class T>
using Read = std::variant<T, Unreadable>;

inline constexpr std::size_t longest_reply = 256 << 10;  // bytes
inline constexpr std::size_t most_free_uses = 4;         // of a strategy
inline constexpr std::size_t longest_free_text = 600;    // bytes
inline constexpr std::size_t longest_rationale = 600;

// The whole file of one fenced block, with the plan of its header. Nothing else of the header
// counts: a reply names no task, no template and no strategy.
Read<KernelSource> read_kernel_reply(const ChatReply& reply);

// Strategies of the form of strategy_schema(), made of the space's techniques and free ones,
// whatever values they name. Cleaned texts; no parents, no origin.
Read<std::vector<Strategy>> read_strategy_reply(const ChatReply& reply, const Space& space,
                                                std::size_t most);

// One paragraph of at most `most` bytes.
Read<std::string> read_prose_reply(const ChatReply& reply, std::size_t most);

// The JSON schema of an answer of up to `most` strategies in this space.
std::string strategy_schema(const Space& space, std::size_t most);

}  // namespace cupilot
