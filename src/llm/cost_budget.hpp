// What models may cost: reserved before a request, settled after it. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
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

  // Sets `amount` aside for one request of the exchange `key`. Error{budget} names the limit it
  // does not fit in.
  Result<void> reserve(const std::string& key, const ModelsSpent& amount);
  // Replaces what was reserved by what it was.
  void settle(const std::string& key, const ModelsSpent& reserved, const ModelsSpent& spent);
  // Seconds that may still be spent; infinite without a limit.
  double seconds_left() const;
  // What the exchange cost so far, and forgets it.
  ModelsSpent bill(const std::string& key);
  ModelsSpent sum() const;

 private:
  mutable std::mutex mutex_;
  ModelBudget budget_;
  ModelsSpent sum_;
  std::map<std::string, ModelsSpent> bills_;
  Keep keep_;
};

}  // namespace cupilot
