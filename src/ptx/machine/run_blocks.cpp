#include "ptx/machine/block.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_set>

#include <fmt/format.h>

#include "base/phases.hpp"
#include "ptx/machine/block_order.hpp"
#include "ptx/machine/cluster.hpp"
#include "ptx/machine/older_value.hpp"
#include "ptx/machine/standstill.hpp"

namespace cupilot::ptx {
namespace {

// Blocks whose memory is larger run on one thread: it is copied first.
constexpr std::uint64_t most_kept_bytes = 512ull << 20;

// Clusters that a program keeps for its next launch, of each host thread.
constexpr std::size_t most_spare = 32;

// Hands out the clusters to run: single blocks mostly.
class ClusterQueue {
 public:
  ClusterQueue(const Launch& launch, const Dim3& size, const ExecuteOptions& options) {
    const Dim3& g = launch.grid;
    const std::uint64_t total = std::uint64_t{g.x} * g.y * g.z;
    std::unordered_set<std::uint64_t> known;
    for (const std::uint64_t block : options.blocks) {
      const std::uint64_t x = block % g.x / size.x, y = block / g.x % g.y / size.y,
                          z = block / (std::uint64_t{g.x} * g.y) / size.z;
      const std::uint64_t cluster = x + g.x / size.x * (y + g.y / size.y * z);
      if (known.insert(cluster).second) list_.push_back(cluster);
    }
    count_ = list_.empty() ? total / (std::uint64_t{size.x} * size.y * size.z) : list_.size();
    if (options.seed != 0 && count_ > 1) scatter(options.seed);
  }
  std::uint64_t clusters() const { return count_; }
  void restart() { next_ = 0; }
  bool empty() const { return next_ >= count_; }
  std::optional<std::uint64_t> take() {
    const std::uint64_t i = next_.fetch_add(1);
    if (i >= count_) return std::nullopt;
    if (!list_.empty()) return list_[i];
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * step_ + first_) %
                                      count_);
  }

 private:
  // Devices promise no order of blocks: begin anywhere and go by a step that reaches all.
  void scatter(std::uint64_t seed) {
    first_ = mixed(seed) % count_;
    step_ = 1 + mixed(seed + 1) % (count_ - 1);
    while (std::gcd(step_, count_) != 1) ++step_;
  }

  std::vector<std::uint64_t> list_;
  std::uint64_t count_ = 0, first_ = 0, step_ = 1;
  std::atomic<std::uint64_t> next_{0};
};

// Ends a launch in which every warp that can run asks for what none changes. On several threads
// others may change it: one thread tells.
void end_standstill(LaunchContext& launch, Warp& warp, bool more) {
  if (launch.parallel) {
    launch.conflict = true;
  } else if (launch.faults.empty()) {  // else they wait for what a block at fault left undone
    std::string message =
        "asks for ever: all warps that can run only read, again and again, what none of them "
        "changes";
    if (more)
      message += fmt::format(", and blocks that have not begun wait for one of the {} to end",
                             launch.options->resident);
    fault(warp, *warp.asked, static_cast<std::uint32_t>(__builtin_ctz(warp.active)), "run.hang",
          std::move(message));
  }
  launch.halt = true;
}

// Runs clusters until none is left, in turn those that do not end in one turn, at most `resident`
// of them. One begins when its first turn comes: of those that end in it one is alive at a time.
// `spare`: such as have ended, taken from and added to.
void work(Worker& worker, ClusterQueue& queue, std::uint32_t resident,
          std::vector<std::unique_ptr<Cluster>>& spare) {
  const std::atomic<bool>& halt = worker.launch->halt;
  std::vector<std::unique_ptr<Cluster>> alive;
  // False: it has ended.
  const auto turn = [&](std::unique_ptr<Cluster>& cluster) {
    run_cluster(*cluster, resident == 1 ? ~0ull : 200000);
    if (cluster->finished) spare.push_back(std::move(cluster));
    return cluster != nullptr;
  };
  bool more = true;
  Standstill last;
  while (!halt.load(std::memory_order_relaxed)) {
    std::size_t places = resident - alive.size();
    std::erase_if(alive, [&](std::unique_ptr<Cluster>& cluster) { return !turn(cluster); });
    for (; more && places > 0 && !halt.load(std::memory_order_relaxed); --places) {
      const std::optional<std::uint64_t> index = queue.take();
      if (!index) {
        more = false;
        break;
      }
      if (spare.empty()) spare.push_back(std::make_unique<Cluster>());
      std::unique_ptr<Cluster> cluster = std::move(spare.back());
      spare.pop_back();
      start_cluster(*cluster, worker, *index);
      worker.blocks += cluster->blocks.size();
      if (turn(cluster)) alive.push_back(std::move(cluster));
    }
    if (alive.empty() && !more) return;
    if (!worker.launch->options->alone) continue;
    if (Warp* warp = standing_still(last, alive))
      end_standstill(*worker.launch, *warp, !queue.empty());
  }
}

