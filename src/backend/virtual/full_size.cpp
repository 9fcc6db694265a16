#include "backend/virtual/full_size.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/sampled.hpp"
#include "backend/virtual/timed.hpp"

namespace cupilot {
namespace {

// Warp instructions of all blocks of a case on ordinary content, on another, and of one block.
constexpr std::uint64_t ordinary_budget = 1'200'000, other_budget = 300'000,
                        block_budget = 12'000'000;
constexpr std::size_t drawn_blocks = 12;

// The last block, the first, the far corners of each side, then drawn ones.
std::vector<std::uint64_t> chosen_blocks(const std::array<std::int64_t, 3>& grid, Rng rng) {
  const auto linear = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<std::uint64_t>((z * grid[1] + y) * grid[0] + x);
  };
  const std::int64_t x = grid[0] - 1, y = grid[1] - 1, z = grid[2] - 1;
  std::vector<std::uint64_t> all = {linear(x, y, z), 0, linear(x, 0, 0), linear(0, y, 0),
                                    linear(0, 0, z)};
  for (std::size_t i = 0; i < drawn_blocks; ++i)
    all.push_back(linear(rng.below(grid[0]), rng.below(grid[1]), rng.below(grid[2])));
  std::set<std::uint64_t> known;
  std::erase_if(all, [&](std::uint64_t block) { return !known.insert(block).second; });
  return all;
}

// The launch to be sampled; null: the plan has several, or its blocks wait for each other.
const ResolvedLaunch* single_launch(const PlanRun& run, Dependence& seen) {
  if (run.plan.launches.size() != 1 || run.plan.launches[0].when != When::run ||
      run.plan.launches[0].cooperative)
    return nullptr;
  const ResolvedLaunch& launch = run.plan.launches[0];
  const EntryFacts* facts = find_entry(run.kernel, launch.entry);
  const ptx::Function* entry =
      facts == nullptr ? nullptr : run.programs.module().entry(facts->name);
  if (entry == nullptr) return nullptr;
  seen = dependence_of(run.programs.module(), *entry);
  return seen.waits || seen.tickets ? nullptr : &launch;
}

// Shares of all outputs that blocks wrote.
struct Shares {
  double least = 1, most = 0;
  std::size_t blocks = 0;

  void add(double one) {
    least = std::min(least, one);
    most = std::max(most, one);
    ++blocks;
  }
  // True if all blocks wrote alike, or nothing, and so little that the whole grid leaves elements
  // out.
  bool leaves_out(std::uint64_t grid) const {
    constexpr double alike = 1.001, all = 1 - 1e-9;
    return blocks > 4 && most <= alike * least && most * static_cast<double>(grid) < all;
  }
};

// The first of each cluster's: a block brings its whole cluster along, and one that adds to what it
// read may run only once.
std::vector<std::uint64_t> one_a_cluster(const ResolvedLaunch& launch,
                                         const std::vector<std::uint64_t>& blocks) {
  std::set<std::array<std::uint64_t, 3>> met;
  std::vector<std::uint64_t> out;
  for (const std::uint64_t block : blocks) {
    std::array<std::uint64_t, 3> cluster{};
    std::uint64_t left = block;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto extent = static_cast<std::uint64_t>(launch.grid[d]);
      cluster[d] =
          left % extent / static_cast<std::uint64_t>(std::max<std::int64_t>(launch.cluster[d], 1));
      left /= extent;
    }
    if (met.insert(cluster).second) out.push_back(block);
  }
  return out;
}

void say_unwritten(const Task& task, const Workload& workload, double share, CaseReport& report) {
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out) continue;
    const auto shape = shape_of(task, tensor, workload);
    if (!shape) continue;
    OutputReport output;
    output.tensor = tensor.name;
    output.elements = shape->elements;
    output.never_written =
        static_cast<std::int64_t>((1 - share) * static_cast<double>(shape->elements));
    report.outputs.push_back(std::move(output));
  }
}

}  // namespace

Result<bool> run_sampled(const PlanRun& run, const Case& what, CaseReport& report) {
  Dependence seen;
  const ResolvedLaunch* launch = single_launch(run, seen);
  if (launch == nullptr) return false;
  auto memory = VirtualMemory::sparse(run.task, what, run.plan);
  if (!memory) return memory.error();
  if (!*memory) return false;
  Result<Coverage> coverage = Coverage::of(run.task, what.workload, **memory);
  if (!coverage) return coverage.error();
  Shares shares;
  std::uint64_t spent = 0;
  std::size_t ran = 0;
  const auto blocks =
      one_a_cluster(*launch, chosen_blocks(launch->grid, Rng::of(what.content.seed, "full size")));
  const bool ordinary = what.content.kind == ContentKind::ordinary;
  for (const std::uint64_t block : blocks) {
    if (ran > 1 && spent > (ordinary ? ordinary_budget : other_budget)) break;
    LaunchRun how;
    how.blocks = {block};
    how.budget = block_budget;
    how.seed = what.content.seed;
    Attempt<ptx::Report> one =
        run_launch(run.context, run.kernel, run.programs, **memory, *launch, how);
    if (one.is_error()) return one.error();
    if (one.is_rejected()) return false;
    spent += one->warp_instructions;
    if (ptx::is_unended(*one)) break;
    for (const ptx::Fault& fault : one->faults)
      report.faults.push_back(
          {fault.code, fmt::format("{}: {}", launch->entry, fault.message), fault.where});
    if (!report.faults.empty()) return true;
    shares.add(coverage->take(**memory));
    ++ran;
  }
  if (ran < std::min<std::size_t>(2, blocks.size())) return false;
  if (seen.sums) return true;
  if (coverage->any() && shares.leaves_out(block_count(*launch))) {
    say_unwritten(run.task, what.workload, shares.most * static_cast<double>(block_count(*launch)),
                  report);
    return true;
  }
  return compare_part(run.context, run.task, **memory, what.workload, what.content,
                      Rng::of(what.content.seed, "full size", 1), 2 * drawn_blocks, report.outputs);
}

}  // namespace cupilot
