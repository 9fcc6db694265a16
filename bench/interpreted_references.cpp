#include "interpreted_references.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/parts/verification.hpp>
#include <cupilot/rng.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/reference_values.hpp"
#include "program/composites.hpp"
#include "program/join.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot::bench {
namespace {

using OrderedJson = nlohmann::ordered_json;

// As many as the virtual device keeps.
constexpr std::int64_t bytes_of_inputs = 1ll << 30, bytes_of_values = 512ll << 20;
// Of so many kernels that templates write, the one whose finalist's battery has the most terms is
// taken.
constexpr std::uint64_t drawn_kernels = 8;

struct Cost {
  double seconds = 0, cpu = 0;
  void operator+=(const Cost& other) {
    seconds += other.seconds;
    cpu += other.cpu;
  }
};

Cost now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const auto clock = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(clock).count(), of(usage.ru_utime) + of(usage.ru_stime)};
}

// A shape of a battery and how many contents it is met with.
struct Met {
  Workload shape;
  std::vector<Content> contents;
};

// A battery without the time shapes of which blocks are sampled.
struct Drawn {
  std::vector<Met> shapes;
  double terms = 0;  // of one content a shape
};

Drawn shapes_of(const Task& task, const KernelSource& source, const DeviceSpec& device,
                ProofLevel level) {
  Drawn out;
  for (const Case& run : battery(task, source, device, level, 1, false)) {
    if (run.sampled) continue;
    auto met = std::find_if(out.shapes.begin(), out.shapes.end(), [&](const Met& other) {
      return other.shape.sizes == run.workload.sizes;
    });
    if (met == out.shapes.end()) {
      out.terms += reference_terms(task, run.workload);
      met = out.shapes.insert(met, {run.workload, {}});
    }
    const auto& known = met->contents;
    if (std::find(known.begin(), known.end(), run.content) == known.end())
      met->contents.push_back(run.content);
  }
  return out;
}

struct Subject {
  KernelSource source;
  std::map<std::string, Drawn> levels;
};

constexpr std::pair<const char*, ProofLevel> levels[] = {{"candidate", ProofLevel::candidate},
                                                         {"elite", ProofLevel::elite},
                                                         {"finalist", ProofLevel::finalist}};

// A kernel of a drawn strategy of templates.
Attempt<KernelSource> written(const Task& task, const DeviceSpec& device, std::uint64_t draw) {
  std::vector<Tunable> tunables = templates_of(builtin_families(), task);
  const auto space = make_space(task, device, tunables);
  if (!space) return space.error();
  const Strategy strategy = sample(**space, Rng::of(1, "references", draw));
  WriterBrief brief;
  brief.task = TaskRef(task);
  brief.strategy = &strategy;
  brief.device = &device;
  return template_writer(std::move(tunables))->write(brief);
}

// As `written`; a task that no template serves whole is cut as a search does first.
Attempt<KernelSource> program_of(const Task& given, const DeviceSpec& device, std::uint64_t draw) {
  auto whole = written(given, device, draw);
  if (!whole.is_error()) return whole;
  const ComposedTask program = compose_bodies(given, builtin_families());
  const auto served = [&](const Part& part) {
    return static_cast<bool>(served_part(program, part, builtin_families()));
  };
  const Partitions cuts =
      partitions(operation_graph(program.task),
                 {served, [](const Part& part) { return static_cast<double>(part.size()); }});
  if (cuts.all.empty()) return whole;
  std::vector<PartKernel> parts;
  for (const Part& part : cuts.all.front()) {
    auto form = served_part(program, part, builtin_families());
    if (!form) return form.error();
    auto source = written(form->task, device, draw);
    if (!source) return source;
    parts.push_back({std::move(*form), std::move(*source)});
  }
  auto joined = join_parts(program.task, parts);
  if (!joined) return joined.error();
  return std::move(*joined);
}

Result<Subject> draw(const Task& task, const DeviceSpec& device) {
  std::optional<Subject> most;
  std::string reason;
  for (std::uint64_t i = 0; i < drawn_kernels; ++i) {
    auto source = program_of(task, device, i);
    if (!source) {
      reason = source.is_error() ? source.error().message : source.rejected().message;
      continue;
    }
    Subject subject{std::move(*source), {}};
    for (const auto& [name, level] : levels)
      subject.levels[name] = shapes_of(task, subject.source, device, level);
    const char* dearest = "finalist";
    if (!most || subject.levels[dearest].terms > most->levels[dearest].terms)
      most = std::move(subject);
  }
  if (!most) return Error{ErrorCode::failure, "no kernel was written: " + reason, ""};
  return std::move(*most);
}

class Interpreted {
 public:
  Interpreted(const TaskRef& task, CompilePool& pool, const DeviceSpec& device)
      : task_(task),
        inputs_(bytes_of_inputs),
        oracle_(pool, device.arch, inputs_, bytes_of_values) {}

