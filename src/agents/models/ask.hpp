// One question, asked again once when its answer cannot be read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "agents/models/asking.hpp"
#include "agents/models/prompt.hpp"

namespace cupilot {

struct Question {
  std::string agent;
  std::string key;     // "slot 17/write"; the number of the attempt is added
  std::string head;    // constant; empty: none
  std::string prompt;  // the question
  std::string schema;  // empty: free text
};

// A role that asks for text: another one is another row of ask.cpp and a prompt of its name.
struct AgentRole {
  std::string_view name;    // of its prompt
  std::string_view agent;   // selects model and budget
  std::string_view suffix;  // of the question's key
};
std::span<const AgentRole> roles();

// The question of a role with its prompt's places filled. A role that does not exist is a
// programming error and asserts.
Question question_of(std::string_view role, const std::string& key, const std::string& head,
                     const PromptValues& values);

ChatRequest request_of(const Question& question);
// Repeats the request, with the unreadable answer and its fault behind.
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
