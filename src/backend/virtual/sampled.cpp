#include "backend/virtual/sampled.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <cupilot/parts/rejection.hpp>

#include "backend/virtual/counts.hpp"

namespace cupilot {
namespace {

// Returns the counts of `asked` blocks: the interpreter scales a part of a grid up to the whole,
// and runs the clusters of those asked for.
Counts of_blocks(const ptx::Report& report, std::uint64_t asked, std::uint64_t blocks) {
  Counts counts = report.counts;
  const double share = static_cast<double>(asked) / static_cast<double>(blocks);
  for (Count& count : counts.all)
    count = {count.value * share, count.low * share, count.high * share, count.how};
  return counts;
}

// The share of blocks that may be unlike those sampled at the middle and the end of each side: the
// other end's. Along a grid of one dimension, whose order the kernel may have changed, any.
double unlike_share(const std::array<std::int64_t, 3>& grid, bool columns) {
  const std::size_t deep = grid[2] > 1 ? 2 : 1;
  double alike = 1;
  int sides = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] == 1 || (columns && i == deep)) continue;
    ++sides;
    alike *= std::max(0.0, 1 - 2 / static_cast<double>(grid[i]));
  }
  return sides <= 1 ? 1 : 1 - alike;
}

// Sum of samples' counts, each times its weight. The interval reaches as far towards the least and
// the most of a sample as blocks (a share of all) may differ, and at least one part in the root of
// their number, for what no sample met: an edge of the tiles. Samples that were not run are counted
// as the first, and widen it.
Counts weighted(const std::vector<Counts>& ran, const std::vector<Sample>& samples, double share) {
  Counts sum;
  sum.source = CounterSource::interpreted;
  double missing = 0, total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    total += samples[i].weight;
    if (i >= ran.size()) missing += samples[i].weight;
  }
  for (std::size_t c = 0; c < counter_count; ++c) {
    double value = 0, least = ran[0].all[c].value, most = least;
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const double one = ran[i].all[c].value;
      value += one * (samples[i].weight + (i == 0 ? missing : 0));
      least = std::min(least, one);
      most = std::max(most, one);
    }
    const double slack = std::min(1.0, missing / total + share);
    if (least == most) value = std::round(total) * least;
    const double unmet = share > 0 ? value / std::sqrt(total) : 0;
    const double below = std::max(unmet, slack * (value - least * std::round(total))),
                 above = std::max(unmet, slack * (most * std::round(total) - value));
    sum.all[c] = {value, value - below, value + above, CountHow::sampled};
  }
  return sum;
}

// Samples of a smaller grid standing for those of the full one: at the same places where both grids
// have them.
std::vector<Sample> rescaled(std::vector<Sample> samples, const std::array<std::int64_t, 3>& grid,
                             const std::array<std::int64_t, 3>& full, bool columns) {
  if (grid == full) return samples;
  const std::vector<Sample> whole = choose_samples(full, columns);
  const double ratio = static_cast<double>(full[0] * full[1] * full[2]) /
                       static_cast<double>(grid[0] * grid[1] * grid[2]);
  bool alike = whole.size() == samples.size();
  for (std::size_t i = 0; alike && i < samples.size(); ++i)
    alike = whole[i].blocks.size() == samples[i].blocks.size();
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].weight = alike ? whole[i].weight : samples[i].weight * ratio;
  return samples;
}

// Instructions of the block that has most over the mean of all.
double unevenness(const std::vector<Counts>& ran, const std::vector<Sample>& samples) {
  double sum = 0, weights = 0, most = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    const auto blocks = static_cast<double>(samples[i].blocks.size());
    const double one = ran[i][Counter::warp_instructions].value / blocks;
    sum += one * blocks * samples[i].weight;
    weights += blocks * samples[i].weight;
    most = std::max(most, one);
  }
  return sum > 0 ? most * weights / sum : 1;
}

// Lines of global memory, and sectors of them.
struct Stored {
  double lines = 0, sectors = 0;