  Result<void> compile() {
    auto compiled = oracle_.reference(task_, ReferenceBuild::tracked);
    if (!compiled) return compiled.error();
    return {};
  }

  // Of all elements of every output; inputs are made before.
  Result<Cost> cost(const Workload& shape) {
    const Content content{.seed = 1};
    for (std::size_t i = 0; i < task_->tensors.size(); ++i) {
      if (task_->tensors[i].role == Role::out) continue;
      if (auto bytes = inputs_.get(task_, i, shape, content); !bytes) return bytes.error();
    }
    const Cost begin = now();
    for (std::size_t i = 0; i < task_->tensors.size(); ++i) {
      const Role role = task_->tensors[i].role;
      if (role != Role::out && role != Role::in_out) continue;
      if (auto values = oracle_.values(task_, i, shape, content, 0); !values) return values.error();
    }
    const Cost end = now();
    return Cost{end.seconds - begin.seconds, end.cpu - begin.cpu};
  }

 private:
  TaskRef task_;
  VirtualInputs inputs_;
  VirtualOracle oracle_;
};

// Costs of shapes, each measured once.
class Costs {
 public:
  explicit Costs(Interpreted& interpreted) : interpreted_(interpreted) {}

  Result<Cost> of(const Workload& shape) {
    const auto known = costs_.find(shape.sizes);
    if (known != costs_.end()) return known->second;
    auto cost = interpreted_.cost(shape);
    if (cost) costs_[shape.sizes] = *cost;
    return cost;
  }

 private:
  Interpreted& interpreted_;
  std::map<std::map<std::string, std::int64_t>, Cost> costs_;
};

Result<OrderedJson> level_row(const Task& task, const Drawn& drawn, Costs& costs) {
  Cost sum, dearest;
  double all = 0;  // processor seconds of every content
  std::size_t contents = 0;
  std::set<ContentKind> kinds;
  const Workload* shape_of_dearest = nullptr;
  for (const Met& met : drawn.shapes) {
    const auto cost = costs.of(met.shape);
    for (const Content& content : met.contents) kinds.insert(content.kind);
    if (!cost) return cost.error();
    sum += *cost;
    all += cost->cpu * static_cast<double>(met.contents.size());
    contents += met.contents.size();
    if (shape_of_dearest != nullptr && cost->cpu <= dearest.cpu) continue;
    dearest = *cost;
    shape_of_dearest = &met.shape;
  }
  OrderedJson out = {{"shapes", drawn.shapes.size()}, {"seconds", sum.seconds},
                     {"cpu_seconds", sum.cpu},        {"contents", contents},
                     {"kinds", kinds.size()},         {"cpu_seconds_of_contents", all},
                     {"terms", drawn.terms}};
  if (shape_of_dearest == nullptr) return out;
  out["dearest"] = {{"sizes", shape_of_dearest->sizes},
                    {"terms", reference_terms(task, *shape_of_dearest)},
                    {"cpu_seconds", dearest.cpu}};
  return out;
}

Result<OrderedJson> row_here(const Task& task, const std::string& chip_name) {
  const auto device = chip(chip_name);
  if (!device) return device.error();
  BackendOptions options;
  options.compile_seconds = 120;
  auto pool = CompilePool::open(options);
  if (!pool) return pool.error();
  const auto drawn = draw(task, *device);
  if (!drawn) return drawn.error();
  Interpreted interpreted(TaskRef(task), **pool, *device);
  if (auto compiled = interpreted.compile(); !compiled) return compiled.error();
  Costs costs(interpreted);
  OrderedJson out = {{"template", drawn->source.template_name},
                     {"launches", drawn->source.plan.launches.size()}};
  for (const auto& [name, level] : levels) {
    auto row = level_row(task, drawn->levels.at(name), costs);
    if (!row) return row.error();
    out[name] = std::move(*row);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out["peak_bytes"] = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return out;
}

}  // namespace

Result<OrderedJson> interpreted_row(const SuiteTask& row, const std::string& device) {
  std::fflush(nullptr);
  std::FILE* answer = std::tmpfile();
  const pid_t child = answer != nullptr ? fork() : -1;
  if (child < 0) return Error{ErrorCode::failure, "no process for a task", ""};
  if (child == 0) {
    auto out = row_here(row.task, device.substr(device.find(':') + 1));
    const std::string text = out ? out->dump() : OrderedJson{{"error", out.error().message}}.dump();
    std::fputs(text.c_str(), answer);
    std::fflush(answer);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::rewind(answer);
  OrderedJson out = OrderedJson::parse(answer, nullptr, false);
  std::fclose(answer);
  if (out.is_discarded())
    return Error{ErrorCode::failure, "the process of the task ended with no answer", ""};
  return out;
}

}  // namespace cupilot::bench
