#include "llm/cost_budget.hpp"

#include <cmath>
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
  sum.reserved_seconds -= amount.reserved_seconds;
}

// Whole numbers have all their digits, others four.
std::string number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

Error spent_error(const char* what, double limit, double spent, double wanted) {
  return {ErrorCode::budget,
          fmt::format("the models' budget ({} {}) does not fit the next request: {} spent or "
                      "reserved, it may need {}",
                      what, number(limit), number(spent), number(wanted)),
          fmt::format("raise budget.{} in the models file", what)};
}

// True if `wanted` fits beside `spent`; limits of 0 hold nothing back.
template <class Number>
bool fits(Number limit, Number spent, Number wanted) {
  return limit <= 0 || (wanted <= limit && spent <= limit - wanted);
}

}  // namespace

std::optional<Error> CostBudget::broken_limit(const ModelsSpent& spent,
                                              const ModelsSpent& amount) const {
  const auto error = [](const char* what, auto limit, auto used, auto wanted) {
    return spent_error(what, static_cast<double>(limit), static_cast<double>(used),
                       static_cast<double>(wanted));
  };
  if (!fits(budget_.tokens, spent.tokens, amount.tokens))
    return error("tokens", budget_.tokens, spent.tokens, amount.tokens);
  if (!fits(budget_.calls, spent.calls, amount.calls))
    return error("calls", budget_.calls, spent.calls, amount.calls);
  if (!fits(budget_.cost, spent.cost, amount.cost))
    return error("cost", budget_.cost, spent.cost, amount.cost);
  if (!fits(budget_.seconds, spent.seconds, amount.seconds))
    return error("seconds", budget_.seconds, spent.seconds, amount.seconds);
  return std::nullopt;
}

Result<void> CostBudget::reserve(const std::string& key, const ModelsSpent& amount,
                                 const std::function<bool()>& wanted) {
  std::unique_lock hold(mutex_);
  std::optional<Error> broken;
  settled_.wait(hold, [&] {
    broken = broken_limit(sum_, amount);
    if (!broken || open_ == 0) return true;
    ModelsSpent least = sum_;
    take_back(least, under_way_);
    return broken_limit(least, amount).has_value();
  });
  if (broken) return *broken;
  if (wanted && !wanted())
    return Error{ErrorCode::budget, "the request was given up while it waited for the budget", ""};
  if (keep_) {
    if (auto kept = keep_(key, amount); !kept) return kept;
  }
  ++open_;
  for (ModelsSpent* one : {&sum_, &under_way_, &bills_[key]}) add_spent(*one, amount);
  return {};
}

void CostBudget::settle(const std::string& key, const ModelsSpent& reserved,
                        const ModelsSpent& spent) {
  const std::lock_guard hold(mutex_);
  for (ModelsSpent* one : {&sum_, &bills_[key]}) {
    take_back(*one, reserved);
    add_spent(*one, spent);
  }
  // Differences of fractions leave a rest.
  if (--open_ == 0) under_way_ = {};
  if (open_ > 0) take_back(under_way_, reserved);
  settled_.notify_all();
}

double CostBudget::seconds_left() const {
  const std::lock_guard hold(mutex_);
  return budget_.seconds <= 0 ? std::numeric_limits<double>::infinity()
                              : budget_.seconds - (sum_.seconds - under_way_.seconds);
}

Error CostBudget::no_seconds() const {
  const std::lock_guard hold(mutex_);
  return {ErrorCode::budget,
          fmt::format("the models' budget (seconds {}) is spent", number(budget_.seconds)),
          "raise budget.seconds in the models file"};
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
