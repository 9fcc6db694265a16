// Where a piece of work spends its seconds. Phases nest on the thread that does the work; a phase's name is its path
// ("proof/references"), its seconds are those it spends in no phase inside it, so that all of them add up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cupilot {

using PhaseSeconds = std::map<std::string, double>;  // by path

// Collects this thread's phases while it lives; where none does, phases cost nothing and are lost.
class PhaseLog {
 public:
  // `clock`: seconds; empty: the machine's.
  explicit PhaseLog(std::function<double()> clock = {});
  ~PhaseLog();
  PhaseLog(const PhaseLog&) = delete;
  PhaseLog& operator=(const PhaseLog&) = delete;
  const PhaseSeconds& seconds() const { return seconds_; }
  // CPU of this thread since the log began, without what it spent as a device (DeviceWork).
  double own_cpu_seconds() const;

 private:
  friend class Phase;
  friend class DeviceWork;
  friend void credit(std::string_view phase, double seconds);
  std::function<double()> clock_;
  PhaseLog* outer_;
  PhaseSeconds seconds_;
  std::string path_;
  double inside_ = 0;  // of phases that ended within the current one
  double cpu_began_, as_device_ = 0;
};

// A phase of this thread, from here to the end of the scope.
class Phase {
 public:
  explicit Phase(std::string_view name);
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  PhaseLog* log_;
  std::size_t path_before_ = 0;
  double inside_before_ = 0;
  double began_ = 0;
};

// What this thread does to the end of the scope is a device's work and not the controller's: it interprets kernels.
class DeviceWork {
 public:
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

 private:
  PhaseLog* log_;
  double before_ = 0, began_ = 0;
};

// Seconds of the current phase that another process says it spent in a phase inside it.
void credit(std::string_view phase, double seconds);

}  // namespace cupilot
