// A language model that says what a test wants.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <cupilot/chat.hpp>

namespace cupilot::testing {

class ScriptedChat : public ChatClient {
 public:
  using Script = std::function<Result<ChatReply>(const ChatRequest&)>;
  explicit ScriptedChat(Script script) : script_(std::move(script)) {}

  Result<ChatReply> complete(const ChatRequest& request) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(request);
    return script_(request);
  }

  std::vector<ChatRequest> asked;

 private:
  std::mutex mutex_;
  Script script_;
};

inline ChatReply said(std::string text) {
  ChatReply reply;
  reply.text = std::move(text);
  return reply;
}

inline Error silence() { return {ErrorCode::endpoint, "nobody answers", "start the endpoint"}; }

}  // namespace cupilot::testing
