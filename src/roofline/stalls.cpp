#include "roofline/stalls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/core.h>

namespace cupilot {
namespace {

// Stalls and resident cycles are read in different runs of a kernel, and differ by a few percent;
// more is no count of one kernel.
constexpr double most_accounted = 1.1;
constexpr double least_waiting = 0.05;  // share of the warps' cycles; below it reasons are noise
constexpr double least_told = 0.1;
constexpr std::size_t reasons_told = 3;

struct StallRow {
  Stall stall;
  std::string_view waits;  // "Warps waited 41 % of their cycles …"; empty: no waiting
  std::string_view asks;   // "this asks for …"; empty: nothing is known to help
  // Resources that are short where warps wait for this, in equal parts. A pipe stands for the
  // busier one of the two.
  std::array<Resource, 2> resources;
  int known = 0;  // number of those resources
};

constexpr std::array stall_rows = std::to_array<StallRow>({
    {Stall::selected, "", "", {}},
    {Stall::not_selected, "", "", {}},
    {Stall::wait,
     "for the last instruction",
     "independent instructions",
     {Resource::issue, Resource::latency},
     2},
    {Stall::long_scoreboard,
     "for global loads",
     "earlier loads or more at once",
     {Resource::latency},
     1},
    {Stall::short_scoreboard,
     "for shared memory",
     "fewer passes over shared memory",
     {Resource::shared},
     1},
    {Stall::barrier,
     "for the rest of their block",
     "fewer barriers or more blocks",
     {Resource::latency, Resource::occupancy},
     2},
    {Stall::membar, "for fences", "fewer fences", {Resource::latency}, 1},
    {Stall::math_pipe_throttle,
     "for a busy pipe",
     "fewer operations on it",
     {Resource::fp_pipe},
     1},
    {Stall::gmma, "for wgmma", "better fed tensor cores", {Resource::tensor_pipe}, 1},
    {Stall::mio_throttle,
     "for the shared-memory queue",
     "wider shared accesses",
     {Resource::shared},
     1},
    {Stall::lg_throttle, "for the global-memory queue", "wider global accesses", {Resource::l2}, 1},
    {Stall::tex_throttle, "for the texture queue", "fewer texture accesses", {Resource::l2}, 1},
    {Stall::no_instruction, "for instructions", "shorter code", {Resource::issue}, 1},
    {Stall::imc_miss, "for constants", "fewer constants", {}},
    {Stall::branch_resolving, "for branches", "fewer branches", {Resource::issue}, 1},
    {Stall::dispatch_stall, "for the dispatcher", "", {}},
    {Stall::drain, "for the last stores", "fewer and wider stores", {Resource::dram}, 1},
    {Stall::sleeping, "asleep", "", {}},
    {Stall::misc, "for other things", "", {}},
});

const StallRow& row_of(Stall stall) { return stall_rows[static_cast<std::size_t>(stall)]; }
bool waits(const StallShare& one) { return !row_of(one.stall).waits.empty(); }

std::string spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

double share_of(const std::vector<Bottleneck>& bottlenecks, Resource resource) {
  for (const Bottleneck& pressure : bottlenecks) {
    if (pressure.resource == resource) return pressure.share;
  }
  return 0;
}

void add(std::vector<Bottleneck>& bottlenecks, Resource resource, double share) {
  for (Bottleneck& pressure : bottlenecks) {
    if (pressure.resource != resource) continue;
    pressure.share = std::clamp(pressure.share + share, 0.0, 1.0);
    return;
  }
  bottlenecks.push_back({resource, std::clamp(share, 0.0, 1.0)});
}

double waiting(const std::vector<StallShare>& stalls) {
  double sum = 0;
  for (const StallShare& one : stalls) sum += waits(one) ? one.share : 0;
  return sum;
}

}  // namespace

std::vector<StallShare> stall_shares(const WarpCycles& warps) {
  const double resident = warps.resident;
  if (!std::isfinite(resident) || resident <= 0) return {};
  std::vector<StallShare> shares;
  double sum = 0;
  for (const StallRow& row : stall_rows) {
    const double share = warps[row.stall] / resident;
    if (!std::isfinite(share) || share < 0) return {};
    sum += share;
    if (share > 0) shares.push_back({row.stall, share});
  }
  if (sum > most_accounted) return {};
  for (StallShare& one : shares) one.share /= std::max(1.0, sum);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const StallShare& a, const StallShare& b) { return a.share > b.share; });
  return shares;
}

std::string stall_sentence(const std::vector<StallShare>& stalls) {
  if (waiting(stalls) < least_waiting) return "";
  std::string text;
  std::size_t told = 0;
  double issued = 0;
  for (const StallShare& one : stalls) {
    if (one.stall == Stall::selected) issued = one.share;
    if (!waits(one) || told == reasons_told || (told > 0 && one.share < least_told)) continue;
    const StallRow& row = row_of(one.stall);
    text += fmt::format("{}{:.0f}% {}{} ({})", told == 0 ? "Warps waited " : ", ", 100 * one.share,
                        told == 0 ? "of their cycles " : "", row.waits, spaced(name_of(one.stall)));
    ++told;
  }
  return text + fmt::format("; they issued in {:.0f}%.", 100 * issued);
}

std::string stall_advice(const std::vector<StallShare>& stalls) {
  const auto first = std::find_if(stalls.begin(), stalls.end(), waits);
  if (first == stalls.end() || row_of(first->stall).asks.empty()) return "";
  return fmt::format(" The first asks for {}.", row_of(first->stall).asks);
}

double deal_waiting(std::vector<Bottleneck>& bottlenecks, const std::vector<StallShare>& stalls) {
  const double all = waiting(stalls), unexplained = share_of(bottlenecks, Resource::latency);
  if (all < least_waiting || unexplained <= 0) return 0;
  const bool tensor =
      share_of(bottlenecks, Resource::tensor_pipe) > share_of(bottlenecks, Resource::fp_pipe);
  for (const StallShare& one : stalls) {
    const StallRow& row = row_of(one.stall);
    for (int i = 0; i < row.known; ++i) {
      const double part = unexplained * one.share / all / row.known;
      Resource resource = row.resources[static_cast<std::size_t>(i)];
      if (resource == Resource::fp_pipe && tensor) resource = Resource::tensor_pipe;
      add(bottlenecks, Resource::latency, -part);
      add(bottlenecks, resource, part);
    }
  }
  return unexplained;
}

}  // namespace cupilot
