// A launch plan in numbers, with every limit of the device checked.
#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "kernel/library_step.hpp"
#include "kernel/parameter_check.hpp"
#include "kernel/plan_arguments.hpp"
#include "kernel/plan_scope.hpp"
#include "kernel/texture_limits.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t grid_limits[] = {2147483647, 65535, 65535};
constexpr std::int64_t block_limits[] = {1024, 1024, 64};
constexpr std::int64_t cluster_limit = 8;
constexpr std::int64_t parameter_limit = 32764;  // bytes of a kernel's parameters
constexpr int registers_limit = 255;             // a thread

// Resolves one plan; the first refusal stops everything after it.
class Resolver {
 public:
  Resolver(const KernelSource& source, const Task& task, const Workload& workload,
           const DeviceSpec& device, const CompiledKernel* compiled)
      : plan_(source.plan),
        task_(task),
        workload_(workload),
        device_(device),
        compiled_(compiled),
        scope_(plan_, source.constants, task, workload, device, compiled) {}

  Attempt<Resolution> run() {
    refused_ = hidden_name(plan_, task_, scope_);
    if (auto unfit = first_unmet()) return Resolution{NotForThisShape{*unfit}};
    for (const PlanBuffer& buffer : plan_.buffers) add_buffer(buffer);
    for (const PlanTensorMap& map : plan_.maps) add_map(map);
    for (const PlanTexture& texture : plan_.textures) add_texture(texture);
    for (const PlanLaunch& launch : plan_.launches) add_launch(launch);
    if (refused_) return std::move(*refused_);
    return Resolution{std::move(resolved_)};
  }

 private:
  void refuse(std::string_view code, std::string message, const std::string& where) {
    if (!refused_) refused_ = reject(code, std::move(message), where);
  }
  void limit(const std::string& message, const std::string& where) {
    refuse("plan.limit", message, where);
  }

  void refuse(const ExprFault& fault, const std::string& text, const std::string& where) {
    const bool name = fault.kind == ExprFault::Kind::unknown_name;
    refuse(name ? "plan.name" : "plan.expression",
           fmt::format("`{}`, column {}: {}", text, fault.column, fault.message), where);
  }

  std::int64_t value(const Expr& expr, const std::string& where) {
    if (refused_) return 0;
    const ExprValue got = scope_.value(expr);
    if (const auto* fault = std::get_if<ExprFault>(&got))
      return refuse(*fault, expr.text, where), 0;
    return std::get<std::int64_t>(got);
  }

  std::vector<std::int64_t> values(const std::vector<Expr>& exprs, const std::string& where) {
    std::vector<std::int64_t> all;
    for (const Expr& expr : exprs) {
      const ExprValue got = refused_ ? ExprValue(std::int64_t{0}) : scope_.value(expr);
      const auto* fault = std::get_if<ExprFault>(&got);
      if (fault != nullptr) refuse(*fault, expr.text, fmt::format("{}[{}]", where, all.size()));
      all.push_back(fault != nullptr ? 0 : std::get<std::int64_t>(got));
    }
    return all;
  }

  std::optional<std::string> first_unmet();
  void add_buffer(const PlanBuffer& buffer);
  void add_map(const PlanTensorMap& map);
  void check_map(const ResolvedMap& map, const std::string& where);
  void add_texture(const PlanTexture& texture);
  std::int64_t bytes_of(const ResolvedTexture& texture, const std::string& where);
  void check_surfaces(const ResolvedLaunch& launch, const std::string& where);
  void add_launch(const PlanLaunch& launch);
  void set_block(const PlanLaunch& launch, ResolvedLaunch& out, const std::string& where);
  void set_cluster(const PlanLaunch& launch, ResolvedLaunch& out, const std::string& where);
  void check_compiled(const ResolvedLaunch& launch, const std::string& where);
  ResolvedArgument argument(const PlanLaunch& launch, const PlanArgument& argument,
                            const std::string& where);
  void check_of_setup(std::string_view name, const std::string& where);
  ResolvedArgument named(const PlanLaunch& launch, const std::string& name,
                         const std::string& where);
  ResolvedArgument record(const PlanLaunch& launch, const PlanArgument& argument,
                          const std::string& where);
  ResolvedArgument scalar(const Scalar& scalar, const std::string& where);

