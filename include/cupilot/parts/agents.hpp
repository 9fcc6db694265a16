// The agents of a search: a strategist proposes strategies, a cost model predicts their times, a
// writer turns one into a kernel. The built-in ones need no model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/result.hpp>
#include <cupilot/rng.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/verdict.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct Accepted;
struct CompiledKernel;

// The strategist's view of one individual; it never contains the source.
struct Individual {
  std::uint64_t id = 0;
  Strategy strategy{};
  double time_us = 0;
  double fitness = 0;  // log2(plain time / time) plus weighted zone utilisation
  Verdict verdict{};
};

// repair: a refused kernel goes back to its writer, its strategy unchanged.
enum class BreedKind { seed, cross, mutate, explore, tune, repair };
std::string_view name_of(BreedKind kind);

// A time predicted before anything ran: its base-2 logarithm in microseconds is normal about
// log2_us.
struct Prediction {
  double log2_us = 0;
  double sigma = 1;
};
// Predicts a strategy's time. Deterministic, any thread; nullopt: no prediction.
using CostModel = std::function<std::optional<Prediction>(const Strategy&)>;

struct StrategyBrief {
  const Space* space = nullptr;
  BreedKind kind = BreedKind::seed;
  std::vector<Individual> parents{};   // 0 (seed, explore), 1 (mutate, tune) or 2 (cross)
  std::vector<Strategy> population{};  // for spread
  Zone zone = Zone::memory;
  std::function<bool(const std::string& strategy_id)>
      tried{};  // Returns true for strategies that must not be proposed again. default: none.
  // A technique's effect so far in this run: mean log2 speed change and number of times that it was
  // added. Free techniques are told apart by their text: "free: TEXT".
  struct Effect {
    std::string technique{};
    double gain = 0;
    int count = 0;
  };
  std::vector<Effect> effects{};
  bool roofline = true;  // false: `zone` has no meaning, and the parents' verdicts are empty
  // Strategies that were fast for similar tasks in earlier runs, best match first, feasible here.
  std::vector<Strategy> remembered{};
  CostModel forecast{};   // default: no predictions
  std::int64_t slot = 0;  // slot of the proposal; names the question to a model
  int generation = 0;
  // Recent refusals, newest last, by code alone since a message may quote source.
  struct Failure {
    Strategy strategy{};
    std::string code{};
  };
  std::vector<Failure> failures{};
  // A kernel that was tried.
  struct Tried {
    std::uint64_t id = 0;    // names its proposal
    Strategy strategy{};     // the one that it realises, with its parents
    double time_us = 0;      // 0: refused
    std::string code{};      // code of the refusal
    bool under_way = false;  // proposed, its result not known yet
  };
  std::vector<Tried> history{};  // oldest first; for expensive slots alone
  // Other parents to breed from, for questions that an expensive slot asks beside its own.
  struct Beside {
    BreedKind kind = BreedKind::mutate;
    std::vector<Individual> parents{};
  };
  std::vector<Beside> beside{};
};

// Proposes strategies. Called by one thread at a time.
class Strategist {
 public:
  virtual ~Strategist() = default;
  // True if proposing for this slot is expensive (a model call): the search asks once and evaluates
  // the answer without alternatives.
  virtual bool is_expensive(std::int64_t /*slot*/, int /*generation*/) const { return false; }
  // Generation in which the model became unavailable; -1: it is available. Stored with each
  // proposal so that resume() restores it.
  virtual int unavailable_since() const { return -1; }
  virtual void set_unavailable_since(int /*generation*/) {}
  // Returns what later proposals depend on beside their briefs; stored with each proposal of an
  // expensive slot so that resume() restores it.
  virtual std::string saved() const { return {}; }
  virtual void restore(const std::string& /*saved*/) {}
  // Returns how many questions an expensive slot may ask at once; further ones are of
  // StrategyBrief::beside, and their strategies wait for later slots.
  virtual int questions_at_once(int /*lookahead*/) const { return 1; }
  // True if it proposes for every slot: no numeric tuning and no random draws take its place.
  virtual bool proposes_all() const { return false; }
  // Returns a feasible strategy not in `tried`; nullopt when none is found. The built-in one is
  // deterministic in (brief, rng).
  virtual Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) = 0;
};

