#include "backend/cuda/trials.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/rng.hpp>

#include "task/content.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot {
namespace {

// Beyond these an output's reference is computed in drawn slices only.
constexpr std::int64_t oracle_bytes_cap = 8ll << 30;
constexpr std::int64_t oracle_flops_cap = 2'000'000'000'000;
constexpr std::int64_t most_slices = 64, slice_elements = 1 << 16;
constexpr std::int64_t few_elements = 4096,
                       few_slices = 16;  // a case that compares no more has no more computed

// Types wide enough that an honest value is poison by chance once in 2^32 elements at most, or
// never. The judge looks at those words of its poison that are so in fp16.
bool poison_tells(DType type) {
  return size_of(type) >= 4 || type == DType::bf16 || type == DType::f16;
}

FillState inside_of(Poison poison) {
  return poison == Poison::large ? FillState::large : FillState::poison;
}

std::string oracle_key(const std::string& task_key, const Case& what, const std::string& tensor,
                       const OracleOrder& order) {
  std::string key = task_key;
  for (const auto& [axis, extent] : what.workload.sizes) key += fmt::format(" {}={}", axis, extent);
  return key + fmt::format(" {}:{}:{} {} {}x{}", what.content.seed,
                           static_cast<int>(what.content.kind),
                           static_cast<int>(what.content.variation), tensor, order.begins.size(),
                           order.slice);
}

}  // namespace

// All of it, or drawn slices where all would take too much memory or time or is not asked for.
Slices slices_of(const Task& task, const Case& what, std::size_t output, std::int64_t elements) {
  Slices slices;
  const auto flops = textbook_flops(task, what.workload);
  const bool few = what.compare > 0 && what.compare <= few_elements;
  const std::int64_t count = few ? few_slices : most_slices;
  const std::int64_t slice = few ? (what.compare + few_slices - 1) / few_slices : slice_elements;
  const bool large = few || elements > oracle_bytes_cap / 16 ||
                     (what.compare > 0 && flops && *flops > oracle_flops_cap);
  const bool drawn = large && elements > count * slice;
  slices.slice = drawn ? slice : std::max<std::int64_t>(elements, 1);
  slices.elements = drawn ? count * slice : elements;
  Rng rng = Rng::of(what.content.seed, "oracle slices", output);
  for (std::int64_t i = 0; drawn && i < count; ++i)
    slices.begins.push_back(rng.below(elements - slice + 1));
  if (!drawn) slices.begins = {0};
  return slices;
}

Result<OracleOrder> oracle_order(const TaskRef& task, const Case& what,
                                 const TaskPlacement& placement, std::size_t output,
                                 const ReferenceImage& program, Slices slices) {
  OracleOrder order;
  order.begins = std::move(slices.begins);
  order.slice = slices.slice;
  order.elements = slices.elements;
  order.image = program.image.name;
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (is_input(task->tensors[i])) order.pointers.push_back(placement.tensors[i]);
  }
  for (const Scalar& scalar : task->scalars) order.scalars.push_back(scalar.value);
  for (const Axis& axis : task->axes) {
    const auto size = what.workload.sizes.find(axis.name);
    order.axes.push_back(size != what.workload.sizes.end() ? size->second : 1);
  }
  auto stages = stage_plan(task, program.program, ReferenceBuild::tracked, what.workload,
                           task->tensors[output].name, order.elements);
  if (!stages) return stages.error();
  order.entry = stages->entry;
  order.buffers = std::move(stages->buffers);
  order.stored.assign(stages->stored.begin(), stages->stored.end());
  for (const StageLaunch& stage : stages->launches) {
    order.stages.push_back({stage.entry, stage.from, stage.out, stage.span, stage.parts,
                            stage.from_parts, stage.count});
  }
  order.key = oracle_key(task.id(), what, task->tensors[output].name, order);
  return order;
}

Fault fault_of(const RunnerFault& fault) { return {fault.code, fault.message, fault.where}; }
Fault fault_of(const Rejected& rejected) {
  return {rejected.code, rejected.message, rejected.where};
}

double CudaTrials::run_seconds(const Task& task, const Workload& workload) const {
  const auto flops = textbook_flops(task, workload);
  const auto bytes = compulsory_bytes(task, workload);
  const double work = (flops ? static_cast<double>(*flops) / 1e11 : 0) +
                      (bytes ? static_cast<double>(*bytes) / 1e10 : 0);
  return std::min(2.0 + work, trial_seconds_);
}

