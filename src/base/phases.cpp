#include "base/phases.hpp"

#include <chrono>
#include <ctime>
#include <utility>

namespace cupilot {
namespace {

thread_local PhaseLog* current = nullptr;

double machine_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

PhaseLog::PhaseLog(std::function<double()> clock)
    : clock_(clock ? std::move(clock) : machine_seconds),
      outer_(std::exchange(current, this)),
      cpu_began_(thread_cpu_seconds()) {}
PhaseLog::~PhaseLog() { current = outer_; }
double PhaseLog::own_cpu_seconds() const { return thread_cpu_seconds() - cpu_began_ - as_device_; }

DeviceWork::DeviceWork() : log_(current) {
  if (log_ == nullptr) return;
  before_ = log_->as_device_;
  began_ = thread_cpu_seconds();
}

// What was noted within is part of it.
DeviceWork::~DeviceWork() {
  if (log_ != nullptr) log_->as_device_ = before_ + thread_cpu_seconds() - began_;
}

Phase::Phase(std::string_view name) : log_(current) {
  if (log_ == nullptr) return;
  std::string path = log_->path_;
  if (!path.empty()) path += '/';
  path += name;
  log_->seconds_.try_emplace(path);  // here, since its end must not need memory
  path_before_ = log_->path_.size();
  log_->path_ = std::move(path);
  inside_before_ = std::exchange(log_->inside_, 0.0);
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
