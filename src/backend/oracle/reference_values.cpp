#include "backend/oracle/reference_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include <cupilot/rng.hpp>

#include "backend/oracle/memory.hpp"
#include "ptx/machine/core_share.hpp"
#include "ptx/machine/execute.hpp"
#include "ptx/syntax/parser.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot {
namespace {

Error reference_error(const Task& task, const std::string& what) {
  return {ErrorCode::usage, fmt::format("reference of task {}: {}", task.name, what),
          "correct the reference text"};
}

// Bounds what a launch of a reference may execute: about half a minute of a processor.
constexpr std::uint64_t most_instructions = 1ull << 30;

// Parameters of the tracked entry; every one takes 8 bytes.
class Words {
 public:
  template <class T>
  void add(T value) {
    static_assert(sizeof(T) == 8);
    const std::size_t at = bytes.size();
    bytes.resize(at + 8);
    std::memcpy(bytes.data() + at, &value, 8);
  }
  std::vector<std::uint8_t> bytes;
};

constexpr std::uint64_t no_budget = 1ull << 40;

ptx::ExecuteOptions trusted_options(std::uint64_t budget) {
  ptx::ExecuteOptions options;
  options.instruction_budget = budget;
  options.check_races = false;
  options.check_initialised = false;
  options.count = false;
  options.stop = stop_flags();
  return options;
}

// All elements in one run, or a run a drawn block.
ElementRuns runs_of(const std::vector<std::int64_t>& blocks, std::int64_t elements) {
  constexpr std::int64_t size = OracleValues::block_elements;
  if (static_cast<std::int64_t>(blocks.size()) * size >= elements) return {{0}, elements, elements};
  ElementRuns runs{{}, size, 0};
  for (const std::int64_t block : blocks) {
    runs.begins.push_back(block * size);
    runs.count += std::min(size, elements - block * size);
  }
  return runs;
}

// The tracked entry's parameters up to its results.
Words task_parameters(const Task& task, const Workload& workload,
                      std::span<const std::uint64_t> addresses) {
  Words parameters;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role != Role::out) parameters.add(addresses[i]);
  }
  for (const Scalar& scalar : task.scalars) parameters.add(scalar.value);
  for (const Axis& axis : task.axes) {
    const auto size = workload.sizes.find(axis.name);
    parameters.add(size == workload.sizes.end() ? std::int64_t{1} : size->second);
  }
  return parameters;
}

// Runs one entry. False: more than `budget` warp instructions.
Result<bool> run_entry(const Task& task, ptx::Program& program, ptx::DeviceMemory& memory,
                       const ptx::Launch& launch, std::uint64_t budget) {
  ptx::ExecuteOptions options = trusted_options(budget);
  // Few blocks take less than a thread takes to begin.
  constexpr std::uint32_t blocks_a_thread = 8;
  const ptx::CoreShare share;
  options.threads = std::min(share.threads(), launch.grid.x * launch.grid.y / blocks_a_thread);
  options.spread_unchecked = true;
  auto report = ptx::execute(program, memory, launch, options);
  if (report.is_error()) return report.error();
  if (report.is_rejected()) return reference_error(task, report.rejected().message);
  if (report->faults.empty()) return true;
  if (ptx::is_unended(*report)) return false;
  return reference_error(task, report->faults[0].message + " at " + report->faults[0].where);
}

// Computes what the plan stores and adds the stages' pointers to `parameters`, which every entry
// begins with. False: more than `budget` warp instructions in one launch, or under a budget more
// memory than there is.
Result<bool> store_stages(const Task& task, const ReferenceModule& reference, const StagePlan& plan,
                          ptx::DeviceMemory& memory, Words& parameters, std::uint64_t budget) {
  std::vector<std::uint64_t> buffers;
  for (const std::int64_t bytes : plan.buffers) {
    auto added = memory.add("stage", static_cast<std::uint64_t>(bytes), ptx::Access::read_write);
    if (!added && budget < no_budget && added.error().code == ErrorCode::not_done) return false;
    if (!added) return added.error();
    buffers.push_back(memory.address(*added));
  }
  const auto address = [&](int buffer) {
    return buffer < 0 ? std::uint64_t{0} : buffers[static_cast<std::size_t>(buffer)];
  };
  for (const int buffer : plan.stored) parameters.add(address(buffer));
  std::map<std::string, Attempt<ptx::ProgramPtr>> programs;  // a loop launches each again and again
  for (const StageLaunch& stage : plan.launches) {
    Words words = parameters;
    for (const int buffer : {stage.from, stage.out}) words.add(address(buffer));
    for (const std::int64_t number : {stage.span, stage.parts, stage.from_parts, stage.count})
      words.add(number);
    auto known = programs.find(stage.entry);
    if (known == programs.end())
      known = programs.emplace(stage.entry, ptx::make_program(reference.module, stage.entry)).first;
    const Attempt<ptx::ProgramPtr>& program = known->second;
    if (!program) {
      return reference_error(
          task, program.is_rejected() ? program.rejected().message : program.error().message);
    }
    ptx::Launch launch;
    launch.grid.x = static_cast<std::uint32_t>((stage.count + 255) / 256);
    launch.block.x = 256;
    launch.parameters = words.bytes;
    auto ended = run_entry(task, **program, memory, launch, budget);
    if (!ended || !*ended) return ended;
  }
  return true;
}