Result<PrepareItem> CudaTrials::input_item(const Trial& trial, std::size_t tensor) const {
  auto recipe = layout_of(trial.task, tensor, trial.what.workload, trial.what.content);
  if (!recipe) return recipe.error();
  if (auto given = device_.give(*recipe); !given) return given.error();
  PrepareItem item;
  item.region = trial.placement.tensors[tensor];
  item.fill = true;
  item.recipe = *recipe;
  item.sealed = device_.hello().sharing == Sharing::vmm && !device_.inputs_writable() &&
                trial.task->tensors[tensor].role != Role::in_out;
  return item;
}

Result<std::vector<PrepareItem>> CudaTrials::initialising(const Trial& trial,
                                                          FillState poison) const {
  std::vector<PrepareItem> items;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    PrepareItem item;
    item.region = trial.placement.tensors[i];
    if (is_input(trial.task->tensors[i])) {
      auto input = input_item(trial, i);
      if (!input) return input.error();
      item = *input;
    }
    item.inside = poison;
    items.push_back(item);
  }
  for (std::size_t b = 0; trial.kernel != nullptr && b < trial.kernel->buffers.size(); ++b) {
    if (trial.kernel->contents[b] == BufferContent::table) continue;
    PrepareItem item;
    item.region = trial.kernel->buffers[b];
    item.inside = trial.kernel->contents[b] == BufferContent::restored ? FillState::zeros : poison;
    items.push_back(item);
  }
  return items;
}

Result<std::vector<OracleOrder>> CudaTrials::oracles_of(const Trial& trial) {
  auto program = programs_.reference(trial.task, ReferenceBuild::tracked);
  if (!program) return program.error();
  std::vector<OracleOrder> orders;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (!is_output(trial.task->tensors[i])) continue;
    auto order =
        oracle_order(trial.task, trial.what, trial.placement, i, **program,
                     slices_of(trial.task, trial.what, i, trial.placement.layouts[i].elements));
    if (!order) return order.error();
    orders.push_back(std::move(*order));
  }
  return orders;
}

Result<void> CudaTrials::prepare(Trial& trial) {
  auto program = programs_.reference(trial.task, ReferenceBuild::tracked);
  if (!program) return program.error();
  if (auto loaded = device_.load_in_judge((*program)->image); !loaded) return loaded.error();
  auto items = initialising(trial, inside_of(trial.what.poison));
  if (!items) return items.error();
  auto oracles = oracles_of(trial);
  if (!oracles) return oracles.error();
  const PrepareOrder order{std::move(*items), *oracles};
  orders_.later(DeviceMessage::prepare, pack(order),
                [](const std::string&) { return Result<void>(); });
  trial.oracles = std::move(*oracles);
  return orders_.tell();
}

Result<std::optional<RunnerFault>> CudaTrials::run_setup(const Trial& trial) {
  const PlacedKernel& kernel = *trial.kernel;
  if (kernel.setup.launches.empty()) return std::optional<RunnerFault>();
  PrepareOrder order;
  for (std::size_t i = 0; i < trial.placement.tensors.size(); ++i) {
    PrepareItem item{false, FillState::poison, false, trial.placement.tensors[i], {}};
    if (trial.task->tensors[i].role == Role::constant) {
      auto input = input_item(trial, i);
      if (!input) return input.error();
      item = *input;
    }
    order.items.push_back(item);
  }
  for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
    const bool zeros = kernel.contents[b] == BufferContent::restored;
    const FillState inside = zeros ? FillState::zeros : FillState::poison;
    order.items.push_back({false, inside, false, kernel.buffers[b], {}});
    // An earlier content's setup has sealed it.
    if (kernel.contents[b] == BufferContent::table) device_.unseal(kernel.buffers[b]);
  }
  orders_.later(DeviceMessage::prepare, pack(order),
                [](const std::string&) { return Result<void>(); });
  if (auto prepared = orders_.tell(); !prepared) return prepared.error();
  auto ran = device_.run(*kernel.image, kernel.setup, std::min(2.0, trial_seconds_));
  if (!ran) return ran.error();
  if (auto* fault = std::get_if<RunnerFault>(&*ran)) {
    fault->where = "setup launch";
    return std::optional<RunnerFault>(std::move(*fault));
  }
  // Buffers written by setup stay: later launches may only read them.
  for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.contents[b] == BufferContent::table) device_.seal(kernel.buffers[b]);
  }
  return std::optional<RunnerFault>();
}

