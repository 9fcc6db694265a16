#include "backend/virtual/full_size.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/read_share.hpp"
#include "backend/virtual/sampled.hpp"
#include "backend/virtual/timed.hpp"

namespace cupilot {
namespace {

// Warp instructions of all blocks of a case on ordinary content, on another, and of one block.
constexpr std::uint64_t ordinary_budget = 1'200'000, other_budget = 300'000,
                        block_budget = 12'000'000, end_budget = 2'000'000;
constexpr std::size_t drawn_blocks = 12, most_named = 24;
// Blocks without an end that are looked at.
constexpr int most_beyond = 3;

// Whole numbers that an entry, and the functions beside it, compare or compute with.
std::set<std::int64_t> named_numbers(const ptx::Module& module, const ptx::Function& entry) {
  constexpr std::int64_t least = 64, most = std::int64_t{1} << 47;
  std::set<std::int64_t> numbers = {1 << 16};  // narrow registers name it by their width
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry && &function != &entry) continue;
    for (const ptx::Operand& operand : function.operands) {
      if (operand.kind != ptx::OperandKind::immediate || ptx::is_float(operand.type)) continue;
      const auto number = static_cast<std::int64_t>(operand.bits);
      const std::int64_t size = number < 0 && number > -most ? -number : number;
      if (size >= least && size <= most) numbers.insert(size);
    }
  }
  return numbers;
}

// Blocks beside the numbers that the code names: those of such a number, and those of such an
// element where blocks take elements in order.
std::vector<std::uint64_t> named_blocks(const std::set<std::int64_t>& numbers, std::uint64_t grid,
                                        std::int64_t elements) {
  std::vector<std::uint64_t> blocks;
  const auto add = [&](double at) {
    if (at >= 0 && at < static_cast<double>(grid) && blocks.size() < most_named)
      blocks.push_back(static_cast<std::uint64_t>(at));
  };
  const double share =
      static_cast<double>(grid) / static_cast<double>(std::max<std::int64_t>(1, elements));
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const auto value = static_cast<double>(*number);
    for (const double at : {value, value - 1, value * share, 2 * value + 1}) add(at);
  }
  return blocks;
}

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

// The launches to be sampled, in order, and what any of them does; none: blocks wait for each
// other, or one launch makes what another needs in whole.
std::vector<const ResolvedLaunch*> sampled_launches(const PlanRun& run, Dependence& seen) {
  std::vector<const ResolvedLaunch*> launches;
  for (const ResolvedLaunch& launch : run.plan.launches) {
    const EntryFacts* facts = find_entry(run.kernel, launch.entry);
    const ptx::Function* entry =
        facts == nullptr ? nullptr : run.programs.module().entry(facts->name);
    if (entry == nullptr || launch.when != When::run || launch.cooperative) return {};
    const Dependence one = dependence_of(run.programs.module(), *entry);
    if (one.waits || one.draws) return {};
    // Later launches would find the sums of some blocks alone.
    if (!seen.gathers) launches.push_back(&launch);
    seen.gathers |= one.gathers;
    seen.adds |= one.adds;
  }
  const bool collects = std::any_of(
      run.plan.buffers.begin(), run.plan.buffers.end(),
      [](const ResolvedBuffer& buffer) { return buffer.content != BufferContent::scratch; });
  // Later launches would find the work of some blocks alone there.
  if (launches.size() > 1 && collects) launches.resize(1);
  return launches;
}

// Reports an output of which so many elements are not written.
OutputReport unwritten(const Task& task, std::size_t tensor, const Workload& workload,
                       std::int64_t left) {
  OutputReport output;
  output.tensor = task.tensors[tensor].name;
  const auto shape = shape_of(task, task.tensors[tensor], workload);
  output.elements = shape ? shape->elements : 0;
  output.never_written = std::clamp<std::int64_t>(left, 1, output.elements);
  return output;
}

// Reports an output of which a share alone is written.
OutputReport unwritten(const Task& task, std::size_t tensor, const Workload& workload,
                       double share) {
  OutputReport output = unwritten(task, tensor, workload, std::int64_t{1});
  output.never_written = std::max<std::int64_t>(
      1, static_cast<std::int64_t>((1 - share) * static_cast<double>(output.elements)));
  return output;
}