  const LaunchPlan& plan_;
  const Task& task_;
  const Workload& workload_;
  const DeviceSpec& device_;
  const CompiledKernel* compiled_;
  PlanScope scope_;
  ResolvedPlan resolved_;
  std::optional<Rejected> refused_;
};

template <class List>
int index_of(const List& list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

template <class T>
ResolvedArgument immediate(T number) {
  ResolvedArgument argument;
  argument.bytes.resize(sizeof(T));
  std::memcpy(argument.bytes.data(), &number, sizeof(T));
  return argument;
}

ResolvedArgument real(const PlanArgument& argument) {
  return argument.kind == PlanArgument::Kind::f64 ? immediate(argument.number)
                                                  : immediate(static_cast<float>(argument.number));
}

std::size_t size_of(const ResolvedArgument& argument) {
  if (!argument.bytes.empty()) return argument.bytes.size();
  return argument.kind == ResolvedArgument::Kind::map ? 128 : 8;
}

std::optional<std::string> Resolver::first_unmet() {
  for (std::size_t i = 0; i < plan_.require.size() && !refused_; ++i) {
    if (value(plan_.require[i], fmt::format("require[{}]", i)) == 0 && !refused_)
      return plan_.require[i].text;
  }
  return std::nullopt;
}

void Resolver::add_buffer(const PlanBuffer& buffer) {
  const std::string where = "buffers." + buffer.name;
  const std::int64_t bytes = value(buffer.bytes, where);
  if (bytes < 0) limit(fmt::format("buffer {} has {} bytes", buffer.name, bytes), where);
  if (bytes > device_.memory_bytes) {
    limit(fmt::format("buffer {} has {} bytes, {} has {}", buffer.name, bytes, device_.name,
                      device_.memory_bytes),
          where);
  }
  resolved_.buffers.push_back({buffer.name, bytes, buffer.content});
}

void Resolver::add_map(const PlanTensorMap& map) {
  const std::string where = "maps." + map.name;
  ResolvedMap out;
  out.index = index_of(task_.tensors, map.of);
  if (out.index < 0) {
    out.index = index_of(plan_.buffers, map.of);
    out.of_buffer = true;
  }
  if (out.index < 0)
    refuse("plan.name",
           fmt::format("map {} is of {}, which is neither tensor nor buffer", map.name, map.of),
           where);
  out.type = map.type;
  out.swizzle = map.swizzle;
  out.dims = values(map.dims, where + ".dims");
  out.pitch = values(map.pitch, where + ".pitch");
  out.box = values(map.box, where + ".box");
  if (!refused_) check_map(out, where);
  resolved_.maps.push_back(std::move(out));
}

// Checks the demands of cuTensorMapEncodeTiled (CUDA Driver API reference).
void Resolver::check_map(const ResolvedMap& map, const std::string& where) {
  if (device_.compute_major < 9)
    return limit(fmt::format("tensor maps need compute capability 9.0, {} has less", device_.name),
                 where);
  for (const std::int64_t side : map.dims) {
    if (side < 1 || side > (1ll << 32))
      return limit(fmt::format("a side of {} elements; want 1 to 2^32", side), where);
  }
  for (const std::int64_t pitch : map.pitch) {
    if (pitch < 16 || pitch % 16 != 0 || pitch >= (1ll << 40)) {
      return limit(
          fmt::format("a pitch of {} bytes; want a positive multiple of 16 below 2^40", pitch),
          where);
    }
  }
  for (const std::int64_t side : map.box) {
    if (side < 1 || side > 256)
      return limit(fmt::format("a box side of {}; want 1 to 256", side), where);
  }
  const std::int64_t inner = map.box[0] * size_of(map.type);
  if (inner % 16 != 0)
    return limit(fmt::format("the box's inner side has {} bytes; want a multiple of 16", inner),
                 where);
  if (map.swizzle > 0 && inner > map.swizzle) {
    limit(fmt::format("the box's inner side has {} bytes, more than its swizzle of {}", inner,
                      map.swizzle),
          where);
  }
}

void Resolver::add_texture(const PlanTexture& texture) {
  const std::string where = "textures." + texture.name;
  ResolvedTexture out;
  out.state = texture.state;
  out.index = index_of(task_.tensors, texture.of);
  if (out.index < 0) {
    out.index = index_of(plan_.buffers, texture.of);
    out.of_buffer = true;
  }
  if (out.index < 0)
    return refuse("plan.name",
                  fmt::format("texture {} is of {}, which is neither tensor nor buffer",
                              texture.name, texture.of),
                  where);
  std::vector<std::int64_t> dims = values(texture.dims, where + ".dims");
  const std::int64_t pitch = value(texture.pitch, where + ".pitch");
  if (refused_) return;
  if (texture.state.layered) {
    out.layers = dims.back();
    dims.pop_back();
  }
  out.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), out.sides.begin());
  const std::int64_t row = out.sides[0] * texel_bytes(out.state);
  out.pitch = texture.state.memory == TextureMemory::pitch2d ? pitch : row;
  if (const std::string wrong = texture_limit(out); !wrong.empty()) return limit(wrong, where);
  const std::int64_t held = bytes_of(out, where), wanted = texture_bytes(out);
  if (!refused_ && wanted > held)
    limit(
        fmt::format("texture {} spans {} bytes, {} has {}", texture.name, wanted, texture.of, held),
        where);
  resolved_.textures.push_back(out);
}

