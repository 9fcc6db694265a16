// Times the judge's references of a suite's tasks on cuda:0 at their full sizes: inputs of the
// ordinary content, then all elements of every output. usage: references SUITE OUT.json [ID...]
// Writes a row a task: seconds in the judge, bytes of inputs, values and stages, elements, terms.
// references virtual:CHIP SUITE OUT.json [ID...]: the references in the interpreter at the shapes
// of the battery instead.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <cupilot/parts/suite.hpp>
#include <nlohmann/json.hpp>

#include "backend/compile/pool.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/programs.hpp"
#include "backend/cuda/spec.hpp"
#include "backend/cuda/trials.hpp"
#include "interpreted_references.hpp"
#include "task/reference/stage_plan.hpp"

namespace {

using namespace cupilot;
using OrderedJson = nlohmann::ordered_json;

// Of the card; what else is held is given back before a task would pass it.
constexpr std::int64_t memory_for_tasks = 60ll << 30;

struct Timed {
  const SuiteTask* row = nullptr;
  ReferenceImage image;
  double compile_seconds = 0;
  std::string error;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// On all cores: what compiles is not what is timed.
void compile_all(std::vector<Timed>& subjects, CompilePool& pool, const std::string& arch) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(pool.jobs(), 1); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < subjects.size(); at = next++) {
        Timed& subject = subjects[at];
        const auto begin = std::chrono::steady_clock::now();
        CudaPrograms programs(pool, arch);
        auto image = programs.reference(TaskRef(subject.row->task), ReferenceBuild::tracked);
        subject.compile_seconds = seconds_since(begin);
        if (image) subject.image = **image;
        if (!image) subject.error = image.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Planned {
  PrepareOrder order;
  std::int64_t tensors = 0, values = 0, stages = 0, elements = 0;  // bytes; elements
  double terms = 0;
};

std::vector<std::size_t> inputs_of(const Task& task) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (is_input(task.tensors[i])) out.push_back(i);
  }
  return out;
}

// All elements of one output.
Result<OracleOrder> order_of(const Timed& subject, std::size_t output, Planned& planned) {
  const Task& task = subject.row->task;
  const Workload& workload = task.time_shapes[0];
  const auto shape = shape_of(task, task.tensors[output], workload);
  if (!shape) return shape.error();
  OracleOrder order;
  order.begins = {0};
  order.slice = order.elements = shape->elements;
  order.image = subject.image.image.name;
  for (const Scalar& scalar : task.scalars) order.scalars.push_back(scalar.value);
  for (const Axis& axis : task.axes) order.axes.push_back(workload.sizes.at(axis.name));
  auto stages = stage_plan(task, subject.image.program, ReferenceBuild::tracked, workload,
                           task.tensors[output].name, order.elements);
  if (!stages) return stages.error();
  order.entry = stages->entry;
  order.buffers.assign(stages->buffers.begin(), stages->buffers.end());
  order.stored.assign(stages->stored.begin(), stages->stored.end());
  for (const StageLaunch& stage : stages->launches) {
    order.stages.push_back({stage.entry, stage.from, stage.out, stage.span, stage.parts,
                            stage.from_parts, stage.count});
  }
  order.key = subject.row->word + " " + task.tensors[output].name;
  planned.values += order.elements * 16;
  planned.elements += order.elements;
  planned.stages = std::max(planned.stages, stages->bytes());
  planned.terms += stages->terms;
  return order;
}

Result<Planned> plan(const Timed& subject) {
  const Task& task = subject.row->task;
  Planned planned;
  for (const std::size_t i : inputs_of(task)) {
    auto recipe = layout_of(task, i, task.time_shapes[0], Content{.seed = 1});
    if (!recipe) return recipe.error();
    PrepareItem item;
    item.fill = true;
    item.recipe = *recipe;
    planned.tensors += slot_size(recipe->span * size_of(task.tensors[i].type));
    planned.order.items.push_back(item);
  }
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (!is_output(task.tensors[i])) continue;
    auto order = order_of(subject, i, planned);
    if (!order) return order.error();
    planned.order.oracles.push_back(std::move(*order));
  }
  return planned;
}

class References {
 public:
  explicit References(CudaDevice& device) : device_(device) {}

  Result<OrderedJson> time(const Timed& subject) {
    const Task& task = subject.row->task;
    auto planned = plan(subject);
    if (!planned) return planned.error();
    OrderedJson row = {{"seconds", nullptr},
                       {"bytes", planned->tensors + planned->values + planned->stages},
                       {"bytes_of_inputs", planned->tensors},
                       {"bytes_of_values", planned->values},
                       {"bytes_of_stages", planned->stages},
                       {"elements", planned->elements},
                       {"terms", planned->terms}};
    if (held_ + row["bytes"].get<std::int64_t>() > memory_for_tasks && held_ > 0) {
      if (auto renewed = device_.renew(); !renewed) return renewed.error();
      held_ = 0;
    }
    held_ += planned->tensors;
    device_.release_all();
    if (auto loaded = device_.load_in_judge(subject.image.image); !loaded) return loaded.error();
    const auto inputs = inputs_of(task);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      PrepareItem& item = planned->order.items[i];
      const Tensor& tensor = task.tensors[inputs[i]];
      auto region = device_.lease(item.recipe.span * size_of(tensor.type), false);
      if (!region) return region.error();
      item.region = *region;
      for (OracleOrder& oracle : planned->order.oracles) oracle.pointers.push_back(*region);
    }
    const auto begin = std::chrono::steady_clock::now();
    auto payload = device_.judge(DeviceMessage::prepare, pack(planned->order));
    row["seconds_with_inputs"] = seconds_since(begin);
    if (!payload) return payload.error();
    const auto answer = unpack_prepare_answer(*payload);
    if (!answer) return Error{ErrorCode::failure, "an answer that cannot be read", ""};
    row["seconds"] = answer->reference_seconds;
    return row;
  }

 private:
  CudaDevice& device_;
  std::int64_t held_ = 0;  // bytes of slots since the processes were new, at most
};

