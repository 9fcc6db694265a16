// The tape: JSON lines of what was asked and answered (docs/formats/tape.md). Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <cupilot/parts/models.hpp>

#include "llm/tape_lines.hpp"

namespace cupilot {

class Tape {
 public:
  // For reading and adding; of no path, in memory. A torn last line is copied to PATH.torn-N, then
  // cut off; the file stays locked.
  static Result<std::unique_ptr<Tape>> open(Host& host, const std::string& path, int parallel = 0);
  // Answers from `contents` alone. No file stands behind it.
  static std::unique_ptr<Tape> in_memory(TapeLines contents);

  // The last entry of the key when it answers this very question, or null. Entries live as long as
  // the tape.
  const TapeEntry* find(const ChatRequest& request) const;
  // True if an entry of the key answers another question.
  bool knows_key(const std::string& key) const;
  const ModelsSpent& spent_before() const { return before_; }
  // Calls `look` with each answered question.
  void each(const std::function<void(const TapeEntry&)>& look) const;

  // Written and synced when they return. After a failed write every further one fails.
  Result<void> add(const ChatRequest& request, const Result<ChatReply>& answer,
                   const ModelsSpent& spent);
  Result<void> reserve(const std::string& key, const ModelsSpent& amount);

 private:
  Tape() = default;
  void learn(TapeLines lines);
  Result<void> append(const std::string& line);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TapeQuestion>> entries_;
  std::set<std::string> texts_;  // digests of long messages that the file holds
  ModelsSpent before_;
  // Costs of processes that ended within an exchange: its line counts them too, or the next process
  // would not know of them.
  std::map<std::string, ModelsSpent> unsettled_;
  std::shared_ptr<void> lock_;
  std::unique_ptr<AppendFile> file_;
  std::optional<Error> failed_;
};

// Answers from the tape; asks `live` for what it lacks and keeps that first. Without `live` a lack
// is Error{endpoint}.
class TapedClient : public ChatClient {
 public:
  // Returns the cost of an exchange, all its attempts together; asked once, when it has ended.
  using Bill = std::function<ModelsSpent(const std::string& key)>;
  TapedClient(std::shared_ptr<Tape> tape, std::unique_ptr<ChatClient> live, Bill bill)
      : tape_(std::move(tape)), live_(std::move(live)), bill_(std::move(bill)) {}
  Result<ChatReply> complete(const ChatRequest& request) override;
  void told(const ChatOutcome& outcome) override {
    if (live_) live_->told(outcome);
  }

 private:
  std::shared_ptr<Tape> tape_;
  std::unique_ptr<ChatClient> live_;
  Bill bill_;
};

}  // namespace cupilot