  void add(const Stored& other, double weight) {
    lines += weight * other.lines;
    sectors += weight * other.sectors;
  }
  double ratio() const { return sectors > 0 ? 4 * lines / sectors : 0; }  // ModelInput's
};

// One launch, some blocks of it at a time.
class BlockRunner {
 public:
  BlockRunner(const VirtualContext& context, const CompiledKernel& kernel, KernelPrograms& programs,
              VirtualMemory& memory, const ResolvedLaunch& launch,
              std::uint64_t budget = 2 * counting_budget)
      : context_(context),
        kernel_(kernel),
        programs_(programs),
        memory_(memory),
        launch_(launch),
        budget_(budget) {}

  // nullopt: past the budget.
  Attempt<std::optional<Counts>> run(std::vector<std::uint64_t> blocks, bool products = true) {
    LaunchRun how;
    const std::uint64_t asked = blocks.size();
    how.blocks = std::move(blocks);
    how.budget = budget_;
    how.checks = false;
    how.count = how.note_stores = true;
    how.products = products;
    Attempt<ptx::Report> report = run_launch(context_, kernel_, programs_, memory_, launch_, how);
    if (!report) return report.failure();
    if (ptx::is_unended(*report)) return std::optional<Counts>();
    if (!report->faults.empty()) return ptx::rejection_of(*report);
    spent_ += report->warp_instructions;
    add(chain_, chain_of(*report), static_cast<double>(asked));
    chained_ += static_cast<double>(asked);
    note_stored(report->stored);
    return std::optional<Counts>(of_blocks(*report, asked, block_count(launch_)));
  }
  std::uint64_t spent() const { return spent_; }
  // Returns what the blocks run since the last call stored to, those of each run together.
  Stored take_stored() { return std::exchange(stored_, {}); }
  // Returns the mean of the blocks run since the last call.
  ptx::Chain take_chain() {
    ptx::Chain mean;
    add(mean, std::exchange(chain_, {}), 1 / std::max(1.0, std::exchange(chained_, 0)));
    return mean;
  }

 private:
  // Most blocks issue what the one before them did.
  const ptx::Chain& chain_of(const ptx::Report& report) {
    if (last_lines_.empty() || last_blocks_ != report.blocks_run ||
        !std::equal(report.lines.begin(), report.lines.end(), last_lines_.begin(),
                    last_lines_.end(), issued_alike)) {
      last_chain_ = chain_of_launch(kernel_, programs_, launch_, report);
      last_lines_ = report.lines;
      last_blocks_ = report.blocks_run;
    }
    return last_chain_;
  }
  static bool issued_alike(const ptx::LineCount& a, const ptx::LineCount& b) {
    return a.function == b.function && a.instruction == b.instruction && a.warps == b.warps &&
           a.threads == b.threads;
  }

  const VirtualContext& context_;
  const CompiledKernel& kernel_;
  KernelPrograms& programs_;
  VirtualMemory& memory_;
  const ResolvedLaunch& launch_;
  std::uint64_t budget_;
  void note_stored(const std::vector<std::uint64_t>& stored) {
    std::map<std::uint64_t, std::uint64_t> sectors;
    for (const std::uint64_t one : stored) sectors[one / 16] |= one % 16;
    for (const auto& [line, mask] : sectors) stored_.sectors += std::popcount(mask);
    stored_.lines += static_cast<double>(sectors.size());
  }

  std::uint64_t spent_ = 0;
  ptx::Chain chain_, last_chain_;
  std::vector<ptx::LineCount> last_lines_;  // of last_chain_
  std::uint64_t last_blocks_ = 0;
  double chained_ = 0;
  Stored stored_;
};

