// Questions, each asked again once when its answer cannot be read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// True for an answer that the question, asked again with its fault, may mend.
inline bool is_mendable(const Unreadable& fault) {
  return fault.fault != ReplyFault::cut && fault.fault != ReplyFault::refused &&
         fault.fault != ReplyFault::filtered;
}

// Questions that do not wait for one another; the answers come in their order.
template <class T, class Reader>
std::vector<Answer<T>> ask_all(ChatClient& client, const std::vector<Question>& questions,
                               const Reader& read) {
  std::vector<ChatRequest> requests, again;
  for (const Question& question : questions) requests.push_back(request_of(question));
  const std::vector<Result<ChatReply>> replies = client.complete_all(requests);
  std::vector<Answer<T>> answers;
  std::vector<std::size_t> mended;  // of `questions`, asked again
  for (std::size_t i = 0; i < replies.size(); ++i) {
    answers.push_back(replies[i] ? Answer<T>(read(*replies[i])) : replies[i].error());
    if (!answers[i]) continue;
    const auto* fault = std::get_if<Unreadable>(&*answers[i]);
    if (fault == nullptr || !is_mendable(*fault)) continue;
    again.push_back(request_again(questions[i], *replies[i], *fault));
    mended.push_back(i);
  }
  if (again.empty()) return answers;
  const std::vector<Result<ChatReply>> second = client.complete_all(again);
  for (std::size_t i = 0; i < second.size(); ++i)
    answers[mended[i]] = second[i] ? Answer<T>(read(*second[i])) : second[i].error();
  return answers;
}

template <class T, class Reader>
Answer<T> ask(ChatClient& client, const Question& question, const Reader& read) {
  return std::move(ask_all<T>(client, {question}, read).front());
}

}  // namespace cupilot
