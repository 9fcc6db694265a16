// The whole search in one call, its run directory, and its parts one by one. Any thread; two calls
// may share a backend, a strategist and a writer that are thread-safe, never a run directory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/candidate.hpp>
#include <cupilot/chat.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/model_agents.hpp>
#include <cupilot/result.hpp>
#include <cupilot/search.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

class Evaluator;

// State of a search after a generation.
struct Progress {
  int epoch = 0, generation = 0;
  std::int64_t evaluations = 0, proposed = 0, accepted = 0;
  std::map<std::string, std::int64_t> rejected{};  // by code
  double best_us = 0, plain_us = 0, floor_us = 0;
  double wall_seconds = 0;
  std::string best_strategy{};  // describe()
};

// The first refusal of its code in a run.
struct Refusal {
  std::uint64_t candidate =
      0;                      // id; 0: the plain setting of a template, before the first candidate
  std::string setting{};      // its strategy in one line
  Rejected why{};             // lines in its message count in `file`, where that is known
  std::string next{};         // the next step
  std::string file{};         // path of the user's own template; "": the kernel has another origin
  int line = 0;               // in `file`, else in the kernel's text, from 1; 0: none is named
  std::string source_line{};  // that line
};

// Questions of one agent that models have not answered yet.
struct OpenQuestions {
  std::string agent{};
  int count = 0;
  double seconds = 0;  // wall clock since the oldest was asked
};

// The work that a run waits for.
struct Activity {
  std::string doing{};                // "proving 3, compiling 1", "confirming the fastest"
  double seconds = 0;                 // wall clock since that began
  double wall_seconds = 0;            // since the run began
  double to_come_seconds = 0;         // expected after the search; 0: unknown
  std::vector<OpenQuestions> open{};  // by agent; empty: no model is asked
};

// Receives the progress of a search; the library itself never prints. Called from the thread
// that called evolve() only.
struct SearchObserver {
  virtual ~SearchObserver() = default;
  virtual void on_candidate(const Candidate&) {}
  // When a code is met for the first time. A report may name an earlier slot for it: candidates end
  // in any order.
  virtual void on_refusal(const Refusal&) {}
  // Every activity_seconds while anything runs.
  virtual void on_activity(const Activity&) {}
  virtual void on_generation(const Progress&) {}
  virtual void on_notice(const std::string&) {}
};

inline constexpr double activity_seconds = 9;

// Returns a reason to end the search, "" to go on. Called after each generation with all so far,
// oldest first; must be pure, since a resumed run repeats the calls. Works beside the limits of
// SearchOptions and max_seconds; the first one reached ends the search.
using StopRule = std::function<std::string(std::span<const Progress> generations)>;
// Ends a search whose best did not become faster by more than `gain` (0.01: 1 %) within this many
// generations.
StopRule stagnation(int generations, double gain = 0);
// Both ignore empty rules; without any rule neither ends a search.
StopRule any_of(std::vector<StopRule> rules);  // gives the first reason
StopRule all_of(std::vector<StopRule> rules);  // gives all reasons, once every rule has one

// A kernel of the user's own that the champion is timed against once it is proved as a finalist is.
struct OwnBaseline {
  std::string name{};  // in tables; none of the other baselines' names
  KernelSource source{};
  std::string says{};  // Baseline::says
};