Result<CudaTrials::Ran> CudaTrials::run_prepared(Trial& trial, const RunOrder& order,
                                                 double seconds) {
  auto ran = device_.run(*trial.kernel->image, order, seconds);
  const auto* fault = ran ? std::get_if<RunnerFault>(&*ran) : nullptr;
  if (fault == nullptr || !fault->vanished) return ran;
  if (auto prepared = prepare(trial); !prepared) return prepared.error();
  return device_.run(*trial.kernel->image, order, seconds);
}

Result<CudaTrials::Ran> CudaTrials::launch(Trial& trial, const RunOrder& order, double seconds) {
  if (auto prepared = prepare(trial); !prepared) return prepared.error();
  return run_prepared(trial, order, seconds);
}

Result<void> CudaTrials::tell_input_writes(Trial& trial, RunnerFault& fault, double seconds) {
  if (fault.code != "run.out_of_bounds" || device_.hello().sharing != Sharing::vmm) return {};
  CheckOrder order;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (trial.task->tensors[i].role != Role::in && trial.task->tensors[i].role != Role::constant)
      continue;
    auto recipe = layout_of(trial.task, i, trial.what.workload, trial.what.content);
    if (!recipe) return recipe.error();
    order.unchanged.push_back({true, FillState::zeros, false, trial.placement.tensors[i], *recipe});
    names.push_back(trial.task->tensors[i].name);
  }
  if (names.empty()) return {};
  device_.let_inputs_be_written(true);
  auto ran = launch(trial, trial.kernel->run, seconds);
  device_.let_inputs_be_written(false);
  if (!ran) return ran.error();
  auto payload = device_.judge(DeviceMessage::check, pack(order));
  if (!payload) return payload.error();
  const auto answer = unpack_check_answer(*payload);
  if (!answer || answer->changed.size() != names.size())
    return Error{ErrorCode::failure, "the judge gave an answer that fits no check", ""};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (answer->changed[i] == 0) continue;
    fault.code = "run.input_write";
    fault.message = fmt::format(
        "a write to input {}: it is mapped read-only; where it was not, {} of its elements were "
        "changed",
        names[i], answer->changed[i]);
    return {};
  }
  return {};
}

Result<CheckItem> CudaTrials::check_item(const Trial& trial, std::size_t tensor_index) const {
  const Task& task = trial.task;
  const Tensor& tensor = task.tensors[tensor_index];
  auto bound = bound_params(task, tensor_index, trial.what.workload, trial.what.content);
  if (!bound) return bound.error();
  CheckItem item;
  item.region = trial.placement.tensors[tensor_index];
  item.layout = trial.placement.layouts[tensor_index];
  item.bound = *bound;
  item.scan_poison = tensor.role == Role::out && poison_tells(tensor.type);
  item.poison = inside_of(trial.what.poison);
  item.compare = trial.what.compare;
  item.hash = trial.what.hash && item.layout.elements * size_of(tensor.type) <= bits_hash_cap;
  item.draw = Rng::of(trial.what.content.seed, "compared elements", tensor_index).next();
  for (std::size_t other = 0;
       tensor.check.kind == CheckKind::index_of && other < task.tensors.size(); ++other) {
    if (task.tensors[other].name != tensor.check.of) continue;
    item.extreme = trial.placement.tensors[other];
    item.extreme_layout = trial.placement.layouts[other];
  }
  return item;
}

namespace {

void add_outputs(const Task& task, const TaskPlacement& placement, const CheckAnswer& answer,
                 CaseReport& report) {
  std::size_t o = 0;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (!is_output(task.tensors[i])) continue;
    const CheckedOutput& seen = answer.outputs[o];
    OutputReport output;
    output.tensor = task.tensors[i].name;
    output.elements = placement.layouts[i].elements;
    output.compared = seen.compared;
    output.failed = seen.failed;
    output.never_written = seen.poisoned;
    output.worst_ratio = seen.worst_ratio;
    output.worst_index = seen.worst_index;
    output.got = seen.got;
    output.want = seen.want;
    output.bound = seen.bound;
    output.bits_hash = answer.hashes[o];
    output.one_term = seen.one_term;
    output.one_term_inexact = seen.one_term_inexact;
    output.one_term_error = seen.one_term_error;
    report.outputs.push_back(std::move(output));
    ++o;
  }
}

