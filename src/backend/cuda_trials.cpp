#include "backend/cuda_trials.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <cupilot/rejection.hpp>
#include <cupilot/resolved_plan.hpp>
#include <cupilot/rng.hpp>

#include "base/hash.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

constexpr double judge_seconds = 120;
// Beyond these an output's reference is computed in drawn slices only.
constexpr std::int64_t oracle_bytes_cap = 8ll << 30;
constexpr std::int64_t oracle_flops_cap = 2'000'000'000'000;
constexpr std::int64_t slices = 64, slice_elements = 1 << 16;

bool is_input(const Tensor& tensor) { return tensor.role != Role::out; }
bool is_output(const Tensor& tensor) { return tensor.role == Role::out || tensor.role == Role::in_out; }

// Types wide enough that an honest value is poison by chance once in 2^32 elements at most, or never.
bool poison_tells(DType type) { return size_of(type) >= 4 || type == DType::bf16 || type == DType::f16; }

std::string oracle_key(const std::string& task_key, const Case& what, const std::string& tensor, std::int64_t slice) {
  std::string key = task_key;
  for (const auto& [axis, extent] : what.workload.sizes) key += fmt::format(" {}={}", axis, extent);
  return key + fmt::format(" {}:{} {} /{}", what.content.seed, static_cast<int>(what.content.kind), tensor, slice);
}

template <class T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

WireArgument wire(const ResolvedArgument& argument, const TaskPlacement& placement, const std::vector<Region>& buffers) {
  WireArgument out;
  const auto index = static_cast<std::size_t>(argument.index);
  switch (argument.kind) {
    case ResolvedArgument::Kind::tensor:
      out.kind = WireArgument::Kind::region;
      out.region = placement.tensors.at(index);
      break;
    case ResolvedArgument::Kind::buffer:
      out.kind = WireArgument::Kind::region;
      out.region = buffers.at(index);
      break;
    case ResolvedArgument::Kind::map:
      out.kind = WireArgument::Kind::map;
      out.map = argument.index;
      break;
    case ResolvedArgument::Kind::immediate:
      out.bytes = argument.bytes;
      break;
    case ResolvedArgument::Kind::null_pointer:
      out.bytes = bytes_of(std::uint64_t{0});
      break;
  }
  return out;
}

WireLaunch wire(const ResolvedLaunch& launch, const CompiledKernel& kernel, const TaskPlacement& placement,
                const std::vector<Region>& buffers) {
  WireLaunch out;
  const EntryFacts* entry = find_entry(kernel, launch.entry);
  out.name = launch.name;
  out.entry = entry != nullptr ? entry->name : launch.entry;
  std::copy(launch.grid.begin(), launch.grid.end(), out.grid);
  std::copy(launch.block.begin(), launch.block.end(), out.block);
  std::copy(launch.cluster.begin(), launch.cluster.end(), out.cluster);
  out.shared = launch.shared;
  out.cooperative = launch.cooperative;
  for (const ResolvedArgument& argument : launch.args) out.args.push_back(wire(argument, placement, buffers));
  return out;
}

Fault fault_of(const RunnerFault& fault) { return {fault.code, fault.message, fault.where}; }

}  // namespace

Result<FillParams> layout_of(const Task& task, std::size_t tensor, const Workload& workload, const Content& content) {
  auto params = fill_params(task, tensor, workload, content);
  if (!params) return std::move(params.error()).while_doing("tensor " + task.tensors[tensor].name);
  return params;
}

double CudaTrials::run_seconds(const Task& task, const Workload& workload) const {
  const auto flops = textbook_flops(task, workload);
  const auto bytes = compulsory_bytes(task, workload);
  const double work = (flops ? static_cast<double>(*flops) / 1e11 : 0) + (bytes ? static_cast<double>(*bytes) / 1e10 : 0);
  return std::min(2.0 + work, trial_seconds_);
}

Result<TaskPlacement> CudaTrials::place(const Task& task, const Workload& workload) {
  device_.release_all();
  TaskPlacement placement;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    auto layout = layout_of(task, i, workload, {});
    if (!layout) return layout.error();
    auto region = device_.lease(layout->span * size_of(task.tensors[i].type), is_output(task.tensors[i]));
    if (!region) return region.error();
    placement.tensors.push_back(*region);
    placement.layouts.push_back(*layout);
  }
  return placement;
}