void say_unwritten(const Task& task, const Workload& workload, double share, CaseReport& report) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role == Role::out)
      report.outputs.push_back(unwritten(task, i, workload, share));
  }
}

using WrittenWords = ptx::DeviceMemory::WrittenWords;

std::vector<WrittenWords> written_words(const ptx::DeviceMemory& device) {
  std::vector<WrittenWords> words;
  for (std::size_t i = 0; i < device.size(); ++i) words.push_back(device.written_words(i));
  return words;
}
bool wrote_over(const ptx::DeviceMemory& device, const std::vector<WrittenWords>& before) {
  for (std::size_t i = 0; i < device.size(); ++i) {
    if (device.wrote_over(i, before[i])) return true;
  }
  return false;
}

// Blocks of the launches of a case, one after another.
class SampledRun {
 public:
  SampledRun(const PlanRun& run, const Case& what, VirtualMemory& memory, Coverage& coverage,
             ReadShare& inputs, CaseReport& report)
      : run_(run),
        what_(what),
        memory_(memory),
        coverage_(coverage),
        inputs_(inputs),
        reads_(inputs.inputs()),
        report_(report) {
    for (std::size_t i = 0; i < run.task->tensors.size(); ++i) {
      if (run.task->tensors[i].role == Role::in_out) updates_.emplace_back(i, memory);
    }
    std::erase_if(updates_, [](const UpdatePlaces& one) { return !one.known(); });
  }

  // False: nothing is told. A fault stands in the report.
  Result<bool> launch(const ResolvedLaunch& launch, bool first) {
    Shares shares;
    std::uint64_t spent = 0;
    int beyond = 0;
    const std::vector<std::uint64_t> blocks = blocks_of(launch);
    for (const std::uint64_t block : blocks) {
      const bool ordinary = what_.content.kind == ContentKind::ordinary;
      if (shares.blocks > 1 && spent > (ordinary ? ordinary_budget : other_budget)) break;
      const bool watched = !first && !overwrites_;
      const auto before = watched ? written_words(memory_.device()) : std::vector<WrittenWords>();
      Attempt<ptx::Report> one = run_block(launch, block);
      if (one.is_error()) return one.error();
      if (one.is_rejected()) return false;
      spent += one->warp_instructions;
      if (watched) overwrites_ = wrote_over(memory_.device(), before);
      // A later launch may go elsewhere upon what other blocks of an earlier one would have
      // written.
      const bool unended = ptx::is_unended(*one) && !(first && one->stuck);
      if (beyond > 0 && !unended) break;
      if (unended) {
        const double share = coverage_.take(memory_);
        if (auto told = tell_endless(launch, *one, share); !told) return told.error();
        unjudged_ = cut_ = true;
        if (report_.faults.empty() && goes_beyond(launch, share)) {
          if (++beyond < most_beyond) continue;
          tell_beyond(launch, *one, share);
        }
        break;
      }
      // It reads what blocks of an earlier launch would have written.
      if (!first && !one->faults.empty() && one->faults[0].code == "run.uninitialised") {
        unjudged_ = cut_ = true;
        coverage_.take(memory_);
        continue;
      }
      take_faults(launch, *one);
      if (!report_.faults.empty()) return true;
      shares.add(coverage_.take(memory_));
      for (UpdatePlaces& update : updates_) update.note(block, memory_);
      for (std::size_t i = 0; i < reads_.size(); ++i)
        reads_[i].shares.push_back(inputs_.take(i, memory_));
    }
    for (Reads& one : reads_) one.end(launch, block_count(launch));
    written_ += shares.bound(block_count(launch));
    behind_ += shares.behind();
    unjudged_ = unjudged_ || (shares.most > 0 && !shares.tells());
    last_ = shares;
    wrote_ += shares.most > 0 ? 1 : 0;
    return shares.blocks >= std::min<std::size_t>(2, blocks.size());
  }

  // True if the grids leave a part of the outputs out.
  bool leaves_out() const {
    return coverage_.any() && !unjudged_ && last_.tells() && last_.leaves_out(written_, behind_);
  }
  double written() const { return std::clamp(written_ - behind_, 0.0, 1.0); }
  // Elements that are worth a look: both ends, and those that the code names.
  const std::vector<std::int64_t>& places() const { return places_; }

