// The counted work behind a verdict, from the best source that the device offers.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/evolve.hpp>

#include "base/phases.hpp"

namespace cupilot {

// Says how a kernel's work is counted.
struct CountPlan {
  CountDepth depth = CountDepth::few;
  std::string without{};  // why the chip's own counters are left alone; empty: they are read
  // TellStatus why when the device has none to read, of no kernel. May be empty.
  std::function<void(const std::string&)> lost{};
  // True if the chip's own counters say all that the interpreter would.
  bool reads_all() const { return without.empty() && depth == CountDepth::all; }
};

// The launches' counts added up; a counter that one of them lacks is unknown.
Counts sum_of(const std::vector<LaunchCounts>& launches);

// Counts a kernel's work at full size by the screen's interpreter, on a thread of its own. A
// count that nobody takes is given up.
class InterpretedWork {
 public:
  InterpretedWork(const Pipe& pipe, const CompiledKernel& kernel);
  ~InterpretedWork() { over_ = true; }
  InterpretedWork(const InterpretedWork&) = delete;
  InterpretedWork& operator=(const InterpretedWork&) = delete;
  // Waits for the counts; none when there is no screen, or it cannot run the kernel. Once.
  Counts take();

 private:
  std::atomic<bool> over_{false};
  std::future<std::pair<Counts, CpuSpent>> counts_;
};

// Puts counts into an accepted kernel's measurement and judges it anew: those of the hardware
// counters, and of the screen's interpreter where these are not all read. Without a screen or
// without counters the next source is taken, down to analytic; why is a sentence of the digest.
// Never refuses a kernel. `interpreted`: the interpreter's count, if it was taken already. Error:
// the machine failed.
Result<void> count_work(const Pipe& pipe, const CompiledKernel& kernel, const CountPlan& plan,
                        Accepted& accepted, std::optional<Counts> interpreted = std::nullopt);

}  // namespace cupilot
