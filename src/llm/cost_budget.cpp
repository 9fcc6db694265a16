#include "llm/cost_budget.hpp"

#include <limits>

#include <fmt/core.h>

#include "llm/tape_lines.hpp"

namespace cupilot {
namespace {

void take_back(ModelsSpent& sum, const ModelsSpent& amount) {
  sum.tokens -= amount.tokens;
  sum.calls -= amount.calls;
  sum.cost -= amount.cost;
  sum.seconds -= amount.seconds;
  sum.reserved_tokens -= amount.reserved_tokens;
  sum.reserved_cost -= amount.reserved_cost;
}

Error spent_error(const char* what, double limit, double spent, double wanted) {
  return {ErrorCode::budget,
          fmt::format("the models' budget of {} {} does not fit the next request: {} spent or "
                      "reserved, it may need {}",
                      limit, what, spent, wanted),
          fmt::format("raise budget.{} in the models file", what)};
}

// Whether `wanted` fits beside `spent`; limits of 0 hold nothing back.
template <class Number>
bool fits(Number limit, Number spent, Number wanted) {
  return limit <= 0 || (wanted <= limit && spent <= limit - wanted);
}

}  // namespace

Result<void> CostBudget::reserve(const std::string& key, const ModelsSpent& amount) {
  const std::lock_guard hold(mutex_);
  const auto error = [](const char* what, auto limit, auto spent, auto wanted) {
    return spent_error(what, static_cast<double>(limit), static_cast<double>(spent),
                       static_cast<double>(wanted));
  };
  if (!fits(budget_.tokens, sum_.tokens, amount.tokens))
    return error("tokens", budget_.tokens, sum_.tokens, amount.tokens);
  if (!fits(budget_.calls, sum_.calls, amount.calls))
    return error("calls", budget_.calls, sum_.calls, amount.calls);
  if (!fits(budget_.cost, sum_.cost, amount.cost))
    return error("cost", budget_.cost, sum_.cost, amount.cost);
  if (!fits(budget_.seconds, sum_.seconds, amount.seconds))
    return error("seconds", budget_.seconds, sum_.seconds, amount.seconds);
  if (keep_) {
    if (auto kept = keep_(key, amount); !kept) return kept;
  }
  add_spent(sum_, amount);
  add_spent(bills_[key], amount);
  return {};
}

void CostBudget::settle(const std::string& key, const ModelsSpent& reserved,
                        const ModelsSpent& spent) {
  const std::lock_guard hold(mutex_);
  for (ModelsSpent* one : {&sum_, &bills_[key]}) {
    take_back(*one, reserved);
    add_spent(*one, spent);
  }
}

double CostBudget::seconds_left() const {
  const std::lock_guard hold(mutex_);
  return budget_.seconds <= 0 ? std::numeric_limits<double>::infinity()
                              : budget_.seconds - sum_.seconds;
}

ModelsSpent CostBudget::bill(const std::string& key) {
  const std::lock_guard hold(mutex_);
  const auto found = bills_.find(key);
  if (found == bills_.end()) return {};
  const ModelsSpent bill = found->second;
  bills_.erase(found);
  return bill;
}

ModelsSpent CostBudget::sum() const {
  const std::lock_guard hold(mutex_);
  return sum_;
}

}  // namespace cupilot