  // True if no block writes the end of the only output: all write alike, and as many drawn ones as
  // leave no doubt write nothing beyond what some wrote. `share`: of the output, up to there.
  Result<bool> leaves_the_end(const ResolvedLaunch& launch, double& share) {
    // Blocks that are drawn may have run before, and may add to a tensor in place but once.
    const std::vector<Tensor>& tensors = run_.task->tensors;
    const bool updates = std::any_of(tensors.begin(), tensors.end(),
                                     [](const Tensor& one) { return one.role == Role::in_out; });
    if (!last_.mostly_alike() || updates) return false;
    return none_reaches(
        launch, [&] { return coverage_.reached(memory_); }, share,
        last_.bound(block_count(launch)));
  }

  // True if no block reaches the end of a tensor that is updated in place, as leaves_the_end() has
  // it. After all else: blocks that are drawn may update it once more.
  Result<bool> leaves_update(const ResolvedLaunch& launch, std::size_t tensor, double& share) {
    const Coverage updates = Coverage::of_update(tensor, memory_);
    if (!last_.mostly_alike() || cut_) return false;
    const Result<bool> left = none_reaches(
        launch, [&] { return updates.reached(memory_); }, share, 1);
    if (!left || !*left) return left;
    return changes_at(run_.context, run_.task, tensor, what_.workload,
                      memory_.device()[memory_.tensor(tensor)].bytes - 1, memory_);
  }

  // Reports tensors of which some blocks leave the elements that their places in the grid ask for
  // as they are, though the reference changes them.
  Result<bool> leaves_blocks(const ResolvedLaunch& launch) {
    if (cut_ || launch.cluster != std::array{1, 1, 1}) return false;
    if (const Result<void> drew = draw_updates(launch); !drew) return drew.error();
    if (!report_.faults.empty()) return true;
    for (const UpdatePlaces& one : updates_) {
      const int size = size_of(run_.task->tensors[one.tensor()].type);
      std::int64_t left = 0;
      for (const std::uint64_t offset : one.left_out(launch.grid)) {
        const Result<bool> changes =
            changes_at(run_.context, run_.task, one.tensor(), what_.workload, offset, memory_);
        if (!changes) return changes.error();
        left += *changes ? static_cast<std::int64_t>(one.each()) / size : 0;
      }
      if (left == 0) continue;
      report_.outputs.push_back(unwritten(*run_.task, one.tensor(), what_.workload, left));
      return true;
    }
    return false;
  }

