#include "base/phases.hpp"

#include <chrono>
#include <ctime>
#include <utility>

namespace cupilot {
namespace {

thread_local PhaseLog* current = nullptr;

double machine_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double CpuSpent::own_seconds() const {
  double sum = 0;
  for (const auto& [path, seconds] : own) sum += seconds;
  return sum;
}

void CpuSpent::add(const CpuSpent& more) {
  for (const auto& [path, seconds] : more.own) own[path] += seconds;
  as_device += more.as_device;
}

PhaseLog::PhaseLog(std::function<double()> clock, std::function<double()> cpu_clock)
    : clock_(clock ? std::move(clock) : machine_seconds),
      cpu_clock_(cpu_clock ? std::move(cpu_clock) : thread_cpu_seconds),
      outer_(std::exchange(current, this)),
      cpu_began_(cpu_clock_()) {}
PhaseLog::~PhaseLog() { current = outer_; }

// The thread's CPU without a device's work: it stands still while that is done.
double PhaseLog::own_clock() const { return (device_since_ ? *device_since_ : cpu_clock_()) - as_device_; }

PhaseSeconds PhaseLog::seconds() const {
  PhaseSeconds all;
  for (const auto& [path, spent] : spent_) all.emplace(path, spent.seconds);
  return all;
}

CpuSpent PhaseLog::cpu() const {
  CpuSpent all = helpers_;
  double within = 0;
  for (const auto& [path, spent] : spent_) {
    all.own[path] += spent.cpu;
    within += spent.cpu;
  }
  all.own[in_no_phase] += own_clock() - cpu_began_ - within;
  all.as_device += as_device_;
  return all;
}

DeviceWork::DeviceWork() : log_(current != nullptr && !current->device_since_ ? current : nullptr) {
  if (log_ != nullptr) log_->device_since_ = log_->cpu_clock_();
}

DeviceWork::~DeviceWork() {
  if (log_ == nullptr) return;
  log_->as_device_ += log_->cpu_clock_() - *log_->device_since_;
  log_->device_since_.reset();
}

Phase::Phase(std::string_view name) : log_(current) {
  if (log_ == nullptr) return;
  std::string path = log_->path_;
  if (!path.empty()) path += '/';
  path += name;
  log_->spent_.try_emplace(path);  // here, since its end must not need memory
  path_before_ = log_->path_.size();
  log_->path_ = std::move(path);
  inside_before_ = std::exchange(log_->inside_, {});
  began_ = {log_->clock_(), log_->own_clock()};
}

Phase::~Phase() {
  if (log_ == nullptr) return;
  const PhaseLog::Spent now{log_->clock_() - began_.seconds, log_->own_clock() - began_.cpu};
  PhaseLog::Spent& spent = log_->spent_[log_->path_];
  spent.seconds += now.seconds - log_->inside_.seconds;
  spent.cpu += now.cpu - log_->inside_.cpu;
  log_->path_.resize(path_before_);
  log_->inside_ = {inside_before_.seconds + now.seconds, inside_before_.cpu + now.cpu};
}

void credit(std::string_view phase, double seconds) {
  if (current == nullptr || current->path_.empty()) return;
  current->spent_[current->path_ + "/" + std::string(phase)].seconds += seconds;
  current->inside_.seconds += seconds;
}

void credit(const CpuSpent& helper) {
  if (current == nullptr) return;
  for (const auto& [path, seconds] : helper.own) {
    std::string whole = current->path_;
    if (path != in_no_phase) whole += (whole.empty() ? "" : "/") + path;
    current->helpers_.own[whole.empty() ? in_no_phase : whole] += seconds;
  }
  current->helpers_.as_device += helper.as_device;
}

}  // namespace cupilot
