#include "base/phases.hpp"

#include <chrono>
#include <ctime>
#include <utility>

namespace cupilot {
namespace {

thread_local PhaseLog* current = nullptr;

double machine_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
      nodes_(1),
      cpu_began_(cpu_clock_()) {}
PhaseLog::~PhaseLog() { current = outer_; }

// The thread's CPU without a device's work: it stands still while that is done.
double PhaseLog::own_clock() const {
  return (device_since_ ? *device_since_ : cpu_clock_()) - as_device_;
}

std::size_t PhaseLog::node_within(std::size_t parent, std::string_view name) {
  for (const std::size_t node : nodes_[parent].within) {
    if (nodes_[node].name == name) return node;
  }
  nodes_[parent].within.push_back(nodes_.size());
  Node& made = nodes_.emplace_back();
  made.name = name;
  made.parent = parent;
  return nodes_.size() - 1;
}

// Returns the path of each node; the first one's is empty.
std::vector<std::string> PhaseLog::paths() const {
  std::vector<std::string> all(nodes_.size());
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const std::string& around = all[nodes_[i].parent];
    all[i] = around.empty() ? nodes_[i].name : around + "/" + nodes_[i].name;
  }
  return all;
}

PhaseSeconds PhaseLog::seconds() const {
  PhaseSeconds all;
  const std::vector<std::string> names = paths();
  for (std::size_t i = 1; i < nodes_.size(); ++i) all.emplace(names[i], nodes_[i].spent.seconds);
  return all;
}

CpuSpent PhaseLog::cpu() const {
  CpuSpent all = helpers_;
  double within = 0;
  const std::vector<std::string> names = paths();
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    if (!nodes_[i].own_cpu) continue;
    all.own[names[i]] += nodes_[i].spent.cpu;
    within += nodes_[i].spent.cpu;
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

Phase::Phase(std::string_view name, PhaseCpu cpu) : log_(current), cpu_(cpu) {
  if (log_ == nullptr) return;
  log_->at_ = log_->node_within(log_->at_, name);
  inside_before_.seconds = std::exchange(log_->inside_.seconds, 0);
  began_.seconds = log_->clock_();
  if (cpu_ == PhaseCpu::of_phase_around) return;
  log_->nodes_[log_->at_].own_cpu = true;
  inside_before_.cpu = std::exchange(log_->inside_.cpu, 0);
  began_.cpu = log_->own_clock();
}

Phase::~Phase() {
  if (log_ == nullptr) return;
  PhaseLog::Node& node = log_->nodes_[log_->at_];
  log_->at_ = node.parent;
  const double seconds = log_->clock_() - began_.seconds;
  node.spent.seconds += seconds - log_->inside_.seconds;
  log_->inside_.seconds = inside_before_.seconds + seconds;
  if (cpu_ == PhaseCpu::of_phase_around) return;
  const double cpu = log_->own_clock() - began_.cpu;
  node.spent.cpu += cpu - log_->inside_.cpu;
  log_->inside_.cpu = inside_before_.cpu + cpu;
}

void credit(std::string_view phase, double seconds) {
  if (current == nullptr || current->at_ == 0) return;
  const std::size_t node = current->node_within(current->at_, phase);
  current->nodes_[node].spent.seconds += seconds;
  current->inside_.seconds += seconds;
}

void credit(const CpuSpent& helper) {
  if (current == nullptr) return;
  const std::string around = current->paths()[current->at_];
  for (const auto& [path, seconds] : helper.own) {
    std::string whole = around;
    if (path != in_no_phase) whole += (whole.empty() ? "" : "/") + path;
    current->helpers_.own[whole.empty() ? in_no_phase : whole] += seconds;
  }
  current->helpers_.as_device += helper.as_device;
}

}  // namespace cupilot
