// The seam to a language model: one question, one answer. What carries it (HTTP, a tape, a script)
// knows nothing of kernels.
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
  // Who asks: "strategist", "writer", "reviser" … Chooses the model and the account that pays.
  std::string agent{};
  // Which question of the run this is, the same in every run of one seed: "slot 17/write/0". A tape
  // is read by it.
  std::string key{};
  std::vector<ChatMessage> messages{};
  // So many leading messages are the same in every request of the agent: an endpoint may keep them.
  std::size_t constant_messages = 0;
  std::string schema{};            // JSON schema of the answer; empty: free text
  std::int64_t output_tokens = 0;  // at most; 0: the model's own limit
  double temperature = 0;
  std::uint64_t seed = 0;               // for endpoints that take one
  double seconds = 120;                 // for the whole exchange, retries included
  std::atomic<bool>* cancel = nullptr;  // ends it early
};

struct ChatUsage {
  std::int64_t input_tokens = 0;   // cached ones included
  std::int64_t cached_tokens = 0;  // read from a kept prefix
  std::int64_t output_tokens = 0;
  double cost = 0;         // in the currency of the price table; 0: no price known
  bool estimated = false;  // the endpoint gave no usage: counted from the texts
};

// Why an exchange gave no usable text. Each is data for who asked; a dead endpoint or an empty
// purse is an Error. `invalid`: after asking again the text still does not fit the schema.
enum class ChatFinish { complete, cut, refused, filtered, invalid };
std::string_view name_of(ChatFinish finish);

struct ChatReply {
  ChatFinish finish = ChatFinish::complete;
  std::string text{};
  std::string model{};  // as the endpoint names it
  ChatUsage usage{};    // of all attempts
  int attempts = 1;     // requests sent, retries included
  double seconds = 0;
};

// Any thread. Error endpoint: no answer could be had and why, the next step in its hint; budget:
// the reservation does not fit.
class ChatClient {
 public:
  virtual ~ChatClient() = default;
  virtual Result<ChatReply> complete(const ChatRequest& request) = 0;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
