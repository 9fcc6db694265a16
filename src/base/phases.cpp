#include "base/phases.hpp"

#include <chrono>
#include <utility>

namespace cupilot {
namespace {

thread_local PhaseLog* current = nullptr;

double machine_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

PhaseLog::PhaseLog(std::function<double()> clock)
    : clock_(clock ? std::move(clock) : machine_seconds), outer_(std::exchange(current, this)) {}
PhaseLog::~PhaseLog() { current = outer_; }

Phase::Phase(std::string_view name) : log_(current) {
  if (log_ == nullptr) return;
  path_before_ = log_->path_.size();
  inside_before_ = std::exchange(log_->inside_, 0.0);
  if (!log_->path_.empty()) log_->path_ += '/';
  log_->path_ += name;
  began_ = log_->clock_();
}

Phase::~Phase() {
  if (log_ == nullptr) return;
  const double spent = log_->clock_() - began_;
  log_->seconds_[log_->path_] += spent - log_->inside_;
  log_->path_.resize(path_before_);
  log_->inside_ = inside_before_ + spent;
}

void credit(std::string_view phase, double seconds) {
  if (current == nullptr || current->path_.empty()) return;
  current->seconds_[current->path_ + "/" + std::string(phase)] += seconds;
  current->inside_ += seconds;
}

}  // namespace cupilot
