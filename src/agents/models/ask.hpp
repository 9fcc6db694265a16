// One question, asked again once when its answer cannot be read.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "agents/models/asking.hpp"
#include "agents/models/prompt.hpp"

namespace cupilot {

struct Question {
  std::string agent;
  std::string key;     // "slot 17/write"; the number of the attempt is added
  std::string head;    // constant; empty: none
  std::string prompt;  // what is asked
  std::string schema;  // empty: free text
};

ChatRequest request_of(const Question& question);
// The same request with the unreadable answer and what is wrong with it behind.
ChatRequest request_again(const Question& question, const ChatReply& reply,
                          const Unreadable& fault);

template <class T, class Reader>
Answer<T> ask(ChatClient& client, const Question& question, const Reader& read) {
  auto reply = client.complete(request_of(question));
  if (!reply) return reply.error();
  Read<T> answer = read(*reply);
  const auto* fault = std::get_if<Unreadable>(&answer);
  if (fault == nullptr || fault->fault == ReplyFault::cut || fault->fault == ReplyFault::refused ||
      fault->fault == ReplyFault::filtered)
    return answer;
  auto second = client.complete(request_again(question, *reply, *fault));
  if (!second) return second.error();
  return read(*second);
}

}  // namespace cupilot
