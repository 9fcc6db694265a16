#include "evolution/evaluate/screen.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/phases.hpp"
#include "base/stop.hpp"
#include "verify/left_out.hpp"
#include "verify/plan_steps.hpp"
#include "verify/reach.hpp"

namespace cupilot {
namespace {

constexpr std::size_t cases_of_a_candidate = 6;
// Interpreting takes what it takes; no further case begins after these.
constexpr double candidate_seconds = 5, elite_seconds = 20;
constexpr int patience_of_a_second_try = 8;

// Sizes multiplied: which of a task's shapes is cheaper to interpret.
double extent(const Case& what) {
  double product = 1;
  for (const auto& [axis, size] : what.workload.sizes)
    product *= static_cast<double>(std::max<std::int64_t>(1, size));
  return product;
}

// The first, which fills whole tiles and is where most wrong kernels fail, and the cheapest others,
// in the battery's order.
std::vector<Case> telling(const std::vector<Case>& cases, std::size_t count) {
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.empty()) return {};
  std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) {
    return extent(cases[a]) < extent(cases[b]);
  });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  std::vector<Case> chosen;
  for (const std::size_t i : order) chosen.push_back(cases[i]);
  return chosen;
}

// True if the budget of a case ended before the kernel: nothing is known of it.
bool is_too_expensive(const CaseReport& done) {
  return !done.faults.empty() &&
         std::all_of(done.faults.begin(), done.faults.end(),
                     [](const Fault& fault) { return fault.code == "run.budget"; });
}

bool ended_too_soon(const TrialReport& ran) {
  return !ran.cases.empty() && is_too_expensive(ran.cases.back());
}

// True for a case that tells nothing: its buffers do not fit, its reference is too dear, or its
// budget ended.
bool is_left_out(const Result<TrialReport>& report) {
  return report ? ended_too_soon(*report) : report.error().code == ErrorCode::not_done;
}

// Runs cases on several threads, the largest first, or in turn on one, each by the next thread that
// is free, until `seconds` are spent; what follows the first case with a fault is dropped, as by
// one thread. Cases that tell nothing are left out; the error of one of them where no other is.
Result<TrialReport> run_side_by_side(Backend& screen, const TaskRef& task,
                                     const CompiledKernel& kernel, const std::vector<Case>& cases,
                                     std::size_t threads, double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (threads > 1)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return extent(cases[a]) > extent(cases[b]);
    });
  std::vector<std::optional<Result<TrialReport>>> reports(cases.size());
  std::atomic<std::size_t> next{0}, faulty{cases.size()};
  const auto work = [&, stop = stop_flags()] {
    const StopScope stopped(stop);
    const PhaseLog log;
    for (std::size_t taken = next++; taken < order.size(); taken = next++) {
      const std::size_t place = order[taken];
      if (place > faulty || std::chrono::steady_clock::now() > until) continue;
      reports[place] = screen.run(task, kernel, {&cases[place], 1});
      const Result<TrialReport>& report = *reports[place];
      if (is_left_out(report) ||
          (report && !report->cases.empty() && report->cases.back().faults.empty()))
        continue;
      std::size_t first = faulty;
      while (place < first && !faulty.compare_exchange_weak(first, place)) {
      }
    }
    return log.cpu();
  };
  std::vector<std::future<CpuSpent>> workers;
  for (std::size_t t = 0; t < std::min(threads, cases.size()); ++t)
    workers.push_back(std::async(std::launch::async, work));
  for (auto& worker : workers) credit(worker.get());
  TrialReport all;
  std::optional<Error> undone;
  for (std::size_t place = 0; place < cases.size() && place <= faulty; ++place) {
    if (!reports[place]) continue;  // no time was left for it
    Result<TrialReport>& report = *reports[place];
    if (is_left_out(report)) {
      if (!report) undone = report.error();
      continue;
    }
    if (!report) return report.error();
    add_coverage(all.coverage, report->coverage);
    all.confinement = report->confinement;
    if (report->cases.empty()) break;
    all.cases.push_back(std::move(report->cases.front()));
  }
  if (all.cases.empty() && undone) return *undone;
  return all;
}

// True if a kernel ends at sizes beyond the task's own where the device or its own shared memory
// has no room for more: it is written for the sizes that the task names.
bool has_no_room(const Task& task, const CaseReport& done) {
  const Sizes& sizes = done.what.workload.sizes;
  const bool beyond = std::any_of(sizes.begin(), sizes.end(), [&](const auto& size) {
    return size.second > largest_size(task, size.first);
  });
  return beyond && !done.faults.empty() &&
         std::all_of(done.faults.begin(), done.faults.end(), [](const Fault& fault) {
           return fault.code == "plan.limit" ||
                  (fault.code == "run.out_of_bounds" &&
                   fault.message.find("but the block has") != std::string::npos);
         });
}

std::string unproved_by(const Backend& screen, const std::string& reason) {
  return fmt::format(
      "races, bounds and uninitialised reads in each access: {} could not run it ({})",
      screen.identity(), reason);
}

}  // namespace

