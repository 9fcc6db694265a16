#include "agents/models/ask.hpp"

#include "agents/models/untrusted.hpp"

namespace cupilot {
namespace {

constexpr std::size_t shown_of_unreadable = 6000;

}  // namespace

ChatRequest request_of(const Question& question) {
  ChatRequest request;
  request.agent = question.agent;
  request.key = question.key + "/0";
  if (!question.head.empty())
    request.messages.push_back({ChatMessage::Role::system, question.head});
  request.constant_messages = request.messages.size();
  request.messages.push_back({ChatMessage::Role::user, question.prompt});
  request.schema = question.schema;
  return request;
}

ChatRequest request_again(const Question& question, const ChatReply& reply,
                          const Unreadable& fault) {
  ChatRequest request = request_of(question);
  request.key = question.key + "/1";
  request.messages.push_back(
      {ChatMessage::Role::assistant, tamed(reply.text, shown_of_unreadable)});
  request.messages.push_back(
      {ChatMessage::Role::user, filled_prompt("again", {{"fault", fault.message}})});
  return request;
}

}  // namespace cupilot
