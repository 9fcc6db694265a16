// Places a case's tensors and a kernel's buffers, and turns launches into orders over those places.
#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/core.h>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "backend/cuda/trials.hpp"
#include "backend/oracle/plain_plan.hpp"
#include "base/hash.hpp"
#include "base/phases.hpp"
#include "kernel/library_step.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

constexpr std::size_t images_named = 16;  // kept, that one need not be hashed for each case

template <class T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

WireArgument wire(const ResolvedArgument& argument, const TaskPlacement& placement,
                  const std::vector<Region>& buffers) {
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
    case ResolvedArgument::Kind::texture:
      out.kind = WireArgument::Kind::texture;
      out.map = argument.index;
      break;
    case ResolvedArgument::Kind::immediate:
      out.bytes = argument.bytes;
      break;
    case ResolvedArgument::Kind::null_pointer:
      out.bytes = bytes_of(std::uint64_t{0});
      break;
    case ResolvedArgument::Kind::record:
      out.bytes = argument.bytes;
      for (const ResolvedArgument& field : argument.fields) {
        out.fields.push_back(wire(field, placement, buffers));
        out.fields.back().at = field.at;
      }
      break;
  }
  return out;
}

WireTexture wire(const ResolvedTexture& texture, const TaskPlacement& placement,
                 const std::vector<Region>& buffers) {
  const TextureState& state = texture.state;
  const auto index = static_cast<std::size_t>(texture.index);
  WireTexture out;
  out.region = texture.of_buffer ? buffers.at(index) : placement.tensors.at(index);
  out.surface = state.surface;
  out.linear = state.linear;
  out.normalized = state.normalized;
  out.normalized_read = state.normalized_read;
  out.memory = static_cast<int>(state.memory);
  out.type = static_cast<int>(state.type);
  out.channels = state.channels;
  out.address = static_cast<int>(state.address);
  out.rank = texture.rank;
  std::copy(texture.sides.begin(), texture.sides.end(), out.sides);
  out.layers = texture.layers;
  out.pitch = texture.pitch;
  return out;
}

WireLaunch wire(const ResolvedLaunch& launch, const CompiledKernel& kernel,
                const TaskPlacement& placement, const std::vector<Region>& buffers) {
  WireLaunch out;
  const EntryFacts* entry = find_entry(kernel, launch.entry);
  out.name = launch.name;
  out.entry = entry != nullptr ? entry->name : launch.entry;
  std::copy(launch.grid.begin(), launch.grid.end(), out.grid);
  std::copy(launch.block.begin(), launch.block.end(), out.block);
  std::copy(launch.cluster.begin(), launch.cluster.end(), out.cluster);
  out.shared = launch.shared;
  out.cooperative = launch.cooperative;
  for (const ResolvedArgument& argument : launch.args)
    out.args.push_back(wire(argument, placement, buffers));
  return out;
}

using RegionOf = std::function<Region(const ResolvedArgument&)>;

// The product of a launch that is a library's step, column after column as the library has it.
LibraryOrder ordered(const ProductStep& step, const RegionOf& region) {
  LibraryOrder out;
  out.type_a = static_cast<int>(step.type_b);
  out.type_b = static_cast<int>(step.type_a);
  out.type_c = out.type_d = static_cast<int>(step.type_d);
  out.compute = step.compute == StepCompute::tf32 ? LibraryOrder::tf32 : LibraryOrder::full;
  out.trans_a = step.trans_b;
  out.trans_b = step.trans_a;
  out.epilogue = static_cast<int>(step.epilogue);
  out.rows = step.n;
  out.columns = step.m;
  out.depth = step.k;
  out.batch = step.batch;
  out.ld_a = step.trans_b ? step.k : step.n;
  out.ld_b = step.trans_a ? step.m : step.k;
  out.ld_d = step.n;
  out.stride_a = step.n * step.k;
  out.stride_b = step.m * step.k;
  out.stride_d = step.m * step.n;
  out.alpha = static_cast<double>(step.alpha);
  out.a = region(step.b);
  out.b = region(step.a);
  out.d = region(step.d);
  out.bias = region(step.bias);
  return out;
}

ConvolutionOrder ordered(const ConvolutionStep& step, const RegionOf& region) {
  ConvolutionOrder out;
  out.type = static_cast<int>(step.type);
  out.compute = step.compute == StepCompute::tf32 ? LibraryOrder::tf32 : LibraryOrder::full;
  out.transposed = step.transposed;
  out.batch = step.batch;
  out.channels = step.channels;
  out.outputs = step.outputs;
  out.groups = step.groups;
  const auto put = [](const ConvolutionStep::Extents& from, std::int64_t(&to)[3]) {
    std::copy(from.begin(), from.end(), to);
  };
  put(step.size, out.size);
  put(step.window, out.window);
  put(step.places, out.places);
  put(step.stride, out.stride);
  put(step.padding, out.padding);
  put(step.dilation, out.dilation);
  out.x = region(step.x);
  out.weight = region(step.weight);
  out.y = region(step.y);
  out.bias = region(step.bias);
  return out;
}

}  // namespace

StepOrder step_order(const LibraryStep& step, const TaskPlacement& placement,
                     const std::vector<Region>& buffers) {
  const RegionOf region = [&](const ResolvedArgument& argument) {
    return wire(argument, placement, buffers).region;
  };
  StepOrder out;
  if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
    out.library = StepOrder::cudnn;
    out.convolution = ordered(*convolution, region);
  } else {
    out.product = ordered(std::get<ProductStep>(step), region);
  }
  return out;
}

