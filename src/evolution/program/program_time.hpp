// A program's seconds: how many of them the searches of its parts may use.
#pragma once

#include <atomic>
#include <cstddef>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

namespace cupilot {

// Counts seconds that are limited. One thread.
class ProgramTime {
 public:
  // Begins now.
  ProgramTime(const EvolveOptions& options, Host& host);

  // Takes the end of the search of programs from whoever runs it (KernelRun::search_end); it counts
  // once there is a program.
  std::atomic<double>* search_end() { return &search_end_; }
  void has_program(bool has) { has_program_ = has; }
  // Takes what a part's search measured of its kernels.
  void note(const EvolveReport& part);

  // Seconds of the run that are left.
  double left() const;
  // Those of them that parts may use once some partition has a kernel for each of its `parts`:
  // `share_of_parts`, up to the end of the search of programs; before there is one, without what
  // its evaluation and confirmation are expected to take. 0 where no kernel would be met that takes
  // the lead.
  double left_for_parts(std::size_t parts) const;
  // Seconds of a part's slot before there is a program: one of `shares` that the run's seconds are
  // cut into, or one of `unsearched` parts of what is left beside the program. At least one.
  double of_slot(std::size_t parts, std::int64_t unsearched, std::int64_t shares) const;

 private:
  // Means over parts, of one kernel; `references`: of all contents that a search met.
  struct Seconds {
    double compile = 0, proof = 0, timing = 0, references = 0;
  };
  double program_seconds(std::size_t parts) const;

  Host& host_;
  double end_ = 0, max_ = 0;  // by the host's clock
  std::atomic<double> search_end_{0};
  bool has_program_ = false;
  Seconds kernel_;
  int noted_ = 0;  // parts
};

}  // namespace cupilot
