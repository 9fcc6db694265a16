// The search in a host's hands: it owns the device, the compiler, the timer or the model, asks for
// proposals and tells what came of them. evolve() is this with cupilot's own pipe; with one seed
// both make the same search.
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
  // Of all times it will be told; a search ranks one provenance. `reported`: the host's own. The
  // others are for candidates that evaluate() returned from a backend of that provenance.
  Provenance provenance = Provenance::reported;
  double plain_us = 0;  // the plain baseline's time, the unit of fitness; 0: unknown
  bool write =
      true;  // jobs carry kernels of the built-in writer; false: the host writes from the strategy
  bool random_search = false;  // proposals by random_strategist
  std::vector<std::string>
      tunables{};  // paths of the host's own templates, beside the built-in ones
  // Not empty: these span the space instead of templates, and a job's source holds only
  // `constants`, "technique.parameter".
  std::vector<Technique> techniques{};
  Strategist* strategist = nullptr;  // who proposes, deterministic in (brief, rng); must outlive
                                     // it. Null: the built-in one
};

// What to try next.
struct Job {
  Proposal proposal{};                   // id, generation, strategy
  std::optional<KernelSource> source{};  // the kernel; nothing when the host writes it
  // The source's launches in numbers, one plan a time shape of the task. Empty where they cannot be
  // had before compiling, or at all: resolve() says why.
  std::vector<ResolvedPlan> plans{};
  double elite_below_us = 0;  // a kernel faster than this deserves the elite's proof; 0: none is
};
using Jobs = std::variant<std::vector<Job>, Waiting, Finished>;

// A host's word on a kernel that ran and gave right results.
struct Reported {
  double time_us = 0;         // of one run, the mean over the task's time shapes by their weights
  std::string kernel_hash{};  // equal for equal kernels, such as a hash of the cubin; "": unknown
  Counts counts{};     // where the host counts; they sharpen the verdict that the strategist reads
  WarpCycles warps{};  // likewise, with the counts
};

// How an answer was received.
struct Receipt {
  TellStatus told = TellStatus::accepted;
  // Taken, but it counts as this rejection: the time lies below the floor, or an earlier kernel had
  // the same hash.
  std::optional<Rejected> counts_as{};
};

// One thread at a time; separate objects are independent. No clock, file or device is touched but
// by begin() and load(), which read `tunables`.
class Evolution {
 public:
  // Error usage: nothing can write the task, the task is not valid, a technique or an option is
  // wrong.
  static Result<Evolution> begin(const Task& task, const DeviceSpec& device,
                                 const EvolutionOptions& options = {});
  // Continues what save() returned, in any process, as if nothing had happened. Error usage for
  // text that is none, and where there was a strategist of the host's and now is none, or the other
  // way round.
  static Result<Evolution> load(std::string_view saved, Strategist* strategist = nullptr);
  // At any moment; JSON (docs/formats/evolution.md).
  Result<std::string> save() const;
  ~Evolution();
  Evolution(Evolution&&) noexcept;
  Evolution& operator=(Evolution&&) noexcept;

  // 1 to `count` jobs; Waiting: results of these ids are needed first; Finished: a limit is reached
  // or the space exhausted. Jobs made before an error come first, the error at the next call. A job
  // that an error names is open: forget() it.
  Result<Jobs> ask(int count);
  // Each proposal takes one answer, in any order. TellStatus: `late` after forget(), `again` after
  // an answer, `unknown` for an id that was never given. Error usage for nonsense (a time that is
  // no positive number or longer than a day, a count below 0 or not finite, another provenance, an
  // unknown rejection code): nothing changed, the proposal is still open.
  Result<Receipt> tell(std::uint64_t id, const Reported& reported);
  Result<Receipt> tell(std::uint64_t id, const Rejected& rejected);    // reject() makes one
  Result<Receipt> tell(std::uint64_t id, const Candidate& candidate);  // as evaluate() returned it
  // No answer will come: the slot counts as tried without result.
  TellStatus forget(std::uint64_t id);

  // Any job given so far, made anew: what is open after load(), the kernel of the best. Error usage
  // for an unknown id.
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

// What evolve() does with a job of write == true: proof, timing, and the elite's proof where it is
// due. pipe.seed: the search's.
Result<Candidate> evaluate(const Pipe& pipe, const Job& job);

}  // namespace cupilot
CUPILOT_EXPORTS_END