struct EvolveOptions {
  SearchOptions search{};
  std::string run_dir{};  // default: nothing is kept
  // Wall clock, confirmation included: the search ends early enough for what follows it, by what
  // was measured so far. A first kernel, and a virtual device's confirmation, may take as many
  // seconds again, at least 10. 0: none.
  double max_seconds = 0;
  // Counts against max_seconds: spent before the call, such as on opening the device.
  double seconds_before = 0;
  StopRule stop{};  // the host's own rule
  std::vector<std::string>
      tunables{};  // Paths of the user's own templates, used beside the built-in ones.
  // Templates, techniques and practice come from these; load_families() and add_family() make them.
  // A resumed run wants the families that it began with. default: the built-in ones.
  Families families{};
  bool random_search = false;  // proposals by random_strategist
  // Proposes strategies, deterministically in (brief, rng). default: the built-in strategist.
  Strategist* strategist = nullptr;
  KernelWriter* writer = nullptr;  // Writes kernels, on any thread. default: the template writer.
  // Makes the policy of the search (parts/policy.hpp), deterministic in its arguments. default: by
  // SearchOptions::policy.
  std::function<std::unique_ptr<Policy>(const SearchOptions&, const Space&)> policy{};
  // Evaluates the candidates (parts/evaluator.hpp); the backend still times the baselines and
  // confirms the champion. default: the pipe over the backend, on threads of this process.
  Evaluator* evaluator = nullptr;
  // A model beside strategist and writer, called from any thread. default: none.
  ChatClient* chat = nullptr;
  SeatOptions seats{};  // for `chat`
  // Sets `cancel` after so many seconds in which the search waited for nothing but `chat`; 0:
  // never.
  double model_patience = 0;
  std::int64_t raise_evaluations = 0;  // resume(): the new total limit; 0: as recorded
  // resume(): goes on with another card of the model that the run began on. Kernels that were timed
  // before keep their times; the champion and what it is compared with are timed here.
  bool other_card = false;
  // Contestants (parts/contestants.hpp) that the champion is timed against; resume(): as recorded.
  std::vector<std::string> against{};
  // Kernels that the champion is timed against; one that is refused leaves a notice. resume(): as
  // recorded.
  std::vector<OwnBaseline> own_baselines{};
  bool plain_baseline = true;  // false: the task's reference is not timed as a baseline
  // Proves the plain settings of the host's own templates as a finalist's before the first
  // candidate; a run in which none stands ends there.
  bool plain_first = true;
  bool screening = true;  // Prove a real device's candidates on a virtual device of its chip first.
  Backend* screen = nullptr;  // that virtual device; default: opened by the chip's name
  std::string worker_path{};  // for opening it: BackendOptions::worker_path
  SearchObserver* observer = nullptr;
  std::atomic<bool>* cancel = nullptr;  // the host sets it to save and stop
  // Path of the strategy pool (pool.hpp): read before the search, given its champion, created when
  // missing. "off" and empty: none; empty in resume(): as recorded.
  std::string pool{};
  // Tags for experiments: new pool entries carry them; entries with one of them, or of the same
  // task, are not read.
  std::vector<std::string> pool_tags{};
  std::vector<std::string> task_words{};  // words that named the task, for standalone files
  // Name that opened the backend ("virtual:h200"), for resume. default: its identity.
  std::string device_name{};
  Host* host = nullptr;  // clock and files; null: the real one
};

// Returns the task that stands for a device that defines its own space (fake:FILE).
Task landscape_task();

struct Baseline {
  std::string name{};  // "plain", "cublaslt"
  double time_us = 0;
  Provenance provenance = Provenance::modelled;
  std::vector<double>
      ratio{};  // Baseline time / champion time, per round; empty when they were not interleaved.
  double drift = 0;    // its time beside the champion / before the search - 1; 0: timed once
  std::string says{};  // contestants: versions and flags; own kernels: OwnBaseline::says
};

struct Best {
  Candidate candidate{};
  std::vector<Baseline> baselines{};
  double ratio_low = 0, ratio_high = 0;  // 95 % interval of strongest baseline / champion
  // Speed gain over the strongest baseline, 0.08: 8 %; 0 unless it exceeds twice its noise
  // (standard error).
  double gain = 0, gain_noise = 0;
};

struct EvolveReport {
  std::optional<Best> best{};
  std::vector<Baseline> baselines{};
  std::int64_t evaluations = 0, proposed = 0;
  std::map<std::string, std::int64_t> rejected{};
  std::vector<Refusal> refusals{};  // the first of each code of `rejected`, in slot order
  double wall_seconds = 0;          // 0: the run has not ended
  // Parts of wall_seconds: "plain setting", "baselines", "search", "again", "confirm". Journals of
  // earlier versions have none.
  std::map<std::string, double> part_seconds{};
  bool resumed = false;  // wall_seconds counts from the last resume
  std::uint64_t seed = 1;
  std::string device{};   // Backend::identity()
  std::string stopped{};  // reason of its end
  std::string run_dir{};
  std::vector<std::string> notices{};
  // Seconds by phase path. "search/…" sums over the threads that work on candidates in parallel;
  // all else is wall time.
  std::map<std::string, double> phase_seconds{};
  double counting_seconds = 0;  // part of them spent reading hardware counters
  // CPU seconds of this process's threads that propose, write, gate, judge and record, in all and
  // by phase path.
  double controller_cpu_seconds = 0;
  std::map<std::string, double> controller_cpu_phases{};
  // CPU seconds of the same threads that went into interpreting kernels, as a virtual device or to
  // check reference values; not in the sum above.
  double interpreting_cpu_seconds = 0;
};

