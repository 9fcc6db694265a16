// A library's step made ready, and the choice of its algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend/worker/serve.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {

struct ReadyStep {
  std::function<void()> run;  // puts it on the session's stream
  bool tried = false;         // algorithms were run, which wrote its output
};

// The algorithm of a step that was not timed before: a step that is timed takes the fastest of
// those offered, one that is proved the first that the library does not refuse.
enum class AlgorithmChoice : std::uint8_t { fastest, first };

inline constexpr int choice_replays = 5;

// Runs what `once` puts on the stream for the algorithms in turn, until the library takes one;
// nullopt: it refused all.
template <class Algorithm, class Once>
std::optional<Algorithm> first_taken(const std::vector<Algorithm>& offered, const Once& once) {
  for (const Algorithm& algorithm : offered) {
    try {
      once(algorithm);
      return algorithm;
    } catch (const OrderRefused&) {
      continue;
    }
  }
  return std::nullopt;
}

// Times what `once` puts on the stream for each algorithm, and returns the fastest. A heuristic may
// name what the library then refuses; nullopt: it refused all.
template <class Algorithm, class Once>
std::optional<Algorithm> fastest(TimedRunner& visitor, const std::vector<Algorithm>& offered,
                                 const Once& once, const std::vector<Region>& poison, bool cold) {
  std::optional<Algorithm> best;
  double least = 0;
  for (const Algorithm& algorithm : offered) {
    try {
      const auto run = [&] { once(algorithm); };
      run();  // warm
      const VisitTiming timing{VisitTiming::Mode::timed, choice_replays, cold};
      std::vector<double> times = visitor.visit(run, poison, timing).event_us;
      std::sort(times.begin(), times.end());
      const double time = times[times.size() / 2];
      if (best && time >= least) continue;
      least = time;
      best = algorithm;
    } catch (const OrderRefused&) {
      continue;
    }
  }
  return best;
}

}  // namespace cupilot
