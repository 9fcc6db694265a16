#include "agents/models/ask.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "agents/models/untrusted.hpp"

namespace cupilot {
namespace {

constexpr std::size_t shown_of_unreadable = 6000;

constexpr std::array<AgentRole, 5> role_rows = {{{"generator", "generator", "/write"},
                                                 {"translator", "translator", "/write"},
                                                 {"crossing", "translator", "/write"},
                                                 {"reviser", "reviser", "/repair"},
                                                 {"aligner", "aligner", "/align"}}};

}  // namespace

std::span<const AgentRole> roles() { return role_rows; }

Question question_of(std::string_view role, const std::string& key, const std::string& head,
                     const PromptValues& values) {
  const auto row = std::find_if(role_rows.begin(), role_rows.end(),
                                [&](const AgentRole& one) { return one.name == role; });
  assert(row != role_rows.end() && "no such role");
  return {std::string(row->agent), key + std::string(row->suffix), head,
          filled_prompt(row->name, values), ""};
}

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
  // A turn of its own holds the answer: its fences stay, or it would seem to have had none.
  request.messages.push_back(
      {ChatMessage::Role::assistant, tamed(reply.text, shown_of_unreadable, 3)});
  request.messages.push_back(
      {ChatMessage::Role::user, filled_prompt("again", {{"fault", fault.message}})});
  return request;
}

}  // namespace cupilot
