// Hardware counters of launches by CUPTI's range profiler. CUPTI is opened at run time; built
// without its headers, open() says so.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda.h>

#include <cupilot/parts/counts.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

class RangeCounters {
 public:
  // Takes the counters of the current context, before the modules to be counted are loaded: some
  // metrics are had by instrumenting code. Error: CUPTI is missing, or the driver lets this user
  // read no counters. One at a time in a process.
  static Result<RangeCounters> open(CUcontext context, std::size_t index);
  RangeCounters(RangeCounters&&) noexcept;
  ~RangeCounters();

  // Does ahead what the next choice of new metrics needs of CUPTI's tables: a tenth of a second.
  void prepare();
  // Chooses the metrics read from now on, of at most `ranges` ranges. Error: a metric that the chip
  // lacks.
  Result<void> choose(std::vector<std::string> metrics, std::size_t ranges);
  // Returns how often collect() will repeat the work.
  std::size_t passes() const;

  // Calls `work` once a pass. It must do the same in each (memory put back, caches brought to one
  // state) and bracket every launch that counts by begin() and end(), with nothing else on the
  // device between. values[range][metric], ranges in order.
  Result<std::vector<std::vector<double>>> collect(const std::function<void()>& work);
  void begin();
  void end();

 private:
  struct State;
  explicit RangeCounters(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "GH100" of device `index`; empty: CUPTI does not say.
std::string chip_of(std::size_t index);

}  // namespace cupilot
