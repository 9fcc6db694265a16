// Bounds the cost of models: reserved before a request, settled after it. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <cupilot/parts/models.hpp>

namespace cupilot {

class CostBudget {
 public:
  // Keeps a reservation where a crash cannot reach it; called before it counts as made.
  using Keep = std::function<Result<void>(const std::string& key, const ModelsSpent& amount)>;
  // `before`: spent in earlier processes of the run.
  CostBudget(const ModelBudget& budget, const ModelsSpent& before, Keep keep)
      : budget_(budget), sum_(before), keep_(std::move(keep)) {}

  // Sets `amount` aside for one request of the exchange `key`. Where it does not fit beside what is
  // set aside for requests under way, waits for them to give back what they do not use. `wanted`:
  // asked after the wait; false gives it up. Error{budget} names the limit it does not fit in.
  Result<void> reserve(const std::string& key, const ModelsSpent& amount,
                       const std::function<bool()>& wanted = {});
  // Replaces what was reserved by what it was.
  void settle(const std::string& key, const ModelsSpent& reserved, const ModelsSpent& spent);
  // Seconds that may still be spent, as if requests under way took none; infinite without a limit.
  double seconds_left() const;
  // Names the budget's seconds as spent.
  Error no_seconds() const;
  // Returns the cost of the exchange so far, and forgets it.
  ModelsSpent bill(const std::string& key);
  ModelsSpent sum() const;

 private:
  // Names the limit that `amount` breaks beside `spent`.
  std::optional<Error> broken_limit(const ModelsSpent& spent, const ModelsSpent& amount) const;

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  ModelBudget budget_;
  ModelsSpent sum_, under_way_;  // under_way_: part of the sum, of requests not settled
  std::int64_t open_ = 0;        // their number
  std::map<std::string, ModelsSpent> bills_;
  Keep keep_;
};

}  // namespace cupilot
