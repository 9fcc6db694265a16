// Writes programs from the strategies of their parts.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>

#include "evolution/evaluate/part_prover.hpp"
#include "program/composites.hpp"
#include "program/join.hpp"

namespace cupilot {

// Realises strategies that name parts (parts_of) of one task. Any thread.
class ProgramWriter final : public KernelWriter, public PartProver {
 public:
  ProgramWriter(const Task& task, const Families& families);
  ProgramWriter(ComposedTask program, Families families);
  std::optional<std::string> lacks(const Task& task, const Strategy& strategy) const override;
  Attempt<KernelSource> write(const WriterBrief& brief) override;

  // Proves the program with its edges exposed as outputs, as a candidate or, of a finalist, as an
  // elite; of a finalist, steps of a library alone before.
  Result<PartProof> prove_parts(const Pipe& pipe, const Strategy& strategy, ProofLevel level,
                                std::uint64_t seed) override;

  // The kernels of the parts in the order of their launches; parts of one kind and strategy have
  // the kernel of the first. Error usage: no legal partition.
  Attempt<std::vector<PartKernel>> write_parts(const Strategy& strategy, const DeviceSpec* device);

 private:
  struct KnownPart {
    TaskRef task;
    PartTask form;
    std::string kind;  // kind_of(form)
    std::unique_ptr<KernelWriter> writer;
  };
  Result<Partition> partition_of(const Strategy& strategy,
                                 std::map<Part, Strategy>& strategies) const;
  Result<KnownPart*> known_part(const Part& part);

  Families families_;
  ComposedTask program_;
  const Task& task_;  // of program_
  OperationGraph graph_;
  std::mutex mutex_;  // guards known_
  std::map<Part, KnownPart> known_;
};

// Returns the tensors that parts read and write: those edges that an exposed program has as
// outputs.
std::set<std::string> handed_over(const std::vector<PartKernel>& parts);

// Proves given kernels: `source` is the program of the exposed task.
Result<std::optional<Rejected>> prove_exposed(Backend& backend, const TaskRef& exposed,
                                              const std::vector<PartKernel>& parts,
                                              const KernelSource& source, ProofLevel level,
                                              std::uint64_t seed);

// Proves parts that write views as tasks of their own, where what lies between the elements of a
// view is watched: in a program a later part may write over what one leaves there.
Result<std::optional<Rejected>> prove_views(Backend& backend, const std::vector<PartKernel>& parts,
                                            ProofLevel level, std::uint64_t seed);

}  // namespace cupilot
