// A kernel's cases one after another. To wake the judge costs more than most that it is asked: what
// is asked of a case's outputs goes with the preparation of the next case.
#include <algorithm>
#include <list>
#include <utility>

#include <cupilot/parts/resolved_plan.hpp>

#include "backend/cuda/trials.hpp"
#include "base/phases.hpp"

namespace cupilot {
namespace {

constexpr const char* stores_are_lost =
    "the known kernel ran on the device, and what it stored did not arrive";

// A fault of the kernel at run time: what follows would only repeat it.
bool ends_the_trial(const CaseReport& report) {
  return std::any_of(report.faults.begin(), report.faults.end(), [](const Fault& fault) {
    return fault.code.starts_with("run.") || fault.code.starts_with("load.");
  });
}

}  // namespace

// A case that was run. What the judge says of it comes into the report later, so it stays where it
// is.
struct CudaTrials::Proof {
  const Case& what;
  Clock::time_point began = Clock::now();
  TaskPlacement placement{};
  PlacedKernel kernel{};
  CaseReport report{};
  bool told = false;  // the report is whole
};

// Runs one case. After a fault, or with nothing to run, the report is whole at once; else when the
// judge has answered.
Result<void> CudaTrials::run_case(const TaskRef& task, const CompiledKernel& kernel, Fence fence,
                                  Proof& proof) {
  const auto end = [&proof] {
    proof.told = true;
    proof.report.seconds = std::chrono::duration<double>(Clock::now() - proof.began).count();
    return Result<void>();
  };
  const auto end_with = [&](Fault fault) {
    proof.report.faults.push_back(std::move(fault));
    return end();
  };
  proof.report.what = proof.what;
  auto resolution = [&] {
    const Phase phase("resolve");
    return resolve(kernel.source, task, proof.what.workload, spec_, &kernel);
  }();
  if (resolution.is_error()) return resolution.error();
  if (resolution.is_rejected()) return end_with(fault_of(resolution.rejected()));
  if (std::holds_alternative<NotForThisShape>(*resolution)) {
    proof.report.not_for_this_shape = true;
    return end();
  }
  auto placement = place(task, proof.what, fence);
  if (!placement) return placement.error();
  proof.placement = std::move(*placement);
  auto placed = place_kernel(task, proof.placement, kernel, std::get<ResolvedPlan>(*resolution));
  if (placed.is_error()) return placed.error();
  if (placed.is_rejected()) return end_with(fault_of(placed.rejected()));
  proof.kernel = std::move(*placed);
  Trial trial{task, proof.what, proof.placement, &proof.kernel};
  auto faulted = run_setup(trial);
  if (!faulted) return faulted.error();
  if (*faulted) return end_with(fault_of(**faulted));
  const double seconds = run_seconds(task, proof.what.workload);
  auto ran = launch(trial, proof.kernel.run, seconds);
  if (!ran) return ran.error();
  if (auto* fault = std::get_if<RunnerFault>(&*ran)) {
    if (auto told = tell_input_writes(trial, *fault, seconds); !told) return told.error();
    return end_with(fault_of(*fault));
  }
  if (auto checked = check(trial, proof.report); !checked) return checked;
  if (auto looked = look(trial, proof.report); !looked) return looked;
  if (proof.what.repeats > 0) {
    if (auto repeated = repeat(trial, seconds, proof.report); !repeated) return repeated;
  }
  orders_.afterwards(end);
  return {};
}

Result<std::vector<CaseReport>> CudaTrials::prove_once(const TaskRef& task,
                                                       const CompiledKernel& kernel,
                                                       std::span<const Case> cases) {
  std::list<Proof> proofs;
  const auto ended = [&] {
    return std::find_if(proofs.begin(), proofs.end(),
                        [](const Proof& one) { return one.told && ends_the_trial(one.report); });
  };
  orders_.forget();  // of what ended by an Error
  std::size_t failed_at = cases.size();
  for (bool more = true; more;) {
    const std::size_t next = proofs.size();
    more = next < cases.size() && ended() == proofs.end();
    // Every second case lies at the other end of its memory.
    const Fence fence = next % 2 == 0 ? Fence::end : Fence::start;
    if (more) proofs.push_back({cases[next]});
    const Result<void> done = more ? run_case(task, kernel, fence, proofs.back()) : orders_.tell();
    if (done) continue;
    // The judge was replaced: once more from the first case that was not told.
    orders_.forget();
    const auto lost =
        std::find_if(proofs.begin(), proofs.end(), [](const Proof& one) { return !one.told; });
    const auto told = static_cast<std::size_t>(std::distance(proofs.begin(), lost));
    if (std::exchange(failed_at, told) == told) return done.error();
    proofs.erase(lost, proofs.end());
    more = true;
  }
  if (const auto last = ended(); last != proofs.end()) proofs.erase(std::next(last), proofs.end());
  std::vector<CaseReport> reports;
  for (Proof& proof : proofs) reports.push_back(std::move(proof.report));
  return reports;
}

Result<std::vector<CaseReport>> CudaTrials::prove(const TaskRef& task, const CompiledKernel& kernel,
                                                  std::span<const Case> cases) {
  for (bool replaced = false;; replaced = true) {
    auto reports = prove_once(task, kernel, cases);
    if (!reports) return reports;
    const auto bare = std::find_if(reports->begin(), reports->end(), leaves_poison);
    if (bare == reports->end()) return reports;
    auto lost = replace_if_stores_are_lost(task, bare->what, replaced);
    if (!lost) return lost.error();
    if (!*lost) return reports;
  }
}

bool CudaTrials::leaves_poison(const CaseReport& report) {
  return std::any_of(report.outputs.begin(), report.outputs.end(),
                     [](const OutputReport& output) { return output.never_written > 0; });
}

Result<bool> CudaTrials::stores_arrive(const Task& task, const Case& what) {
  auto placement = place(task, what, Fence::end);
  if (!placement) return placement.error();
  std::vector<Region> outputs;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role == Role::out) outputs.push_back(placement->tensors[i]);
  }
  return device_.stores_arrive(outputs);
}

Result<bool> CudaTrials::replace_if_stores_are_lost(const Task& task, const Case& what,
                                                    bool replaced) {
  auto arrive = stores_arrive(task, what);
  if (!arrive) return arrive.error();
  if (*arrive) return false;
  if (replaced) return device_.condemn(stores_are_lost);
  if (auto renewed = device_.renew(); !renewed) return renewed.error();
  happened_.add(std::string(stores_are_lost) +
                ": its processes were replaced, and the candidate is judged again");
  return true;
}

}  // namespace cupilot
