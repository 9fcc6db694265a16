#include "evolution/evaluate/counting.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cupilot {
namespace {

constexpr std::int64_t candidates_a_count = 10;
constexpr double full_set = 2;  // cost of the champion's counters, in those of a leader

CountPlan over_share(double share) {
  return {CountDepth::few, fmt::format("they have had their {:.0f} % of the time", 100 * share)};
}

}  // namespace

std::optional<CountPlan> Counting::plan(std::int64_t slot, bool& granted) {
  if (provenance_ != Provenance::measured) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (counted_ * candidates_a_count > slot) return std::nullopt;
    ++counted_;
  }
  if (std::string why = lost(); !why.empty()) return CountPlan{CountDepth::few, std::move(why)};
  granted = grant(elapsed(), while_searching);
  if (!granted) return over_share(while_searching);
  return CountPlan{CountDepth::few, "", [this](const std::string& why) { lose(why); }};
}

CountPlan Counting::plan_last() {
  if (std::string why = lost(); !why.empty()) return {CountDepth::few, std::move(why)};
  const double now = elapsed();
  if (grant(now, at_the_end, full_set)) return {CountDepth::all};
  if (grant(now, at_the_end)) return {CountDepth::few};
  return over_share(at_the_end);
}

bool Counting::grant(double elapsed, double share, double times) {
  const std::lock_guard lock(mutex_);
  if (granted_ && spent_ + (under_way_ + times) * dearest_ > share * elapsed) return false;
  granted_ = true;
  ++under_way_;
  return true;
}

void Counting::settle(double seconds, bool granted) {
  const std::lock_guard lock(mutex_);
  spent_ += seconds;
  if (!granted) return;
  --under_way_;
  dearest_ = std::max(dearest_, seconds);
}

void Counting::lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  lost_ = why;
}

std::string Counting::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace cupilot