// Searches, confirms and reports. A cancelled search is no error: its report lacks `best`. Errors:
// budget (no valid candidate by the end), no_candidate, the machine's.
Result<EvolveReport> evolve(const Task& task, Backend& backend, const EvolveOptions& options = {});
// Continues a run directory; the result equals an uninterrupted run's. It reads these options,
// which no journal holds: observer, cancel, stop, strategist, writer, policy, evaluator, chat,
// seats, model_patience, screen, host, search.parallel, max_seconds (a new budget; 0: as recorded),
// raise_evaluations, pool and pool_tags (empty: as recorded). A run that ended without a valid
// candidate ends in its error.
Result<EvolveReport> resume(const std::string& run_dir, Backend& backend,
                            const EvolveOptions& options = {});

// The evaluation pipe for one candidate.
struct Pipe {
  TaskRef task{};
  Backend* backend = nullptr;
  KernelWriter* writer = nullptr;
  std::uint64_t seed = 1;
  // A virtual device of the backend's chip, which proves a candidate at small shapes with every
  // access checked before the backend runs it. Verification::unproved lists the parts that it
  // cannot run. default: none.
  Backend* screen = nullptr;
};
// Opens the screen that fits a backend; null for one that measures nothing or whose chip no virtual
// device models.
Result<std::unique_ptr<Backend>> open_screen(const Backend& backend,
                                             const BackendOptions& options = {});
// Proves and times a strategy. Error only when the machine failed.
Result<Candidate> evaluate(const Pipe& pipe, const Strategy& strategy, ProofLevel level);
// Proves and times a source instead of a strategy, as verify and bench do.
Result<Candidate> evaluate_source(const Pipe& pipe, const KernelSource& source, ProofLevel level);

// A run directory's content, as `report` and `show` print it.
struct RunSummary {
  EvolveReport report{};
  Task task{};
  std::string device_name{};         // to open the backend again
  std::vector<std::string> lines{};  // one per generation
  bool models = false;  // language models took part, from the beginning or since a resume
};
Result<RunSummary> read_run(const std::string& run_dir);
// One candidate of a run, found by "best", id or kernel-id prefix, with JSON of strategy, evidence
// and lineage.
struct RunCandidate {
  Candidate candidate{};
  std::string evidence_json{};
  std::vector<std::string> lineage{};  // ancestors, nearest first, one line each
};
Result<RunCandidate> read_candidate(const std::string& run_dir, const std::string& which);
// Writes report.html into the directory and returns its path.
Result<std::string> write_report(const std::string& run_dir);

struct RecordOptions {
  std::int64_t count = 200;  // strategies drawn; 0: every feasible one
  std::uint64_t seed = 1;    // seeds the draw
  std::vector<std::string>
      tunables{};       // Paths of the user's own templates, used beside the built-in ones.
  Families families{};  // EvolveOptions::families
  SearchObserver* observer = nullptr;
  std::atomic<bool>* cancel = nullptr;    // ends it early and keeps the measured part
  std::vector<std::string> task_words{};  // as in EvolveOptions
  std::string device_name{};
};
// Evaluates strategies drawn from the space and keeps them in `dir` as a landscape for
// recorded:DIR, beside table.csv with a line per strategy: the values of its knobs, its time in
// microseconds, the code of its rejection. Returns the number of strategies. Continues a directory
// that holds an earlier recording of the same task, device, seed and count.
Result<std::int64_t> record_landscape(const Task& task, Backend& backend, const std::string& dir,
                                      const RecordOptions& options);

}  // namespace cupilot
CUPILOT_EXPORTS_END