Result<PlacedKernel> CudaTrials::place_kernel(const Task& task, const TaskPlacement& placement, const CompiledKernel& kernel,
                                              const ResolvedPlan& plan) {
  PlacedKernel placed;
  placed.image.name = sha256_hex(std::string_view(reinterpret_cast<const char*>(kernel.cubin.data()), kernel.cubin.size()));
  placed.image.image = kernel.cubin;
  for (const EntryFacts& entry : kernel.entries) {
    placed.image.entries.push_back(entry.name);
    placed.image.parameter_bytes.push_back(entry.parameter_bytes);
  }
  for (const ResolvedBuffer& buffer : plan.buffers) {
    auto region = device_.lease(buffer.bytes, true);
    if (!region) return region.error();
    placed.buffers.push_back(*region);
    placed.contents.push_back(buffer.content);
    if (buffer.content == BufferContent::zeroed) placed.run.zeroed.push_back(*region);
    if (buffer.content == BufferContent::scratch) placed.run.poison.push_back(*region);
  }
  for (const ResolvedMap& map : plan.maps) {
    const auto index = static_cast<std::size_t>(map.index);
    const Region region = map.of_buffer ? placed.buffers.at(index) : placement.tensors.at(index);
    placed.run.maps.push_back({region, static_cast<int>(map.type), map.swizzle, map.dims, map.pitch, map.box});
  }
  placed.run.image = placed.setup.image = placed.image.name;
  placed.setup.maps = placed.run.maps;
  for (const ResolvedLaunch& launch : plan.launches) {
    RunOrder& order = launch.when == When::setup ? placed.setup : placed.run;
    order.launches.push_back(wire(launch, kernel, placement, placed.buffers));
  }
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role == Role::out) placed.run.poison.push_back(placement.tensors[i]);
  }
  return placed;
}

Result<PlacedKernel> CudaTrials::place_plain(const Task& task, const std::string& task_key, const Workload& workload,
                                             const TaskPlacement& placement) {
  auto program = programs_.reference(task, task_key, ReferenceBuild::plain);
  if (!program) return program.error();
  PlacedKernel placed;
  placed.image = (*program)->image;
  placed.run.image = placed.image.name;
  for (const ReferenceEntry& entry : (*program)->entries) {
    WireLaunch launch;
    launch.name = launch.entry = entry.entry;
    const auto pointer = [&](const Region& region) { launch.args.push_back({WireArgument::Kind::region, region, 0, {}}); };
    const auto value = [&](std::vector<std::uint8_t> bytes) {
      launch.args.push_back({WireArgument::Kind::bytes, {}, 0, std::move(bytes)});
    };
    std::size_t output = 0;
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      if (is_input(task.tensors[i])) pointer(placement.tensors[i]);
      if (task.tensors[i].name == entry.tensor) output = i;
    }
    for (const Scalar& scalar : task.scalars) value(bytes_of(scalar.value));
    for (const Axis& axis : task.axes) {
      const auto size = workload.sizes.find(axis.name);
      value(bytes_of(size != workload.sizes.end() ? size->second : std::int64_t{1}));
    }
    pointer(placement.tensors[output]);
    const std::int64_t elements = placement.layouts[output].elements;
    value(bytes_of(std::int64_t{0}));
    value(bytes_of(elements));
    launch.grid[0] = std::max<std::int64_t>((elements + 255) / 256, 1);
    launch.block[0] = 256;
    placed.run.launches.push_back(std::move(launch));
    if (task.tensors[output].role == Role::out) placed.run.poison.push_back(placement.tensors[output]);
  }
  return placed;
}

namespace {

// The reference of one output: all of it, or drawn slices where all would take too much memory or time.
OracleOrder oracle_order(const Task& task, const std::string& task_key, const Case& what, const TaskPlacement& placement,
                         std::size_t output, const ReferenceImage& program) {
  OracleOrder order;
  const std::int64_t elements = placement.layouts[output].elements;
  const auto flops = textbook_flops(task, what.workload);
  const bool large = elements > oracle_bytes_cap / 16 || (what.compare > 0 && flops && *flops > oracle_flops_cap);
  order.slice = large ? slice_elements : std::max<std::int64_t>(elements, 1);
  order.key = oracle_key(task_key, what, task.tensors[output].name, order.slice);
  order.image = program.image.name;
  for (const ReferenceEntry& entry : program.entries) {
    if (entry.tensor == task.tensors[output].name) order.entry = entry.entry;
  }
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (is_input(task.tensors[i])) order.pointers.push_back(placement.tensors[i]);
  }
  for (const Scalar& scalar : task.scalars) order.scalars.push_back(scalar.value);
  for (const Axis& axis : task.axes) {
    const auto size = what.workload.sizes.find(axis.name);
    order.axes.push_back(size != what.workload.sizes.end() ? size->second : 1);
  }
  if (!large) {
    order.begins = {0};
    order.elements = elements;
    return order;
  }
  Rng rng = Rng::of(what.content.seed, "oracle slices", output);
  for (std::int64_t i = 0; i < slices; ++i) order.begins.push_back(rng.below(elements - slice_elements + 1));
  order.elements = slices * slice_elements;
  return order;
}

}  // namespace

