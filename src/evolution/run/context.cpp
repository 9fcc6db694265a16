#include "evolution/run/context.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <cupilot/parts/agents.hpp>

#include "agents/write/values_writer.hpp"
#include "evolution/search/knowledge.hpp"
#include "kernel/tunable_check.hpp"
#include "kernel/tunable_model.hpp"
#include "strategy/build_space.hpp"

namespace cupilot {
namespace {

const Families& known_families(const Families& given) {
  return given.empty() ? builtin_families() : given;
}

// Rows of families that the catalogue does not hold.
std::vector<Technique> added_techniques(const Families& families) {
  std::vector<Technique> all = techniques_of(families);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(catalogue().size()));
  return all;
}

// The space that a family's techniques span where it has no template: its host writes the kernels.
// Null: there is no such family.
Result<std::unique_ptr<Space>> space_of_techniques(const Task& task, const Families& families) {
  const Family* family = find_family(families, task.family);
  if (family == nullptr || family->techniques.empty() || !family->templates.empty())
    return std::unique_ptr<Space>();
  SpaceModel model;
  model.techniques = family->techniques;
  return build_space(std::move(model));
}

Result<std::vector<Tunable>> load_tunables(const Task& task, const DeviceSpec& device,
                                           const Families& families,
                                           const std::vector<std::string>& paths) {
  std::vector<Tunable> all;
  for (const Family& family : families) {
    // A template of the family may serve other tasks of it than this one.
    for (const Tunable& tunable : family.templates) {
      if (family.built_in || !serves(tunable, task)) continue;
      if (auto fits = check_tunable(tunable, task, device); !fits) return fits.error();
    }
  }
  all = templates_of(families, task);
  for (const std::string& path : paths) {
    auto tunable = load_tunable(path);
    if (!tunable) return tunable.error();
    if (auto fits = check_tunable(*tunable, task, device); !fits) return fits.error();
    std::vector<Tunable> known = all;
    for (const Family& family : families)
      known.insert(known.end(), family.templates.begin(), family.templates.end());
    for (const Tunable& other : known) {
      if (other.name != tunable->name) continue;
      return Error{ErrorCode::usage,
                   path + ": name: '" + other.name + "' is already the name of " + other.file,
                   "choose another name"};
    }
    all.push_back(std::move(*tunable));
  }
  return all;
}

// Says which tunables carry an estimate that older versions read.
std::vector<std::string> ignored_costs(const std::vector<Tunable>& tunables) {
  std::vector<std::string> ignored;
  for (const Tunable& tunable : tunables) {
    if (has_unread_cost(tunable))
      ignored.push_back(
          fmt::format("{}: plan.let.cost is no longer read; a `model` takes its place "
                      "(docs/formats/tunable.md)",
                      tunable.file));
  }
  return ignored;
}

// Candidates of a device that measures are screened unless the caller or the chip says no.
Result<void> add_screen(RunContext& context, const EvolveOptions& options) {
  if (context.backend->provenance() != Provenance::measured) return {};
  if (!options.screening) {
    context.notices.emplace_back("candidates are not screened on a virtual device, as was asked");
    return {};
  }
  context.screen = options.screen;
  if (context.screen != nullptr) return {};
  BackendOptions few;
  few.compile_jobs = 2;  // it compiles references only
  few.worker_path = options.worker_path;
  auto opened = open_screen(*context.backend, few);
  if (!opened)
    return std::move(opened.error()).while_doing("opening the virtual device that screens");
  context.own_screen = std::move(*opened);
  context.screen = context.own_screen.get();
  if (context.screen == nullptr) {
    context.notices.push_back(
        "no virtual device models " + context.backend->device().name +
        ": races, bounds and uninitialised reads are not checked in each access");
  }
  return {};
}

// Adds models beside the strategist and the writer so far.
void seat_models(RunContext& context, const EvolveOptions& options) {
  Host& host = options.host != nullptr ? *options.host : real_host();
  const double end = options.max_seconds > 0 ? host.monotonic_seconds() + options.max_seconds : 0;
  context.chat = std::make_unique<TimelyChat>(*options.chat, host, options.cancel, end);
  context.model_alone = !context.templates;
  // Its first question fills generation 0, up to what one answer may hold; the header says so.
  constexpr int most_initial = 16;
  if (context.model_alone)
    context.seats.initial =
        std::max(context.seats.initial, std::min(most_initial, options.search.initial));
  ModelSeat seat;
  seat.client = context.chat.get();
  seat.task = context.task;
  seat.device = &context.backend->device();
  seat.options = context.seats;
  if (context.model_alone) seat.options.share = 1;
  seat.alone = context.model_alone;
  seat.alignment = options.search.steering.alignment;
  seat.code_crossover = options.search.steering.code_crossover;
  if (options.observer != nullptr) {
    seat.notice = [observer = options.observer](const std::string& notice) {
      observer->on_notice(notice);
    };
  }
  context.model_strategist = model_strategist(seat, *context.strategist);
  context.model_writer = model_writer(seat, *context.writer);
  context.strategist = context.model_strategist.get();
  context.writer = context.model_writer.get();
}

// An experiment neither learns times nor leaves any.
void learn_from_pool(RunContext& context, const EvolveOptions& options, const StrategyPool& pool) {
  const Backend& backend = *context.backend;
  const std::string kind = kind_of_times(context.task, backend.device(), backend.provenance());
  if (kind.empty() || !options.pool_tags.empty() || !context.knowledge.forecast) return;
  auto outcomes = pool.outcomes(kind, outcomes_learnt);
  Result<void> learnt = outcomes ? learn(context, context.task, backend.device(), options.tunables,
                                         options.families, std::move(*outcomes))
                                 : Result<void>(outcomes.error());
  if (!learnt) {
    context.notices.push_back("forecasts learnt nothing from the " + learnt.error().message);
  } else if (!context.learnt.empty()) {
    context.notices.push_back(
        fmt::format("forecasts learnt from {} kernels that earlier runs timed on {}",
                    context.learnt.size(), backend.device().name));
  }
}

// Starting points that families of the host's bring; those of built-in ones are in each new pool.
void add_practice(RunContext& context, const EvolveOptions& options) {
  if (!options.search.steering.pool) return;
  for (const Family& family : options.families) {
    for (const PoolEntry& entry : family.built_in ? std::vector<PoolEntry>() : family.practice) {
      if (entry.family != context.task->family ||
          entry.precision != name_of(context.task->precision))
        continue;
      auto complete = context.space->complete(entry.strategy);
      if (complete) context.knowledge.remembered.push_back(std::move(complete->strategy));
    }
  }
}

// Families whose templates serve the task: a graph has a family of its own, and the practice of
// templates with hooks is theirs.
std::vector<std::string> serving_families(const Task& task, const Families& families) {
  std::vector<std::string> names;
  const std::vector<Tunable> templates = templates_of(families, task);
  for (const Family& family : families) {
    const auto serves_task = [&](const Tunable& own) {
      return std::any_of(templates.begin(), templates.end(), [&](const Tunable& one) {
        return one.name == own.name && serves(one, task);
      });
    };
    if (std::any_of(family.templates.begin(), family.templates.end(), serves_task))
      names.push_back(family.name);
  }
  return names;
}

// A pool that cannot be read costs its advice, not the run.
void consult_pool(RunContext& context, const EvolveOptions& options) {
  if (options.pool.empty() || !options.search.steering.pool) return;
  const std::optional<Zone> zone =
      options.search.steering.roofline ? std::optional(context.zone) : std::nullopt;
  const PoolGuard guard{options.pool_tags.empty() ? "" : context.task.id(), options.pool_tags};
  const auto pool = StrategyPool::open(options.pool);
  auto remembered =
      pool ? remember(context.task, context.backend->device(), *context.space, zone, *pool, guard,
                      serving_families(context.task, known_families(options.families)))
           : Result<Recollection>(pool.error());
  if (!remembered) {
    context.notices.push_back("nothing was read from the pool: " + remembered.error().message +
                              "; next: " + remembered.error().hint);
    return;
  }
  context.knowledge.remembered = std::move(remembered->strategies);
  context.knowledge.effects = std::move(remembered->effects);
  if (context.seats.example.kernel.empty()) context.seats.example = std::move(remembered->example);
  if (options.chat != nullptr && context.seats.example.kernel.empty()) {
    auto nearest = nearest_example(context.task, context.backend->device(), *pool, guard);
    if (nearest) context.seats.example = std::move(*nearest);
  }
  learn_from_pool(context, options, *pool);
}

// Takes the user's own templates: those of built-in families are proved by the library's tests.
std::vector<PlainSetting> plain_settings(const Task& task, const DeviceSpec& device,
                                         const Families& families,
                                         const std::vector<Tunable>& templates) {
  const auto built_in = [&](const Tunable& tunable) {
    return std::any_of(families.begin(), families.end(), [&](const Family& family) {
      return family.built_in &&
             std::any_of(family.templates.begin(), family.templates.end(),
                         [&](const Tunable& one) { return one.name == tunable.name; });
    });
  };
  std::vector<PlainSetting> settings;
  for (const Tunable& tunable : templates) {
    if (serves(tunable, task) && !built_in(tunable))
      settings.push_back({tunable.name, instantiate(tunable, task, device)});
  }
  return settings;
}

}  // namespace