std::vector<double> numbers_in(const ptx::DeviceMemory& memory, std::size_t buffer,
                               std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  std::memcpy(numbers.data(), memory.data(buffer).data(), numbers.size() * 8);
  return numbers;
}

// Reference values are doubles: above 2^53 no integer can be told from its neighbour.
std::optional<Error> too_large(const Task& task, const Tensor& output,
                               const ReferenceNumbers& numbers) {
  constexpr double exact = 0x1p53;
  if (output.type != DType::i64) return std::nullopt;
  double largest = 0;
  for (const double sum : numbers.sums) largest = std::max(largest, sum);
  for (const double value : numbers.values) largest = std::max(largest, std::abs(value));
  if (!(largest > exact)) return std::nullopt;
  return Error{ErrorCode::usage,
               fmt::format("task '{}', output '{}': the reference reaches {:.4g}; above 2^53 "
                           "integers cannot be judged",
                           task.name, output.name, largest),
               "lower fill.below of what it reads"};
}

}  // namespace

std::vector<std::int64_t> draw_blocks(std::int64_t elements, std::int64_t draw,
                                      std::uint64_t seed) {
  const std::int64_t size = OracleValues::block_elements;
  const std::int64_t count = (elements + size - 1) / size;
  const std::int64_t wanted = draw <= 0 ? count : std::min(count, (draw + size - 1) / size);
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(wanted));
  std::iota(blocks.begin(), blocks.end(), 0);
  if (wanted == count) return blocks;
  std::set<std::int64_t> drawn = {0, count - 1};  // the ends, where tails are
  Rng rng = Rng::of(seed, "virtual.draw", static_cast<std::uint64_t>(elements));
  while (static_cast<std::int64_t>(drawn.size()) < wanted) drawn.insert(rng.below(count));
  return {drawn.begin(), drawn.end()};
}

Result<std::shared_ptr<const ReferenceModule>> VirtualOracle::reference(const TaskRef& task,
                                                                        ReferenceBuild build) {
  const auto make = [&]() -> Result<ReferenceModule> {
    Result<ReferenceProgram> program = reference_program(task, build);
    if (!program) return program.error();
    CompileRequest request;
    request.text = program->text;
    request.arch = arch_;
    request.ptx_only = true;
    request.caps = own_caps;
    Attempt<CompileOutput> compiled = pool_.compile(request);
    if (compiled.is_error()) return compiled.error();
    if (compiled.is_rejected())
      return reference_not_compiled("reference of task " + task->name, compiled.rejected(),
                                    !task->operations.empty());
    Attempt<ptx::Module> module = ptx::parse(compiled->ptx);
    if (!module)
      return reference_error(
          task, module.is_rejected() ? module.rejected().message : module.error().message);
    return ReferenceModule{std::move(*program),
                           std::make_shared<const ptx::Module>(std::move(*module)),
                           std::move(compiled->ptx)};
  };
  return modules_.get(fmt::format("{}:{}", static_cast<int>(build), task.id()), make,
                      [](const ReferenceModule&) { return 1; });
}

Result<std::shared_ptr<const OracleValues>> VirtualOracle::values(const TaskRef& task,
                                                                  std::size_t tensor,
                                                                  const Workload& workload,
                                                                  const Content& content,
                                                                  std::int64_t draw) {
  Result<TensorShape> shape = shape_of(task, task->tensors[tensor], workload);
  if (!shape) return shape.error();
  std::vector<std::int64_t> blocks = draw_blocks(shape->elements, draw, content.seed);
  const std::string key =
      fmt::format("{}:{}:{}", tensor, blocks.size(), case_key(task.id(), workload, content));
  const auto make = [&]() -> Result<OracleValues> {
    std::vector<std::shared_ptr<const TensorBytes>> held;
    auto inputs = content_of(task, workload, content, held);
    if (!inputs) return inputs.error();
    return evaluate(task, tensor, workload, *inputs, std::move(blocks), shape->elements);
  };
  return values_.get(key, make, [](const OracleValues& values) {
    return static_cast<std::int64_t>(values.values.size() * 16);
  });
}

Result<VirtualOracle::Inputs> VirtualOracle::content_of(
    const TaskRef& task, const Workload& workload, const Content& content,
    std::vector<std::shared_ptr<const TensorBytes>>& held, std::span<const GivenTensor> left) {
  Inputs inputs(task->tensors.size());
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    const bool given = std::any_of(left.begin(), left.end(),
                                   [&](const GivenTensor& one) { return one.tensor == i; });
    if (task->tensors[i].role == Role::out || given) continue;
    auto bytes = inputs_.get(task, i, workload, content);
    if (!bytes) return bytes.error();
    held.push_back(*bytes);
    inputs[i] = *held.back();
  }
  return inputs;
}

