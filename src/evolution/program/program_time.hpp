// A program's seconds: how many of them the searches of its parts may use.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

namespace cupilot {

// Counts seconds that are limited. One thread.
class ProgramTime {
 public:
  // Begins now. `at_once`: a program that is the last is confirmed without an evaluation before.
  ProgramTime(const EvolveOptions& options, Host& host, bool at_once);

  // Takes the end of the search of programs from whoever runs it (KernelRun::search_end); it counts
  // once there is a program.
  std::atomic<double>* search_end() { return &search_end_; }
  void has_program(bool has) { has_program_ = has; }
  // Takes what a part's search has measured of its kernels so far.
  void note(std::size_t part, const EvolveReport& report);

  // Seconds of the run that are left.
  double left() const;
  // Those of them that parts may use once some partition has a kernel for each of its `parts`:
  // `share_of_parts`, up to the end of the search of programs; before there is one, without what
  // its evaluation and confirmation are expected to take. 0 where no kernel would be met that takes
  // the lead.
  double left_for_parts(std::size_t parts) const;
  // True where no time is left for a second program, or another kernel of a part, once a first one
  // was evaluated: the first is the last.
  bool has_one_left(std::size_t parts) const;
  // Seconds of a part's slot before there is a program: one of `shares` that the run's seconds are
  // cut into, or one of `unsearched` parts of what is left beside the program. At least one, and
  // what a first kernel takes by those of other parts: without one there is no program.
  double of_slot(std::size_t parts, std::int64_t unsearched, std::int64_t shares) const;
  // True where a slot of so many seconds has time for a library's call beside its kernels.
  bool has_time_for_library(double seconds) const { return seconds >= 2 * least_kernel(); }

 private:
  // A part's seconds for one kernel; `references`: for all contents that a search met.
  struct Seconds {
    double compile = 0, proof = 0, timing = 0, references = 0;
  };
  Seconds mean() const;  // over parts
  double least_kernel() const;
  double evaluation_seconds(std::size_t parts) const;
  double confirmation_seconds(std::size_t parts) const;
  // Estimates all that follows the parts.
  double program_seconds(std::size_t parts) const;

  Host& host_;
  double end_ = 0, max_ = 0;  // by the host's clock
  std::atomic<double> search_end_{0};
  bool at_once_ = false, has_program_ = false;
  std::map<std::size_t, Seconds> kernels_;  // by part
};

}  // namespace cupilot
