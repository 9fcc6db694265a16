// Who thinks: the strategist proposes strategies, the writer turns one into a kernel. Built-in ones
// need no model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// What a strategist sees of one individual: never its source.
struct Individual {
  std::uint64_t id = 0;
  Strategy strategy{};
  double time_us = 0;
  double fitness = 0;  // log2(plain time / time) plus weighted zone utilisation
  Verdict verdict{};
};

// repair: a kernel that was refused goes back to its writer, its strategy unchanged.
enum class BreedKind { seed, cross, mutate, explore, tune, repair };
std::string_view name_of(BreedKind kind);

// A time expected before anything ran, by its base-2 logarithm: normal about log2_us.
struct Prediction {
  double log2_us = 0;
  double sigma = 1;
};
// Deterministic, any thread; nullopt: it cannot say.
using CostModel = std::function<std::optional<Prediction>(const Strategy&)>;

struct StrategyBrief {
  const Space* space = nullptr;
  BreedKind kind = BreedKind::seed;
  std::vector<Individual> parents{};   // 0 (seed, explore), 1 (mutate, tune) or 2 (cross)
  std::vector<Strategy> population{};  // for spread
  Zone zone = Zone::memory;
  std::function<bool(const std::string& strategy_id)>
      tried{};  // true: never to be proposed again; empty: nothing is
  // What a technique did so far in this run: mean log2 speed change when it was added, and how
  // often.
  struct Effect {
    std::string technique{};
    double gain = 0;
    int count = 0;
  };
  std::vector<Effect> effects{};
  bool roofline = true;  // false: `zone` says nothing, and the parents' verdicts are empty
  std::vector<Strategy>
      remembered{};       // fast for like tasks in earlier runs, best match first, feasible here
  CostModel forecast{};   // empty: nothing expects times
  std::int64_t slot = 0;  // what is proposed for; names the question to a model
  int generation = 0;
  // What was refused lately, newest last, by code alone: a message may quote source.
  struct Failure {
    Strategy strategy{};
    std::string code{};
  };
  std::vector<Failure> failures{};
};

// Asked by one thread at a time.
class Strategist {
 public:
  virtual ~Strategist() = default;
  // Whether this slot's proposal is dear: it is asked for once and taken as it is, beside no brood
  // of others.
  virtual bool is_expensive(std::int64_t /*slot*/, int /*generation*/) const { return false; }
  // The generation in which a model that it asks fell silent, -1: none. Proposals say so, and a
  // resumed search tells it by them.
  virtual int unavailable_since() const { return -1; }
  virtual void set_unavailable_since(int /*generation*/) {}
  // A feasible strategy not in `tried`; nullopt when none is found. Deterministic in (brief, rng)
  // for the built-in one.
  virtual Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) = 0;
};

struct WriterBrief {
  const Task* task = nullptr;
  const Strategy* strategy = nullptr;
  const DeviceSpec* device = nullptr;
  std::vector<KernelSource>
      bases{};  // free-form kernels of the parents, the first parent's first; empty for templates
  std::string key{};                  // names the question to a model: "slot 17"
  std::vector<std::string> digest{};  // what held the base back: sentences of its verdict
  // A kernel of this strategy that was refused, and why: to be mended instead of written anew.
  struct Failed {
    KernelSource source{};
    Rejected why{};
    int attempt = 1;  // repairs so far, this one included
  };
  std::optional<Failed> failed{};
};

// Asked by any thread.
class KernelWriter {
 public:
  virtual ~KernelWriter() = default;
  // Whether it can realise every technique; asked before anything is spent. The string names what
  // it cannot.
  virtual std::optional<std::string> lacks(const Task& task, const Strategy& strategy) const = 0;
  // Error endpoint or budget: nobody can write it now; the candidate is lost, the search goes on.
  virtual Attempt<KernelSource> write(const WriterBrief& brief) = 0;
  // What its kernel turned out to realise, once that was accepted: what the population keeps.
  virtual Strategy realised(const WriterBrief& brief, const CompiledKernel& /*kernel*/,
                            const Accepted& /*how*/) {
    return *brief.strategy;
  }
};

// Reads the zone, the pressures and what worked; needs no model.
std::unique_ptr<Strategist> rule_strategist();
// Uniform proposals: the baseline of search research.
std::unique_ptr<Strategist> random_strategist();

// A kernel of one template. `values`: by constant ("BM"), or by the parameter's vocabulary name;
// a parameter that is not named has its plain value, or its technique's default where the template
// requires the technique. Error{usage}: an unknown name (with the nearest), a value outside the
// domain, a broken restriction.
Result<KernelSource> instantiate(const Tunable& tunable, const Task& task, const DeviceSpec& device,
                                 const std::map<std::string, std::int64_t>& values = {});

// Writes from templates. `tunables` may hold a user's own.
std::unique_ptr<KernelWriter> template_writer(std::vector<Tunable> tunables);

// The space that templates span for a task on a device. Error{usage} when no template serves the
// task.
Result<std::unique_ptr<Space>> make_space(const Task& task, const DeviceSpec& device,
                                          const std::vector<Tunable>& tunables);

}  // namespace cupilot
CUPILOT_EXPORTS_END