struct WriterBrief {
  TaskRef task{};
  const Strategy* strategy = nullptr;
  const DeviceSpec* device = nullptr;
  // A kernel to start from: its strategy, and the sentences of its verdict.
  struct Base {
    KernelSource source{};
    Strategy strategy{};
    std::vector<std::string> digest{};
  };
  // Free-form kernels of the parents, the first parent's first; without parents the first right
  // kernel of the run. Empty for templates.
  std::vector<Base> bases{};
  std::string key{};  // names the question to a model: "slot 17"
  // A refused kernel of this strategy with the reason; the writer repairs it instead of writing
  // anew.
  struct Failed {
    KernelSource source{};
    Rejected why{};
    int attempt = 1;  // repairs so far, this one included
  };
  std::optional<Failed> failed{};
};

// Writes kernels. Called from any thread.
class KernelWriter {
 public:
  virtual ~KernelWriter() = default;
  // Names a technique that the writer cannot realise; nullopt: it can realise all. Called before
  // anything is spent.
  virtual std::optional<std::string> lacks(const Task& task, const Strategy& strategy) const = 0;
  // Writes the brief's kernel. Error endpoint or budget: the candidate is lost, the search goes on.
  virtual Attempt<KernelSource> write(const WriterBrief& brief) = 0;
  // Returns the strategy that the accepted kernel realises; the population keeps it.
  virtual Strategy realised(const WriterBrief& brief, const CompiledKernel& /*kernel*/,
                            const Accepted& /*how*/) {
    return *brief.strategy;
  }
};

// Proposes by rules from the zone, the bottlenecks and earlier effects; needs no model.
std::unique_ptr<Strategist> rule_strategist();
// Proposes uniformly at random, a baseline for searches.
std::unique_ptr<Strategist> random_strategist();

// Makes a kernel of one template. `values`: by constant ("BM"), or by the parameter's vocabulary
// name; a parameter that is not named has its plain value, or its technique's default where the
// template requires the technique. Error{usage}: an unknown name (with the nearest), a value
// outside the domain, a broken restriction.
Result<KernelSource> instantiate(const Tunable& tunable, const Task& task, const DeviceSpec& device,
                                 const std::map<std::string, std::int64_t>& values = {});

// Writes kernels from templates. `tunables` may hold a user's own.
std::unique_ptr<KernelWriter> template_writer(std::vector<Tunable> tunables);

// Builds the space that templates span for a task on a device. `techniques`: rows beside
// catalogue(). Error{usage}: no template serves the task.
Result<std::unique_ptr<Space>> make_space(const Task& task, const DeviceSpec& device,
                                          const std::vector<Tunable>& tunables,
                                          const std::vector<Technique>& techniques = {});

// One strategy with its known time, for this task or another of its family at another shape.
struct KnownTime {
  const Strategy* strategy = nullptr;
  double time_us = 0;
  const Task* task = nullptr;  // default: the predicted task
};

// An analytic model of the templates, and a residual learnt from outcomes on top, which predict the
// time of a strategy's kernel before it is written or compiled (docs/formats/time-model.md). A
// prediction ranks candidates; it is never a result. Any thread; deterministic; below 1 ms a call.
// Returns nullopt for a strategy that no modelled template realises. An empty function: no
// prediction for this task.
CostModel make_cost_model(const Task& task, const DeviceSpec& device,
                          const std::vector<Tunable>& tunables,
                          std::span<const KnownTime> learnt = {});

// Fits a strategy that was found at other sizes to those of `space`: completes it there and moves
// its numbers and helping techniques to where `here` expects a gain, with the same core. A gain
// that `there`, the model at the sizes where it was found, expects there as well is half believed:
// the search of those sizes did not find it. Returns the completed strategy, and before it at most
// `most` that are expected to gain 5 % or more, the fastest first, each apart from the others. An
// empty model: nothing is known. Deterministic.
Result<std::vector<Strategy>> fitted(const Space& space, const Strategy& found,
                                     const CostModel& here, const CostModel& there,
                                     std::size_t most = 1);

}  // namespace cupilot
CUPILOT_EXPORTS_END