// Bytes of what a texture is of.
std::int64_t Resolver::bytes_of(const ResolvedTexture& texture, const std::string& where) {
  const auto index = static_cast<std::size_t>(texture.index);
  if (texture.of_buffer) return resolved_.buffers[index].bytes;
  const Tensor& tensor = task_.tensors[index];
  const Result<TensorShape> shape = shape_of(task_, tensor, workload_);
  if (!shape) {
    refuse("plan.limit", shape.error().message, where);
    return 0;
  }
  return shape->span * size_of(tensor.type);
}

// An array lies beside the memory that it is copied from and to: a launch that stores through a
// surface meets that memory no other way.
void Resolver::check_surfaces(const ResolvedLaunch& launch, const std::string& where) {
  using Kind = ResolvedArgument::Kind;
  using Place = std::pair<bool, int>;
  std::map<Place, int> taken;
  std::vector<Place> surfaces;
  each_value(launch.args, [&](const ResolvedArgument& argument) {
    const auto index = static_cast<std::size_t>(argument.index);
    if (argument.kind == Kind::tensor) ++taken[{false, argument.index}];
    if (argument.kind == Kind::buffer) ++taken[{true, argument.index}];
    if (argument.kind == Kind::map)
      ++taken[{resolved_.maps[index].of_buffer, resolved_.maps[index].index}];
    if (argument.kind != Kind::texture) return;
    const ResolvedTexture& texture = resolved_.textures[index];
    ++taken[{texture.of_buffer, texture.index}];
    if (texture.state.surface) surfaces.emplace_back(texture.of_buffer, texture.index);
  });
  for (const auto& [of_buffer, index] : surfaces) {
    if (taken[{of_buffer, index}] < 2) continue;
    const auto at = static_cast<std::size_t>(index);
    limit(fmt::format("takes {} as a surface and otherwise too: an array is memory of its own",
                      of_buffer ? plan_.buffers[at].name : task_.tensors[at].name),
          where + ".args");
  }
}

