#include "backend/cuda/clock.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/median.hpp"

namespace cupilot {
namespace {

// The events of two adjacent records are some tens of nanoseconds apart at best; a launch adds to
// that.
constexpr double too_short_factor = 1.1;
// No launch is done in less than this share of an empty one.
constexpr double impossible_factor = 0.5;
// A warm launch may take longer by the host's clock than a cold one by events: by the time that
// launching takes, and a little. What an exchange with a process takes differs by this much,
// whatever was launched.
constexpr double host_factor = 1.25, launch_us = 12, exchange_us = 300;

// Launches back to back: of the first attempt, and at most of a later one.
constexpr double burst_us = 3'000, longest_burst_us = 100'000;
constexpr int most_burst = 400;

// The 95 % interval of the median by the sign test: order statistics, the whole range when there
// are few.
std::pair<double, double> interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto cut =
      static_cast<std::size_t>(std::max(0.0, std::floor((count - 1.96 * std::sqrt(count)) / 2)));
  return {values[cut], values[values.size() - 1 - cut]};
}

// NVML's reasons, in the words of its documentation made short.
constexpr std::pair<std::uint64_t, const char*> throttle_words[] = {
    {0x4, "power cap"},         {0x8, "hardware slowdown"}, {0x10, "synchronised boost"},
    {0x20, "software thermal"}, {0x40, "hardware thermal"}, {0x80, "power brake"},
    {0x100, "display clocks"},
};

std::string throttle_text(std::uint64_t reasons) {
  std::string text;
  for (const auto& [bit, word] : throttle_words) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word);
  }
  return text;
}

}  // namespace

std::string implausible(const RunAnswer& answer, int replays, double controller_us,
                        double empty_us) {
  if (answer.event_us.size() != static_cast<std::size_t>(replays))
    return fmt::format("{} event times for {} launches", answer.event_us.size(), replays);
  double sum = 0;
  for (const double time : answer.event_us) {
    if (!std::isfinite(time) || time <= 0) return fmt::format("an event time of {} us", time);
    if (time < empty_us * impossible_factor)
      return fmt::format("an event time of {} us, where an empty launch takes {:.2f} us", time,
                         empty_us);
    sum += time;
  }
  if (!std::isfinite(answer.wall_us) || answer.wall_us <= 0)
    return fmt::format("a host time of {} us", answer.wall_us);
  if (sum > controller_us * 1.01 + 10)
    return fmt::format("events say {:.1f} us, the controller's clock {:.1f} us for all of it", sum,
                       controller_us);
  if (answer.wall_us > controller_us + 10)
    return fmt::format(
        "the runner's clock says {:.1f} us, the controller's {:.1f} us for all of it",
        answer.wall_us, controller_us);
  return "";
}

int burst_launches(double event_us, int attempt) {
  const auto within = [&](double us) {
    return std::clamp(static_cast<int>(us / std::max(event_us, 1.0)), 1, most_burst);
  };
  return std::min(within(burst_us) << attempt, within(longest_burst_us));
}

std::string undercut(double event_us, double host_us, int launches) {
  if (host_us <= event_us * host_factor + launch_us + exchange_us / launches) return "";
  return fmt::format("events say {:.3f} us a launch, the controller's clock {:.1f} us", event_us,
                     host_us);
}

Measurement measurement_of(const std::vector<double>& samples, bool cold, double host_us,
                           double empty_us) {
  Measurement result;
  result.provenance = Provenance::measured;
  result.samples_us = samples;
  result.time_us = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - result.time_us));
  result.spread_us = median(deviations);
  result.cache = cold ? "cold" : "warm";
  std::tie(result.interval_low_us, result.interval_high_us) = interval(samples);
  result.host_us = host_us;
  result.resolution_us = empty_us;
  result.too_short = empty_us > 0 && result.time_us < empty_us * too_short_factor;
  if (result.too_short) {
    result.conditions.push_back(
        fmt::format("too short to rank: {:.2f} us, of which an empty launch takes {:.2f} us",
                    result.time_us, empty_us));
  }
  return result;
}

std::vector<std::string> sentences_of(const CardConditions& before, const CardConditions& after,
                                      int ours) {
  if (!after.note.empty() || !before.note.empty())
    return {"clocks and throttling are not known: " +
            (after.note.empty() ? before.note : after.note)};
  std::vector<std::string> all;
  all.push_back(fmt::format("SM clock {} MHz before, {} MHz after; memory {} MHz; {} C; {:.0f} W",
                            before.sm_mhz, after.sm_mhz, after.memory_mhz, after.celsius,
                            after.milliwatts / 1e3));
  if (const std::string text = throttle_text(before.throttle | after.throttle); !text.empty())
    all.push_back("clocks held down by: " + text);
  const int strangers = static_cast<int>(after.processes.size()) - ours;
  if (strangers > 0)
    all.push_back(fmt::format("the card was shared with {} other processes", strangers));
  return all;
}

}  // namespace cupilot