bool beyond_the_screen(const Rejected& rejected) {
  return rejected.code == "run.unsupported" || rejected.code == "verify.no_shape";
}

Result<void> reach_further(Backend& backend, const TaskRef& task, const CompiledKernel& kernel,
                           ProofLevel level, const std::vector<Case>& met, TrialReport& report) {
  const auto failed = [](const CaseReport& done) {
    return !done.faults.empty() ||
           std::any_of(done.outputs.begin(), done.outputs.end(), [](const OutputReport& output) {
             return output.failed > 0 || output.never_written > 0;
           });
  };
  if (report.coverage.empty() || std::any_of(report.cases.begin(), report.cases.end(), failed))
    return {};
  const bool timed =
      std::all_of(task->time_shapes.begin(), task->time_shapes.end(), [&](const Workload& shape) {
        return std::any_of(report.cases.begin(), report.cases.end(), [&](const CaseReport& done) {
          return !done.not_for_this_shape && done.what.workload.sizes == shape.sizes;
        });
      });
  Reach reach(task, kernel.source, backend.device(), level, met, kernel.ptx, timed, report.cases);
  int second_tries = 2;
  while (auto next = reach.next(report.coverage)) {
    auto ran = backend.run(task, kernel, {&*next, 1});
    if (ran && ended_too_soon(*ran) && second_tries > 0) {
      --second_tries;
      next->patience = patience_of_a_second_try;
      ran = backend.run(task, kernel, {&*next, 1});
    }
    if (!ran) return ran.error();
    if (ended_too_soon(*ran)) {
      const Fault& fault = ran->cases.back().faults.front();
      reach.give_up(fault.message + (fault.where.empty() ? "" : ", at " + fault.where));
      continue;
    }
    if (!ran->cases.empty() && has_no_room(*task, ran->cases.back())) continue;
    reach.tell(ran->cases);
    add_coverage(report.coverage, ran->coverage);
    for (CaseReport& done : ran->cases) report.cases.push_back(std::move(done));
    if (failed(report.cases.back())) return {};
  }
  report.left_out = reach.left_out(report.coverage);
  return {};
}

Result<Screened> screen(const Pipe& pipe, const CompiledKernel& kernel, ProofLevel level,
                        std::uint64_t seed) {
  Screened result;
  if (pipe.screen == nullptr) return result;
  const Phase phase("screen");
  std::vector<Case> cases = [&] {
    const Phase making("battery");
    return battery(pipe.task, kernel.source, pipe.screen->device(), level, seed, false);
  }();
  if (level == ProofLevel::candidate) cases = telling(cases, cases_of_a_candidate);
  // A candidate's few cases take less than a thread; the many of what may win are waited for.
  const std::size_t threads =
      level == ProofLevel::candidate ? 1 : std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
  auto report =
      run_side_by_side(*pipe.screen, pipe.task, kernel, cases, threads,
                       level == ProofLevel::candidate ? candidate_seconds : elite_seconds);
  const std::size_t ran = report ? report->cases.size() : 0;
  const auto too_expensive = [&] {
    return fmt::format("{} of {} cases on {}: too expensive to interpret", cases.size() - ran,
                       cases.size(), pipe.screen->identity());
  };
  if (report && ran == cases.size()) {
    const auto more = reach_further(*pipe.screen, pipe.task, kernel, level, cases, *report);
    if (!more) report = more.error();
  }
  if (!report && report.error().code == ErrorCode::not_done) {
    result.unproved = unproved_by(*pipe.screen, report.error().message);
    return result;
  }
  if (report && ran == 0 && !cases.empty()) {
    result.unproved = too_expensive();
    return result;
  }
  if (!report)
    return std::move(report.error()).while_doing("screening on " + pipe.screen->identity());
  auto concluded = conclude(pipe.task, kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  if (!concluded.is_rejected()) {
    result.proved = fmt::format(
        "{} interpreted {} cases with every access checked: bounds, alignment, races within a "
        "block, "
        "uninitialised reads, barriers",
        pipe.screen->identity(), report->cases.size());
    if (ran < cases.size()) result.unproved = too_expensive();
    for (const std::string& sentence : sentences_of(report->left_out))
      result.unproved += fmt::format("{}{}", result.unproved.empty() ? "" : "; ", sentence);
    return result;
  }
  if (!beyond_the_screen(concluded.rejected())) {
    result.refused = concluded.rejected();
    result.refused->message = "on " + pipe.screen->identity() + ": " + result.refused->message;
    return result;
  }
  result.unproved = unproved_by(*pipe.screen, concluded.rejected().message);
  return result;
}

Result<std::unique_ptr<Backend>> open_screen(const Backend& backend,
                                             const BackendOptions& options) {
  const std::vector<std::string> known = known_chips();
  const std::string& name = backend.device().name;
  const bool fits = backend.provenance() == Provenance::measured &&
                    std::find(known.begin(), known.end(), name) != known.end();
  if (!fits) return std::unique_ptr<Backend>();
  return open_backend("virtual:" + name, options);
}

}  // namespace cupilot
