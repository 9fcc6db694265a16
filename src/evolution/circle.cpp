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
  return circle;
}

Result<std::vector<ContestantReport>> measure_all(const Task& task, Backend& backend, std::span<const Contestant> contestants,
                                                  const MeasureOptions& options) {
  std::vector<ContestantReport> total;
  double weights = 0;
  for (const Workload& workload : task.time_shapes) {
    auto reports = backend.measure(task, workload, contestants, options);
    if (!reports) return reports.error();
    if (reports->size() != contestants.size()) {
      return Error{ErrorCode::failure,
                   "the backend answered for " + std::to_string(reports->size()) + " of " + std::to_string(contestants.size()) +
                       " contestants",
                   "this is a fault of the backend"};
    }
    weights += workload.weight;
    for (std::size_t i = 0; i < reports->size(); ++i) {
      ContestantReport& report = (*reports)[i];
      if (total.size() <= i) {
        total.push_back(std::move(report));
        if (total[i].measurement) total[i].measurement->time_us *= workload.weight;
        continue;
      }
      for (CaseReport& proof : report.proofs) total[i].proofs.push_back(std::move(proof));
      if (!total[i].measurement) continue;
      if (!report.measurement) {
        total[i].measurement = std::move(report.measurement);
        continue;
      }
      total[i].measurement->time_us += workload.weight * report.measurement->time_us;
    }
  }
  for (ContestantReport& report : total) {
    if (report.measurement) report.measurement->time_us /= weights;
  }
  return total;
}

}  // namespace cupilot
