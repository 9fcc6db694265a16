// The ask/tell search for hosts that own the device, the compiler, the timer or the model: the host
// asks for proposals and tells their results. evolve() drives it with cupilot's own pipe; one seed
// gives the same search either way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>
#include <cupilot/search.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct EvolutionOptions {
  SearchOptions search{};
  // Provenance of all times that will be told; a search ranks one. `reported`: the host's own
  // timing. The others are for candidates that evaluate() returned from a backend of that
  // provenance.
  Provenance provenance = Provenance::reported;
  double plain_us = 0;  // the plain baseline's time, the unit of fitness; 0: unknown
  bool write =
      true;  // Jobs carry kernels of the built-in writer; false: the host writes from the strategy.
  bool random_search = false;  // proposals by random_strategist
  std::vector<std::string>
      tunables{};  // Paths of the host's own templates, used beside the built-in ones.
  // Replaces the templates' strategy space when not empty; a job's source then holds only
  // `constants` named "technique.parameter".
  std::vector<Technique> techniques{};
  // Proposes strategies, deterministically in (brief, rng); must outlive the search. default: the
  // built-in strategist.
  Strategist* strategist = nullptr;
};

// One kernel to try.
struct Job {
  Proposal proposal{};                   // id, generation, strategy
  std::optional<KernelSource> source{};  // the kernel; absent when the host writes it
  // The source's launches in numbers, one plan per time shape of the task. Empty where they are
  // unknown before compiling or invalid: resolve() returns the reason.
  std::vector<ResolvedPlan> plans{};
  double elite_below_us = 0;  // a kernel faster than this deserves the elite's proof; 0: none is
};
using Jobs = std::variant<std::vector<Job>, Waiting, Finished>;

// The host's report on a kernel that ran and gave right results.
struct Reported {
  double time_us = 0;         // one run, averaged over the task's time shapes by their weights
  std::string kernel_hash{};  // equal for equal kernels, such as a hash of the cubin; "": unknown
  Counts counts{};            // optional; they sharpen the verdict that the strategist reads
  WarpCycles warps{};         // optional, with the counts
};

// The search's reply to an answer.
struct Receipt {
  TellStatus told = TellStatus::accepted;
  // The rejection that an accepted answer counts as: the time lies below the floor, or an earlier
  // kernel had the same hash.
  std::optional<Rejected> counts_as{};
};

// One thread at a time; separate objects are independent. Only begin() and load() touch files: they
// read `tunables`.
class Evolution {
 public:
  // Starts a search. Error usage: no template serves the task, the task is invalid, a technique or
  // an option is wrong.
  static Result<Evolution> begin(const Task& task, const DeviceSpec& device,
                                 const EvolutionOptions& options = {});
  // Continues a search from the text that save() returned, in any process, without any difference.
  // Error usage: the text is damaged, or a host's strategist was in use and is missing now, or the
  // reverse.
  static Result<Evolution> load(std::string_view saved, Strategist* strategist = nullptr);
  // Returns the state as JSON (docs/formats/evolution.md). Callable at any moment.
  Result<std::string> save() const;
  ~Evolution();
  Evolution(Evolution&&) noexcept;
  Evolution& operator=(Evolution&&) noexcept;

  // Returns 1 to `count` jobs, Waiting with the ids whose results are needed first, or Finished
  // when a limit is reached or the space is exhausted. An error that follows some jobs is returned
  // by the next call; a job that it names is open: forget() it.
  Result<Jobs> ask(int count);
  // Takes one answer per proposal, in any order. TellStatus: `forgotten` after forget(),
  // `duplicate` after an answer, `unknown_id` for an id that was never given. Error usage (a time
  // that is not positive or longer than a day, a count below 0 or not finite, another provenance,
  // an unknown rejection code): nothing changed and the proposal is still open.
  Result<Receipt> tell(std::uint64_t id, const Reported& reported);
  Result<Receipt> tell(std::uint64_t id, const Rejected& rejected);    // reject() makes one
  Result<Receipt> tell(std::uint64_t id, const Candidate& candidate);  // as evaluate() returned it
  // Gives up on an answer: the slot counts as tried without result.
  TellStatus forget(std::uint64_t id);

  // Rebuilds any job given so far, such as those open after load() or the best one. Error usage:
  // unknown id.
  Result<Job> job(std::uint64_t id) const;
  std::vector<std::uint64_t> open() const;  // given, neither told nor forgotten
  std::optional<Individual> best() const;   // the fastest told
  const Task& task() const;
  const Search& search() const;  // counts, archive, fingerprint

 private:
  struct CUPILOT_HIDDEN State;
  explicit Evolution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Proves and times a job of write == true as evolve() does, with the elite's proof where it is due.
// pipe.seed must be the search's seed.
Result<Candidate> evaluate(const Pipe& pipe, const Job& job);

}  // namespace cupilot
CUPILOT_EXPORTS_END
