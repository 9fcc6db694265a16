// Records how a piece of work spends its seconds. Phases nest on the thread that does the work; a
// phase's name is its path ("proof/references"), its seconds are those it spends in no phase inside
// it, so that all of them add up.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

using PhaseSeconds = std::map<std::string, double>;  // by path
inline constexpr std::string_view waiting_for_device = "wait for the device";
inline constexpr std::string_view waiting_for_compiler = "wait for a compiler";
// True for a phase in which a thread waits its turn.
inline bool is_waiting(std::string_view path) {
  return path.ends_with(waiting_for_device) || path.ends_with(waiting_for_compiler);
}

double thread_cpu_seconds();  // of the calling thread

// CPU of a thread and of those that helped it.
struct CpuSpent {
  PhaseSeconds own;      // by phase; what lies in none is under `in_no_phase`
  double as_device = 0;  // interpreting kernels: a device's work and not the controller's
  double own_seconds() const;
  void add(const CpuSpent& more);
};
inline constexpr const char* in_no_phase = "between phases";

// Collects this thread's phases while it lives; where none does, phases cost nothing and are lost.
class PhaseLog {
 public:
  // `clock`: seconds; `cpu_clock`: CPU seconds of the calling thread; empty: the machine's.
  explicit PhaseLog(std::function<double()> clock = {}, std::function<double()> cpu_clock = {});
  ~PhaseLog();
  PhaseLog(const PhaseLog&) = delete;
  PhaseLog& operator=(const PhaseLog&) = delete;
  PhaseSeconds seconds() const;
  CpuSpent cpu() const;

 private:
  friend class Phase;
  friend class DeviceWork;
  friend void credit(std::string_view phase, double seconds);
  friend void credit(const CpuSpent& helper);
  struct Spent {
    double seconds = 0, cpu = 0;
  };
  // A phase within `parent`, which stands before it. The first one is no phase: what lies between
  // them.
  struct Node {
    std::string name;
    std::size_t parent = 0;
    bool own_cpu = false;
    Spent spent;
    std::vector<std::size_t> within;
  };
  double own_clock() const;
  std::size_t node_within(std::size_t parent, std::string_view name);
  std::vector<std::string> paths() const;
  std::function<double()> clock_, cpu_clock_;
  PhaseLog* outer_;
  std::vector<Node> nodes_;
  std::size_t at_ = 0;
  Spent inside_;  // of phases that ended within the current one
  double cpu_began_ = 0, as_device_ = 0;
  std::optional<double> device_since_;
  CpuSpent helpers_;
};

// Selects the phase that is charged for the CPU time: reading a thread's CPU clock is a system call
// and costs more than a short phase.
enum class PhaseCpu { own, of_phase_around };

// A phase of this thread, from here to the end of the scope.
class Phase {
 public:
  explicit Phase(std::string_view name, PhaseCpu cpu = PhaseCpu::own);
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  PhaseLog* log_;
  PhaseCpu cpu_;
  PhaseLog::Spent inside_before_, began_;
};

// Counts the rest of the scope on this thread as a device's work, not the controller's: it
// interprets kernels.
class DeviceWork {
 public:
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

 private:
  PhaseLog* log_;  // null within another
};

// Seconds of the current phase that another process says it spent in a phase inside it.
void credit(std::string_view phase, double seconds);

// Adds the CPU time that another thread spent during the current phase. It ran beside this one, so
// its seconds count nowhere.
void credit(const CpuSpent& helper);

// Does work that helps another thread, which is to be credited with what it took.
template <class Work>
CpuSpent helping(const Work& work) {
  const PhaseLog log;
  work();
  return log.cpu();
}

// Does the same for a device's work.
template <class Work>
CpuSpent helping_as_device(const Work& work) {
  return helping([&] {
    const DeviceWork interpreting;
    work();
  });
}

}  // namespace cupilot
