#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/compile/checked_compile.hpp"
#include "backend/oracle/memory.hpp"
#include "backend/virtual/run.hpp"
#include "trusted/storage.cuh"

namespace cupilot::coverage {
namespace {

constexpr std::int64_t cache_bytes = 64 << 20;
constexpr std::uint64_t instruction_budget_of_a_kernel = 20'000'000;

// Content and order of warps are drawn from the seed; the content is the same in both modes.
struct Mode {
  const char* name;
  std::uint64_t order;
  bool late;
};
constexpr Mode modes[] = {{"early", 1, false}, {"late", 6, true}};
constexpr std::uint64_t content_seed = 7;

Values decode(std::span<const std::uint8_t> bytes, DType type) {
  Values values(bytes.size() / static_cast<std::size_t>(size_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_real(bytes.data(), static_cast<long long>(i), static_cast<int>(type));
  }
  return values;
}

// "" when every element is near enough.
std::string compare(const Values& got, const Values& want, double tolerance) {
  if (got.size() != want.size())
    return fmt::format("holds {} elements, the reference gives {}", got.size(), want.size());
  double largest = 0;
  for (const double w : want) largest = std::max(largest, std::abs(w));
  if (!(largest > 0) || !std::isfinite(largest))
    return fmt::format("a reference of magnitude {} shows nothing", largest);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::abs(got[i] - want[i]) <= tolerance * largest) continue;
    return fmt::format("element {} of {} is {:.9g}, not {:.9g}", i, want.size(), got[i], want[i]);
  }
  return "";
}

struct Run {
  const Task& task;
  const CorpusKernel& kernel;
  const VirtualContext& context;
  const CompiledKernel& compiled;
  KernelPrograms& programs;
  const ResolvedPlan& plan;
  Case what;

  // "" or the first fault.
  std::string launches(VirtualMemory& memory, When when, const Mode& mode) const {
    LaunchRun how;
    how.budget = instruction_budget_of_a_kernel;
    how.seed = mode.order;
    how.late = mode.late;
    for (const ResolvedLaunch& launch : plan.launches) {
      if (launch.when != when) continue;
      const auto ran = run_launch(context, compiled, programs, memory, launch, how);
      if (ran.is_error()) return ran.error().message;
      if (ran.is_rejected())
        return ran.rejected().code + ": " + ran.rejected().message + " at " + ran.rejected().where;
      if (!ran->faults.empty()) {
        const ptx::Fault& fault = ran->faults[0];
        return fmt::format("{}: {} at {} (line {})", fault.code, fault.message, fault.where,
                           fault.source_line);
      }
    }
    return "";
  }

  std::string outputs(VirtualMemory& memory) const {
    Problem problem{what.workload.sizes, {}};
    problem.sizes.insert(task.constants.begin(), task.constants.end());
    const auto bytes = [&](std::size_t tensor) {
      return memory.device().data(memory.tensor(tensor));
    };
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      const Tensor& tensor = task.tensors[i];
      if (tensor.role == Role::out) continue;
      const auto content = context.inputs.get(TaskRef(task), i, what.workload, what.content);
      if (!content) return content.error().message;
      const auto* data = reinterpret_cast<const std::uint8_t*>((*content)->data());
      problem.inputs[tensor.name] = decode({data, (*content)->size()}, tensor.type);
    }
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      const Tensor& tensor = task.tensors[i];
      if (tensor.role == Role::in) continue;
      const Values want = (*find_reference(kernel.expect.at(tensor.name)))(problem);
      const std::string wrong = compare(decode(bytes(i), tensor.type), want, kernel.tolerance);
      if (!wrong.empty()) return tensor.name + ": " + wrong;
    }
    for (const Fault& fault : memory.changed_state()) return fault.code + ": " + fault.message;
    return "";
  }

  std::string in(const Mode& mode) const {
    auto memory = VirtualMemory::make(TaskRef(task), what, plan, context.inputs);
    if (!memory) return memory.error().message;
    if (std::string fault = launches(*memory, When::setup, mode); !fault.empty()) return fault;
    if (const auto filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
      return filled.error().message;
    if (std::string fault = launches(*memory, When::run, mode); !fault.empty()) return fault;
    return outputs(*memory);
  }
};

}  // namespace

Bench::Bench(DeviceSpec device, std::unique_ptr<CompilePool> pool)
    : device_(std::move(device)),
      pool_(std::move(pool)),
      inputs_(cache_bytes),
      oracle_(*pool_, device_.arch, inputs_, cache_bytes) {}

Result<std::unique_ptr<Bench>> Bench::open(const std::string& chip_name) {
  auto device = chip(chip_name);
  if (!device) return device.error();
  auto pool = CompilePool::open({});
  if (!pool) return pool.error();
  return std::unique_ptr<Bench>(new Bench(std::move(*device), std::move(*pool)));
}

Attempt<CompiledKernel> Bench::compile(const KernelSource& source, bool ptx_only) {
  return compile_and_check(*pool_, source, device_.arch, {.ptx_only = ptx_only});
}

std::vector<std::string> Bench::run(const CorpusKernel& kernel, const CompiledKernel& compiled,
                                    const Sizes& sizes) {
  Task task = kernel.task;
  Workload workload = task.time_shapes.at(0);
  for (const auto& [name, value] : sizes)
    (task.constants.contains(name) ? task.constants : workload.sizes)[name] = value;
  const auto plan = resolve(compiled.source, task, workload, device_, &compiled);
  if (plan.is_error()) return {plan.error().message};
  if (plan.is_rejected()) return {plan.rejected().code + ": " + plan.rejected().message};
  if (!std::holds_alternative<ResolvedPlan>(*plan)) return {"not for this shape"};
  auto programs = KernelPrograms::parse(compiled);
  if (!programs) return {"its PTX cannot be parsed"};
  const VirtualContext context{device_, inputs_, oracle_};
  Case what{workload, {content_seed}};
  const Run run{task, kernel, context, compiled, *programs, std::get<ResolvedPlan>(*plan), what};
  std::vector<std::string> wrong;
  for (const Mode& mode : modes) {
    if (const std::string fault = run.in(mode); !fault.empty())
      wrong.push_back(std::string(mode.name) + ": " + fault);
  }
  return wrong;
}

}  // namespace cupilot::coverage
