// The interface to a language model: one question, one answer. Implementations (HTTP, a tape, a
// script) know nothing of kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct ChatMessage {
  enum class Role { system, user, assistant };
  Role role = Role::user;
  std::string text{};
};

struct ChatRequest {
  // Role of the caller: "strategist", "writer", "reviser" … Selects the model and the budget.
  std::string agent{};
  // Identifies the question within the run, equally in every run of one seed: "slot 17/write/0".
  // Tapes are looked up by it.
  std::string key{};
  std::vector<ChatMessage> messages{};
  // Number of leading messages that are equal in every request of the agent: an endpoint may cache
  // them.
  std::size_t constant_messages = 0;
  std::string schema{};            // JSON schema of the answer; default: free text
  std::int64_t output_tokens = 0;  // at most; 0: the model's own limit
  double temperature = 0;
  std::uint64_t seed = 0;               // for endpoints that take one
  double seconds = 0;                   // for the whole exchange, retries included; 0: the model's
  std::atomic<bool>* cancel = nullptr;  // ends it early
};

struct ChatUsage {
  std::int64_t input_tokens = 0;   // cached ones included
  std::int64_t cached_tokens = 0;  // read from a kept prefix
  std::int64_t output_tokens = 0;
  double cost = 0;         // in the currency of the price table; 0: no price known
  bool estimated = false;  // the endpoint gave no usage: counted from the texts
};

// The end of an exchange; all but `complete` carry no usable text. A dead endpoint or an exhausted
// budget is an Error instead. `cut`: the text ended at the limit, even at twice the limit.
// `invalid`: the text violates the schema even after a second request.
enum class ChatFinish { complete, cut, refused, filtered, invalid };
std::string_view name_of(ChatFinish finish);

struct ChatReply {
  ChatFinish finish = ChatFinish::complete;
  std::string text{};
  std::string model{};  // as the endpoint names it
  std::string by{};     // name of the model in the models file, where a role has several
  ChatUsage usage{};    // summed over all attempts
  int attempts = 1;     // requests sent, retries included
  double seconds = 0;
};

// Tells what came of a candidate that answers led to.
struct ChatOutcome {
  std::string key{};      // begins the keys of its questions: "slot 17"
  double log2_gain = 0;   // over the best kernel before it; 0: it is not the best
  bool proposed = false;  // a model proposed its strategy, in answer to this or an earlier question
};

// Sends requests; callable from any thread. Errors: endpoint (no answer; the hint names the next
// step), budget (the request's reservation exceeds it).
class ChatClient {
 public:
  virtual ~ChatClient() = default;
  virtual Result<ChatReply> complete(const ChatRequest& request) = 0;
  // Answers requests that do not wait for one another, in their order. default: one after another.
  virtual std::vector<Result<ChatReply>> complete_all(const std::vector<ChatRequest>& requests) {
    std::vector<Result<ChatReply>> replies;
    for (const ChatRequest& request : requests) replies.push_back(complete(request));
    return replies;
  }
  // Hears of each candidate in the order of their results, so that a client can choose among
  // models. Called from any thread. default: forgets it.
  virtual void told(const ChatOutcome& /*outcome*/) {}
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
