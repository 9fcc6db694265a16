#include "evolution/circle.hpp"

#include "strategy/build_space.hpp"

namespace cupilot {
namespace {

// Writes for a device that spans its own space: the "kernel" is the strategy, its values are the constants.
class PlainWriter : public KernelWriter {
 public:
  explicit PlainWriter(const Space& space) : space_(space) {}

  std::optional<std::string> lacks(const Task&, const Strategy& strategy) const override {
    for (const Use& use : strategy.uses) {
      bool known = false;
      for (const Technique& technique : space_.techniques()) known = known || technique.name == use.technique;
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
        source.constants[knob.technique + "." + knob.parameter] = found == use.values.end() ? knob.fallback : found->second;
      }
    }
    return source;
  }

 private:
  const Space& space_;
};

Result<std::vector<Tunable>> tunables_of(const EvolveOptions& options) {
  std::vector<Tunable> all = builtin_tunables();
  for (const std::string& path : options.tunables) {
    auto tunable = load_tunable(path);
    if (!tunable) return tunable.error();
    all.push_back(std::move(*tunable));
  }
  return all;
}

// Candidates of a device that measures are screened unless the caller or the chip says no.
Result<void> add_screen(Circle& circle, const EvolveOptions& options) {
  if (circle.backend->provenance() != Provenance::measured) return {};
  if (!options.screening) {
    circle.notices.emplace_back("candidates are not screened on a virtual device, as was asked");
    return {};
  }
  circle.screen = options.screen;
  if (circle.screen != nullptr) return {};
  BackendOptions few;
  few.compile_jobs = 2;  // it compiles references only
  auto opened = open_screen(*circle.backend, few);
  if (!opened) return std::move(opened.error()).while_doing("opening the virtual device that screens");
  circle.own_screen = std::move(*opened);
  circle.screen = circle.own_screen.get();
  if (circle.screen == nullptr) {
    circle.notices.push_back("no virtual device models " + circle.backend->device().name +
                             ": races, bounds and uninitialised reads are not checked in each access");
  }
  return {};
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
  task.reference.text = "__device__ real reference_y(const Inputs& in, long long index) { return in.x[index]; }\n";
  task.reference.file = "landscape";
  return task;
}

Result<Circle> open_circle(const Task& task, Backend& backend, const EvolveOptions& options) {
  Circle circle;
  circle.task = &task;
  circle.backend = &backend;
  circle.strategist = options.random_search ? random_strategist() : rule_strategist();
  if (task.time_shapes.empty()) {
    return Error{ErrorCode::usage, "task " + task.name + " has no time shape", "name the shape to optimize for"};
  }
  if (const auto techniques = backend.techniques(); !techniques.empty()) {
    SpaceModel model;
    model.techniques = techniques;
    auto space = build_space(std::move(model));
    if (!space) return space.error();
    circle.space = std::move(*space);
    circle.writer = std::make_unique<PlainWriter>(*circle.space);
    circle.zone = Zone::middle;
    return circle;
  }
  if (auto valid = validate(task); !valid) return valid.error();
  auto tunables = tunables_of(options);
  if (!tunables) return tunables.error();
  auto space = make_space(task, backend.device(), *tunables);
  if (!space) return space.error();
  circle.space = std::move(*space);
  circle.writer = template_writer(std::move(*tunables));
  circle.zone = zone_of(task, task.time_shapes.front(), backend.device());
  if (auto added = add_screen(circle, options); !added) return added.error();
  return circle;
}

}  // namespace cupilot