// A column runs in order, its last block apart: that one finds all others arrived and does what is
// left to the last.
Attempt<std::optional<Counts>> run_column(BlockRunner& runner, std::vector<std::uint64_t> blocks,
                                          double& last_requests) {
  const std::uint64_t last = blocks.back();
  const double others = static_cast<double>(blocks.size() - 1);
  blocks.pop_back();
  Attempt<std::optional<Counts>> first = runner.run(std::move(blocks));
  if (!first || !*first) return first;
  Attempt<std::optional<Counts>> end = runner.run({last});
  if (!end || !*end) return end;
  const auto requests = [](const Counts& counts) {
    return counts[Counter::global_load_requests].value;
  };
  last_requests = std::max(last_requests, requests(**end) - requests(**first) / others);
  Counts both = **first;
  add_counts(both, **end);
  return std::optional<Counts>(std::move(both));
}

// Returns the work by which samples are compared with the grid.
double work_of(const Counts& counts, const Sample& sample) {
  return counts[Counter::warp_instructions].value / static_cast<double>(sample.blocks.size());
}
bool stores(const Counts& counts) {
  return counts[Counter::global_store_requests].value > 0 ||
         counts[Counter::atomic_requests].value > 0;
}

// True if a block drawn at random has more work than all samples.
Attempt<bool> outdone(BlockRunner& runner, const std::vector<Counts>& ran,
                      const std::vector<Sample>& samples, const Sample& witness) {
  constexpr double beyond_chance = 1.1;
  double most = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) most = std::max(most, work_of(ran[i], samples[i]));
  Attempt<std::optional<Counts>> counts = runner.run(witness.blocks);
  if (!counts) return counts.failure();
  return !*counts || work_of(**counts, witness) > beyond_chance * most;
}

// True if one of many blocks drawn at random stores anything.
Attempt<bool> some_store(BlockRunner& runner, const std::array<std::int64_t, 3>& grid,
                         const Rng& rng) {
  constexpr std::uint64_t drawn = 16;
  for (std::uint64_t i = 0; i < drawn; ++i) {
    Attempt<std::optional<Counts>> counts = runner.run(witness_of(grid, false, rng.fork(i)).blocks);
    if (!counts) return counts.failure();
    if (!*counts || stores(**counts)) return true;
  }
  return false;
}

constexpr double nearly_all = 0.95;  // of the outputs, as told by some blocks

// The part of the outputs that samples wrote, and the conclusion for the whole grid.
struct Written {
  std::set<std::uint64_t> blocks{};
  double share = 0;   // of the outputs, by these blocks
  double scaled = 0;  // each sample's as often as it stands in the grid
  double weight = 0;  // blocks of the grid that the samples stand for
  double most = 0;    // a block's of those that wrote most

  void add(const Sample& one, double wrote) {
    blocks.insert(one.blocks.begin(), one.blocks.end());
    share += wrote;
    scaled += wrote * one.weight;
    weight += static_cast<double>(one.blocks.size()) * one.weight;
    most = std::max(most, wrote / static_cast<double>(one.blocks.size()));
  }
  double of_grid(std::uint64_t count) const {
    return weight > 0 ? scaled / weight * static_cast<double>(count) : 0;
  }
};

// Blocks drawn one from each of equal stretches of a grid, for grids whose blocks differ by more
// than their place: they take turns in their work, as the phases of a transposed convolution do, or
// some have none.
struct Drawn {
  std::vector<Counts> ran;  // of some blocks each
  std::vector<Sample> samples;
  std::size_t blocks = 0;
};
constexpr std::size_t fewest_drawn = 16;

struct DrawRules {
  std::uint64_t stretches = 256, most_together = 8;
  bool products = true;  // computed too
};