void Resolver::add_launch(const PlanLaunch& launch) {
  const std::string where = "launches." + launch.name;
  ResolvedLaunch out;
  out.name = launch.name;
  out.when = launch.when;
  out.cooperative = launch.cooperative;
  out.library = launch.library;
  const auto entry =
      fill_entry(launch.entry, [this](std::string_view name) { return scope_(name); });
  if (const auto* fault = std::get_if<ExprFault>(&entry))
    return refuse(*fault, launch.entry, where + ".entry");
  out.entry = std::get<std::string>(entry);
  const auto grid = values(launch.grid, where + ".grid");
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i] < 1 || grid[i] > grid_limits[i]) {
      limit(fmt::format("grid side {} is {}; want 1 to {}", "xyz"[i], grid[i], grid_limits[i]),
            where + ".grid");
    }
    out.grid[i] = grid[i];
  }
  set_block(launch, out, where);
  set_cluster(launch, out, where);
  out.shared = value(launch.shared, where + ".shared");
  if (out.shared < 0 || out.shared > device_.shared_per_block) {
    limit(fmt::format("{} bytes of shared memory; a block of {} may have {}", out.shared,
                      device_.name, device_.shared_per_block),
          where + ".shared");
  }
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < launch.args.size() && !refused_; ++i) {
    out.args.push_back(argument(launch, launch.args[i], fmt::format("{}.args[{}]", where, i)));
    bytes += static_cast<std::int64_t>(std::max<std::size_t>(size_of(out.args.back()), 8));
  }
  if (bytes > parameter_limit)
    limit(fmt::format("{} bytes of parameters; want at most {}", bytes, parameter_limit), where);
  if (!refused_) check_surfaces(out, where);
  if (!out.library.empty() && !refused_ && !library_step(out)) {
    const StepLibrary* library = find_step_library(out.library);
    limit(library == nullptr ? "there is no such library"
                             : fmt::format("its arguments are not those of {} that {} computes",
                                           library->computes, library->title),
          where + ".args");
  }
  if (compiled_ && !refused_) check_compiled(out, where);
  resolved_.launches.push_back(std::move(out));
}

void Resolver::set_block(const PlanLaunch& launch, ResolvedLaunch& out, const std::string& where) {
  const auto block = values(launch.block, where + ".block");
  if (refused_) return;
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] < 1 || block[i] > block_limits[i]) {
      return limit(
          fmt::format("block side {} is {}; want 1 to {}", "xyz"[i], block[i], block_limits[i]),
          where + ".block");
    }
    out.block[i] = static_cast<int>(block[i]);
    threads *= block[i];
  }
  if (threads > device_.threads_per_block) {
    limit(fmt::format("{} threads a block; {} allows {}", threads, device_.name,
                      device_.threads_per_block),
          where + ".block");
  }
}

void Resolver::set_cluster(const PlanLaunch& launch, ResolvedLaunch& out,
                           const std::string& where) {
  const auto cluster = values(launch.cluster, where + ".cluster");
  if (refused_ || cluster.empty()) return;
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (cluster[i] < 1 || cluster[i] > cluster_limit) {
      return limit(
          fmt::format("cluster side {} is {}; want 1 to {}", "xyz"[i], cluster[i], cluster_limit),
          where + ".cluster");
    }
    if (out.grid[i] % cluster[i] != 0) {
      return limit(fmt::format("grid side {} of {} is no multiple of the cluster's {}", "xyz"[i],
                               out.grid[i], cluster[i]),
                   where + ".cluster");
    }
    out.cluster[i] = static_cast<int>(cluster[i]);
    blocks *= cluster[i];
  }
  if (blocks > cluster_limit)
    limit(fmt::format("clusters of {} blocks; want at most {}", blocks, cluster_limit),
          where + ".cluster");
  if (blocks > 1 && device_.compute_major < 9) {
    limit(fmt::format("clusters need compute capability 9.0, {} has less", device_.name),
          where + ".cluster");
  }
}

