// The whole circle in one call, its run directory, and the same pieces one by one. Any thread; two
// calls may share a backend, a strategist and a writer that are thread-safe, never a run directory.
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
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/model_agents.hpp>
#include <cupilot/result.hpp>
#include <cupilot/search.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One generation's line on a screen.
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
  int line = 0;               // of `file`, else of the kernel's text, from 1; 0: none is named
  std::string source_line{};  // that line
};

// What a run waits for.
struct Activity {
  std::string doing{};         // "proving 3, compiling 1", "confirming the fastest"
  double seconds = 0;          // wall clock since that began
  double wall_seconds = 0;     // since the run began
  double to_come_seconds = 0;  // what is expected to follow the search; 0: unknown
};

// The library is watched; it never prints. Called from the thread that called evolve() only.
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

// Why a search should end now, "" to go on: asked after each generation with all so far, oldest
// first. Pure, so that a resumed run is asked the same. Beside the limits of SearchOptions and
// max_seconds; whichever comes first ends the search.
using StopRule = std::function<std::string(std::span<const Progress> generations)>;
// The best has not become faster by more than `gain` (0.01: 1 %) in this many generations.
StopRule stagnation(int generations, double gain = 0);
// Empty rules are left out; of none at all neither ever ends a search.
StopRule any_of(std::vector<StopRule> rules);  // the first reason given
StopRule all_of(std::vector<StopRule> rules);  // all reasons, once every rule gives one

struct EvolveOptions {
  SearchOptions search{};
  std::string run_dir{};  // empty: nothing is kept
  // Wall clock, confirmation included: the search ends early enough for what follows it, by what
  // was measured so far. 0: none.
  double max_seconds = 0;
  StopRule stop{};  // the host's own rule
  std::vector<std::string>
      tunables{};              // paths of the user's own templates, beside the built-in ones
  bool random_search = false;  // proposals by random_strategist
  Strategist* strategist =
      nullptr;  // who proposes, deterministic in (brief, rng); null: the built-in one
  KernelWriter* writer = nullptr;  // who writes, any thread; null: from templates
  ChatClient* chat = nullptr;      // a model beside strategist and writer; null: none. Any thread
  SeatOptions seats{};             // of it
  std::int64_t raise_evaluations = 0;  // resume: the new limit in all; 0: as recorded
  bool plain_baseline = true;          // false: the task's reference is not timed as a baseline
  // The templates' plain settings are proved as a finalist is before the first candidate; a run of
  // which none stands ends there.
  bool plain_first = true;
  bool screening =
      true;  // a real device's candidates are proved on a virtual device of its chip first
  Backend* screen = nullptr;  // that virtual device; null: opened by the chip's name
  std::string worker_path{};  // for opening it: BackendOptions::worker_path
  SearchObserver* observer = nullptr;
  std::atomic<bool>* cancel = nullptr;  // set by the host: checkpoint and stop
  // Strategy pool (pool.hpp): read before the search, told of its champion; made when it does not
  // exist. "off": none. Empty: none; of a resume, as recorded.
  std::string pool{};
  // An experiment's: its entries carry these, and it reads none that carries one of them or is of
  // the same task.
  std::vector<std::string> pool_tags{};
  std::vector<std::string> task_words{};  // how the task was named, for standalone files
  std::string device_name{};  // what the backend was opened as ("virtual:h200"), for resume; empty:
                              // its identity
  Host* host = nullptr;       // clock and files; null: the real one
};

// What evolve() searches on a device that spans its own space (fake:FILE): the task says nothing.
Task landscape_task();

struct Baseline {
  std::string name{};  // "plain", "cublaslt"
  double time_us = 0;
  Provenance provenance = Provenance::modelled;
  std::vector<double>
      ratio{};       // baseline time / champion time, a round; empty when not interleaved with it
  double drift = 0;  // its time beside the champion / before the search, less 1; 0: timed once
};