// Goes through the stretches in steps, so that those which the budget reaches lie all over the
// grid. A run goes over what is known of the memory: of large grids it takes several blocks.
Attempt<Drawn> draw_blocks(BlockRunner& runner, const ResolvedLaunch& launch, double full_blocks,
                           Rng rng, const DrawRules& rules) {
  const std::uint64_t stretches = rules.stretches,
                      step = 159 * stretches / 256 | 1;  // golden ratio
  const std::uint64_t blocks = block_count(launch), count = std::min(stretches, blocks),
                      together =
                          std::clamp<std::uint64_t>(blocks / stretches, 1, rules.most_together),
                      limit = runner.spent() + counting_budget;
  Drawn drawn;
  Sample some;
  for (std::uint64_t i = 0; i < stretches && runner.spent() < limit; ++i) {
    const std::uint64_t which = i * step % stretches;
    if (which >= count) continue;
    const std::uint64_t first = which * blocks / count, end = (which + 1) * blocks / count;
    some.blocks.push_back(first + rng.below(static_cast<std::int64_t>(end - first)));
    if (some.blocks.size() < together) continue;
    std::sort(some.blocks.begin(), some.blocks.end());
    Attempt<std::optional<Counts>> counts = runner.run(some.blocks, rules.products);
    if (!counts) return counts.failure();
    if (!*counts) break;
    drawn.blocks += some.blocks.size();
    drawn.ran.push_back(std::move(**counts));
    drawn.samples.push_back(std::exchange(some, {}));
  }
  for (Sample& one : drawn.samples) one.weight = full_blocks / static_cast<double>(drawn.blocks);
  return drawn;
}

// The mean of drawn blocks, for all; the interval has two standard errors to each side.
Counts mean_of(const Drawn& drawn, double full_blocks) {
  Counts all;
  all.source = CounterSource::interpreted;
  const auto n = static_cast<double>(drawn.ran.size());
  for (std::size_t c = 0; c < counter_count; ++c) {
    double sum = 0, square = 0;
    for (const Counts& one : drawn.ran) sum += one.all[c].value;
    for (const Counts& one : drawn.ran)
      square += (one.all[c].value - sum / n) * (one.all[c].value - sum / n);
    const double value = sum / static_cast<double>(drawn.blocks) * full_blocks,
                 slack = sum > 0 ? 2 * std::sqrt(square * n / (n - 1)) / sum : 0;
    all.all[c] = {value, value * std::max(0.0, 1 - slack), value * (1 + slack), CountHow::sampled};
  }
  return all;
}

// True if the blocks of a grid leave a part of the outputs unwritten: others than those that ran,
// drawn at random, write too little for all to write everything. Those of a kind that no draw met,
// rows that a grid with a stride has left in its last round, are taken for those that wrote most.
Attempt<bool> leaves_bare(BlockRunner& runner, VirtualMemory& memory, Coverage& coverage,
                          const ResolvedLaunch& launch, const Written& written, const Rng& rng) {
  constexpr std::size_t drawn = 48;
  constexpr double doubt = 0.01;
  const std::uint64_t blocks = block_count(launch);
  std::set<std::uint64_t> ran = written.blocks;
  std::vector<double> shares;
  for (std::uint64_t i = 0; ran.size() < blocks && shares.size() < drawn; ++i) {
    Sample one = witness_of(launch.grid, false, rng.fork(i));
    while (ran.contains(one.blocks[0])) one.blocks[0] = (one.blocks[0] + 1) % blocks;
    ran.insert(one.blocks[0]);
    Attempt<std::optional<Counts>> counts = runner.run(one.blocks);
    if (!counts) return counts.failure();
    if (!*counts) return false;
    shares.push_back(coverage.take(memory));
  }
  const auto n = static_cast<double>(shares.size());
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (ran.size() == blocks) return written.share + sum < 1 - 1e-9;
  double square = 0;
  for (const double one : shares) square += (one - sum / n) * (one - sum / n);
  const double error = std::sqrt(square / (n * (n - 1)));
  const double unmet = 1 - std::pow(doubt, 1 / n);
  const double met = std::max(written.most, *std::max_element(shares.begin(), shares.end()));
  const double most = std::min(met, 2 * sum / n);  // a further round of work at most
  return ((1 - unmet) * (sum / n + 3 * error) + unmet * most) * static_cast<double>(blocks) <
         nearly_all;
}