std::vector<Worker> run_on(LaunchContext& context, std::uint32_t threads, ClusterQueue& queue) {
  Program& program = *context.program;
  const ExecuteOptions& options = *context.options;
  context.parallel = threads > 1;
  context.budget =
      static_cast<std::int64_t>(std::min<std::uint64_t>(options.instruction_budget, 1ull << 62));
  watch_blocks(context);
  watch_values(context, gives_way(options));
  reset_variables(program);
  program.spare.resize(std::max<std::size_t>(program.spare.size(), threads));
  program.memos.resize(program.spare.size());
  ++program.launches;
  std::vector<Worker> workers(threads);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& w = workers[i];
    w.launch = &context;
    w.counts.resize(program.step_count);
    w.rounds.resize(program.loops.size());
    w.memos = std::move(program.memos[i]);
    w.memos.resize(std::size_t{2} * program.step_count);
    if (options.by_instruction) w.traffic.resize(program.step_count);
  }
  const std::uint32_t size = context.cluster.x * context.cluster.y * context.cluster.z;
  const std::uint32_t resident = std::max(1u, options.resident / (threads * size));
  std::vector<CpuSpent> spent(threads);
  std::vector<std::jthread> pool;
  try {
    for (std::uint32_t i = 1; i < threads; ++i) {
      pool.emplace_back([&, i] {
        spent[i] = helping_as_device([&] { work(workers[i], queue, resident, program.spare[i]); });
      });
    }
  } catch (const std::system_error&) {
    // The machine gives no more threads: fewer take the same blocks from the queue.
  }
  work(workers[0], queue, resident, program.spare[0]);
  pool.clear();
  for (std::size_t i = 0; i < workers.size(); ++i) program.memos[i] = std::move(workers[i].memos);
  for (auto& spare : program.spare) spare.resize(std::min(spare.size(), most_spare));
  for (const CpuSpent& one : spent) credit(one);
  return workers;
}

// Threads that a launch may be spread over: one where its blocks are known to wait for or add to
// each other.
std::uint32_t threads_for(const LaunchContext& context, const ClusterQueue& queue) {
  const ExecuteOptions& options = *context.options;
  const Dim3& grid = context.launch->grid;
  const bool shared = context.launch->cooperative || context.program->updates_global;
  const bool wanted = options.threads > 1 && (options.check_races || options.spread_unchecked);
  if (!wanted || shared || std::uint64_t{grid.x} * grid.y * grid.z >= 1u << 28) return 1;
  const DeviceMemory& memory = *context.memory;
  if (memory.writable_bytes() > most_kept_bytes) return 1;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i].later) return 1;
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>({options.threads, queue.clusters(), 256}));
}

}  // namespace

std::vector<Worker> run_blocks(LaunchContext& context) {
  ClusterQueue queue(*context.launch, context.cluster, *context.options);
  const std::uint32_t threads = threads_for(context, queue);
  if (threads <= 1) return run_on(context, 1, queue);
  // Keeping and watching hundreds of megabytes takes a good part of a second each.
  const auto stopped = [&context] { return context.stopped = context.options->stop.wanted(); };
  if (stopped()) return {};
  const DeviceMemory::Kept kept = context.memory->keep();
  if (stopped()) return {};
  context.memory->watch_readers(true);
  context.program->constants.watch_readers(true);
  std::vector<Worker> workers = run_on(context, threads, queue);
  context.memory->watch_readers(false);
  context.program->constants.watch_readers(false);
  const bool ended_well = !context.conflict && context.faults.empty() && context.budget > 0;
  if (ended_well || context.stopped) return workers;
  context.memory->restore(kept);
  if (context.options->check_races) {
    context.memory->forget_threads();
    context.memory->watch_threads(context.program->global_shift);
  }
  context.faults.clear();
  context.remarks.clear();
  context.dependence.clear();
  context.independent = true;
  context.halt = context.conflict = false;
  queue.restart();
  return run_on(context, 1, queue);
}

}  // namespace cupilot::ptx
