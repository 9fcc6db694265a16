#include "task/reference/stage_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "task/identifiers.hpp"
#include "task/reference/stages.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t block = 512;  // kernels/trusted/tree.cuh
// Fewer threads than this leave most of a device idle.
constexpr std::int64_t enough_threads = 1 << 16;
// From this many terms on, parts of a fold are worth a launch of their own.
constexpr std::int64_t long_fold = 16 * block;
// A warp takes as long for one of its threads as for all.
double of_warps(double threads) { return std::max(threads, 32.0); }
// Terms of a value that is computed from stored ones only.
constexpr double endless = 1e30;

// A stage that a repeat computes step by step and stores.
bool is_stepped(const ReferenceStage& stage) { return !stage.repeat.empty() && is_storable(stage); }

// True if a read asks for another element as the stage's `over` runs on.
bool follows(const ReferenceStage& stage, const StageRead& read) {
  std::string at;
  for (const std::string& one : read.at) at += one + " ";
  const std::string call = read.name + "(";
  for (std::size_t begin = stage.term.find(call); read.at.empty() && begin != std::string::npos;
       begin = stage.term.find(call, begin + 1)) {
    int depth = 0;
    for (std::size_t i = begin + call.size() - 1; i < stage.term.size(); ++i) {
      at += stage.term[i];
      depth += stage.term[i] == '(' ? 1 : stage.term[i] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
  }
  return std::any_of(stage.over.begin(), stage.over.end(),
                     [&](const StageAxis& axis) { return uses(at, axis.name); });
}

std::int64_t blocks_of(std::int64_t count) { return (count + block - 1) / block; }

class Planner {
 public:
  Planner(const Task& task, const Workload& workload)
      : task_(task), scope_(task_scope(task, workload)) {}

  Result<void> measure() {
    for (const ReferenceStage& stage : task_.reference.stages) {
      Size size;
      for (const auto& [axes, count] :
           {std::pair(&stage.free, &size.free), std::pair(&stage.over, &size.over)}) {
        for (const StageAxis& axis : *axes) {
          const auto extent = evaluate_or_error(axis.extent, scope_);
          if (!extent) return extent.error();
          *count *= *extent;
        }
      }
      sizes_.push_back(size);
    }
    return {};
  }

  int find(const std::string& name) const { return source(task_.reference.stages.size(), name); }

  // The last stage before `reader` of this name; -1: a tensor.
  int source(std::size_t reader, const std::string& name) const {
    for (std::size_t i = reader; i-- > 0;) {
      if (task_.reference.stages[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  // Sources of a read of stage number `reader`: stages alone.
  std::vector<int> sources(std::size_t reader, const StageRead& read) const {
    std::vector<int> all = {source_stage(task_.reference.stages, reader, read)};
    if (!read.first.empty()) all.push_back(source(reader, read.first));
    std::erase(all, -1);
    return all;
  }

  // Stages that this one reads, and those these read, with itself.
  std::vector<bool> needed(int stage) const {
    std::vector<bool> all(sizes_.size(), false);
    mark(stage, all);
    return all;
  }

  // Terms of one value, where storable stages that it reads are stored or not. A loop remembers
  // the last value of a fold that it reads, so one that does not follow the loop is computed once.
  double terms(int stage, bool stored) const {
    const auto known = terms_.find({stage, stored});
    if (known != terms_.end()) return known->second;
    return terms_[{stage, stored}] = computed_terms(stage, stored);
  }

  double computed_terms(int stage, bool stored) const {
    const ReferenceStage& what = task_.reference.stages[static_cast<std::size_t>(stage)];
    if (!stored && is_stepped(what)) return endless;
    double of_maps = 1, of_folds = 0;
    for (const StageRead& read : what.reads) {
      for (const int from : sources(static_cast<std::size_t>(stage), read)) {
        const bool map = !is_storable(task_.reference.stages[static_cast<std::size_t>(from)]);
        if (map)
          of_maps += terms(from, stored);
        else if (!stored)
          (follows(what, read) ? of_maps : of_folds) += terms(from, false);
      }
    }
    return static_cast<double>(whole(stage).over) * of_maps + of_folds;
  }

  struct Size {
    std::int64_t free = 1, over = 1;
  };
  const Size& whole(int stage) const { return sizes_[static_cast<std::size_t>(stage)]; }

  std::int64_t elements(int stage) const {
    const Size& size = whole(stage);
    return this->stage(stage).kind == StageKind::scan ? size.free * size.over : size.free;
  }

  // Says whether the terms of threads that work count, or those of all threads of their warps.
  enum class Counted { threads, warps };

  // The work where everything that the output reads is stored; `spread`: it is stored itself.
  ReferenceWork stored_work(int output, double elements, bool spread,
                            Counted counted = Counted::threads) const {
    const auto all = needed(output);
    const auto of = [&](double threads) {
      return counted == Counted::warps ? of_warps(threads) : threads;
    };
    ReferenceWork work{spread ? elements : of(elements) * terms(output, true), elements};
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      if ((i == output && !spread) || !all[static_cast<std::size_t>(i)] || !is_storable(stage(i)))
        continue;
      const auto values = static_cast<double>(whole(i).free);
      const double parts = is_few_and_long(i) ? static_cast<double>(blocks_of(whole(i).over)) : 1;
      work.terms += of(values * parts) / parts * terms(i, true);
      work.numbers += static_cast<double>(this->elements(i));
    }
    return work;
  }

  // An output that all readers want whole is stored where its terms can be shared out better so.
  bool is_spread(int output, std::int64_t wanted) const {
    const ReferenceStage& what = stage(output);
    if (is_stepped(what)) return true;
    if (!is_storable(what) || wanted < elements(output)) return false;
    return what.kind == StageKind::scan || is_few_and_long(output);
  }

  // True if a long fold of few values stands behind the output: a thread an element would leave
  // most of the device idle.
  bool reads_few_and_long(int output) const {
    const auto all = needed(output);
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      if (i != output && all[static_cast<std::size_t>(i)] && is_few_and_long(i)) return true;
    }
    return false;
  }

  // Steps of the repeat that the stage belongs to.
  std::int64_t steps(int i) const {
    const auto count = evaluate_or_error(stage(i).free[0].extent, scope_);
    return count ? *count : 1;  // measure() evaluated it
  }

  const ReferenceStage& stage(int i) const {
    return task_.reference.stages[static_cast<std::size_t>(i)];
  }

 private:
  bool is_few_and_long(int stage) const {
    return is_storable(this->stage(stage)) && whole(stage).free < enough_threads &&
           whole(stage).over >= long_fold;
  }
  void mark(int stage, std::vector<bool>& all) const {
    if (all[static_cast<std::size_t>(stage)]) return;
    all[static_cast<std::size_t>(stage)] = true;
    for (const StageRead& read : this->stage(stage).reads) {
      for (const int from : sources(static_cast<std::size_t>(stage), read)) mark(from, all);
    }
  }

  const Task& task_;
  ExprScope scope_;
  std::vector<Size> sizes_;
  mutable std::map<std::pair<int, bool>, double> terms_;  // known ones
};

// Launches that store one stage in a new buffer: of a scan one; of a fold one, or one for its
// blocks and one for each further level; `whole`: one all the same.
int add_stage(StagePlan& plan, const StageEntry& entry, const ReferenceStage& stage,
              const Planner::Size& size, std::int64_t number_bytes, bool whole) {
  const auto buffer = [&](std::int64_t numbers) {
    plan.buffers.push_back(std::max<std::int64_t>(numbers, 1) * number_bytes);
    return static_cast<int>(plan.buffers.size()) - 1;
  };
  if (stage.kind == StageKind::scan) {
    const int out = buffer(size.free * size.over);
    plan.launches.push_back({entry.entry, -1, out, size.over, 1, 0, size.free});
    return out;
  }
  int from = -1;
  std::int64_t left = size.over, from_parts = 0;
  while (!whole && size.free < enough_threads && left >= long_fold) {
    const std::int64_t parts = blocks_of(left);
    const int out = buffer(size.free * parts);
    plan.launches.push_back({entry.entry, from, out, block, parts, from_parts, size.free * parts});
    from = out;
    left = from_parts = parts;
  }
  const int out = buffer(size.free);
  plan.launches.push_back({entry.entry, from, out, left, 1, from_parts, size.free});
  return out;
}

// Launches that store all needed stages of the repeat whose first one is `first`, step by step.
void add_repeat(StagePlan& plan, const ReferenceProgram& program, const Planner& planner,
                const std::vector<bool>& needed, std::size_t first, std::int64_t number_bytes) {
  const std::string& repeat = planner.stage(static_cast<int>(program.stages[first].stage)).repeat;
  std::vector<StageLaunch> step;
  std::int64_t steps = 0;
  for (std::size_t i = first; i < program.stages.size(); ++i) {
    const int number = static_cast<int>(program.stages[i].stage);
    if (planner.stage(number).repeat != repeat || !needed[program.stages[i].stage]) continue;
    plan.stored[i] = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back(std::max<std::int64_t>(planner.elements(number), 1) * number_bytes);
    steps = planner.steps(number);
    step.push_back({program.stages[i].entry, -1, plan.stored[i], planner.whole(number).over, 1, 0,
                    planner.whole(number).free / steps});
  }
  for (std::int64_t at = 0; at < steps; ++at) {
    for (StageLaunch& launch : step) {
      launch.from_parts = at;
      plan.launches.push_back(launch);
    }
  }
}

}  // namespace

std::int64_t StagePlan::bytes() const {
  return std::accumulate(buffers.begin(), buffers.end(), std::int64_t{0});
}

Result<StagePlan> stage_plan(const Task& task, const ReferenceProgram& program,
                             ReferenceBuild build, const Workload& workload,
                             const std::string& output, std::int64_t elements, bool store) {
  StagePlan plan;
  plan.stored.assign(program.stages.size(), -1);
  const auto own = std::find_if(program.entries.begin(), program.entries.end(),
                                [&](const ReferenceEntry& one) { return one.tensor == output; });
  if (own == program.entries.end())
    return Error{ErrorCode::usage, "the reference has no entry of output " + output, ""};
  plan.entry = own->entry;
  if (program.stages.empty()) return plan;
  Planner planner(task, workload);
  if (auto measured = planner.measure(); !measured) return measured.error();
  const int last = planner.find(output);
  if (last < 0)
    return Error{ErrorCode::usage, "no stage of the reference gives output " + output, ""};
  const auto count = static_cast<double>(elements);
  const bool spread = planner.is_spread(last, elements);
  const double direct = own->entry.empty() ? endless : planner.terms(last, false);
  const double stored = planner.stored_work(last, count, spread, Planner::Counted::warps).terms;
  const double worth = (planner.reads_few_and_long(last) ? 2 : 1) * of_warps(count) * direct;
  const bool stores = store && (spread || stored < worth);
  plan.terms = stores ? planner.stored_work(last, count, spread).terms : count * direct;
  if (!stores) return plan;
  plan.entry = own->stored;
  const auto needed = planner.needed(last);
  const std::int64_t bytes = stage_number_bytes(task, build);
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const StageEntry& entry = program.stages[i];
    const int stage = static_cast<int>(entry.stage);
    if (!needed[entry.stage] || (stage == last && !spread) || plan.stored[i] >= 0) continue;
    if (is_stepped(planner.stage(stage)))
      add_repeat(plan, program, planner, needed, i, bytes);
    else
      plan.stored[i] = add_stage(plan, entry, planner.stage(stage), planner.whole(stage), bytes,
                                 build == ReferenceBuild::in_turn);
  }
  return plan;
}

ReferenceWork reference_work(const Task& task, const Workload& workload) {
  ReferenceWork sum;
  if (task.reference.stages.empty()) return sum;
  Planner planner(task, workload);
  if (!planner.measure()) return sum;
  for (const Tensor& tensor : task.tensors) {
    const int stage = tensor.role == Role::in ? -1 : planner.find(tensor.name);
    if (stage < 0) continue;
    const std::int64_t all = planner.elements(stage);
    const ReferenceWork one =
        planner.stored_work(stage, static_cast<double>(all), planner.is_spread(stage, all));
    sum.terms += one.terms;
    sum.numbers += one.numbers;
  }
  return sum;
}

double reference_terms(const Task& task, const Workload& workload) {
  return reference_work(task, workload).terms;
}

Error too_dear(const Task& task, const Workload& workload) {
  std::string sizes;
  for (const auto& [name, size] : workload.sizes) sizes += fmt::format(" {}={}", name, size);
  return {ErrorCode::not_done,
          fmt::format("reference of task {}: too dear to check here{}", task.name,
                      sizes.empty() ? "" : " at" + sizes),
          task.reference.stages.empty()
              ? "give the task as a graph of operators or its reference in stages, which compute a "
                "sum once (docs/formats/task.md, Version 2); a text computes all of an element anew"
              : "let large extents be axes of kind free or reduced, which a proof shrinks: numbers "
                "and fixed axes keep their size; a graph's file that leaves `axes` out has axes "
                "made of its numbers (docs/formats/task.md)"};
}

}  // namespace cupilot
