// The seam between a search and what evaluates for it.
#include <cupilot/parts/evaluator.hpp>

#include <cupilot/evolution.hpp>

#include "agents/write/values_writer.hpp"
#include "catch.hpp"
#include "evolution/support.hpp"
#include "strategy/build_space.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

EvaluationJob job_of(std::int64_t slot) {
  EvaluationJob job;
  job.proposal.slot = slot;
  job.proposal.id = static_cast<std::uint64_t>(slot) + 1;
  return job;
}

// Evaluates by the pipe on a device, in the caller's thread.
FunctionEvaluator piped(const Pipe& pipe, int capacity) {
  return FunctionEvaluator(
      [&pipe](const EvaluationJob& job) -> Result<Candidate> {
        auto candidate = evaluate(pipe, Job{job.proposal, {}, {}, job.elite_below_us});
        if (!candidate) return candidate;
        if (auto refused = job.refuse(candidate->kernel_hash))
          candidate->outcome = std::move(*refused);
        return candidate;
      },
      capacity);
}

}  // namespace

TEST_CASE("a pipe that lacks something is refused by its name") {
  const auto refused = [](const Result<Candidate>& candidate) {
    return candidate ? "nothing" : candidate.error().message;
  };
  CHECK(refused(evaluate(Pipe{}, Strategy(), ProofLevel::candidate)) == "Pipe::task is missing");
  Pipe pipe{.task = TaskRef(landscape_task())};
  CHECK(refused(evaluate_source(pipe, KernelSource(), ProofLevel::candidate)) ==
        "Pipe::backend is missing");
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  pipe.backend = device.get();
  CHECK(refused(evaluate(pipe, Job())) == "Pipe::writer is missing");
}

TEST_CASE("a function evaluates in the order of its jobs, each once") {
  FunctionEvaluator evaluator(
      [](const EvaluationJob& job) -> Result<Candidate> {
        if (job.proposal.slot == 1) return Error{ErrorCode::failure, "the machine is off", ""};
        return timed_candidate(job.proposal, 5 + static_cast<double>(job.proposal.slot), "hash");
      },
      3);
  CHECK(evaluator.capacity() == 3);
  CHECK(evaluator.collect(0).empty());
  for (const std::int64_t slot : {2, 1, 0}) evaluator.submit(job_of(slot));
  const std::vector<Evaluated> done = evaluator.collect(0);
  REQUIRE(done.size() == 3);
  CHECK(evaluator.collect(0).empty());
  CHECK(done[0].proposal.slot == 2);
  REQUIRE(done[0].candidate);
  CHECK(done[0].candidate->id == 3);
  CHECK(done[0].candidate->evaluated);
  CHECK(done[0].candidate->kernel_hash == "hash");
  CHECK(std::get<Accepted>(done[0].candidate->outcome).measurement.time_us == 7);
  REQUIRE_FALSE(done[1].candidate);
  CHECK(done[1].candidate.error().message == "the machine is off");
}

TEST_CASE("evolve takes the host's evaluator, and the search is the same", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "own", 40);
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  for (const int capacity : {1, 3}) {
    INFO(capacity);
    const Task task = landscape_task();
    const auto space = build_space({device->traits().techniques, {}});
    REQUIRE_OK(space);
    const auto writer = values_writer(**space);
    const Pipe pipe{TaskRef(task), device.get(), writer.get(), options.search.seed};
    FunctionEvaluator evaluator = piped(pipe, capacity);
    options.run_dir = dir / std::to_string(capacity);
    options.evaluator = &evaluator;
    REQUIRE_OK(evolve(landscape_task(), *device, options));
    CHECK(essence(options.run_dir) == essence(dir / "own"));
  }
}

TEST_CASE("an evaluator whose machine fails ends the run in its error", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  FunctionEvaluator evaluator([](const EvaluationJob&) -> Result<Candidate> {
    return Error{ErrorCode::no_device, "all hosts are gone", ""};
  });
  EvolveOptions options = small_run(dir / "run");
  options.evaluator = &evaluator;
  const auto report = evolve(landscape_task(), *device, options);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::no_device);
  CHECK(report.error().message.find("all hosts are gone") != std::string::npos);
  // What was proposed is evaluated once the hosts are back.
  options.evaluator = nullptr;
  REQUIRE_OK(resume(dir / "run", *device, {}));
  EvolveOptions whole = small_run(dir / "whole");
  REQUIRE_OK(evolve(landscape_task(), *device, whole));
  CHECK(essence(dir / "run") == essence(dir / "whole"));
}

namespace {

// Keeps its jobs until as many are in flight as it takes, then answers the newest.
class Patient final : public Evaluator {
 public:
  explicit Patient(int capacity) : capacity_(capacity) {}
  int capacity() const override { return capacity_; }
  void submit(EvaluationJob job) override {
    waiting_.push_back(std::move(job));
    most = std::max(most, waiting_.size());
  }
  std::vector<Evaluated> collect(double) override {
    EvaluationJob job = std::move(waiting_.back());
    waiting_.pop_back();
    // Two strategies of three have a kernel that another one has too.
    const std::string hash = std::to_string(job.proposal.slot % 3 == 0 ? job.proposal.slot : -1);
    if (auto refused = job.refuse(hash)) refusals.push_back(std::move(*refused));
    marks.push_back(job.elite_below_us);
    Result<Candidate> answer =
        timed_candidate(job.proposal, 100 - static_cast<double>(job.proposal.slot), hash);
    if (job.proposal.slot == fails_at) answer = Error{ErrorCode::no_device, "gone", ""};
    std::vector<Evaluated> ended;
    ended.push_back({std::move(job.proposal), std::move(answer), {}});
    return ended;
  }

  std::size_t most = 0;
  std::int64_t fails_at = -1;
  std::vector<double> marks;
  std::vector<Rejected> refusals;

 private:
  int capacity_;
  std::vector<EvaluationJob> waiting_;
};

}  // namespace

TEST_CASE("a search is run over an evaluator of any capacity") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  const auto space = build_space({device->traits().techniques, {}});
  REQUIRE_OK(space);
  const auto strategist = rule_strategist();
  SearchOptions options;
  options.max_evaluations = 40;
  options.lookahead = 6;
  const auto search = [&] { return Search(options, **space, *strategist, Zone::middle, 640); };
  for (const int capacity : {0, 1, 3}) {
    INFO(capacity);
    Patient evaluator(capacity);
    Search whole = search();
    const auto ended = run_search(whole, evaluator);
    REQUIRE_OK(ended);
    CHECK(*ended == "evaluations spent");
    CHECK(whole.proposed() == 40);
    CHECK(evaluator.most == static_cast<std::size_t>(std::max(1, capacity)));
    // A kernel must be faster than the best that the lookahead lets its slot know.
    CHECK(evaluator.marks.front() == 0);
    CHECK(evaluator.marks.back() > 60);
    CHECK(evaluator.marks.back() < 75);
    REQUIRE_FALSE(evaluator.refusals.empty());
    CHECK(evaluator.refusals.front().code == "gate.duplicate");
  }
  Patient evaluator(1);
  Search stopped = search();
  int heard = 0;
  const auto quiet = run_search(stopped, evaluator, [&](const Evaluated&) { return ++heard < 5; });
  REQUIRE_OK(quiet);
  CHECK(quiet->empty());
  CHECK(heard == 5);
  evaluator.fails_at = 7;
  Search broken = search();
  const auto failed = run_search(broken, evaluator);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "gone");
}