void add_launch(RunOrder& order, const ResolvedLaunch& launch, const CompiledKernel& kernel,
                const TaskPlacement& placement, const std::vector<Region>& buffers) {
  order.launches.push_back(wire(launch, kernel, placement, buffers));
  const auto step = launch.library.empty() ? std::nullopt : library_step(launch);
  if (!step) return;
  order.launches.back().step = static_cast<int>(order.steps.size());
  order.steps.push_back(step_order(*step, placement, buffers));
}

Result<FillParams> layout_of(const Task& task, std::size_t tensor, const Workload& workload,
                             const Content& content) {
  auto params = fill_params(task, tensor, workload, content);
  if (!params) return std::move(params.error()).while_doing("tensor " + task.tensors[tensor].name);
  return params;
}

Result<TaskPlacement> CudaTrials::place(const Task& task, const Case& what, Fence fence) {
  const Phase phase("place", PhaseCpu::of_phase_around);
  if (device_.crowded()) {
    if (auto told = orders_.tell(); !told) return told.error();
  }
  device_.release_all();
  TaskPlacement placement;
  placement.fence = fence;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    auto layout = layout_of(task, i, what.workload, what.content);
    if (!layout) return layout.error();
    placement.layouts.push_back(*layout);
    const auto source = source_of(task, i, what.workload, what.content);
    if (!source) return source.error();
    if (*source != i) {
      placement.tensors.push_back(placement.tensors[*source]);
      continue;
    }
    auto region =
        device_.lease(layout->span * size_of(task.tensors[i].type), is_output(task.tensors[i]),
                      fence, base_offset(task.tensors[i], what));
    if (!region) return region.error();
    placement.tensors.push_back(*region);
  }
  return placement;
}

// A kernel is placed for one case after another, between the cases of others.
std::shared_ptr<const NamedImage> CudaTrials::image_of(const CompiledKernel& kernel) {
  NamedImage image;
  for (const EntryFacts& entry : kernel.entries) {
    image.entries.push_back(entry.name);
    image.parameter_bytes.push_back(entry.parameter_bytes);
  }
  for (const auto& named : named_) {
    if (named->entries == image.entries && named->parameter_bytes == image.parameter_bytes &&
        named->image == kernel.cubin)
      return named;
  }
  image.image = kernel.cubin;
  image.name = sha256_hex(
      std::string_view(reinterpret_cast<const char*>(kernel.cubin.data()), kernel.cubin.size()));
  if (named_.size() >= images_named) named_.erase(named_.begin());
  named_.push_back(std::make_shared<const NamedImage>(std::move(image)));
  return named_.back();
}

Attempt<PlacedKernel> CudaTrials::place_kernel(const Task& task, const TaskPlacement& placement,
                                               const CompiledKernel& kernel,
                                               const ResolvedPlan& plan) {
  const Phase phase("place", PhaseCpu::of_phase_around);
  PlacedKernel placed;
  const std::int64_t most =
      device_.hello().memory_free / 2;  // reference values and tensors want the rest
  std::int64_t asked = 0;
  for (const ResolvedBuffer& buffer : plan.buffers) {
    asked = buffer.bytes > most - asked ? most + 1 : asked + buffer.bytes;
    if (asked > most)
      return reject("run.launch",
                    fmt::format("buffer {} of {} bytes: all of a kernel may take {} on this card",
                                buffer.name, buffer.bytes, most));
  }
  placed.image = image_of(kernel);
  for (const ResolvedBuffer& buffer : plan.buffers) {
    auto region = device_.lease(buffer.bytes, true, placement.fence);
    if (!region) return region.error();
    placed.buffers.push_back(*region);
    placed.contents.push_back(buffer.content);
    if (buffer.content == BufferContent::zeroed) placed.run.zeroed.push_back(*region);
    if (buffer.content == BufferContent::scratch) placed.run.poison.push_back(*region);
  }
  for (const ResolvedMap& map : plan.maps) {
    const auto index = static_cast<std::size_t>(map.index);
    const Region region = map.of_buffer ? placed.buffers.at(index) : placement.tensors.at(index);
    placed.run.maps.push_back(
        {region, static_cast<int>(map.type), map.swizzle, map.dims, map.pitch, map.box});
  }
  placed.run.image = placed.setup.image = placed.image->name;
  placed.setup.maps = placed.run.maps;
  for (const ResolvedTexture& texture : plan.textures)
    placed.run.textures.push_back(wire(texture, placement, placed.buffers));
  placed.setup.textures = placed.run.textures;
  for (const ResolvedLaunch& launch : plan.launches) {
    RunOrder& order = launch.when == When::setup ? placed.setup : placed.run;
    add_launch(order, launch, kernel, placement, placed.buffers);
  }
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role == Role::out) placed.run.poison.push_back(placement.tensors[i]);
  }
  return placed;
}

Result<PlacedKernel> CudaTrials::place_plain(const TaskRef& task, const Workload& workload,
                                             const TaskPlacement& placement) {
  auto program = programs_.reference(task, ReferenceBuild::plain);
  if (!program) return program.error();
  const auto plan = plain_plan(task, workload, (*program)->program);
  if (!plan) return plan.error();
  PlacedKernel placed;
  placed.image = std::make_shared<const NamedImage>((*program)->image);
  placed.run.image = placed.image->name;
  for (const ResolvedBuffer& buffer : plan->buffers) {
    auto region = device_.lease(buffer.bytes, true, placement.fence);
    if (!region) return region.error();
    placed.buffers.push_back(*region);
    placed.contents.push_back(buffer.content);
    placed.run.poison.push_back(*region);
  }
  for (const ResolvedLaunch& launch : plan->launches) {
    placed.run.launches.push_back(wire(launch, CompiledKernel(), placement, placed.buffers));
  }
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (task->tensors[i].role == Role::out) placed.run.poison.push_back(placement.tensors[i]);
  }
  return placed;
}

}  // namespace cupilot