Result<OracleValues> VirtualOracle::with(const TaskRef& task, std::size_t tensor,
                                         const Workload& workload, const Content& content,
                                         std::span<const GivenTensor> left,
                                         const OracleValues& known) {
  Result<TensorShape> shape = shape_of(task, task->tensors[tensor], workload);
  if (!shape) return shape.error();
  std::vector<std::shared_ptr<const TensorBytes>> held;
  auto inputs = content_of(task, workload, content, held, left);
  if (!inputs) return inputs.error();
  for (const GivenTensor& one : left) (*inputs)[one.tensor] = one.bytes;
  return evaluate(task, tensor, workload, *inputs, known.blocks, shape->elements);
}

Result<std::vector<ReferenceValues>> VirtualOracle::over(
    const TaskRef& task, const Workload& workload,
    std::span<const std::vector<std::byte>> tensors) {
  if (reference_terms(task, workload) > most_interpreted_terms) return too_dear(task, workload);
  const Inputs inputs(tensors.begin(), tensors.end());
  std::vector<ReferenceValues> out;
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    const Tensor& tensor = task->tensors[i];
    if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
    Result<TensorShape> shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    auto values =
        evaluate(task, i, workload, inputs, draw_blocks(shape->elements, 0, 1), shape->elements);
    if (!values) return values.error();
    out.push_back({tensor.name, std::move(values->values), std::move(values->sums)});
  }
  return out;
}

Result<OracleValues> VirtualOracle::evaluate(const TaskRef& task, std::size_t tensor,
                                             const Workload& workload, const Inputs& inputs,
                                             std::vector<std::int64_t> blocks,
                                             std::int64_t elements) {
  OracleValues out;
  out.blocks = std::move(blocks);
  if (elements == 0) return out;
  ptx::DeviceMemory memory(virtual_memory_cap);
  std::vector<std::uint64_t> addresses(task->tensors.size());
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (task->tensors[i].role == Role::out) continue;
    Result<std::uint64_t> address = add_input(memory, task->tensors[i].name, inputs[i]);
    if (!address) return address.error();
    addresses[i] = *address;
  }
  auto numbers = at(task, tensor, workload, memory, addresses, runs_of(out.blocks, elements),
                    most_instructions);
  if (!numbers) return numbers.error();
  if (!*numbers) return too_dear(task, workload);
  out.values = std::move((*numbers)->values);
  out.sums = std::move((*numbers)->sums);
  return out;
}

Result<std::optional<ReferenceNumbers>> VirtualOracle::at(
    const TaskRef& task, std::size_t tensor, const Workload& workload, ptx::DeviceMemory& memory,
    std::span<const std::uint64_t> addresses, const ElementRuns& runs, std::uint64_t budget) {
  auto reference = this->reference(task, ReferenceBuild::tracked);
  if (!reference) return reference.error();
  auto stages = stage_plan(task, (*reference)->program, ReferenceBuild::tracked, workload,
                           task->tensors[tensor].name, runs.count);
  if (!stages) return stages.error();
  auto program = ptx::make_program((*reference)->module, stages->entry);
  if (!program)
    return reference_error(
        task, program.is_rejected() ? program.rejected().message : program.error().message);

  auto values =
      memory.add("values", static_cast<std::uint64_t>(runs.count) * 8, ptx::Access::read_write);
  if (!values) return values.error();
  auto sums =
      memory.add("sums", static_cast<std::uint64_t>(runs.count) * 8, ptx::Access::read_write);
  if (!sums) return sums.error();
  auto begins = add_input(memory, "begins", std::as_bytes(std::span(runs.begins)));
  if (!begins) return begins.error();
  Words parameters = task_parameters(task, workload, addresses);
  auto stored = store_stages(task, **reference, *stages, memory, parameters, budget);
  if (!stored) return stored.error();
  if (!*stored) return std::optional<ReferenceNumbers>();
  for (const std::uint64_t word : {memory.address(*values), memory.address(*sums), *begins})
    parameters.add(word);
  for (const std::int64_t word : {runs.length, runs.count}) parameters.add(word);

  const std::int64_t threads = std::min(OracleValues::block_elements, (runs.length + 31) / 32 * 32);
  ptx::Launch launch;
  launch.grid.x = static_cast<std::uint32_t>((runs.length + threads - 1) / threads);
  launch.grid.y = static_cast<std::uint32_t>(runs.begins.size());
  launch.block.x = static_cast<std::uint32_t>(threads);
  launch.parameters = parameters.bytes;
  auto ended = run_entry(task, **program, memory, launch, budget);
  if (!ended) return ended.error();
  if (!*ended) return std::optional<ReferenceNumbers>();
  ReferenceNumbers numbers{numbers_in(memory, *values, runs.count),
                           numbers_in(memory, *sums, runs.count)};
  if (auto error = too_large(task, task->tensors[tensor], numbers)) return *error;
  return std::optional(std::move(numbers));
}

void VirtualOracle::clear() {
  modules_.clear();
  values_.clear();
}

}  // namespace cupilot
