// The seam between a search and what evaluates its proposals: this process's own pipe, records, a
// function, other hosts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/search.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// A proposal with what its evaluation may know of the search.
struct EvaluationJob {
  Proposal proposal{};
  // The parents' kernels or the refused one; the evaluator adds task, strategy and device.
  WriterBrief brief{};
  double elite_below_us = 0;  // a kernel faster than this needs the elite's proof; 0: none does
  // Refuses a kernel by the hash of its normalised PTX, as one that an earlier slot had. Any
  // thread, while the job is in flight. default: none.
  std::function<std::optional<Rejected>(const std::string& kernel_hash)> refuse{};
  // Hears of each stage that begins: "writing", "compiling", "proving", "timing". Any thread.
  std::function<void(const char* stage)> begins{};
};

// The time that an evaluation took; both maps are by phase path.
struct EvaluationCost {
  double seconds = 0;  // wall clock
  std::map<std::string, double> phase_seconds{};
  std::map<std::string, double> cpu_seconds{};  // counts threads of this process
  double device_cpu_seconds = 0;                // counts the same threads as a virtual device
};

struct Evaluated {
  Proposal proposal{};
  // Outcome Lost: no answer, which may be had another time. Error: the machine failed.
  Result<Candidate> candidate = Candidate{};
  EvaluationCost cost{};
  // The time was over before the candidate was judged: it has no outcome, and its slot stays open.
  bool given_up = false;
};

// Evaluates jobs. Called by one thread at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Returns the number of jobs that are worth having in flight.
  virtual int capacity() const = 0;
  virtual void submit(EvaluationJob job) = 0;
  // Returns the jobs that ended since the last call, each once and in any order; waits at most
  // `seconds` for the first.
  virtual std::vector<Evaluated> collect(double seconds) = 0;
};

// Evaluates by a function, in the caller's thread: a landscape, a recording, a simulation, a test.
// Answers come in the order of the jobs.
class FunctionEvaluator final : public Evaluator {
 public:
  using Answer = std::function<Result<Candidate>(const EvaluationJob&)>;
  explicit FunctionEvaluator(Answer answer, int capacity = 1)
      : answer_(std::move(answer)), capacity_(capacity) {}
  int capacity() const override { return capacity_; }
  void submit(EvaluationJob job) override { waiting_.push_back(std::move(job)); }
  std::vector<Evaluated> collect(double) override;

 private:
  Answer answer_;
  int capacity_;
  std::vector<EvaluationJob> waiting_;
};

// Makes the candidate of a proposal that a function accepts with a time. kernel_hash "": unknown.
Candidate timed_candidate(const Proposal& proposal, double time_us,
                          const std::string& kernel_hash = "",
                          Provenance provenance = Provenance::modelled);

// Drives a search over an evaluator until it is finished, or until `heard`, which may be empty,
// returns false. Returns the reason of its end, "" when `heard` ended it. Error: the evaluator's,
// the strategist's.
Result<std::string> run_search(Search& search, Evaluator& evaluator,
                               const std::function<bool(const Evaluated&)>& heard = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
