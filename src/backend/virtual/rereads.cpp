#include "backend/virtual/rereads.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/sampled.hpp"
#include "ptx/syntax/ways.hpp"

namespace cupilot {
namespace {

// Counts marks of places before another (a Fenwick tree).
class Marks {
 public:
  explicit Marks(std::size_t places) : sums_(places + 1) {}
  void add(std::size_t place, std::int32_t what) {
    for (std::size_t i = place + 1; i < sums_.size(); i += i & -i) sums_[i] += what;
  }
  std::int64_t before(std::size_t place) const {
    std::int64_t sum = 0;
    for (std::size_t i = place; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::int32_t> sums_;
};

}  // namespace

void add_rereads(std::span<const std::uint64_t> lines, std::span<const std::uint64_t> others,
                 RereadSums& sums) {
  Marks last(lines.size());  // the newest load of each line
  std::unordered_map<std::uint64_t, std::size_t> newest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::binary_search(others.begin(), others.end(), lines[i])) continue;
    const auto [at, first] = newest.emplace(lines[i], i);
    if (!first) {
      const auto between = static_cast<double>(last.before(i) - last.before(at->second + 1));
      sums.spans += between;
      sums.squares += between * between;
      last.add(at->second, -1);
      at->second = i;
    }
    last.add(i, 1);
  }
}

namespace {

double cluster_size(const ResolvedLaunch& launch) {
  double size = 1;
  for (const std::int64_t side : launch.cluster)
    size *= static_cast<double>(std::max<std::int64_t>(side, 1));
  return size;
}

// `loaded`: by clusters side by side, `size` blocks each.
void put_loads(const std::vector<std::vector<std::uint64_t>>& loaded, double size,
               SideBySide& seen) {
  constexpr double line_bytes = 8 * 128;  // one of eight lines is drawn
  std::vector<std::uint64_t> all, shared;
  for (const std::vector<std::uint64_t>& one : loaded) {
    const std::set<std::uint64_t> own(one.begin(), one.end());
    all.insert(all.end(), own.begin(), own.end());
  }
  if (all.empty()) return;
  std::sort(all.begin(), all.end());
  const auto loads = static_cast<double>(all.size());
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[i - 1]) shared.push_back(all[i]);
  }
  all.erase(std::unique(all.begin(), all.end()), all.end());
  seen.distinct_loads = static_cast<double>(all.size()) / loads;
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  const double clusters = static_cast<double>(loaded.size());
  seen.shared_bytes = line_bytes * static_cast<double>(shared.size());
  seen.own_bytes = line_bytes * static_cast<double>(all.size() - shared.size()) / (size * clusters);
  RereadSums sums;
  for (const std::vector<std::uint64_t>& one : loaded) add_rereads(one, shared, sums);
  seen.reread_bytes = line_bytes * sums.lines() / (size * clusters);
  seen.reread_span = line_bytes * sums.span() / size;
}

// The kernel without what its loads' addresses do not need; `programs`: there is nothing to leave
// out.
KernelPrograms& for_loads(const CompiledKernel& kernel, KernelPrograms& programs,
                          const ResolvedLaunch& launch, std::optional<KernelPrograms>& bare) {
  const EntryFacts* facts = find_entry(kernel, launch.entry);
  const ptx::Module& module = programs.module();
  const ptx::Function* entry = facts == nullptr ? nullptr : module.entry(facts->name);
  if (entry == nullptr) return programs;
  auto left =
      ptx::without_values(module, static_cast<std::uint32_t>(entry - module.functions.data()));
  if (!left) return programs;
  return bare.emplace(std::make_shared<const ptx::Module>(std::move(*left)));
}

}  // namespace

Attempt<SideBySide> loads_side_by_side(const VirtualContext& context, const CompiledKernel& kernel,
                                       KernelPrograms& programs, VirtualMemory& memory,
                                       const ResolvedLaunch& launch) {
  constexpr std::uint64_t window = 16;
  const std::uint64_t blocks = block_count(launch);
  const std::uint64_t first = blocks > window ? (blocks - window) / 3 : 0;
  std::vector<std::uint64_t> near(std::min(blocks, window));
  std::iota(near.begin(), near.end(), first);
  LaunchRun how;
  how.budget = 2 * counting_budget;
  how.checks = how.products = false;
  how.count = how.note_loads = true;
  const std::vector<std::uint64_t> clusters = one_a_cluster(launch, near);
  std::vector<std::vector<std::uint64_t>> loaded;
  std::uint64_t spent = 0;
  double sectors = 0;
  std::optional<KernelPrograms> bare;
  KernelPrograms& ran = for_loads(kernel, programs, launch, bare);
  for (const std::uint64_t block : clusters) {
    how.blocks = {block};
    Attempt<ptx::Report> report = run_launch(context, kernel, ran, memory, launch, how);
    if (!report) return report.failure();
    spent += report->warp_instructions;
    if (!report->faults.empty()) break;
    loaded.push_back(std::move(report->loaded));
    // The interpreter scales one block up to the grid.
    sectors +=
        report->counts[Counter::global_load_sectors].value * (1 / static_cast<double>(blocks));
    if (spent > counting_budget && loaded.size() > 1) break;  // two tell what is one's own
  }
  SideBySide seen;
  const bool all = loaded.size() == clusters.size();
  if (!all && loaded.size() < 2) return seen;
  put_loads(loaded, cluster_size(launch), seen);
  seen.loaded_bytes = 32 * sectors / static_cast<double>(loaded.size());
  if (!all || spent > counting_budget) seen.distinct_loads = 0;
  return seen;
}

}  // namespace cupilot