struct Best {
  Candidate candidate{};
  std::vector<Baseline> baselines{};
  double ratio_low = 0, ratio_high = 0;  // 95 % of the champion's ratio to the strongest baseline
  // How much faster than the strongest baseline, 0.08: 8 %; 0 unless that is above twice its noise
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
  std::string stopped{};  // why it ended
  std::string run_dir{};
  std::vector<std::string> notices{};
  // Where the time went, seconds by path. "search/…" is added up over the threads that work on
  // candidates side by side, all else is wall time.
  std::map<std::string, double> phase_seconds{};
  double counting_seconds = 0;  // of them, in which hardware counters were read
  // CPU of the threads that propose, write, gate, judge and keep, in all and by path; not of any
  // other process.
  double controller_cpu_seconds = 0;
  std::map<std::string, double> controller_cpu_phases{};
  // Not in it: what they interpret as a virtual device, and as a check of the device's reference
  // values.
  double interpreting_cpu_seconds = 0;
};

// A cancelled search is no error: its report lacks `best`. Errors: budget (none valid by the end),
// no_candidate, the machine's.
Result<EvolveReport> evolve(const Task& task, Backend& backend, const EvolveOptions& options = {});
// Continues a run directory; the result equals an uninterrupted run's. Of `options` it takes what
// no journal holds: observer, cancel, stop, strategist, writer, chat, seats, screen, host,
// search.parallel, max_seconds (a new budget; 0: as recorded), raise_evaluations, pool and
// pool_tags (empty: as recorded). A run that ended without a valid candidate ends in its error.
Result<EvolveReport> resume(const std::string& run_dir, Backend& backend,
                            const EvolveOptions& options = {});

// The straight pipe for one candidate.
struct Pipe {
  const Task* task = nullptr;
  Backend* backend = nullptr;
  KernelWriter* writer = nullptr;
  std::uint64_t seed = 1;
  // A virtual device of the backend's chip, on which a candidate is proved at small shapes before
  // the backend runs it: every access checked, no device time spent. What it cannot run is said in
  // Verification::unproved. Null: none.
  Backend* screen = nullptr;
};
// The screen that fits a backend: null for one that measures nothing, or whose chip no virtual
// device models.
Result<std::unique_ptr<Backend>> open_screen(const Backend& backend,
                                             const BackendOptions& options = {});
// Error only when the machine failed.
Result<Candidate> evaluate(const Pipe& pipe, const Strategy& strategy, ProofLevel level);
// From a source instead of a strategy (verify, bench, a stranger's kernel).
Result<Candidate> evaluate_source(const Pipe& pipe, const KernelSource& source, ProofLevel level);

// Reading a run directory: what `report` and `show` print.
struct RunSummary {
  EvolveReport report{};
  Task task{};
  std::string device_name{};         // to open the backend again
  std::vector<std::string> lines{};  // one a generation
  bool models = false;               // were in its seats, from the beginning or since a resume
};
Result<RunSummary> read_run(const std::string& run_dir);
// One candidate of a run: by "best", id, or kernel-id prefix. JSON of strategy, evidence and
// lineage, and the source.
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
  std::uint64_t seed = 1;    // of the draw
  std::vector<std::string>
      tunables{};  // paths of the user's own templates, beside the built-in ones
  SearchObserver* observer = nullptr;
  std::atomic<bool>* cancel = nullptr;    // ends it early; what was measured is kept
  std::vector<std::string> task_words{};  // EvolveOptions'
  std::string device_name{};
};
// Evaluates strategies drawn from the space and keeps them in `dir` as a landscape for
// recorded:DIR; beside it table.csv, a line a strategy: the values of its knobs, its time in
// microseconds, the code of its rejection. Returns how many. A directory that holds an earlier
// recording of the same task, device, seed and count is gone on with.
Result<std::int64_t> record_landscape(const Task& task, Backend& backend, const std::string& dir,
                                      const RecordOptions& options);

}  // namespace cupilot
CUPILOT_EXPORTS_END
