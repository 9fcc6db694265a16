// Kernels of the repository: every honest kernel of the corpus, and GEMM templates at sampled
// strategies and odd shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cupilot/parts/agents.hpp>
#include <filesystem>

#include "backend/compile/checked_compile.hpp"
#include "backend/virtual/run.hpp"
#include "subject.hpp"
#include "support/gemm.hpp"

namespace counters {
namespace {

namespace fs = std::filesystem;

// What a subject's memory belongs to.
struct Owner {
  TaskRef task;
  CompiledKernel kernel;
  ResolvedPlan plan;
  std::optional<VirtualMemory> memory;
};

const DeviceSpec& h200() {
  static const DeviceSpec spec = *chip("h200");
  return spec;
}

VirtualInputs& inputs() {
  static VirtualInputs made(1ll << 30);
  return made;
}

Error unfit(const std::string& name, const Rejected& rejected) {
  return {ErrorCode::usage, name + ": " + rejected.code + ": " + rejected.message, ""};
}

Result<BenchSubject> subject_of(CompilePool& pool, const std::string& name, const Task& task,
                                const Workload& workload, const KernelSource& source) {
  Attempt<CompiledKernel> kernel = compile_and_check(pool, source, h200().arch);
  if (kernel.is_error()) return kernel.error();
  if (kernel.is_rejected()) return unfit(name, kernel.rejected());
  auto owner = std::make_shared<Owner>();
  owner->task = TaskRef(task);
  Attempt<Resolution> resolution = resolve(kernel->source, owner->task, workload, h200(), &*kernel);
  if (resolution.is_error()) return resolution.error();
  if (resolution.is_rejected()) return unfit(name, resolution.rejected());
  const auto* plan = std::get_if<ResolvedPlan>(&*resolution);
  if (plan == nullptr) return Error{ErrorCode::usage, name + ": not for this shape", ""};
  owner->plan = *plan;
  owner->kernel = *kernel;
  Result<VirtualMemory> memory = VirtualMemory::make(
      owner->task, {.workload = workload, .content = {1, ContentKind::ordinary}}, owner->plan,
      inputs());
  if (!memory) return memory.error();
  owner->memory.emplace(std::move(*memory));
  Attempt<KernelPrograms> programs = KernelPrograms::parse(*kernel);
  if (!programs) return Error{ErrorCode::usage, name + ": its PTX cannot be read", ""};

  BenchSubject subject;
  subject.name = name;
  subject.ptx = kernel->ptx;
  subject.cubin = kernel->cubin;
  subject.module = std::make_shared<const ptx::Module>(programs->module());
  subject.owner = owner;
  subject.memory = &owner->memory->device();
  subject.at_full_size = [&pool, owner, workload]() -> Attempt<std::vector<ModelInput>> {
    VirtualOracle oracle(pool, h200().arch, inputs(), 1 << 20);
    const VirtualContext context{h200(), inputs(), oracle};
    Attempt<KernelPrograms> again = KernelPrograms::parse(owner->kernel);
    if (again.is_error()) return again.error();
    if (again.is_rejected()) return again.rejected();
    const PlanAt plan_at = [&](const Workload& at) {
      return resolve(owner->kernel.source, owner->task, at, h200(), &owner->kernel);
    };
    return count_launches(context, owner->task, owner->kernel, *again, plan_at, owner->plan,
                          workload, {1, ContentKind::ordinary});
  };
  bool filled = false;
  for (const When when : {When::setup, When::run}) {
    if (when == When::run) {
      if (Result<void> done = owner->memory->fill_tensors(inputs(), Poison::quiet_nan); !done)
        return done.error();
      filled = true;
    }
    for (const ResolvedLaunch& launch : owner->plan.launches) {
      if (launch.when != when) continue;
      const EntryFacts* facts = find_entry(*kernel, launch.entry);
      if (facts == nullptr) return Error{ErrorCode::usage, name + ": no entry " + launch.entry, ""};
      Result<std::vector<std::uint8_t>> parameters =
          owner->memory->parameters(launch, *subject.module->entry(facts->name));
      if (!parameters) return parameters.error();
      Order order{launch.name, facts->name, {}};
      const auto side = [](auto v) { return static_cast<std::uint32_t>(v); };
      order.launch.grid = {side(launch.grid[0]), side(launch.grid[1]), side(launch.grid[2])};
      order.launch.block = {side(launch.block[0]), side(launch.block[1]), side(launch.block[2])};
      order.launch.cluster = {side(launch.cluster[0]), side(launch.cluster[1]),
                              side(launch.cluster[2])};
      order.launch.dynamic_shared = side(launch.shared);
      order.launch.cooperative = launch.cooperative;
      order.launch.registers = side(facts->registers);
      order.launch.parameters = std::move(*parameters);
      if (filled) {
        subject.orders.push_back(std::move(order));
        continue;
      }
      Attempt<ptx::ProgramPtr> program = ptx::make_program(subject.module, facts->name);
      if (!program) return Error{ErrorCode::usage, name + ": setup cannot be interpreted", ""};
      Attempt<ptx::Report> ran = ptx::execute(**program, *subject.memory, order.launch);
      if (!ran || !ran->faults.empty()) return Error{ErrorCode::usage, name + ": setup failed", ""};
    }
  }
  return subject;
}

Result<Task> task_of(const std::vector<std::string>& words) {
  if (words.empty()) return Error{ErrorCode::usage, "states no task", ""};
  if (words[0] != "gemm") return load_task(std::string(CUPILOT_SOURCE_DIR "/") + words[0]);
  return gemm_of({words.begin() + 1, words.end()});
}

// A few times the task's own time shape.
Workload grown(const Task& task, const std::map<std::string, std::int64_t>& sizes) {
  Workload workload = task.time_shapes.at(0);
  for (const Axis& axis : task.axes) {
    const auto own = workload.sizes.find(axis.name);
    if (own == workload.sizes.end()) continue;
    if (const auto given = sizes.find(axis.name); given != sizes.end()) {
      own->second = given->second;
    } else if (axis.kind != AxisKind::fixed && own->second > 4) {
      own->second *= own->second < 100 ? 3 : own->second < 1000 ? 2 : 1;
    }
  }
  return workload;
}

Result<BenchSubject> honest(CompilePool& pool, const std::string& file,
                            const std::map<std::string, std::int64_t>& sizes) {
  const std::string name = fs::path(file).stem().string();
  Result<StandaloneKernel> kernel = read_standalone(file);
  if (!kernel) return kernel.error();
  Result<Task> task = task_of(kernel->task_words);
  if (!task) return task.error();
  return subject_of(pool, name, *task, grown(*task, sizes), kernel->source);
}

Result<BenchSubject> from_template(CompilePool& pool, const std::vector<std::string>& words,
                                   const Strategy& strategy) {
  Result<Task> task = gemm_of(words);
  if (!task) return task.error();
  const auto writer = template_writer(builtin_tunables());
  WriterBrief brief;
  brief.task = TaskRef(*task);
  brief.strategy = &strategy;
  const DeviceSpec spec_of_chip = h200();
  brief.device = &spec_of_chip;
  std::string name;
  for (const std::string& word : words) name += word + " ";
  name += describe(strategy);
  Attempt<KernelSource> source = writer->write(brief);
  if (source.is_error()) return source.error();
  if (source.is_rejected()) return unfit(name, source.rejected());
  return subject_of(pool, name, *task, task->time_shapes.at(0), *source);
}

std::vector<std::pair<std::vector<std::string>, Strategy>> sampled() {
  const std::vector<std::vector<std::string>> tasks = {
      {"m=256", "n=192", "k=128", "dtype=fp32"},
      {"m=129", "n=130", "k=67", "dtype=fp32"},
      {"m=192", "n=200", "k=130", "dtype=fp32", "layout=tn"},
      {"m=70", "n=131", "k=64", "dtype=fp32", "layout=nt", "batch=2"},
      {"m=256", "n=256", "k=256", "dtype=bf16"},
      {"m=136", "n=72", "k=96", "dtype=bf16"},
      {"m=165", "n=129", "k=70", "dtype=fp16", "layout=nt"},
      {"m=130", "n=72", "k=68", "dtype=fp32", "precision=tf32"},
  };
  std::vector<std::pair<std::vector<std::string>, Strategy>> all;
  for (const auto& words : tasks) {
    const Result<Task> task = gemm_of(words);
    const auto space = make_space(*task, h200(), builtin_tunables());
    for (std::uint64_t i = 0; i < 4; ++i)
      all.emplace_back(words, sample(**space, Rng::of(5, "counters", all.size())));
  }
  return all;
}

Strategy simt(std::int64_t group) {
  return {{{"simt_core"},
           {"block_tile", {{"block_m", 128}, {"block_n", 128}}},
           {"k_slab", {{"block_k", 8}}},
           {"thread_tile", {{"thread_m", 8}, {"thread_n", 8}}},
           {"vector_load", {{"vector", 4}}},
           {"raster", {{"group_m", group}}}}};
}

Strategy tensor(std::int64_t group) {
  return {{{"mma_core"},
           {"block_tile", {{"block_m", 128}, {"block_n", 128}}},
           {"k_slab", {{"block_k", 32}}},
           {"warp_tile", {{"warp_m", 64}, {"warp_n", 32}}},
           {"vector_load", {{"vector", 8}}},
           {"async_copy", {{"async_copy", 1}}},
           {"multistage", {{"stages", 3}}},
           {"raster", {{"group_m", group}}}}};
}

struct Big {
  const char* file;
  std::map<std::string, std::int64_t> sizes;
};
const std::vector<Big> big_files = {
    {"transpose_naive", {{"rows", 4096}, {"cols", 8192}}},
    {"transpose_tiled", {{"rows", 4096}, {"cols", 8192}}},
    {"softmax_three_pass", {{"rows", 8192}, {"cols", 4096}}},
    {"softmax_online", {{"rows", 8192}, {"cols", 4096}}},
    {"sum_vector4", {{"rows", 16384}, {"cols", 4096}}},
    {"layernorm_two_pass", {{"rows", 8192}, {"cols", 4096}}},
    {"copy_vector4", {{"n", 33554432}}},
    {"axpy_simple", {{"n", 33554432}}},
    {"stencil2d_naive", {{"h", 4096}, {"w", 8192}}},
    {"stencil2d_halo", {{"h", 4096}, {"w", 8192}}},
    {"gemv_warp_a_row", {{"rows", 8192}, {"cols", 8192}}},
    {"total_atomics", {{"n", 33554432}}},
};

std::string file_of(const std::string& name) {
  return std::string(CUPILOT_SOURCE_DIR "/tests/hostile/honest/") + name + ".cu";
}

}  // namespace

std::vector<std::function<Result<BenchSubject>()>> works(CompilePool& pool, bool big) {
  std::vector<std::function<Result<BenchSubject>()>> all;
  if (big) {
    for (const Big& one : big_files)
      all.push_back([&pool, &one] { return honest(pool, file_of(one.file), one.sizes); });
    for (const std::int64_t group : {1, 4, 16}) {
      all.push_back([&pool, group] {
        return from_template(pool, {"m=4096", "n=4096", "k=4096", "dtype=fp32"}, simt(group));
      });
      all.push_back([&pool, group] {
        return from_template(pool, {"m=8192", "n=8192", "k=4096", "dtype=bf16"}, tensor(group));
      });
    }
    return all;
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(CUPILOT_SOURCE_DIR "/tests/hostile/honest")) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files)
    all.push_back([&pool, file] { return honest(pool, file, {}); });
  for (const auto& point : sampled())
    all.push_back([&pool, point] { return from_template(pool, point.first, point.second); });
  return all;
}

}  // namespace counters
