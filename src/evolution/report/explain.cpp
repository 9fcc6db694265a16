#include <cupilot/parts/explain.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/median.hpp"
#include "evolution/evaluate/pipe.hpp"
#include "evolution/evaluate/timing.hpp"
#include "evolution/journal/events.hpp"
#include "evolution/journal/kept_families.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/run/context.hpp"
#include "strategy/edit.hpp"

namespace cupilot {
namespace {

// Less than this share of the champion's time is nothing, whatever the rounds say.
constexpr double resolution = 0.005;

// A champion and what is needed to make and time others like it.
struct ExplainedRun {
  SearchComponents components;
  Pipe pipe;
  Strategy champion;
  std::uint64_t seed = 1;
};

struct Variant {
  std::size_t technique = 0;  // index of the champion's uses
  CompiledKernel kernel;
};

// Everything of a strategy but one technique, by the names that Space::complete pins; the
// technique's absence too.
std::vector<std::string> pins_of(const Space& space, const Strategy& strategy) {
  std::vector<std::string> pins;
  for (const Technique& technique : space.techniques()) pins.push_back(technique.name);
  for (const Use& use : strategy.uses) {
    for (const auto& [name, value] : use.values) pins.push_back(use.technique + '.' + name);
  }
  return pins;
}

// Empty: it can go alone.
std::string why_kept(const Completion& done, const Strategy& wanted, const std::string& technique) {
  if (find_use(done.strategy, technique) != nullptr)
    return "the kernel cannot be written without it";
  std::string moved;
  const auto note = [&](const std::string& name) { moved += (moved.empty() ? "" : ", ") + name; };
  for (const Use& use : wanted.uses) {
    const Use* left = find_use(done.strategy, use.technique);
    if (left == nullptr || left->values != use.values) note(use.technique);
  }
  for (const Use& use : done.strategy.uses) {
    if (find_use(wanted, use.technique) == nullptr) note(use.technique);
  }
  return moved.empty() ? "" : "without it " + moved + " would change too";
}

// The champion without some techniques, if nothing else has to move; else the reason.
struct Reduced {
  Strategy strategy;
  std::string kept_for;
};
Reduced reduced(const Space& space, const Strategy& champion,
                const std::vector<std::string>& gone) {
  Strategy wanted = champion;
  for (const std::string& name : gone) wanted = without(wanted, name);
  auto done = space.complete(wanted, pins_of(space, wanted));
  if (!done) return {champion, done.error().message};
  Reduced result{std::move(done->strategy), ""};
  for (const std::string& name : gone) {
    if (result.kept_for.empty()) result.kept_for = why_kept({result.strategy, {}}, wanted, name);
  }
  return result;
}

// Written, compiled and proved like any candidate; nullopt with the reason where it is refused.
Result<std::optional<CompiledKernel>> made(const ExplainedRun& subject, const Strategy& strategy,
                                           std::string& refused) {
  EvaluationOptions rules;
  rules.proof_seed = subject.seed;
  auto passed = pass(subject.pipe, strategy, rules);
  if (!passed) return passed.error();
  if (const auto* rejected = std::get_if<Rejected>(&passed->candidate.outcome)) {
    refused = rejected->code + ": " + rejected->message;
  } else if (std::holds_alternative<Lost>(passed->candidate.outcome)) {
    refused = "the device fell silent";
  }
  if (!refused.empty()) return std::optional<CompiledKernel>();
  return std::optional(std::move(passed->kernel));
}

// Interleaved with the champion, which stands first.
Result<std::vector<SubjectReport>> timed(const ExplainedRun& subject,
                                         const CompiledKernel& champion,
                                         const std::vector<Variant>& variants, int rounds) {
  std::vector<Subject> contestants = {{Subject::Kind::candidate, "champion", &champion}};
  for (const Variant& variant : variants) {
    contestants.push_back(
        {Subject::Kind::candidate, std::to_string(variant.technique), &variant.kernel});
  }
  MeasureOptions rules{rounds, 8.0, true, timing_seed(subject.seed)};
  auto reports = measure_all(subject.pipe.task, *subject.pipe.backend, contestants, rules);
  if (!reports) return reports.error();
  std::vector<SubjectReport> all;
  for (Timed& one : *reports) all.push_back(std::move(one.report));
  if (all.front().measurement.is_error()) return all.front().measurement.error();
  if (all.front().measurement.is_rejected()) {
    return Error{ErrorCode::failure,
                 "the champion cannot be timed: " + all.front().measurement.rejected().message,
                 "look at it with `cupilot show`"};
  }
  return all;
}

void price(TechniqueWorth& worth, const SubjectReport& report, double champion_us) {
  if (!report.measurement) {
    worth.kept_for = "without it there is no time: " +
                     (report.measurement.is_error() ? report.measurement.error().message
                                                    : report.measurement.rejected().message);
    return;
  }
  const auto [low, high] = median_interval(report.ratio);
  worth.us = (median(report.ratio) - 1) * champion_us;
  worth.low_us = (low - 1) * champion_us;
  worth.high_us = (high - 1) * champion_us;
  worth.matters = worth.low_us > 0 && worth.us > resolution * champion_us;
  worth.costs = worth.high_us < 0 && worth.us < -resolution * champion_us;
}

Result<void> price_each(const ExplainedRun& subject, const CompiledKernel& champion, int rounds,
                        Explanation& all) {
  std::vector<Variant> variants;
  for (const Use& use : subject.champion.uses) {
    TechniqueWorth& worth = all.techniques.emplace_back();
    worth.technique = use.technique;
    const Reduced less = reduced(*subject.components.space, subject.champion, {use.technique});
    worth.kept_for = less.kept_for;
    if (!worth.kept_for.empty()) continue;
    auto kernel = made(subject, less.strategy, worth.kept_for);
    if (!kernel) return kernel.error();
    if (*kernel) variants.push_back({all.techniques.size() - 1, std::move(**kernel)});
  }
  const auto reports = timed(subject, champion, variants, rounds);
  if (!reports) return reports.error();
  all.champion_us = reports->front().measurement->time_us;
  all.provenance = reports->front().measurement->provenance;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    price(all.techniques[variants[i].technique], (*reports)[i + 1], all.champion_us);
  }
  std::stable_sort(all.techniques.begin(), all.techniques.end(),
                   [](const TechniqueWorth& a, const TechniqueWorth& b) {
                     return a.kept_for.empty() != b.kept_for.empty() ? a.kept_for.empty()
                                                                     : a.us > b.us;
                   });
  return {};
}

// Drops all that does nothing or costs; what is missed when they go together comes back, the
// dearest first.
Result<void> drop_idle(const ExplainedRun& subject, const CompiledKernel& champion, int rounds,
                       Explanation& all) {
  all.essential = subject.champion;
  std::vector<std::string> idle;  // dearest first
  for (const TechniqueWorth& worth : all.techniques) {
    if (worth.kept_for.empty() && !worth.matters) idle.push_back(worth.technique);
  }
  while (!idle.empty()) {
    const Reduced less = reduced(*subject.components.space, subject.champion, idle);
    std::string refused = less.kept_for;
    std::optional<CompiledKernel> kernel;
    if (refused.empty()) {
      auto one = made(subject, less.strategy, refused);
      if (!one) return one.error();
      kernel = std::move(*one);
    }
    if (kernel) {
      std::vector<Variant> variants(1);
      variants[0].kernel = std::move(*kernel);
      const auto reports = timed(subject, champion, variants, rounds);
      if (!reports) return reports.error();
      const SubjectReport& report = reports->back();
      const auto [low, high] = median_interval(report.ratio);
      const double ratio = median(report.ratio);
      if (report.measurement && (low <= 1 || ratio <= 1 + resolution)) {
        all.essential = less.strategy;
        all.essential_ratio = ratio;
        all.ratio_low = low;
        all.ratio_high = high;
        all.dropped = idle;
        return {};
      }
    }
    all.put_back.push_back(idle.front());
    idle.erase(idle.begin());
  }
  return {};
}

Result<ExplainedRun> open_subject(const std::string& run_dir, Backend& backend,
                                  const ExplainOptions& options) {
  auto read = read_journal(real_host(), run_dir);
  if (!read) return read.error();
  auto state = fold(*read);
  if (!state) return std::move(state.error()).while_doing(run_dir);
  auto best = read_candidate(run_dir, "best");
  if (!best) return best.error();
  if (best->candidate.strategy.uses.empty()) {
    return Error{ErrorCode::no_candidate,
                 "the champion of " + run_dir + " has no strategy to take apart",
                 "explain a run whose kernels were written from strategies"};
  }
  ExplainedRun subject;
  const TaskRef task(std::move(state->task));
  subject.champion = std::move(best->candidate.strategy);
  subject.seed = state->header.search.seed;
  const auto tunables = kept_tunables(real_host(), run_dir, state->header.tunables);
  const auto families = kept_families(real_host(), run_dir);
  if (!families) return families.error();
  auto components = find_components(task, backend.device(), backend.traits().techniques, tunables,
                                    *families, false);
  if (!components) return components.error();
  subject.components = std::move(*components);
  subject.pipe = {task, &backend, subject.components.writer, subject.seed, options.screen};
  return subject;
}

}  // namespace

Result<Explanation> explain(const std::string& run_dir, Backend& backend,
                            const ExplainOptions& options) {
  auto subject = open_subject(run_dir, backend, options);
  if (!subject) return subject.error();
  std::string refused;
  auto champion = made(*subject, subject->champion, refused);
  if (!champion) return champion.error();
  if (!*champion) {
    return Error{ErrorCode::no_candidate,
                 "the champion is refused on " + backend.identity() + ": " + refused,
                 "explain it on the device it was made on"};
  }
  Explanation all;
  all.champion = subject->champion;
  if (auto priced = price_each(*subject, **champion, options.rounds, all); !priced)
    return priced.error();
  if (auto dropped = drop_idle(*subject, **champion, options.rounds, all); !dropped)
    return dropped.error();
  return all;
}

}  // namespace cupilot