Task landscape_task() {
  Task task;
  task.name = "landscape";
  task.family = "landscape";
  task.axes = {{"n", AxisKind::free}};
  Tensor in{"x", Role::in, DType::f32, {Expr("n")}, {}, {}, {}};
  Tensor out{"y", Role::out, DType::f32, {Expr("n")}, {}, {}, {}};
  task.tensors = {in, out};
  task.operations = {{"landscape", "landscape", {"x"}, {"y"}}};
  task.time_shapes = {{{{"n", 1}}, 1.0}};
  task.work.flops = 1;
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long index) { return in.x[index]; }\n";
  task.reference.file = "landscape";
  return task;
}

Result<SearchComponents> find_components(const Task& task, const DeviceSpec& device,
                                         const std::vector<Technique>& techniques,
                                         const std::vector<std::string>& tunables,
                                         const Families& given, bool random_search, bool free) {
  const Families& families = known_families(given);
  SearchComponents components;
  components.own_strategist = random_search ? random_strategist() : rule_strategist();
  components.strategist = components.own_strategist.get();
  if (task.time_shapes.empty()) {
    return Error{ErrorCode::usage, "task " + task.name + " has no time shape",
                 "name the shape to optimize for"};
  }
  if (!techniques.empty()) {
    SpaceModel model;
    model.techniques = techniques;
    auto space = build_space(std::move(model));
    if (!space) return space.error();
    components.space = std::move(*space);
    components.own_writer = values_writer(*components.space);
    components.zone = Zone::middle;
  } else {
    if (auto valid = validate(task); !valid) return valid.error();
    auto loaded = load_tunables(task, device, families, tunables);
    if (!loaded) return loaded.error();
    components.ignored = ignored_costs(*loaded);
    const std::vector<Technique> added = added_techniques(families);
    auto space = make_space(task, device, *loaded, added);
    components.templates = static_cast<bool>(space);
    if (!space && free) {
      auto own = space_of_techniques(task, families);
      if (!own) return own.error();
      space = *own ? std::move(own) : free_space(task, added);
    }
    if (!space) return space.error();
    components.space = std::move(*space);
    components.knowledge.forecast = make_cost_model(task, device, *loaded);
    components.own_writer = template_writer(std::move(*loaded));
    components.zone = zone_of(task, task.time_shapes.front(), device);
  }
  components.writer = components.own_writer.get();
  return components;
}

