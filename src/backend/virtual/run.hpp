// Proves one case of a kernel on the interpreter: run, scan, compare.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>

#include "backend/oracle/memory.hpp"
#include "backend/oracle/reference_values.hpp"
#include "task/content.hpp"

namespace cupilot {

// State shared by all runs of one virtual device. Thread-safe.
struct VirtualContext {
  DeviceSpec device;
  VirtualInputs& inputs;
  VirtualOracle& oracle;
};

// The kernel's module and its entries' programs, decoded at first use; for one thread.
class KernelPrograms {
 public:
  // Rejected{gate.ptx_syntax} when the kernel's PTX is none.
  static Attempt<KernelPrograms> parse(const CompiledKernel& kernel);
  explicit KernelPrograms(std::shared_ptr<const ptx::Module> module) : module_(std::move(module)) {}

  const ptx::Module& module() const { return *module_; }
  // Rejected{run.unsupported} names the instruction that the interpreter lacks.
  Attempt<ptx::Program*> program(const std::string& entry);
  // Adds what a launch of an entry executed to what is known of it.
  void add(const std::string& entry, const ptx::Executed& executed);
  std::vector<EntryCoverage> coverage() const;

 private:
  std::shared_ptr<const ptx::Module> module_;
  std::map<std::string, ptx::ProgramPtr> programs_;
  std::map<std::string, EntryCoverage> coverage_;
};

// `left`: takes each tensor's storage after the first run; null: nobody wants it.
Result<CaseReport> run_case(const VirtualContext& context, const TaskRef& task,
                            const CompiledKernel& kernel, KernelPrograms& programs,
                            const Case& what, std::vector<TensorBytes>* left = nullptr);

// Compares outputs that something else made of the case's inputs. `left`: each tensor's storage.
Result<CaseReport> judge_left(const VirtualContext& context, const TaskRef& task, const Case& what,
                              std::span<const TensorBytes> left);

// Each tensor's storage, in the task's order.
std::vector<TensorBytes> left_in(const Task& task, VirtualMemory& memory);

// Contents that arithmetic of the contract's own type may fail on.
bool strains_types(ContentKind kind);
// Tasks of several operations, whose one bound says little of what lies between.
bool is_graph(const Task& task);

// Values that the elements of an output may have besides the reference's, one as these, and the
// bound that they are held to. of_index: distances of the values at the indices that a kernel left
// from the extremes (task/index_gap.hpp); else what follows from other outputs as the kernel stored
// them (task/stored_task.hpp).
struct Alternatives {
  BoundParams bound{};
  std::vector<double> values, sums;
  bool of_index = false;
};
// nullopt: output `tensor` is no index of computed values, and is made of no rounded output.
Result<std::optional<Alternatives>> alternatives(const VirtualContext& context, const TaskRef& task,
                                                 std::size_t tensor, const Workload& workload,
                                                 const Content& content, VirtualMemory& memory,
                                                 const OracleValues& known);
// Computes them for runs of elements, over inputs at these addresses in `memory`.
Result<std::optional<Alternatives>> alternatives_of(const VirtualContext& context,
                                                    const TaskRef& task, std::size_t tensor,
                                                    const Workload& workload,
                                                    const Content& content, VirtualMemory& memory,
                                                    const ElementRuns& runs,
                                                    std::span<const std::uint64_t> addresses);

// Compares output `tensor` in `memory` with `oracle`, counting elements never written apart.
// `plain`: memories where the reference ran in arithmetic of the contract's own type; elements that
// fail there too are excused on contents that strain types, where content overflows if what stands
// there is not finite; of graphs, elements within what honest arithmetic errs on their line.
// `others`: an element that is not the reference's is right where they say so; an index is excused
// where an honest run chose it, whatever others of its line did.
Result<OutputReport> compare_output(const Task& task, std::size_t tensor, const Workload& workload,
                                    const Content& content, VirtualMemory& memory,
                                    const OracleValues& oracle,
                                    std::span<VirtualMemory* const> plain = {},
                                    const Alternatives* others = nullptr);

// Has the calling program judge output `tensor`, at which no element may be unwritten. `reason`:
// the judge's, "" where the output is right.
Result<OutputReport> judge_on_host(const VirtualContext& context, const TaskRef& task,
                                   std::size_t tensor, const Workload& workload,
                                   const Content& content, VirtualMemory& memory,
                                   std::string& reason);

// Compares those elements of the runs that were written.
Result<OutputReport> compare_written(const Task& task, std::size_t tensor, const Workload& workload,
                                     const Content& content, VirtualMemory& memory,
                                     const ElementRuns& runs, const ReferenceNumbers& reference,
                                     const Alternatives* others = nullptr);

// SHA-256 of the elements of an output in linear order; "" above bits_hash_cap.
Result<std::string> hash_output(const Task& task, std::size_t tensor, const Workload& workload,
                                VirtualMemory& memory);

// Adds counts of one launch to a sum of exact counts.
void add_counts(Counts& sum, const Counts& more);

// Warp instructions after which a case is too expensive to check (run.budget): some dozens of times
// what an unoptimized kernel needs.
std::uint64_t instruction_budget(const Task& task, const Workload& workload);

// A plan may ask for more scratch memory than a host lends its interpreter: then nothing is known,
// and no machine has failed.
std::optional<Fault> lacks_memory(const ResolvedPlan& plan);

// One launch of a resolved plan.
struct LaunchRun {
  std::vector<std::uint64_t> blocks;  // empty: all
  std::uint64_t budget = 1ull << 31;
  std::uint64_t seed = 0;
  bool checks = true, count = false;
  bool trusted = false;         // our own text: blocks may run on several threads unwatched
  bool late = false;            // asynchronous copies move at the last legal moment
  bool by_instruction = false;  // with count: traffic and divergence of every instruction
  bool products = true;         // false: sums of wgmma stay zeros
  bool note_loads = false, note_stores = false;
};
Attempt<ptx::Report> run_launch(const VirtualContext& context, const CompiledKernel& kernel,
                                KernelPrograms& programs, VirtualMemory& memory,
                                const ResolvedLaunch& launch, const LaunchRun& how);

// A kernel and its resolved plan, run on the memory of one case.
struct PlanRun {
  const VirtualContext& context;
  const TaskRef& task;
  const CompiledKernel& kernel;
  KernelPrograms& programs;
  const ResolvedPlan& plan;

  // Both false: a fault stands in the report. `repeat` 0 is the case as it says, others have their
  // own order and poison.
  Result<bool> set_up(VirtualMemory& memory, const Case& what, CaseReport& report) const;
  Result<bool> once(VirtualMemory& memory, const Case& what, int repeat, CaseReport& report) const;

 private:
  Result<bool> launches(VirtualMemory& memory, When when, const LaunchRun& how,
                        CaseReport& report) const;
};

}  // namespace cupilot
