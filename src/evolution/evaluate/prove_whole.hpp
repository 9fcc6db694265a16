// Proves a graph of operators as a whole: a kernel's errors against those of honest executions
// (docs/formats/numerics.md, Programs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

using Storages = std::vector<std::vector<std::byte>>;  // one a tensor

struct WholeProof {
  std::optional<Rejected> refused{};
  std::string proved{}, unproved{};  // a sentence each; "" when there is nothing to say
  double worst = 0;                  // the largest error / what is allowed
  int outputs = 0;                   // judged, over all contents
  Workload workload{};               // the shape that they were judged at
  std::string loose{};               // an output of which the graph's bound accepts zeros
};

// Holds a task's outputs on one content, and by how much honest executions miss them.
struct HonestReference {
  Case what{};
  Storages inputs{};
  std::vector<ReferenceValues> want{};
  std::vector<std::vector<double>> err0{};  // as `want`; empty where an execution did not end
};
// `round`: 0 for the first executions; each other one moves the inputs in another way.
Result<HonestReference> honest_reference(Backend& backend, const TaskRef& task, const Case& what,
                                         int round = 0);

// Adds to `proof` what the outputs that a run left show; the first refusal stays.
Result<void> judge_whole(const Task& task, const HonestReference& honest, const Storages& left,
                         WholeProof& proof);

// Five contents at the largest shape of a kernel's battery that is cheap enough.
std::vector<Case> cases_of_the_whole(const Task& task, const KernelSource& source,
                                     const DeviceSpec& device, std::uint64_t seed);

// True for a graph of several operations in fp32-strict; in tf32, bf16 and fp16 for one whose
// contractions are operations of two factors, outside loops.
bool is_proved_as_a_whole(const Task& task);

// Gives the reference of a case; it may know it from another kernel of the task.
using HonestSource = std::function<Result<std::shared_ptr<const HonestReference>>(const Case&)>;

// Runs `kernel` and honest executions on these cases. A device that does not observe leaves it
// unproved. `honest`: where references come from. default: they are run
Result<WholeProof> prove_whole(Backend& backend, const TaskRef& task, const CompiledKernel& kernel,
                               std::uint64_t seed, const HonestSource& honest = {});

}  // namespace cupilot
