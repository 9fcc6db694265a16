// Schedules the warps of a cluster's blocks in an order drawn from the seed; when none can run,
// asynchronous copies finish, waits expire, and warps that then still stand are stuck.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ptx/machine/block.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

// A warp gives way after so many instructions, so that one that waits for another by spinning lets
// it run.
constexpr std::uint64_t turn = 20000;
// Warps go on side by side where the order of loads is asked for.
constexpr std::uint64_t short_turn = 200;
// Rounds of expired waits without any progress after which a kernel hangs.
constexpr std::uint32_t patience = 16;
// Instructions that a pending copy lets the rest run on without it.
constexpr std::uint64_t longest_delay = 400000;

void shuffle(std::vector<std::uint32_t>& order, std::uint64_t state) {
  for (std::size_t i = order.size(); i > 1; --i) {
    state = mixed(state + 0x9e3779b97f4a7c15ull);
    std::swap(order[i - 1], order[state % i]);
  }
}

Warp* first_in(Cluster& cluster, WarpState state) {
  for (auto& block : cluster.blocks) {
    for (Warp& warp : block->warps) {
      if (warp.state == state) return &warp;
    }
  }
  return nullptr;
}

// "waits forever for A, as other warps do for B and C"
std::string starvation(const Cluster& cluster, std::uint32_t first) {
  std::string out = "waits forever for " + describe(cluster, cluster.mbarriers[first]);
  std::vector<std::uint32_t> named{first};
  for (const auto& block : cluster.blocks) {
    for (const Warp& warp : block->warps) {
      if (warp.state != WarpState::polling || named.size() >= 4) continue;
      if (std::find(named.begin(), named.end(), warp.poll_at) != named.end()) continue;
      out += (named.size() == 1 ? ", as other warps do for " : " and ") +
             describe(cluster, cluster.mbarriers[warp.poll_at]);
      named.push_back(warp.poll_at);
    }
  }
  return out;
}

// The first warp that waits for groups of wgmma, of one that has ended if there is such.
Warp* first_owed(Cluster& cluster) {
  Warp* owed = nullptr;
  for (auto& block : cluster.blocks) {
    for (Warp& warp : block->warps) {
      if (warp.state != WarpState::waiting || warp.barrier != waits_for_products) continue;
      if (behind_in_group(warp)->state == WarpState::done) return &warp;
      if (owed == nullptr) owed = &warp;
    }
  }
  return owed;
}

// A wait for groups that a warp ended without explains more than a starved mbarrier, and that more
// than the barriers behind it.
void stuck(Cluster& cluster) {
  cluster.launch->stuck = true;
  Warp *owed = first_owed(cluster), *starved = first_in(cluster, WarpState::polling);
  if (owed != nullptr && (starved == nullptr || behind_in_group(*owed)->state == WarpState::done))
    return fault_here(*owed, "run.hang", product_wait(*owed));
  if (starved != nullptr) {
    return fault_here(*starved, "run.hang",
                      starvation(cluster, starved->poll_at) +
                          (owed != nullptr ? "; " + product_wait(*owed) : ""));
  }
  Warp* warp = first_in(cluster, WarpState::waiting);
  if (warp == nullptr) return;
  Block& block = *warp->block;
  if (warp->barrier >= block.barriers.size())
    return fault_here(*warp, "run.divergence", waiting_reason(*warp));
  const Barrier& barrier = block.barriers[warp->barrier];
  const std::uint32_t wanted =
      barrier.expected != 0 ? barrier.expected : block.thread_count - block.exited_threads;
  fault_here(*warp, "run.divergence",
             fmt::format("barrier {} waits for {} threads but only {} ever come", warp->barrier,
                         wanted, barrier.arrived));
}

void out_of_budget(Cluster& cluster) {
  const std::uint64_t budget = cluster.launch->options->instruction_budget;
  std::string message = fmt::format("the launch passed its budget of {} warp instructions", budget);
  Warp* chosen = nullptr;
  for (auto& block : cluster.blocks) {
    for (Warp& warp : block->warps) {
      if (warp.state == WarpState::done) continue;
      if (chosen == nullptr || (chosen->polled == 0 && warp.polled != 0)) chosen = &warp;
    }
  }
  if (chosen == nullptr) return;
  if (chosen->polled != 0)
    message += ", waiting for " + describe(cluster, cluster.mbarriers[chosen->poll_at]);
  fault_here(*chosen, "run.budget", message);
}

