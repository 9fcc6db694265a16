#include "evolution/program/choose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace cupilot {
namespace {

// A second slot may bring so much, or what the library shows to be possible, each further one half
// of that.
constexpr double first_gain = 0.3;

// Slots of parts that take as long as a program's own evaluation and confirmation.
constexpr std::int64_t shares_of_program = 2;

double expected_gain(const PartStanding& part) {
  const double library_us = part.step_us > 0 ? part.step_us : part.library_us;
  const double shown = library_us > 0 && part.time_us > 0 ? part.time_us / library_us - 1 : 0;
  return std::max(std::max(first_gain, shown) * std::pow(0.5, part.slots - 1), part.last_gain / 2);
}

// Searches that a partition still needs: parts of one kind share one.
std::size_t unsearched_of(const ProgramRecord& record, const std::vector<std::size_t>& partition,
                          const std::vector<PartStanding>& parts) {
  std::set<std::size_t> searches;
  for (const std::size_t part : partition) {
    if (!parts[part].is_ready()) searches.insert(searched_as(record, part));
  }
  return searches.size();
}

// The partition that may be fastest. Until one is ready, parts without a kernel count with their
// forecasts, and a partition with a searched part goes before those without, the one with the
// fewest parts to search first: whatever the time allows ends with a program.
const std::vector<std::size_t>* partition_to_search(const ProgramRecord& record,
                                                    const std::vector<PartStanding>& parts) {
  using Rank = std::tuple<bool, std::size_t, double>;
  const bool ready = !ready_partitions(record).empty();
  const std::vector<std::size_t>* best = nullptr;
  Rank least;
  for (const auto& partition : record.partitions) {
    double sum = 0;
    for (const std::size_t part : partition)
      sum += ready ? parts[part].expected_us() : parts[part].likely_us();
    if (!std::isfinite(sum)) continue;
    const std::size_t unsearched = unsearched_of(record, partition, parts);
    const bool begun = !ready && unsearched < partition.size();
    const Rank rank = {!begun, begun ? unsearched : 0, sum};
    if (best != nullptr && rank >= least) continue;
    least = rank;
    best = &partition;
  }
  return best;
}

// Fewest parts that a program still needs, of partitions that hold this part or do not: at least 1,
// 0 where none without it is left.
std::int64_t parts_to_a_program(const ProgramRecord& record, std::size_t part, bool holds) {
  const std::vector<PartStanding> parts = standings(record);
  std::optional<std::size_t> least;
  for (const auto& partition : record.partitions) {
    const bool here = std::any_of(partition.begin(), partition.end(), [&](std::size_t one) {
      return searched_as(record, one) == part;
    });
    if (here != holds || !std::isfinite(expected_us(partition, parts))) continue;
    const std::size_t unsearched = unsearched_of(record, partition, parts);
    least = std::min(least.value_or(unsearched), unsearched);
  }
  if (!least) return holds ? 1 : 0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(*least));
}

}  // namespace

std::optional<std::size_t> next_part(const ProgramRecord& record) {
  const std::vector<PartStanding> parts = standings(record);
  const std::vector<std::size_t>* fastest = partition_to_search(record, parts);
  if (fastest == nullptr) return std::nullopt;
  std::optional<std::size_t> unsearched, promising;
  double best = -1;
  std::map<std::size_t, double> times;  // of all parts that a search serves
  for (const std::size_t part : *fastest)
    times[searched_as(record, part)] += parts[part].expected_us();
  for (const std::size_t part : *fastest) {
    const PartStanding& one = parts[part];
    if (one.views) continue;
    if (one.best_us() <= 0) {
      if (!unsearched || one.floor_us > parts[*unsearched].floor_us)
        unsearched = searched_as(record, part);
      continue;
    }
    const double worth = expected_gain(one) * times.at(searched_as(record, part));
    if (worth <= best) continue;
    best = worth;
    promising = searched_as(record, part);
  }
  return unsearched ? unsearched : promising;
}

PartsNeeded parts_needed(const ProgramRecord& record, std::size_t part) {
  const std::vector<PartStanding> parts = standings(record);
  std::optional<PartsNeeded> least;
  for (const auto& partition : record.partitions) {
    const bool holds = std::any_of(partition.begin(), partition.end(), [&](std::size_t one) {
      return searched_as(record, one) == part;
    });
    if (!holds || !std::isfinite(expected_us(partition, parts))) continue;
    const auto unsearched = static_cast<std::int64_t>(unsearched_of(record, partition, parts));
    if (!least || unsearched < least->unsearched) least = {unsearched, partition.size()};
  }
  PartsNeeded needed = least.value_or(PartsNeeded());
  needed.unsearched = std::max<std::int64_t>(1, needed.unsearched);
  return needed;
}

std::int64_t time_shares(const ProgramRecord& record, std::size_t part, bool has_body) {
  const std::int64_t own = parts_to_a_program(record, part, true);
  if (!ready_partitions(record).empty()) return own;
  return own + shares_of_program + (has_body ? parts_to_a_program(record, part, false) : 0);
}

std::vector<std::vector<std::size_t>> ready_partitions(const ProgramRecord& record) {
  const std::vector<PartStanding> parts = standings(record);
  std::vector<std::vector<std::size_t>> ready;
  for (const auto& partition : record.partitions) {
    if (std::all_of(partition.begin(), partition.end(),
                    [&](std::size_t part) { return parts[part].is_ready(); }))
      ready.push_back(partition);
  }
  std::stable_sort(ready.begin(), ready.end(), [&](const auto& a, const auto& b) {
    return expected_us(a, parts) < expected_us(b, parts);
  });
  return ready;
}

}  // namespace cupilot
