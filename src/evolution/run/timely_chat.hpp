// A model's client for a search that may be stopped: who waits for an answer hears of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>

#include <cupilot/chat.hpp>
#include <cupilot/parts/host.hpp>

namespace cupilot {

// A lock that its thread gives up while it waits for a model.
class LentLock {
 public:
  explicit LentLock(std::unique_lock<std::mutex>& lock) { current() = &lock; }
  ~LentLock() { current() = nullptr; }
  LentLock(const LentLock&) = delete;
  // Returns the calling thread's; null: none.
  static std::unique_lock<std::mutex>*& current() {
    thread_local std::unique_lock<std::mutex>* lock = nullptr;
    return lock;
  }
};

class TimelyChat final : public ChatClient {
 public:
  // `cancel`: null where nothing stops the search. `end`: on the host's clock; 0: none. All must
  // outlive it.
  TimelyChat(ChatClient& client, Host& host, std::atomic<bool>* cancel, double end)
      : client_(client), host_(host), cancel_(cancel), end_(end) {}

  Result<ChatReply> complete(const ChatRequest& request) override {
    ChatRequest timely = request;
    if (timely.cancel == nullptr) timely.cancel = cancel_;
    if (end_ > 0) {
      constexpr double least = 1e-3;  // 0 would be no limit
      const double left = std::max(least, end_ - host_.monotonic_seconds());
      timely.seconds = timely.seconds > 0 ? std::min(left, timely.seconds) : left;
    }
    std::unique_lock<std::mutex>* lent = LentLock::current();
    if (lent != nullptr) lent->unlock();
    auto reply = client_.complete(timely);
    if (lent != nullptr) lent->lock();
    // No silence of the model, which would let others propose and write in its place: the question
    // is asked when the run goes on.
    if (!reply && cancel_ != nullptr && cancel_->load()) reply.error().code = ErrorCode::failure;
    return reply;
  }

  void told(const ChatOutcome& outcome) override { client_.told(outcome); }

 private:
  ChatClient& client_;
  Host& host_;
  std::atomic<bool>* cancel_;
  double end_;
};

}  // namespace cupilot
