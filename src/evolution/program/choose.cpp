#include "evolution/program/choose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cupilot {
namespace {

// A second slot may bring so much, each further one half of that.
constexpr double first_gain = 0.3;

double expected_gain(const PartStanding& part) {
  return std::max(first_gain * std::pow(0.5, part.slots - 1), part.last_gain / 2);
}

}  // namespace

std::optional<std::size_t> next_part(const ProgramRecord& record) {
  const std::vector<PartStanding> parts = standings(record);
  const std::vector<std::size_t>* fastest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& partition : record.partitions) {
    const double sum = expected_us(partition, parts);
    if (sum >= least) continue;
    least = sum;
    fastest = &partition;
  }
  if (fastest == nullptr) return std::nullopt;
  std::optional<std::size_t> unsearched, promising;
  double best = -1;
  for (const std::size_t part : *fastest) {
    const PartStanding& one = parts[part];
    if (one.time_us <= 0) {
      if (!unsearched || one.floor_us > parts[*unsearched].floor_us) unsearched = part;
      continue;
    }
    const double worth = expected_gain(one) * one.time_us;
    if (worth <= best) continue;
    best = worth;
    promising = part;
  }
  return unsearched ? unsearched : promising;
}

std::vector<std::vector<std::size_t>> ready_partitions(const ProgramRecord& record) {
  const std::vector<PartStanding> parts = standings(record);
  std::vector<std::vector<std::size_t>> ready;
  for (const auto& partition : record.partitions) {
    if (std::all_of(partition.begin(), partition.end(),
                    [&](std::size_t part) { return parts[part].time_us > 0; }))
      ready.push_back(partition);
  }
  std::stable_sort(ready.begin(), ready.end(), [&](const auto& a, const auto& b) {
    return expected_us(a, parts) < expected_us(b, parts);
  });
  return ready;
}

}  // namespace cupilot