Result<OrderedJson> measure(std::vector<Timed>& subjects, const char* path) {
  BackendOptions options;
  options.compile_seconds = 120;
  auto pool = CompilePool::open(options);
  if (!pool) return pool.error();
  auto device = CudaDevice::open(0, options);
  if (!device) return device.error();
  const DeviceSpec spec = spec_of((*device)->hello());
  auto trusted = compile_trusted(**pool, spec.arch);
  if (!trusted) return trusted.error();
  if (auto healthy = (*device)->trust(std::move(*trusted)); !healthy) return healthy.error();
  auto judging = compile_judging(**pool, spec.arch);
  if (!judging) return judging.error();
  if (auto judged = (*device)->judge_by(std::move(*judging)); !judged) return judged.error();
  const auto begin = std::chrono::steady_clock::now();
  compile_all(subjects, **pool, spec.arch);
  OrderedJson out = {{"command", "scripts/device/references"},
                     {"card", spec.label},
                     {"driver", (*device)->hello().driver_version},
                     {"compile_seconds", seconds_since(begin)},
                     {"tasks", OrderedJson::array()}};
  References references(**device);
  double total = 0, most = 0;
  std::int64_t bytes = 0;
  for (const Timed& subject : subjects) {
    OrderedJson row = {{"task", subject.row->word}, {"compile_seconds", subject.compile_seconds}};
    auto timed = subject.error.empty()
                     ? references.time(subject)
                     : Result<OrderedJson>(Error{ErrorCode::usage, subject.error, ""});
    if (timed) row.update(*timed);
    if (!timed) row["error"] = timed.error().message;
    if (timed) {
      total += row["seconds"].get<double>();
      most = std::max(most, row["seconds"].get<double>());
      bytes = std::max(bytes, row["bytes"].get<std::int64_t>());
    }
    fmt::print("{}\n", row.dump());
    std::fflush(stdout);
    out["tasks"].push_back(std::move(row));
    out["total_seconds"] = total;
    out["most_seconds"] = most;
    out["most_bytes"] = bytes;
    std::ofstream(path) << out.dump(1) << "\n";
  }
  return out;
}

Result<OrderedJson> interpret(const std::vector<Timed>& subjects, const std::string& device,
                              const char* path) {
  OrderedJson out = {{"command", "references " + device}, {"tasks", OrderedJson::array()}};
  std::map<std::string, double> most;
  for (const Timed& subject : subjects) {
    auto row = bench::interpreted_row(*subject.row, device);
    if (!row) return row.error();
    OrderedJson line = {{"task", subject.row->word}};
    line.update(*row);
    for (const char* level : {"candidate", "finalist"}) {
      if (!line.contains(level)) continue;
      for (const char* unit : {"seconds", "cpu_seconds"}) {
        double& so_far = most[fmt::format("most_{}_of_{}", unit, level)];
        so_far = std::max(so_far, line[level][unit].get<double>());
      }
    }
    most["most_bytes"] = std::max(most["most_bytes"], line.value("peak_bytes", 0.0));
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
    out["tasks"].push_back(std::move(line));
    for (const auto& [name, value] : most) out[name] = value;
    std::ofstream(path) << out.dump(1) << "\n";
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device =
      argc > 1 && std::string(argv[1]).starts_with("virtual:") ? argv[1] : "";
  if (!device.empty()) --argc, ++argv;
  if (argc < 3) {
    fmt::print(stderr, "usage: references [virtual:CHIP] SUITE OUT.json [ID...]\n");
    return 2;
  }
  const auto suite = load_suite(argv[1]);
  if (!suite) {
    fmt::print(stderr, "{}\n", suite.error().message);
    return 2;
  }
  std::set<std::string> only;
  for (int i = 3; i < argc; ++i) only.insert(suite->name + "/" + argv[i]);
  std::vector<Timed> subjects;
  for (const SuiteTask& row : suite->tasks) {
    if (only.empty() || only.count(row.word) != 0) subjects.push_back({.row = &row});
  }
  const auto out =
      device.empty() ? measure(subjects, argv[2]) : interpret(subjects, device, argv[2]);
  if (!out) {
    fmt::print(stderr, "{}\n", out.error().message);
    return 1;
  }
  if (!device.empty()) return 0;
  fmt::print("{} tasks, {:.1f} s in all, {:.2f} s at most, {:.1f} GB at most\n", subjects.size(),
             out->value("total_seconds", 0.0), out->value("most_seconds", 0.0),
             static_cast<double>(out->value("most_bytes", std::int64_t{0})) / 1e9);
  return 0;
}