// Counts blocks drawn from all of a grid in the samples' place, where the budget reaches enough.
Attempt<bool> count_drawn(BlockRunner& runner, const CompiledKernel& kernel,
                          const ResolvedLaunch& launch, double full_blocks, Sampled& seen) {
  runner.take_chain();
  const Attempt<Drawn> drawn = draw_blocks(runner, launch, full_blocks, Rng::of(5, kernel.ptx), {});
  if (!drawn) return drawn.failure();
  if (drawn->blocks < fewest_drawn) return false;
  seen.unlike = false;
  seen.idle = std::none_of(drawn->ran.begin(), drawn->ran.end(), stores);
  seen.uneven = unevenness(drawn->ran, drawn->samples);
  seen.counts = mean_of(*drawn, full_blocks);
  seen.chain = runner.take_chain();
  return true;
}

void make_exact(Counts& counts) {
  for (Count& count : counts.all) count.how = CountHow::exact;
}

void put_blocks(Counts& counts, double blocks) {
  counts.all[static_cast<std::size_t>(Counter::blocks)] = {blocks, blocks, blocks, CountHow::exact};
}

bool of_one_dimension(const std::array<std::int64_t, 3>& grid) {
  return grid[1] == 1 && grid[2] == 1;
}

bool differ(const std::vector<Counts>& ran) {
  return std::any_of(ran.begin() + 1, ran.end(), [&](const Counts& one) {
    return !std::equal(one.all.begin(), one.all.end(), ran.front().all.begin(),
                       [](const Count& a, const Count& b) { return a.value == b.value; });
  });
}

}  // namespace

std::uint64_t block_count(const ResolvedLaunch& launch) {
  return static_cast<std::uint64_t>(launch.grid[0] * launch.grid[1] * launch.grid[2]);
}

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

Attempt<Sampled> sample(const VirtualContext& context, const CompiledKernel& kernel,
                        KernelPrograms& programs, VirtualMemory& memory,
                        const ResolvedLaunch& launch, const std::array<std::int64_t, 3>& full,
                        bool columns, Coverage* coverage, std::uint64_t block_budget) {
  const std::vector<Sample> own = choose_samples(launch.grid, columns);
  const std::vector<Sample> samples = rescaled(own, launch.grid, full, columns);
  BlockRunner runner(context, kernel, programs, memory, launch, block_budget);
  Sampled seen;
  std::vector<Counts> ran;
  Stored stored;
  Written written;
  for (const Sample& one : samples) {
    if (!ran.empty() && runner.spent() + runner.spent() / ran.size() > counting_budget) break;
    Attempt<std::optional<Counts>> counts =
        columns && one.blocks.size() > 1 ? run_column(runner, one.blocks, seen.last_block_requests)
                                         : runner.run(one.blocks);
    if (!counts) return counts.failure();
    seen.too_long = !*counts;
    if (seen.too_long) return seen;
    if (coverage != nullptr) written.add(own[ran.size()], coverage->take(memory));
    ran.push_back(std::move(**counts));
    keep_longest(seen.chain, runner.take_chain());
    stored.add(runner.take_stored(), one.weight);
  }
  if (coverage != nullptr && written.of_grid(block_count(launch)) < nearly_all) {
    const Attempt<bool> bare =
        leaves_bare(runner, memory, *coverage, launch, written, Rng::of(4, kernel.ptx));
    if (!bare) return bare.failure();
    seen.bare = *bare;
  }
  seen.idle = !std::all_of(ran.begin(), ran.end(), stores);
  if (seen.idle && std::none_of(ran.begin(), ran.end(), stores)) {
    const Attempt<bool> some = some_store(runner, launch.grid, Rng::of(3, kernel.ptx));
    if (!some) return some.failure();
    seen.silent = !*some;
  }
  seen.uneven = unevenness(ran, samples);
  seen.stored_lines = stored.ratio();
  const bool whole = ran.size() == samples.size() &&
                     std::all_of(samples.begin(), samples.end(),
                                 [](const Sample& one) { return one.weight == 1; });
  seen.counts = weighted(ran, samples, whole ? 0 : unlike_share(full, columns));
  if (!whole) {
    const Attempt<bool> other =
        outdone(runner, ran, samples, witness_of(launch.grid, columns, Rng::of(1, kernel.ptx)));
    if (!other) return other.failure();
    seen.unlike = *other;
  }
  const auto full_blocks = static_cast<double>(full[0] * full[1] * full[2]);
  if (!whole && !columns && (seen.unlike || seen.idle) && !seen.silent) {
    const Attempt<bool> drawn = count_drawn(runner, kernel, launch, full_blocks, seen);
    if (!drawn) return drawn.failure();
  } else {
    seen.mixed = !whole && !columns && of_one_dimension(launch.grid) && differ(ran);
  }
  put_blocks(seen.counts, full_blocks);
  if (whole) make_exact(seen.counts);
  return seen;
}