// One turn of one warp; false: the cluster is at its end.
bool take_turn(Cluster& cluster, Warp& warp) {
  LaunchContext& launch = *cluster.launch;
  const std::int64_t left = launch.budget.load(std::memory_order_relaxed);
  if (launch.options->stop.wanted()) {
    launch.stopped = launch.halt = true;
  } else if (left <= 0) {
    out_of_budget(cluster);
    launch.halt = true;
  } else {
    const std::uint64_t most = launch.options->note_loads ? short_turn : turn;
    const std::uint64_t took =
        run_warp(warp, std::min<std::uint64_t>(most, static_cast<std::uint64_t>(left)));
    cluster.used += took;
    cluster.worker->instructions += took;
    launch.budget.fetch_sub(static_cast<std::int64_t>(took), std::memory_order_relaxed);
  }
  return !warp.block->faulted && !launch.halt.load(std::memory_order_relaxed);
}

// A warp that gave way may be put off for some rounds, so that who comes next is not who came
// before.
bool sits_out(Warp& warp) {
  if (!warp.gave_way) return false;
  warp.drawn = mixed(warp.drawn) | 1;
  warp.gave_way = ((warp.drawn >> 40) & 1) != 0;
  return warp.gave_way;
}

// Nothing can run: something asynchronous must happen, or waits expire. False: it is stuck.
bool relieve(Cluster& cluster) {
  if (finish_some(cluster)) return true;
  return cluster.idle_rounds++ < patience && expire_waits(cluster);
}

bool all_done(const Cluster& cluster) {
  return std::all_of(cluster.blocks.begin(), cluster.blocks.end(),
                     [](const auto& block) { return block->finished; });
}

bool faulted(const Cluster& cluster) {
  return std::any_of(cluster.blocks.begin(), cluster.blocks.end(),
                     [](const auto& block) { return block->faulted; });
}

}  // namespace

void start_cluster(Cluster& cluster, Worker& worker, std::uint64_t index) {
  LaunchContext& launch = *worker.launch;
  const Dim3 &grid = launch.launch->grid, &size = launch.cluster;
  const Dim3 clusters{grid.x / size.x, grid.y / size.y, grid.z / size.z};
  cluster.launch = &launch;
  cluster.worker = &worker;
  cluster.position = {static_cast<std::uint32_t>(index % clusters.x),
                      static_cast<std::uint32_t>(index / clusters.x % clusters.y),
                      static_cast<std::uint32_t>(index / (std::uint64_t{clusters.x} * clusters.y))};
  cluster.mbarriers.clear();
  cluster.slots = 1;
  cluster.marks.assign(1, Mark{});
  cluster.far_copies.clear();
  cluster.barrier = {};
  cluster.relaxed.clear();
  cluster.pending.clear();
  cluster.idle_rounds = 0;
  cluster.used = cluster.pending_since = 0;
  cluster.finished = false;
  cluster.state = mixed(launch.options->seed ^ mixed(index + 1));
  const std::size_t count = std::size_t{size.x} * size.y * size.z;
  while (cluster.blocks.size() < count) cluster.blocks.push_back(std::make_unique<Block>());
  cluster.order.resize(count);
  std::iota(cluster.order.begin(), cluster.order.end(), 0u);
  if (launch.options->seed != 0) shuffle(cluster.order, cluster.state);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    Block& block = *cluster.blocks[rank];
    start_block(block, cluster, rank);
    block.order.resize(launch.warps);
    std::iota(block.order.begin(), block.order.end(), 0u);
    if (launch.options->seed != 0)
      shuffle(block.order, mixed(launch.options->seed ^ mixed(block.index + 1)));
  }
}

void run_cluster(Cluster& cluster, std::uint64_t fuel) {
  const std::uint64_t end = fuel > ~0ull - cluster.used ? ~0ull : cluster.used + fuel;
  bool gave_way = false;
  while (!cluster.finished && cluster.used < end && !gave_way) {
    bool ran = false;
    for (const std::uint32_t rank : cluster.order) {
      Block& block = *cluster.blocks[rank];
      for (const std::uint32_t index : block.order) {
        Warp& warp = block.warps[index];
        if (warp.state != WarpState::ready) continue;
        ran = true;
        if (sits_out(warp)) {
          gave_way = true;
          continue;
        }
        if (!take_turn(cluster, warp)) {
          cluster.finished = true;
          return;
        }
        gave_way |= warp.gave_way;
      }
    }
    if (all_done(cluster) || faulted(cluster)) {
      cluster.finished = true;
    } else if (!ran && !relieve(cluster)) {
      stuck(cluster);
      cluster.finished = true;
    } else if (!cluster.pending.empty() && cluster.used - cluster.pending_since > longest_delay) {
      finish_some(cluster);
    }
  }
}

}  // namespace cupilot::ptx
