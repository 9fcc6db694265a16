// A model's client for a search that may be stopped: who waits for an answer hears of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

#include "agents/models/asking.hpp"
#include "base/guard.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/workers.hpp"

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

  // Questions asked from now on end then.
  void ends_at(double end) { end_ = end; }
  // True for the error of such a question.
  static bool is_late(const Error& error) { return error.message.starts_with(late_words); }

  Result<ChatReply> complete(const ChatRequest& request) override {
    ChatRequest timely = request;
    if (timely.cancel == nullptr) timely.cancel = cancel_;
    const double end = end_;
    if (end > 0) {
      constexpr double least = 1e-3;  // 0 would be no limit
      const double left = std::max(least, end - host_.monotonic_seconds());
      timely.seconds = timely.seconds > 0 ? std::min(left, timely.seconds) : left;
    }
    std::unique_lock<std::mutex>* lent = LentLock::current();
    if (lent != nullptr) lent->unlock();
    const auto asked = note(request.agent);
    auto reply = client_.complete(timely);
    forget(asked);
    if (lent != nullptr) lent->lock();
    // No silence of the model, which would let others propose and write in its place: the question
    // is asked when the run goes on.
    if (!reply && cancel_ != nullptr && cancel_->load()) {
      reply.error().code = ErrorCode::failure;
    } else if (!reply && is_silence(reply.error()) && end > 0 &&
               host_.monotonic_seconds() + slack >= end) {
      return Error{ErrorCode::failure, std::string(late_words) + ": " + reply.error().message,
                   reply.error().hint};
    }
    return reply;
  }

  // Asks all at once, each on a thread of its own.
  std::vector<Result<ChatReply>> complete_all(const std::vector<ChatRequest>& requests) override {
    if (requests.size() < 2) return ChatClient::complete_all(requests);
    std::unique_lock<std::mutex>* lent = LentLock::current();
    if (lent != nullptr) lent->unlock();
    auto replies = ask_at_once(requests);
    if (lent != nullptr) lent->lock();
    return replies;
  }

  void told(const ChatOutcome& outcome) override { client_.told(outcome); }

  // The questions that wait for their answers, by agent.
  std::vector<OpenQuestions> open() const {
    const double now = host_.monotonic_seconds();
    const std::lock_guard hold(mutex_);
    std::map<std::string, OpenQuestions> all;
    for (const auto& [agent, began] : open_) {
      OpenQuestions& row = all[agent];
      row.agent = agent;
      row.seconds = std::max(row.seconds, now - began);
      ++row.count;
    }
    std::vector<OpenQuestions> rows;
    for (auto& [agent, row] : all) rows.push_back(std::move(row));
    return rows;
  }

 private:
  static constexpr std::string_view late_words = "the run's time ended before its model answered";
  static constexpr double slack = 0.05;  // seconds that a client may give up before the end

  using Open = std::multimap<std::string, double>;

  Open::iterator note(const std::string& agent) {
    const double now = host_.monotonic_seconds();
    const std::lock_guard hold(mutex_);
    return open_.emplace(agent, now);
  }
  void forget(Open::iterator asked) {
    const std::lock_guard hold(mutex_);
    open_.erase(asked);
  }

  std::vector<Result<ChatReply>> ask_at_once(const std::vector<ChatRequest>& requests) {
    using Numbered = std::pair<std::size_t, Result<ChatReply>>;
    constexpr double look_seconds = 1;
    Workers<Numbered> workers(host_, static_cast<int>(requests.size()));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      workers.submit([this, i, &request = requests[i], stop = stop_flags()] {
        const StopScope stopped(stop);
        return Numbered(i, guarded([&] { return complete(request); }));
      });
    }
    std::map<std::size_t, Result<ChatReply>> ended;
    while (ended.size() < requests.size()) {
      for (auto& [number, reply] : workers.collect(look_seconds))
        ended.emplace(number, std::move(reply));
    }
    std::vector<Result<ChatReply>> replies;
    for (auto& [number, reply] : ended) replies.push_back(std::move(reply));
    return replies;
  }

  ChatClient& client_;
  Host& host_;
  std::atomic<bool>* cancel_;
  std::atomic<double> end_;
  mutable std::mutex mutex_;  // guards open_
  Open open_;                 // agents of open questions, and when they were asked
};

}  // namespace cupilot