  // True, and a fault stands in the report, if the grids leave a part of an input unread that sums
  // need.
  Result<bool> leaves_inputs() {
    constexpr double nearly_all = 0.95;
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      const Reads& one = reads_[i];
      if (cut_ || one.by == nullptr) continue;
      double share = one.bound;
      bool left = share < nearly_all;
      if (!left && one.launches == 1 && one.alike) {
        const Result<bool> none = none_reaches(
            *one.by, [&] { return inputs_.reached(i, memory_); }, share, 1);
        if (!none) return none.error();
        left = *none;
      }
      if (!left) continue;
      report_.faults.push_back(
          {"verify.never_read",
           fmt::format("{}: the blocks of its grid read {:.3g} % of {}, whose elements are all "
                       "needed: a grid without a stride, or a place that wraps, say",
                       one.by->entry, 100 * share, inputs_.name(i)),
           inputs_.name(i)});
      return true;
    }
    return false;
  }
  // True if a block wrote over what had been written: later launches find what was there before
  // where blocks that did not run would have done so.
  bool overwrites() const { return overwrites_; }
  // True if outputs are the work of the last launch alone.
  bool last_alone() const { return wrote_ == (last_.most > 0 ? 1 : 0); }

 private:
  void take_faults(const ResolvedLaunch& launch, const ptx::Report& ran) {
    for (const ptx::Fault& fault : ran.faults)
      report_.faults.push_back(
          {fault.code, fmt::format("{}: {}", launch.entry, fault.message), fault.where});
  }

  // Runs further blocks for what they update, none of them twice.
  Result<void> draw_updates(const ResolvedLaunch& launch) {
    constexpr std::size_t drawn = 64;
    if (updates_.empty() || what_.content.kind != ContentKind::ordinary) return {};
    Rng rng = Rng::of(what_.content.seed, "updates");
    std::uint64_t spent = 0;
    for (std::size_t i = 0; i < drawn && spent < other_budget; ++i) {
      const auto block =
          static_cast<std::uint64_t>(rng.below(static_cast<std::int64_t>(block_count(launch))));
      if (updates_[0].knows(block)) continue;
      Attempt<ptx::Report> one = run_block(launch, block);
      if (one.is_error()) return one.error();
      if (one.is_rejected() || ptx::is_unended(*one)) return {};
      take_faults(launch, *one);
      if (!report_.faults.empty()) return {};
      spent += one->warp_instructions;
      for (UpdatePlaces& update : updates_) update.note(block, memory_);
    }
    return {};
  }

  // True if as many drawn blocks as leave no doubt come no further than those that ran; `share`:
  // how far. `bound`: what the grid would do if all its blocks did as most; the more, the fewer of
  // its blocks need to go further.
  template <class Reached>
  Result<bool> none_reaches(const ResolvedLaunch& launch, const Reached& reached, double& share,
                            double bound) {
    constexpr double doubt = 1e-9, most_blocks = 700;
    Rng rng = Rng::of(what_.content.seed, "the end");
    std::uint64_t spent = 0;
    share = 0;
    for (double before = -1; share != before;) {
      before = share = reached();
      const double nearer = 1 - (1 - share) / std::max(1.0, bound);
      if (share <= 0 || share >= 1 || std::log(doubt) / std::log(nearer) > most_blocks)
        return false;
      const auto needed = static_cast<std::uint64_t>(std::log(doubt) / std::log(nearer));
      for (std::uint64_t drawn = 0; drawn <= needed; ++drawn) {
        const auto block =
            static_cast<std::uint64_t>(rng.below(static_cast<std::int64_t>(block_count(launch))));
        Attempt<ptx::Report> one = run_block(launch, block);
        if (one.is_error()) return one.error();
        if (one.is_rejected() || !one->faults.empty()) return false;
        spent += one->warp_instructions;
        if (spent > end_budget) return false;
        if (std::has_single_bit(drawn + 1) && reached() > share) break;
      }
      share = reached();
    }
    return true;
  }

  std::vector<std::uint64_t> blocks_of(const ResolvedLaunch& launch) {
    std::vector<std::uint64_t> blocks =
        chosen_blocks(launch.grid, Rng::of(what_.content.seed, "full size"));
    const EntryFacts* facts = find_entry(run_.kernel, launch.entry);
    const ptx::Function* entry =
        facts == nullptr ? nullptr : run_.programs.module().entry(facts->name);
    if (what_.content.kind == ContentKind::ordinary && entry != nullptr) {
      const std::set<std::int64_t> numbers = named_numbers(run_.programs.module(), *entry);
      std::int64_t elements = 1;
      for (const Tensor& tensor : run_.task->tensors) {
        const auto shape = shape_of(run_.task, tensor, what_.workload);
        if (tensor.role != Role::in && shape) elements = std::max(elements, shape->elements);
      }
      const std::uint64_t grid = block_count(launch);
      for (const std::uint64_t block : named_blocks(numbers, grid, elements)) {
        places_.push_back(
            static_cast<std::int64_t>(static_cast<double>(block) / static_cast<double>(grid) *
                                      static_cast<double>(elements)));
        if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
      }
      places_.insert(places_.end(), numbers.rbegin(), numbers.rend());
    }
    return one_a_cluster(launch, blocks);
  }

  Attempt<ptx::Report> run_block(const ResolvedLaunch& launch, std::uint64_t block) const {
    LaunchRun how;
    how.blocks = {block};
    how.budget = block_budget;
    how.seed = what_.content.seed;
    how.count = true;
    return run_launch(run_.context, run_.kernel, run_.programs, memory_, launch, how);
  }

  double least_element() const {
    double least = 16;
    for (const Tensor& tensor : run_.task->tensors) {
      if (tensor.role == Role::out)
        least = std::min(least, static_cast<double>(size_of(tensor.type)));
    }
    return least;
  }

  // Lane instructions that a block's share of the whole work may take at most, by bytes or
  // operations.
  double block_work(const ResolvedLaunch& launch) const {
    constexpr double unoptimized = 64.0 / 32;
    const auto bytes = compulsory_bytes(run_.task, what_.workload);
    const auto flops = textbook_flops(run_.task, what_.workload);
    return unoptimized / static_cast<double>(block_count(launch)) *
           std::max(static_cast<double>(bytes ? *bytes : 0),
                    static_cast<double>(flops ? *flops : 0));
  }

  // True if a block that came to no end wrote a multiple of its share of the outputs, and did a
  // multiple of its share of the work or wrote so much that few blocks of a grid can. Where all
  // that were run do so, they overwrite one another.
  bool goes_beyond(const ResolvedLaunch& launch, double share) const {
    constexpr double twice = 2, much = 4;
    const double shares = share * static_cast<double>(block_count(launch));
    return shares > twice &&
           (block_work(launch) <= static_cast<double>(block_budget) || shares > much);
  }
  void tell_beyond(const ResolvedLaunch& launch, const ptx::Report& ran, double share) {
    report_.faults.push_back(
        {"run.hang",
         fmt::format("{}: after {} warp instructions no block that was run has ended, and each "
                     "wrote a multiple of its share of the outputs, {:.1f} times: a loop's counter "
                     "that wraps, say",
                     launch.entry, block_budget, share * static_cast<double>(block_count(launch))),
         ran.faults[0].where});
  }

  // True if a block that came to no end wrote its share of the outputs, all that were compared
  // right: it has nothing left to do.
  Result<bool> is_done(const ResolvedLaunch& launch, double share) const {
    constexpr double nearly_all = 0.95;
    if (run_.plan.launches.size() > 1 ||
        share * static_cast<double>(block_count(launch)) < nearly_all)
      return false;
    std::vector<OutputReport> outputs;
    const Result<bool> compared =
        compare_part(run_.context, run_.task, memory_, what_.workload, what_.content,
                     Rng::of(what_.content.seed, "full size", 2), drawn_blocks, places_, outputs);
    if (!compared || !*compared) return compared;
    return std::all_of(outputs.begin(), outputs.end(),
                       [](const OutputReport& one) { return one.failed == 0; });
  }

  // A block that came to no end, stores over and over what it stored before, and did a multiple of
  // its share of the whole work or has nothing left to do, goes round for ever.
  Result<void> tell_endless(const ResolvedLaunch& launch, const ptx::Report& ran, double share) {
    constexpr double again = 4;
    const double grid = static_cast<double>(block_count(launch));
    const double stored =
        std::min(32 * ran.counts[Counter::global_store_sectors].value,
                 32 * least_element() * ran.counts[Counter::global_store_requests].value) /
        grid;
    const double kept = share * static_cast<double>(coverage_.bytes());
    if (!coverage_.any() || stored <= again * kept) return {};
    if (block_work(launch) > static_cast<double>(block_budget)) {
      const Result<bool> done = is_done(launch, share);
      if (!done) return done.error();
      if (!*done) return {};
    }
    report_.faults.push_back(
        {"run.hang",
         fmt::format(
             "{}: after {} warp instructions a block has not ended and stores again what it "
             "stored before: a loop's counter that wraps, say",
             launch.entry, block_budget),
         ran.faults[0].where});
    return {};
  }

  const PlanRun& run_;
  const Case& what_;
  VirtualMemory& memory_;
  Coverage& coverage_;
  ReadShare& inputs_;
  std::vector<Reads> reads_;
  CaseReport& report_;
  std::vector<std::int64_t> places_ = {0, -1};
  std::vector<UpdatePlaces> updates_;
  Shares last_;
  double written_ = 0;  // of the outputs, by the whole grids
  double behind_ = 0;   // of that, what blocks that ran did not write
  int wrote_ = 0;       // launches that wrote outputs
  bool unjudged_ = false;
  bool overwrites_ = false;
  bool cut_ = false;  // a block came to no end, or read what blocks that did not run would write
};

}  // namespace

