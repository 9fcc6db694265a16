// Limits the share of a search's time that reading hardware counters takes. Any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include <cupilot/parts/host.hpp>
#include <cupilot/parts/measurement.hpp>

#include "evolution/evaluate/count_work.hpp"

namespace cupilot {

class Counting {
 public:
  // Shares of the seconds that have passed: while it searches, and with the champion's full set.
  // Counts that take longer than expected leave the whole below 15 %.
  static constexpr double while_searching = 0.08, at_the_end = 0.12;

  // Shares are of the time since `began`, by the host's clock. Only devices that measure are
  // counted on.
  Counting(Host& host, Provenance provenance, double began)
      : host_(host), provenance_(provenance), began_(began) {}

  // Plans the count of a candidate that took the lead in this slot; nullopt: it is not counted.
  // Counting runs a kernel several times more: at most one candidate in ten is counted, and within
  // the share. `granted`: settle() is to hear of it.
  std::optional<CountPlan> plan(std::int64_t slot, bool& granted);
  // Plans the champion's count: everything, or what every leader had, or nothing, as time allows.
  CountPlan plan_last();

  // True if a count that costs `times` as much as the dearest so far fits. The first always does:
  // nobody knows what it costs.
  bool grant(double elapsed, double share, double times = 1);
  // Adds the seconds that a candidate spent on counting, granted a count or waiting for the process
  // that counts.
  void settle(double seconds, bool granted);
  // The device counts for nobody. Every later kernel's digest says so; nothing is spent on asking
  // again.
  void lose(const std::string& why);
  std::string lost() const;

 private:
  double elapsed() const { return host_.monotonic_seconds() - began_; }

  Host& host_;
  Provenance provenance_;
  double began_;
  mutable std::mutex mutex_;
  std::string lost_;
  double spent_ = 0, dearest_ = 0;
  std::int64_t counted_ = 0;  // candidates that were planned for
  int under_way_ = 0;
  bool granted_ = false;
};

}  // namespace cupilot