void Resolver::check_compiled(const ResolvedLaunch& launch, const std::string& where) {
  const EntryFacts* facts = find_entry(*compiled_, launch.entry);
  if (!facts)
    return refuse("gate.missing_entry",
                  fmt::format("the compiled kernel has no entry {}", launch.entry), where);
  if (const auto wrong = parameter_mismatch(expected_parameters(launch), *facts))
    return refuse("gate.parameters", *wrong, where);
  const int threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (facts->max_threads > 0 && threads > facts->max_threads) {
    return limit(fmt::format("{} threads a block; the kernel's launch bound is {}", threads,
                             facts->max_threads),
                 where + ".block");
  }
  const std::int64_t shared = launch.shared + facts->static_shared;
  if (shared > device_.shared_per_block) {
    return limit(
        fmt::format(
            "{} bytes of shared memory with the kernel's static {}; a block of {} may have {}",
            shared, facts->static_shared, device_.name, device_.shared_per_block),
        where + ".shared");
  }
  if (facts->registers <= 0) return;
  const int resident = facts->registers > registers_limit
                           ? 0
                           : resident_blocks(device_, threads, facts->registers, shared);
  if (resident == 0) {
    return limit(fmt::format("{} threads of {} registers do not fit an SM of {}", threads,
                             facts->registers, device_.registers_per_sm),
                 where);
  }
  const std::int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.cooperative && blocks > std::int64_t{resident} * device_.sms) {
    limit(fmt::format("a cooperative grid of {} blocks; {} fit the device at once", blocks,
                      std::int64_t{resident} * device_.sms),
          where + ".grid");
  }
}

ResolvedArgument Resolver::argument(const PlanLaunch& launch, const PlanArgument& argument,
                                    const std::string& where) {
  if (argument.kind == PlanArgument::Kind::name) return named(launch, argument.name, where);
  if (argument.kind == PlanArgument::Kind::record) return record(launch, argument, where);
  const NumberType& type = *number_type(argument.kind);
  if (!is_integer(argument.kind)) return real(argument);
  const std::int64_t number = value(argument.value, where);
  // Narrow types take what fits with a sign and what fits without.
  const std::int64_t half = type.bytes == 8 ? INT64_MAX : std::int64_t{1} << (8 * type.bytes - 1);
  const std::int64_t end = type.bytes < 4 ? 2 * half : half;
  if (type.bytes < 8 && (number < -half || number >= end))
    limit(fmt::format("{} does not fit an {}", number, type.key), where);
  ResolvedArgument out = immediate(number);
  out.bytes.resize(static_cast<std::size_t>(type.bytes));  // little-endian
  return out;
}

// Numbers stand in the record's bytes; what only a device can tell becomes a field.
ResolvedArgument Resolver::record(const PlanLaunch& launch, const PlanArgument& argument,
                                  const std::string& where) {
  ResolvedArgument out;
  out.kind = ResolvedArgument::Kind::record;
  out.bytes.resize(static_cast<std::size_t>(argument.bytes));
  for (std::size_t i = 0; i < argument.fields.size(); ++i) {
    const PlanArgument& field = argument.fields[i];
    const std::string place = fmt::format("{}.fields[{}]", where, i);
    ResolvedArgument made = this->argument(launch, field, place);
    const std::size_t bytes = size_of(made);
    if (static_cast<std::size_t>(field.at) + bytes > out.bytes.size()) {
      refuse("plan.limit",
             fmt::format("{} bytes at {} leave the record of {} bytes", bytes, field.at,
                         out.bytes.size()),
             place);
      return out;
    }
    if (made.kind == ResolvedArgument::Kind::immediate) {
      std::copy(made.bytes.begin(), made.bytes.end(), out.bytes.begin() + field.at);
    } else if (made.kind != ResolvedArgument::Kind::null_pointer) {
      made.at = field.at;
      out.fields.push_back(std::move(made));
    }
  }
  return out;
}