Result<std::vector<std::string>> CudaTrials::prepare(const Task& task, const std::string& task_key, const Case& what,
                                                     const TaskPlacement& placement, const PlacedKernel* kernel) {
  auto program = programs_.reference(task, task_key, ReferenceBuild::tracked);
  if (!program) return program.error();
  if (auto loaded = device_.load_in_judge((*program)->image); !loaded) return loaded.error();
  const bool sealed = device_.hello().sharing == Sharing::vmm;
  PrepareOrder order;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    PrepareItem item;
    item.region = placement.tensors[i];
    if (is_input(task.tensors[i])) {
      auto fill = layout_of(task, i, what.workload, what.content);
      if (!fill) return fill.error();
      item.what = PrepareItem::What::fill;
      item.fill = *fill;
      item.sealed = sealed && task.tensors[i].role != Role::in_out;
    }
    order.items.push_back(item);
    if (!is_output(task.tensors[i])) continue;
    order.oracles.push_back(oracle_order(task, task_key, what, placement, i, **program));
    keys.push_back(order.oracles.back().key);
  }
  for (std::size_t b = 0; kernel != nullptr && b < kernel->buffers.size(); ++b) {
    if (kernel->contents[b] == BufferContent::table) continue;
    PrepareItem item;
    item.region = kernel->buffers[b];
    if (kernel->contents[b] == BufferContent::restored) item.what = PrepareItem::What::zero;
    order.items.push_back(item);
  }
  auto prepared = device_.judge(DeviceMessage::prepare, pack(order), judge_seconds);
  if (!prepared) return prepared.error();
  return keys;
}

Result<std::optional<RunnerFault>> CudaTrials::run_setup(const Task& task, const TaskPlacement& placement,
                                                         const PlacedKernel& kernel) {
  PrepareOrder order;
  for (std::size_t i = 0; i < task.tensors.size(); ++i)
    order.items.push_back({PrepareItem::What::poison, false, placement.tensors[i], {}});
  for (const Region& buffer : kernel.buffers) order.items.push_back({PrepareItem::What::poison, false, buffer, {}});
  auto prepared = device_.judge(DeviceMessage::prepare, pack(order), judge_seconds);
  if (!prepared) return prepared.error();
  if (kernel.setup.launches.empty()) return std::optional<RunnerFault>();
  auto ran = device_.run(kernel.image, kernel.setup, std::min(2.0, trial_seconds_));
  if (!ran) return ran.error();
  if (auto* fault = std::get_if<RunnerFault>(&*ran)) {
    fault->where = "setup launch";
    return std::optional<RunnerFault>(std::move(*fault));
  }
  return std::optional<RunnerFault>();
}

