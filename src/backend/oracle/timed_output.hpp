// Words the refusal of a timed launch's wrong output, on any device.
#pragma once

#include <optional>

#include <fmt/core.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/trial.hpp>

namespace cupilot {

inline std::optional<Rejected> wrong_when_timed(const OutputReport& output) {
  if (output.failed == 0 && output.never_written == 0) return std::nullopt;
  return reject("measure.timed_launch",
                fmt::format("{} of {} compared elements of {} were wrong, {} never written; worst "
                            "at {}: got {}, want {} within {}",
                            output.failed, output.compared, output.tensor, output.never_written,
                            output.worst_index, output.got, output.want, output.bound));
}

}  // namespace cupilot
