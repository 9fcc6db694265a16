#include "backend/cuda/profile.hpp"

#include <fmt/core.h>

namespace cupilot {
namespace {

void overlay(Counts& counts, const Counts& counted) {
  for (std::size_t i = 0; i < counter_count; ++i) {
    if (counted.all[i].how != CountHow::unknown) counts.all[i] = counted.all[i];
  }
  counts.source = counted.source;
}

}  // namespace

void add_counters(Profile& profile, const Attempt<CountedRun>& counted) {
  if (!counted.is_error() && !counted.is_rejected() &&
      counted->launches.size() == profile.launches.size()) {
    for (std::size_t i = 0; i < profile.launches.size(); ++i) {
      overlay(profile.launches[i].counts, counted->launches[i].work);
      profile.launches[i].stalls = stall_shares(counted->launches[i].warps);
      profile.launches[i].measured_us = counted->us[i];
    }
    profile.counted = fmt::format(
        "hardware counters of a {}, {} passes; what it does not count, the virtual device",
        counted->chip, counted->passes);
    return;
  }
  const std::string why = counted.is_error()      ? counted.error().message
                          : counted.is_rejected() ? counted.rejected().message
                                                  : "they tell of other launches";
  profile.counted = "the virtual device of this chip; " + why;
}

}  // namespace cupilot