Result<void> CudaTrials::check(const Task& task, const Case& what, const TaskPlacement& placement, const PlacedKernel* kernel,
                               const std::vector<std::string>& oracle_keys, CaseReport& report) {
  CheckOrder order;
  order.oracle_keys = oracle_keys;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    if (!is_output(tensor)) {
      if (device_.hello().sharing != Sharing::ipc) continue;
      auto fill = layout_of(task, i, what.workload, what.content);
      if (!fill) return fill.error();
      order.unchanged.push_back({PrepareItem::What::fill, false, placement.tensors[i], *fill});
      continue;
    }
    CheckItem item;
    item.region = placement.tensors[i];
    item.layout = placement.layouts[i];
    auto bound = bound_params(task, i, what.workload);
    if (!bound) return bound.error();
    item.bound = *bound;
    item.scan_poison = tensor.role == Role::out && poison_tells(tensor.type);
    item.compare = what.compare;
    item.hash = what.hash && item.layout.elements * size_of(tensor.type) <= bits_hash_cap;
    item.draw = Rng::of(what.content.seed, "compared elements", i).next();
    for (std::size_t other = 0; tensor.check.kind == CheckKind::index_of && other < task.tensors.size(); ++other) {
      if (task.tensors[other].name != tensor.check.of) continue;
      item.extreme = placement.tensors[other];
      item.extreme_layout = placement.layouts[other];
    }
    order.outputs.push_back(item);
    order.guards.push_back(item.region);
    outputs.push_back(i);
  }
  for (std::size_t b = 0; kernel != nullptr && b < kernel->buffers.size(); ++b) {
    order.guards.push_back(kernel->buffers[b]);
    if (kernel->contents[b] == BufferContent::restored) order.zeros.push_back(kernel->buffers[b]);
  }
  auto payload = device_.judge(DeviceMessage::check, pack(order), judge_seconds);
  if (!payload) return payload.error();
  const auto answer = unpack_check_answer(*payload);
  if (!answer || answer->outputs.size() != outputs.size() || answer->guards.size() != order.guards.size() ||
      answer->hashes.size() != outputs.size()) {
    return Error{ErrorCode::failure, "the judge gave an answer that fits no check", ""};
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const CheckedOutput& seen = answer->outputs[o];
    OutputReport output;
    output.tensor = task.tensors[outputs[o]].name;
    output.elements = placement.layouts[outputs[o]].elements;
    output.compared = seen.compared;
    output.failed = seen.failed;
    output.never_written = seen.poisoned;
    output.worst_ratio = seen.worst_ratio;
    output.worst_index = seen.worst_index;
    output.got = seen.got;
    output.want = seen.want;
    output.bound = seen.bound;
    output.bits_hash = answer->hashes[o];
    report.outputs.push_back(std::move(output));
  }
  for (std::size_t g = 0; g < answer->guards.size(); ++g) {
    if (answer->guards[g].changed == 0) continue;
    const bool tensor = g < outputs.size();
    const std::string name = tensor ? task.tensors[outputs[g]].name : fmt::format("buffer {}", g - outputs.size());
    report.faults.push_back({"run.guard",
                             fmt::format("{} bytes around {} were changed, the first {} bytes from its start",
                                         answer->guards[g].changed, name, answer->guards[g].first),
                             name});
  }
  for (const std::int64_t nonzero : answer->nonzero) {
    if (nonzero != 0)
      report.faults.push_back(
          {"run.state", fmt::format("a buffer promised restored holds {} bytes that are not zero", nonzero), ""});
  }
  for (const std::int64_t changed : answer->changed) {
    if (changed != 0)
      report.faults.push_back({"run.input_write", fmt::format("{} elements of an input were changed", changed), ""});
  }
  return {};
}

Result<CaseReport> CudaTrials::prove(const Task& task, const std::string& task_key, const CompiledKernel& kernel,
                                     const Case& what) {
  const auto begin = Clock::now();
  CaseReport report;
  report.what = what;
  auto resolution = resolve(kernel.source, task, what.workload, spec_, &kernel);
  if (resolution.is_error()) return resolution.error();
  if (resolution.is_rejected()) {
    report.faults.push_back({resolution.rejected().code, resolution.rejected().message, resolution.rejected().where});
    return report;
  }
  if (std::holds_alternative<NotForThisShape>(*resolution)) {
    report.not_for_this_shape = true;
    return report;
  }
  auto placement = place(task, what.workload);
  if (!placement) return placement.error();
  auto placed = place_kernel(task, *placement, kernel, std::get<ResolvedPlan>(*resolution));
  if (!placed) return placed.error();
  if (!placed->setup.launches.empty()) {
    auto faulted = run_setup(task, *placement, *placed);
    if (!faulted) return faulted.error();
    if (*faulted) {
      report.faults.push_back(fault_of(**faulted));
      return report;
    }
  }
  auto keys = prepare(task, task_key, what, *placement, &*placed);
  if (!keys) return keys.error();
  auto ran = device_.run(placed->image, placed->run, run_seconds(task, what.workload));
  if (!ran) return ran.error();
  if (const auto* fault = std::get_if<RunnerFault>(&*ran)) {
    report.faults.push_back(fault_of(*fault));
  } else if (auto checked = check(task, what, *placement, &*placed, *keys, report); !checked) {
    return checked.error();
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

}  // namespace cupilot
