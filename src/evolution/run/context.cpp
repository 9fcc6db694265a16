#include "evolution/run/context.hpp"

#include <fmt/format.h>
#include <cupilot/parts/prediction.hpp>

#include "evolution/run/timely_chat.hpp"
#include "evolution/search/knowledge.hpp"
#include "kernel/tunable_check.hpp"
#include "strategy/build_space.hpp"

namespace cupilot {
namespace {

// Writes for a device that spans its own space: the "kernel" is the strategy, its values are the
// constants.
class PlainWriter : public KernelWriter {
 public:
  explicit PlainWriter(const Space& space) : space_(space) {}

  std::optional<std::string> lacks(const Task&, const Strategy& strategy) const override {
    for (const Use& use : strategy.uses) {
      bool known = false;
      for (const Technique& technique : space_.techniques())
        known = known || technique.name == use.technique;
      if (!known) return use.technique;
    }
    return std::nullopt;
  }

  Attempt<KernelSource> write(const WriterBrief& brief) override {
    KernelSource source;
    source.text = "// " + describe(*brief.strategy) + "\n";
    source.template_name = "landscape";
    source.strategy_id = strategy_id(*brief.strategy);
    for (const Use& use : brief.strategy->uses) {
      source.constants[use.technique] = 1;
      for (const Knob& knob : space_.knobs()) {
        if (knob.technique != use.technique) continue;
        const auto found = use.values.find(knob.parameter);
        source.constants[knob.technique + "." + knob.parameter] =
            found == use.values.end() ? knob.fallback : found->second;
      }
    }
    return source;
  }

 private:
  const Space& space_;
};

Result<std::vector<Tunable>> load_tunables(const Task& task, const DeviceSpec& device,
                                           const std::vector<std::string>& paths) {
  std::vector<Tunable> all = builtin_tunables();
  for (const std::string& path : paths) {
    auto tunable = load_tunable(path);
    if (!tunable) return tunable.error();
    if (auto fits = check_tunable(*tunable, task, device); !fits) return fits.error();
    for (const Tunable& other : all) {
      if (other.name != tunable->name) continue;
      return Error{ErrorCode::usage,
                   path + ": name: '" + other.name + "' is already the name of " + other.file,
                   "choose another name"};
    }
    all.push_back(std::move(*tunable));
  }
  return all;
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

// Models beside whoever proposes and writes so far.
void seat_models(RunContext& context, const EvolveOptions& options) {
  Host& host = options.host != nullptr ? *options.host : real_host();
  const double end = options.max_seconds > 0 ? host.monotonic_seconds() + options.max_seconds : 0;
  context.chat = std::make_unique<TimelyChat>(*options.chat, host, options.cancel, end);
  ModelSeat seat;
  seat.client = context.chat.get();
  seat.task = context.task;
  seat.device = &context.backend->device();
  seat.options = options.seats;
  if (!context.templates) seat.options.share = 1;
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
  const std::string kind = kind_of_times(*context.task, backend.device(), backend.provenance());
  if (kind.empty() || !options.pool_tags.empty() || !context.knowledge.forecast) return;
  auto outcomes = pool.outcomes(kind, outcomes_learnt);
  Result<void> learnt = outcomes ? learn(context, *context.task, backend.device(), options.tunables,
                                         std::move(*outcomes))
                                 : Result<void>(outcomes.error());
  if (!learnt) {
    context.notices.push_back("forecasts learnt nothing from the " + learnt.error().message);
  } else if (!context.learnt.empty()) {
    context.notices.push_back(
        fmt::format("forecasts learnt from {} kernels that earlier runs timed on {}",
                    context.learnt.size(), backend.device().name));
  }
}

// A pool that cannot be read costs its advice, not the run.
void consult_pool(RunContext& context, const EvolveOptions& options) {
  if (options.pool.empty() || !options.search.steering.pool) return;
  const std::optional<Zone> zone =
      options.search.steering.roofline ? std::optional(context.zone) : std::nullopt;
  const PoolGuard guard{options.pool_tags.empty() ? "" : task_id(*context.task), options.pool_tags};
  const auto pool = StrategyPool::open(options.pool);
  auto remembered =
      pool ? remember(*context.task, context.backend->device(), *context.space, zone, *pool, guard)
           : Result<Recollection>(pool.error());
  if (!remembered) {
    context.notices.push_back("nothing was read from the " + remembered.error().message);
    return;
  }
  context.knowledge.remembered = std::move(remembered->strategies);
  context.knowledge.effects = std::move(remembered->effects);
  learn_from_pool(context, options, *pool);
}

std::vector<PlainSetting> plain_settings(const Task& task, const DeviceSpec& device,
                                         const std::vector<Tunable>& templates) {
  const std::size_t built_in = builtin_tunables().size();
  std::vector<PlainSetting> own, other;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    if (!serves(templates[i], task)) continue;
    auto& where = i >= built_in ? own : other;
    where.push_back({templates[i].name, i >= built_in, instantiate(templates[i], task, device)});
  }
  return own.empty() ? other : own;
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
                                         bool random_search, bool free) {
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
    components.own_writer = std::make_unique<PlainWriter>(*components.space);
    components.zone = Zone::middle;
  } else {
    if (auto valid = validate(task); !valid) return valid.error();
    auto loaded = load_tunables(task, device, tunables);
    if (!loaded) return loaded.error();
    auto space = make_space(task, device, *loaded);
    components.templates = static_cast<bool>(space);
    if (!space && free) space = free_space(task);
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
                   const std::vector<std::string>& tunables, std::vector<PoolOutcome> learnt) {
  if (learnt.empty() || !components.knowledge.forecast) return {};
  auto loaded = load_tunables(task, device, tunables);
  if (!loaded) return loaded.error();
  components.learnt = std::move(learnt);
  components.knowledge.forecast = learnt_forecaster(task, device, *loaded, components.learnt);
  return {};
}

Result<RunContext> open_context(const Task& task, Backend& backend, const EvolveOptions& options) {
  const std::vector<Technique> techniques = backend.techniques();
  auto components = find_components(task, backend.device(), techniques, options.tunables,
                                    options.random_search, options.chat != nullptr);
  if (!components) return components.error();
  RunContext context;
  static_cast<SearchComponents&>(context) = std::move(*components);
  context.task = &task;
  context.backend = &backend;
  if (options.strategist != nullptr) context.strategist = options.strategist;
  if (options.writer != nullptr) context.writer = options.writer;
  if (options.chat != nullptr && techniques.empty()) seat_models(context, options);
  if (!techniques.empty()) return context;
  if (context.templates && options.plain_first && options.writer == nullptr && backend.runs()) {
    auto loaded = load_tunables(task, backend.device(), options.tunables);
    if (!loaded) return loaded.error();
    context.plain = plain_settings(task, backend.device(), *loaded);
  }
  if (auto added = add_screen(context, options); !added) return added.error();
  consult_pool(context, options);
  return context;
}

}  // namespace cupilot