namespace {

// Tensors of which a few blocks touch a part, and what was written and read of them.
struct SparseTensors {
  VirtualMemory memory;
  Coverage coverage;
  ReadShare inputs;

  // nullopt: they cannot be made so.
  static Result<std::optional<SparseTensors>> of(const PlanRun& run, const Case& what) {
    auto memory =
        VirtualMemory::sparse(run.task, what, run.plan, run.context.inputs, SmallInputs::piecewise);
    if (!memory) return memory.error();
    if (!*memory) return std::optional<SparseTensors>();
    auto coverage = Coverage::of(run.task, what.workload, **memory);
    if (!coverage) return coverage.error();
    auto inputs = ReadShare::of(run.task, what.workload, **memory);
    if (!inputs) return inputs.error();
    return std::optional(
        SparseTensors{std::move(**memory), std::move(*coverage), std::move(*inputs)});
  }
};

// Tells of an output that earlier launches fill and the last one goes over, where no block of the
// last one reaches the end and what the others left there is wrong.
Result<bool> tell_last_launch(const PlanRun& run, const Case& what, const ResolvedLaunch& launch,
                              VirtualMemory& filled, CaseReport& report) {
  Result<std::optional<SparseTensors>> sparse = SparseTensors::of(run, what);
  if (!sparse) return sparse.error();
  if (!*sparse) return false;
  auto& [memory, coverage, inputs] = **sparse;
  CaseReport alone;
  SampledRun sampled(run, what, memory, coverage, inputs, alone);
  const Result<bool> told = sampled.launch(launch, true);
  if (!told || !*told || !alone.faults.empty()) return told ? false : told;
  double end = 0;
  const Result<bool> left = sampled.leaves_the_end(launch, end);
  if (!left || !*left) return left;
  for (std::size_t i = 0; i < run.task->tensors.size(); ++i) {
    if (run.task->tensors[i].role != Role::out) continue;
    const Result<bool> wrong =
        is_wrong_beyond(run.context, run.task, i, what.workload, what.content, end, filled);
    if (!wrong) return wrong.error();
    if (*wrong) report.outputs.push_back(unwritten(run.task, i, what.workload, end));
  }
  return !report.outputs.empty();
}

}  // namespace

