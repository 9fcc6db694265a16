// Reference values: the task's tracked reference, compiled to PTX once and run by the interpreter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/inputs.hpp"
#include "ptx/machine/device_memory.hpp"
#include "ptx/syntax/module.hpp"
#include "task/reference/program.hpp"

namespace cupilot {

// A reference build as a parsed module.
struct ReferenceModule {
  ReferenceProgram program;
  std::shared_ptr<const ptx::Module> module;
  std::string ptx;
};

// Values and condition sums of chosen elements of one output. A block is block_elements consecutive
// elements.
struct OracleValues {
  static constexpr std::int64_t block_elements = 256;
  std::vector<std::int64_t> blocks;  // ascending
  std::vector<double> values,
      sums;  // of block blocks[i]: from i * block_elements; the last may be short
};

// Runs of `length` consecutive elements of an output; the last may end with it. `count`: elements
// of all.
struct ElementRuns {
  std::vector<std::int64_t> begins;
  std::int64_t length = 0, count = 0;
};

// Reference values of each element of some runs.
struct ReferenceNumbers {
  std::vector<double> values, sums;
};

// A tensor with what stands in it.
struct GivenTensor {
  std::size_t tensor = 0;
  std::span<const std::byte> bytes;
};

class VirtualOracle {
 public:
  VirtualOracle(CompilePool& pool, std::string arch, VirtualInputs& inputs, std::int64_t cap)
      : pool_(pool), arch_(std::move(arch)), inputs_(inputs), modules_(16), values_(cap) {}

  // Any thread.
  Result<std::shared_ptr<const ReferenceModule>> reference(const TaskRef& task,
                                                           ReferenceBuild build);

  // All elements of output `tensor`, or, when `draw` is positive, whole blocks drawn from the
  // content's seed until they hold that many. Any thread.
  Result<std::shared_ptr<const OracleValues>> values(const TaskRef& task, std::size_t tensor,
                                                     const Workload& workload,
                                                     const Content& content, std::int64_t draw);

  // The values of `known`'s elements of output `tensor`, where some inputs hold `left` instead of
  // content. Any thread; nothing is kept.
  Result<OracleValues> with(const TaskRef& task, std::size_t tensor, const Workload& workload,
                            const Content& content, std::span<const GivenTensor> left,
                            const OracleValues& known);

  // All elements of every output over given inputs, in the order of the task's tensors. Any thread;
  // nothing is kept.
  Result<std::vector<ReferenceValues>> over(const TaskRef& task, const Workload& workload,
                                            std::span<const std::vector<std::byte>> tensors);

  // Computes runs of elements over inputs that lie in `memory` at these addresses (one a tensor;
  // those of outputs are not looked at). nullopt: more than `budget` warp instructions, or stages
  // that `memory` has no room for where `budget` is less than all. Any thread;
  // nothing is kept.
  Result<std::optional<ReferenceNumbers>> at(const TaskRef& task, std::size_t tensor,
                                             const Workload& workload, ptx::DeviceMemory& memory,
                                             std::span<const std::uint64_t> addresses,
                                             const ElementRuns& runs, std::uint64_t budget);

  void clear();

 private:
  // The inputs of the reference, one entry a tensor, empty for pure outputs.
  using Inputs = std::vector<std::span<const std::byte>>;
  // The content of all inputs, or of those that `left` does not have; `held` keeps it.
  Result<Inputs> content_of(const TaskRef& task, const Workload& workload, const Content& content,
                            std::vector<std::shared_ptr<const TensorBytes>>& held,
                            std::span<const GivenTensor> left = {});
  Result<OracleValues> evaluate(const TaskRef& task, std::size_t tensor, const Workload& workload,
                                const Inputs& inputs, std::vector<std::int64_t> blocks,
                                std::int64_t elements);
  CompilePool& pool_;
  std::string arch_;
  VirtualInputs& inputs_;
  ByteCache<ReferenceModule> modules_;
  ByteCache<OracleValues> values_;
};

// Blocks of a tensor of `elements` that `draw` elements take, ascending; 0: all.
std::vector<std::int64_t> draw_blocks(std::int64_t elements, std::int64_t draw, std::uint64_t seed);

}  // namespace cupilot