// A setup launch knows what stays for all runs of a shape: tables, its own restored buffers and
// constant tensors.
void Resolver::check_of_setup(std::string_view name, const std::string& where) {
  if (const int at = index_of(plan_.buffers, name); at >= 0) {
    const BufferContent content = plan_.buffers[static_cast<std::size_t>(at)].content;
    if (content != BufferContent::table && content != BufferContent::restored) {
      limit(
          fmt::format("a setup launch takes buffer {}, which is neither table nor restored", name),
          where);
    }
  } else if (const int tensor = index_of(task_.tensors, name);
             tensor >= 0 &&
             task_.tensors[static_cast<std::size_t>(tensor)].role != Role::constant) {
    limit(fmt::format("a setup launch takes tensor {}, which is no constant", name), where);
  }
}

ResolvedArgument Resolver::named(const PlanLaunch& launch, const std::string& name,
                                 const std::string& where) {
  std::string_view bare = name;
  const bool optional = bare.ends_with('?');
  if (optional) bare.remove_suffix(1);
  const bool setup = launch.when == When::setup;
  ResolvedArgument out;
  if ((out.index = index_of(plan_.buffers, bare)) >= 0) {
    out.kind = ResolvedArgument::Kind::buffer;
    if (setup) check_of_setup(bare, where);
  } else if ((out.index = index_of(plan_.maps, bare)) >= 0) {
    out.kind = ResolvedArgument::Kind::map;
    if (setup) check_of_setup(plan_.maps[static_cast<std::size_t>(out.index)].of, where);
  } else if ((out.index = index_of(plan_.textures, bare)) >= 0) {
    out.kind = ResolvedArgument::Kind::texture;
    if (setup) check_of_setup(plan_.textures[static_cast<std::size_t>(out.index)].of, where);
  } else if ((out.index = index_of(task_.tensors, bare)) >= 0) {
    out.kind = ResolvedArgument::Kind::tensor;
    if (setup) check_of_setup(bare, where);
  } else if (const int at = index_of(task_.scalars, bare); at >= 0) {
    if (setup) limit(fmt::format("a setup launch takes scalar {}", bare), where);
    return scalar(task_.scalars[static_cast<std::size_t>(at)], where);
  } else if (optional) {
    out.kind = ResolvedArgument::Kind::null_pointer;
    out.index = 0;
  } else {
    refuse(
        "plan.name",
        fmt::format("{} is no tensor, scalar, buffer, map or texture of task {}", bare, task_.name),
        where);
  }
  return out;
}

ResolvedArgument Resolver::scalar(const Scalar& scalar, const std::string& where) {
  switch (scalar.type) {
    case DType::f64:
      return immediate(scalar.value);
    case DType::f32:
      return immediate(static_cast<float>(scalar.value));
    case DType::i64:
      return immediate(static_cast<std::int64_t>(scalar.value));
    case DType::i32:
      return immediate(static_cast<std::int32_t>(scalar.value));
    default:
      break;
  }
  limit(fmt::format("scalar {} is {}; a kernel takes fp32, fp64, i32 or i64 by value", scalar.name,
                    name_of(scalar.type)),
        where);
  return {};
}

}  // namespace

Attempt<Resolution> resolve(const KernelSource& source, const Task& task, const Workload& workload,
                            const DeviceSpec& device, const CompiledKernel* compiled) {
  return Resolver(source, task, workload, device, compiled).run();
}

const EntryFacts* find_entry(const CompiledKernel& kernel, const std::string& source_name) {
  for (const EntryFacts& entry : kernel.entries) {
    if (entry.source_name == source_name || entry.name == source_name) return &entry;
  }
  return nullptr;
}

}  // namespace cupilot
