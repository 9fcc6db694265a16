// Judges times: plausibility against a second clock, statistics, and the conditions they were taken
// under.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cupilot/parts/measurement.hpp>

#include "backend/wire/orders.hpp"

namespace cupilot {

// Returns the reason for which the event times of a visit cannot be believed, or "".
// `controller_us` is the controller's clock around the whole exchange, `empty_us` the time of an
// empty launch.
std::string implausible(const RunAnswer& answer, int replays, double controller_us,
                        double empty_us);

// Launches back to back for the controller's clock: some milliseconds of them, and twice as many at
// each further attempt while they stay short, so that what an exchange takes on a busy host counts
// less and less.
int burst_launches(double event_us, int attempt);

// Returns the reason for which a cold event time cannot be believed beside the controller's time of
// one warm launch, the mean of `launches` back to back, or "".
std::string undercut(double event_us, double host_us, int launches);

// Median, deviation and interval of one sample a round. `empty_us`: what an empty launch reads.
Measurement measurement_of(const std::vector<double>& samples, bool cold, double host_us,
                           double empty_us);

// Returns the card's conditions before and after, one sentence each. `ours`: how many processes of
// ours compute there.
std::vector<std::string> sentences_of(const CardConditions& before, const CardConditions& after,
                                      int ours);

}  // namespace cupilot