Attempt<bool> count_mixed(const VirtualContext& context, const CompiledKernel& kernel,
                          KernelPrograms& programs, VirtualMemory& memory,
                          const ResolvedLaunch& launch, const std::array<std::int64_t, 3>& full,
                          Sampled& seen) {
  BlockRunner runner(context, kernel, programs, memory, launch);
  const auto full_blocks = static_cast<double>(full[0] * full[1] * full[2]);
  const Attempt<Drawn> drawn =
      draw_blocks(runner, launch, full_blocks, Rng::of(6, kernel.ptx), {32, 1, false});
  // A kernel whose way depends on the products may go wrong without them.
  if (drawn.is_rejected()) return false;
  if (!drawn) return drawn.failure();
  if (drawn->blocks < fewest_drawn) return false;
  seen.uneven = unevenness(drawn->ran, drawn->samples);
  seen.counts = mean_of(*drawn, full_blocks);
  put_blocks(seen.counts, full_blocks);
  return true;
}

Attempt<RingRounds> drawn_rounds(const VirtualContext& context, const CompiledKernel& kernel,
                                 KernelPrograms& programs, VirtualMemory& memory,
                                 const ResolvedLaunch& launch) {
  std::vector<std::uint64_t> blocks(block_count(launch));
  std::iota(blocks.begin(), blocks.end(), 0);
  blocks = one_a_cluster(launch, blocks);
  Rng rng = Rng::of(7, kernel.ptx);
  for (std::size_t i = blocks.size(); i > 1; --i)
    std::swap(blocks[i - 1],
              blocks[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  BlockRunner runner(context, kernel, programs, memory, launch);
  std::vector<double> rounds;
  const std::size_t fewest = std::min(fewest_drawn, blocks.size());
  blocks.push_back(blocks.front());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (runner.spent() > counting_budget) i = blocks.size() - 1;
    const Attempt<std::optional<Counts>> counts = runner.run({blocks[i]}, false);
    if (counts.is_rejected() || (counts && !*counts)) return RingRounds{};
    if (!counts) return counts.failure();
    rounds.push_back(runner.take_chain().fills);
  }
  // Blocks that draw their work from a counter have none left the second time.
  const bool draws = rounds.back() != rounds.front();
  rounds.pop_back();
  if (draws || rounds.size() < fewest) return RingRounds{};
  const double sum = std::accumulate(rounds.begin(), rounds.end(), 0.0);
  return RingRounds{*std::max_element(rounds.begin(), rounds.end()),
                    sum / static_cast<double>(rounds.size())};
}

void take_rereads(const SideBySide& seen, double read, double blocks, ModelInput& input) {
  const double alone = seen.own_bytes * blocks;
  const double times = alone > 0 ? std::clamp((read - seen.shared_bytes) / alone, 0.0, 1.0) : 0;
  input.reread_bytes = seen.reread_bytes * times;
  input.reread_span = seen.reread_span * times;
}

}  // namespace cupilot