Result<void> learn(SearchComponents& components, const Task& task, const DeviceSpec& device,
                   const std::vector<std::string>& tunables, const Families& families,
                   std::vector<PoolOutcome> learnt) {
  if (learnt.empty() || !components.knowledge.forecast) return {};
  auto loaded = load_tunables(task, device, known_families(families), tunables);
  if (!loaded) return loaded.error();
  components.learnt = std::move(learnt);
  components.knowledge.forecast = learnt_forecaster(task, device, *loaded, components.learnt);
  return {};
}

namespace {

// Adds models, screen and pool to a run on kernels.
Result<void> add_company(RunContext& context, const EvolveOptions& options) {
  Backend& backend = *context.backend;
  context.notices = context.ignored;
  if (context.templates && options.plain_first && options.writer == nullptr &&
      backend.traits().runs) {
    const Families families = known_families(options.families);
    auto loaded = load_tunables(context.task, backend.device(), families, options.tunables);
    if (!loaded) return loaded.error();
    context.plain = plain_settings(context.task, backend.device(), families, *loaded);
  }
  if (auto added = add_screen(context, options); !added) return added;
  context.checker = context.screen != nullptr ? context.screen : &backend;
  context.pool = options.pool;
  context.seats = options.seats;
  consult_pool(context, options);
  add_practice(context, options);
  if (options.chat != nullptr) seat_models(context, options);
  return {};
}

}  // namespace

Result<RunContext> open_context(const Task& task, Backend& backend, const EvolveOptions& options) {
  const std::vector<Technique>& own = backend.traits().techniques;
  RunContext context;
  context.task = TaskRef(own.empty() ? task : landscape_task());
  context.backend = &backend;
  const bool others_write = options.chat != nullptr || options.writer != nullptr;
  auto components = find_components(context.task, backend.device(), own, options.tunables,
                                    options.families, options.random_search, others_write);
  if (!components) return components.error();
  static_cast<SearchComponents&>(context) = std::move(*components);
  if (options.strategist != nullptr) context.strategist = options.strategist;
  if (options.writer != nullptr) context.writer = options.writer;
  if (!own.empty()) return context;
  if (auto added = add_company(context, options); !added) return added.error();
  return context;
}

}  // namespace cupilot