Result<bool> run_sampled(const PlanRun& run, const Case& what, CaseReport& report) {
  Dependence seen;
  const std::vector<const ResolvedLaunch*> launches = sampled_launches(run, seen);
  if (launches.empty()) return false;
  Result<std::optional<SparseTensors>> sparse = SparseTensors::of(run, what);
  if (!sparse) return sparse.error();
  if (!*sparse) return false;
  auto& [memory, coverage, inputs] = **sparse;
  SampledRun sampled(run, what, memory, coverage, inputs, report);
  bool told = true, changed = false;
  for (const ResolvedLaunch* launch : launches) {
    const Result<bool> one = sampled.launch(*launch, launch == launches.front());
    if (!one) return one.error();
    if (!report.faults.empty()) return true;
    told = told && *one;
    changed = changed || (launch != launches.back() && sampled.overwrites());
  }
  if (!told) return false;
  const bool all = launches.size() == run.plan.launches.size();
  if (all && seen.adds) {
    const Result<bool> left = sampled.leaves_inputs();
    if (!left) return left.error();
    if (*left) return true;
  }
  // No comparison holds what blocks add up.
  if (seen.gathers || !all) return false;
  if (sampled.leaves_out()) {
    say_unwritten(run.task, what.workload, sampled.written(), report);
    return true;
  }
  double end = 0;
  if (launches.size() == 1) {
    const Result<bool> left = sampled.leaves_the_end(*launches[0], end);
    if (!left) return left.error();
    if (*left) {
      say_unwritten(run.task, what.workload, end, report);
      return true;
    }
  }
  // Behind a launch that changes things in place values are not compared, faults are told.
  if (changed) return false;
  if (launches.size() > 1 && !sampled.last_alone()) {
    const Result<bool> left = tell_last_launch(run, what, *launches.back(), memory, report);
    return left ? true : left;
  }
  const Result<bool> compared =
      compare_part(run.context, run.task, memory, what.workload, what.content,
                   Rng::of(what.content.seed, "full size", 1), 2 * (drawn_blocks + most_named),
                   sampled.places(), report.outputs);
  if (compared && launches.size() == 1) {
    const Result<bool> left = sampled.leaves_blocks(*launches[0]);
    if (!left || *left) return left;
  }
  for (std::size_t i = 0; compared && launches.size() == 1 && i < run.task->tensors.size(); ++i) {
    if (run.task->tensors[i].role != Role::in_out) continue;
    const Result<bool> left = sampled.leaves_update(*launches[0], i, end);
    if (!left) return left.error();
    if (!*left) continue;
    report.outputs.push_back(unwritten(run.task, i, what.workload, end));
    return true;
  }
  return compared;
}

}  // namespace cupilot
