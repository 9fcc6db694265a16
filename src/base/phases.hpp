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

 private:
  friend class Phase;
  friend void credit(std::string_view phase, double seconds);
  std::function<double()> clock_;
  PhaseLog* outer_;
  PhaseSeconds seconds_;
  std::string path_;
  double inside_ = 0;  // of phases that ended within the current one
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

// Seconds of the current phase that another process says it spent in a phase inside it.
void credit(std::string_view phase, double seconds);

}  // namespace cupilot