void add_faults(const Task& task, const CheckAnswer& answer, CaseReport& report) {
  const std::size_t outputs = answer.outputs.size();
  for (std::size_t g = 0; g < answer.guards.size(); ++g) {
    if (answer.guards[g].changed == 0) continue;
    const std::string name =
        g < outputs ? report.outputs[g].tensor : fmt::format("buffer {}", g - outputs);
    report.faults.push_back(
        {"run.guard",
         fmt::format("{} bytes around {} were changed, the first {} bytes from its start",
                     answer.guards[g].changed, name, answer.guards[g].first),
         name});
  }
  for (std::size_t o = 0; o < outputs; ++o) {
    if (answer.outputs[o].padding_changed == 0) continue;
    const std::string& name = report.outputs[o].tensor;
    report.faults.push_back(
        {"run.guard",
         fmt::format("{} places between the elements of {}, which has strides, were changed",
                     answer.outputs[o].padding_changed, name),
         name});
  }
  for (const std::int64_t nonzero : answer.nonzero) {
    if (nonzero != 0)
      report.faults.push_back(
          {"run.state",
           fmt::format("a buffer promised restored holds {} bytes that are not zero", nonzero),
           ""});
  }
  std::size_t input = 0;
  for (const Tensor& tensor : task.tensors) {
    if (is_output(tensor) || answer.changed.empty()) continue;
    const std::int64_t changed = answer.changed[input++];
    if (changed == 0) continue;
    report.faults.push_back(
        {"run.input_write",
         fmt::format("{} elements of input {} were changed", changed, tensor.name), tensor.name});
  }
}

}  // namespace

Result<void> CudaTrials::check(const Trial& trial, CaseReport& report) {
  CheckOrder order;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (!is_output(trial.task->tensors[i])) {
      if (device_.hello().sharing == Sharing::vmm) continue;
      // Timed launches find other content than the one that places were laid out for.
      auto recipe = layout_of(trial.task, i, trial.what.workload, trial.what.content);
      if (!recipe) return recipe.error();
      order.unchanged.push_back(
          {true, FillState::zeros, false, trial.placement.tensors[i], *recipe});
      continue;
    }
    auto item = check_item(trial, i);
    if (!item) return item.error();
    order.oracle_keys.push_back(trial.oracles.at(order.outputs.size()).key);
    order.guards.push_back(item->region);
    order.outputs.push_back(*item);
  }
  for (std::size_t b = 0; trial.kernel != nullptr && b < trial.kernel->buffers.size(); ++b) {
    order.guards.push_back(trial.kernel->buffers[b]);
    if (trial.kernel->contents[b] == BufferContent::restored)
      order.zeros.push_back(trial.kernel->buffers[b]);
  }
  const CheckAnswer sizes{std::vector<CheckedOutput>(order.outputs.size()),
                          std::vector<CheckedGuard>(order.guards.size()),
                          std::vector<std::int64_t>(order.zeros.size()),
                          std::vector<std::int64_t>(order.unchanged.size())};
  const auto read = [&task = trial.task, &placement = trial.placement, &report,
                     sizes](const std::string& payload) -> Result<void> {
    const auto answer = unpack_check_answer(payload);
    const bool fits = answer && answer->outputs.size() == sizes.outputs.size() &&
                      answer->guards.size() == sizes.guards.size() &&
                      answer->hashes.size() == sizes.outputs.size() &&
                      answer->changed.size() == sizes.changed.size() &&
                      answer->nonzero.size() == sizes.nonzero.size();
    if (!fits) return Error{ErrorCode::failure, "the judge gave an answer that fits no check", ""};
    add_outputs(task, placement, *answer, report);
    add_faults(task, *answer, report);
    return {};
  };
  orders_.later(DeviceMessage::check, pack(order), read);
  if (auto asked = ask_judges(trial, report); !asked) return asked;
  return check_indices(trial, report);
}

}  // namespace cupilot
