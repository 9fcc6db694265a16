// Searches for a set of shapes, and the few kernels that serve them all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <optional>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/wisdom.hpp>

#include "base/stop.hpp"
#include "evolution/run/waiting.hpp"
#include "task/file_content.hpp"
#include "wisdom/regret.hpp"

namespace cupilot {
namespace {

// A kernel found, with its time at each shape.
struct Found {
  Candidate candidate;
  CompiledKernel kernel;
  std::vector<double> times_us;
};

Task at_shape(const Task& task, const Workload& workload) {
  Task one = task;
  one.time_shapes = {workload};
  return one;
}

const Families& families_of(const EvolveOptions& options) {
  return options.families.empty() ? builtin_families() : options.families;
}

// Shares of a budget go by weight, with at least one evaluation each.
EvolveOptions share_of(const PortfolioOptions& options, const Task& task, std::size_t shape) {
  double all = 0;
  for (const Workload& workload : task.time_shapes) all += workload.weight;
  const double share = task.time_shapes[shape].weight / all;
  EvolveOptions mine = options.evolve;
  const auto evaluations = static_cast<double>(options.evolve.search.max_evaluations);
  mine.search.max_evaluations = options.evolve.search.max_evaluations > 0
                                    ? std::max<std::int64_t>(1, std::llround(share * evaluations))
                                    : 0;
  mine.max_seconds = options.evolve.max_seconds * share;
  mine.seconds_before = options.evolve.seconds_before * share;
  if (!mine.run_dir.empty()) mine.run_dir += fmt::format("/shape-{}", shape + 1);
  const Family* family = mine.task_words.empty()
                             ? nullptr
                             : find_family(families_of(options.evolve), mine.task_words.front());
  for (const FamilyWord& word : family != nullptr ? family->words : std::vector<FamilyWord>()) {
    const auto size = task.time_shapes[shape].sizes.find(word.name);
    if (word.kind == FamilyWord::Kind::size && size != task.time_shapes[shape].sizes.end())
      mine.task_words.push_back(fmt::format("{}={}", word.name, size->second));
  }
  return mine;
}

// True of two kernels that run the same instructions by the same launches: their texts may differ
// in comments.
bool same_kernel(const Candidate& a, const Candidate& b) {
  const auto launches = [](KernelSource source) {
    source.text.clear();
    return kernel_id(source);
  };
  if (a.kernel_id == b.kernel_id) return true;
  return !a.kernel_hash.empty() && a.kernel_hash == b.kernel_hash &&
         launches(a.source) == launches(b.source);
}

// Searches one shape, or goes on where an earlier search of it stopped.
Result<Candidate> best_at(const Task& task, Backend& backend, EvolveOptions options,
                          const std::string& shape) {
  const bool begun = !options.run_dir.empty() && real_host().exists(options.run_dir + "/journal");
  if (begun) {
    auto earlier = read_run(options.run_dir);
    if (!earlier) return earlier.error();
    if (task_id(earlier->task) != task_id(task)) {
      return Error{ErrorCode::usage, options.run_dir + " holds the search of another task",
                   "name another run directory by --run"};
    }
    // Its share of the time was had already: the rest of it belongs to the shapes that follow.
    if (earlier->report.best) options.max_seconds = 0;
  }
  auto report = begun ? resume(options.run_dir, backend, options) : evolve(task, backend, options);
  if (!report) return report.error();
  if (!report->best) {
    return Error{ErrorCode::budget,
                 fmt::format("the search of {} ended without a kernel: {}", shape, report->stopped),
                 "run the same command again to go on"};
  }
  return std::move(report->best->candidate);
}

Result<void> add(Backend& backend, std::vector<Found>& all, Candidate candidate) {
  const bool known = std::any_of(all.begin(), all.end(), [&](const Found& one) {
    return same_kernel(one.candidate, candidate);
  });
  if (known) return {};
  Attempt<CompiledKernel> compiled = backend.compile(candidate.source);
  if (compiled.is_error()) return compiled.error();
  if (compiled.is_rejected()) {
    return Error{ErrorCode::no_candidate,
                 "a proven kernel no longer compiles: " + compiled.rejected().message,
                 "see `cupilot doctor`"};
  }
  all.push_back({std::move(candidate), std::move(*compiled), {}});
  return {};
}

// A kernel without conditions on its sizes: the plainest strategy of a template that has none.
// Nothing where there is no such template.
Result<std::optional<Candidate>> fallback_of(const Task& task, Backend& backend,
                                             const EvolveOptions& options) {
  std::vector<Tunable> tunables;
  for (const std::string& path : options.tunables) {
    auto loaded = load_tunable(path);
    if (!loaded) return loaded.error();
    tunables.push_back(std::move(*loaded));
  }
  for (Tunable& tunable : templates_of(families_of(options), task))
    tunables.push_back(std::move(tunable));
  std::erase_if(tunables, [&](const Tunable& tunable) {
    return !tunable.plan.require.empty() || !serves(tunable, task);
  });
  if (tunables.empty()) return std::optional<Candidate>();
  auto space = make_space(task, backend.device(), tunables);
  if (!space) return space.error();
  auto plainest = (*space)->complete(Strategy{});
  if (!plainest) return plainest.error();
  const auto writer = template_writer(tunables);
  auto evaluated = evaluate({.task = TaskRef(task), .backend = &backend, .writer = writer.get()},
                            plainest->strategy, ProofLevel::elite);
  if (!evaluated) return evaluated.error();
  if (std::holds_alternative<Accepted>(evaluated->outcome))
    return std::optional(std::move(*evaluated));
  return std::optional<Candidate>();
}

// True if the kernel is right at a shape that it was not evolved for.
Result<bool> proved_at(const Task& task, Backend& backend, const KernelSource& source) {
  auto evaluated =
      evaluate_source({.task = TaskRef(task), .backend = &backend}, source, ProofLevel::elite);
  if (!evaluated) return evaluated.error();
  return std::holds_alternative<Accepted>(evaluated->outcome);
}

// Proves and times every kernel at one shape, all side by side with the baselines.
Result<WisdomShape> compare_at(const Task& task, const Workload& workload, Backend& backend,
                               std::vector<Found>& all) {
  const TaskRef here(at_shape(task, workload));
  std::vector<Subject> contestants;
  for (Found& one : all) {
    auto proved = proved_at(here, backend, one.candidate.source);
    if (!proved) return proved.error();
    one.times_us.push_back(0);
    if (*proved)
      contestants.push_back({Subject::Kind::candidate, one.candidate.kernel_id, &one.kernel});
  }
  contestants.push_back({Subject::Kind::plain, "plain", nullptr});
  contestants.push_back({Subject::Kind::library, library_name(here), nullptr});
  MeasureOptions rules;
  rules.rounds = 9;
  rules.max_seconds = 8;
  auto reports = backend.measure(here, workload, contestants, rules);
  if (!reports) return reports.error();
  WisdomShape shape{workload, {}, {}};
  for (std::size_t i = 0; i < reports->size(); ++i) {
    const SubjectReport& report = (*reports)[i];
    if (!report.measurement || report.measurement->too_short) continue;
    if (contestants[i].kind != Subject::Kind::candidate) {
      shape.baselines.push_back(
          {report.name, report.measurement->time_us, report.measurement->provenance});
      continue;
    }
    for (Found& one : all) {
      if (&one.kernel == contestants[i].kernel) one.times_us.back() = report.measurement->time_us;
    }
  }
  return shape;
}

WisdomKernel kept(const Found& found, std::size_t index) {
  WisdomKernel kernel;
  const std::string& from = found.candidate.source.template_name;
  kernel.name = fmt::format("{}_{}", from.empty() ? "kernel" : from, index + 1);
  kernel.kernel_id = found.candidate.kernel_id;
  kernel.strategy = describe(found.candidate.strategy);
  kernel.source = found.candidate.source;
  kernel.arch = found.kernel.arch;
  kernel.compiler = found.kernel.compiler;
  kernel.image = found.kernel.cubin;
  for (const EntryFacts& entry : found.kernel.entries)
    kernel.entries.emplace_back(entry.source_name, entry.name);
  return kernel;
}

WisdomEntry entry_for(const Task& task, const Backend& backend, const PortfolioOptions& options) {
  WisdomEntry entry;
  entry.task = task;
  entry.task_words = options.evolve.task_words;
  entry.device = backend.identity();
  entry.device_label = backend.device().label;
  entry.compute_major = backend.device().compute_major;
  entry.compute_minor = backend.device().compute_minor;
  entry.provenance = backend.provenance();
  return entry;
}

void notice(const PortfolioOptions& options, const std::string& text) {
  if (options.evolve.observer != nullptr) options.evolve.observer->on_notice(text);
}

// Indices of the kernels kept, and their regret; `fallback`: of `all`, kept whatever it is worth.
KernelChoice choice_of(const WisdomEntry& entry, const std::vector<Found>& all, int fallback,
                       const PortfolioOptions& options) {
  std::vector<std::vector<double>> times;
  std::vector<double> weights;
  for (const Found& one : all) times.push_back(one.times_us);
  for (const WisdomShape& shape : entry.shapes) weights.push_back(shape.workload.weight);
  KernelChoice choice = choose_kernels(times, weights, options.keep, options.regret);
  for (int keep = options.keep + 1; std::isinf(choice.regret); ++keep)
    choice = choose_kernels(times, weights, keep, options.regret);
  if (options.keep > 0 && static_cast<int>(choice.kernels.size()) > options.keep) {
    notice(options,
           fmt::format("{} kernels are kept instead of {}: fewer leave a shape without one",
                       choice.kernels.size(), options.keep));
  }
  if (fallback < 0 ||
      std::find(choice.kernels.begin(), choice.kernels.end(), fallback) != choice.kernels.end())
    return choice;
  choice.kernels.push_back(fallback);
  choice.regret = regret_of(times, weights, choice.kernels);
  return choice;
}

void keep(WisdomEntry& entry, const std::vector<Found>& all, int fallback,
          const PortfolioOptions& options) {
  const KernelChoice choice = choice_of(entry, all, fallback, options);
  entry.regret = choice.regret;
  for (const int kernel : choice.kernels) {
    const Found& one = all[static_cast<std::size_t>(kernel)];
    if (kernel == fallback) entry.fallback = static_cast<int>(entry.kernels.size());
    entry.kernels.push_back(kept(one, entry.kernels.size()));
    for (std::size_t shape = 0; shape < entry.shapes.size(); ++shape)
      entry.shapes[shape].times_us.push_back(one.times_us[shape]);
  }
}

// Work between the searches, of which the observer hears as a search's.
class BetweenSearches {
 public:
  explicit BetweenSearches(SearchObserver* observer)
      : heartbeat_(real_host(), observer, real_host().monotonic_seconds()) {}
  template <class Work>
  auto during(const std::string& doing, Work work) {
    heartbeat_.heard();
    return aside(real_host(), heartbeat_, doing, spent_, work);
  }

