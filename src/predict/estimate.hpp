// The time that a tunable's model expects of a setting, over all timed shapes. It prunes what is
// far from the best before anything is compiled; only a device says which of the rest is fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "predict/model.hpp"

namespace cupilot {

// Settings and templates whose modelled time is above this are not tried. Models tell little of
// differences below 15 us, where launches and first loads count.
inline double most_bearable_us(double least_us) { return 1.6 * least_us + 15; }

// The weighted sum of a tunable's modelled times; any thread.
class TimeEstimate {
 public:
  // The tunable has to have a model.
  TimeEstimate(const Tunable& tunable, const Task& task, const DeviceSpec& device);
  // Microseconds. `values`: one a parameter of the tunable. Nothing where the model has no value at
  // a shape.
  std::optional<double> at(std::span<const std::int64_t> values) const;

 private:
  struct AtShape {
    ModelProgram program;
    double weight = 1;
  };
  std::vector<AtShape> shapes_;
};

// The least modelled time of legal settings: drawn ones, the best of them improved a parameter at a
// time. Nothing without a model.
std::optional<double> least_time(const Tunable& tunable, const Task& task,
                                 const DeviceSpec& device);

}  // namespace cupilot