 private:
  Heartbeat heartbeat_;
  Spending spent_;
};

std::string shape_text(const Task& task, std::size_t shape) {
  std::string text = fmt::format("shape {} of {}:", shape + 1, task.time_shapes.size());
  for (const auto& [axis, size] : task.time_shapes[shape].sizes)
    text += fmt::format(" {}={}", axis, size);
  return text;
}

}  // namespace

Result<WisdomEntry> evolve_portfolio(const Task& task, Backend& backend,
                                     const PortfolioOptions& options) {
  if (auto fits = check_files(task); !fits) return fits.error();
  const StopScope stoppable({options.evolve.cancel});
  BetweenSearches between(options.evolve.observer);
  // First, since it may fail at once.
  auto fallback = between.during("proving the kernel for all other shapes",
                                 [&] { return fallback_of(task, backend, options.evolve); });
  if (!fallback) return fallback.error();
  if (!*fallback)
    notice(options,
           "no template serves every size: shapes that no kernel kept is for will be refused");
  std::vector<Found> all;
  for (std::size_t i = 0; i < task.time_shapes.size(); ++i) {
    const std::string shape = shape_text(task, i);
    notice(options, shape);
    EvolveOptions of_shape = share_of(options, task, i);
    of_shape.plain_first = of_shape.plain_first && i == 0;
    auto best = best_at(at_shape(task, task.time_shapes[i]), backend, std::move(of_shape), shape);
    if (!best) return best.error();
    if (auto added = add(backend, all, std::move(*best)); !added) return added.error();
  }
  int last = -1;
  if (*fallback) {
    std::erase_if(all, [&](const Found& one) { return same_kernel(one.candidate, **fallback); });
    if (auto added = add(backend, all, std::move(**fallback)); !added) return added.error();
    last = static_cast<int>(all.size()) - 1;
  }
  WisdomEntry entry = entry_for(task, backend, options);
  for (const Workload& workload : task.time_shapes) {
    auto shape = between.during("comparing the kernels at each shape",
                                [&] { return compare_at(task, workload, backend, all); });
    if (!shape) return shape.error();
    entry.shapes.push_back(std::move(*shape));
  }
  keep(entry, all, last, options);
  return entry;
}

bool same_task(const WisdomEntry& a, const WisdomEntry& b) {
  const auto key = [](Task task) {
    task.time_shapes.clear();
    return task_id(task);
  };
  return key(a.task) == key(b.task);
}

void remember(Wisdom& wisdom, WisdomEntry entry) {
  for (WisdomEntry& known : wisdom.entries) {
    if (known.device == entry.device && known.provenance == entry.provenance &&
        same_task(known, entry)) {
      known = std::move(entry);
      return;
    }
  }
  wisdom.entries.push_back(std::move(entry));
}

}  // namespace cupilot
