#include "backend/virtual/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/verdict.hpp>

#include "backend/compile/log.hpp"
#include "backend/oracle/plain_plan.hpp"
#include "backend/virtual/counts.hpp"
#include "kernel/plan_sentences.hpp"
#include "predict/kernel_residual.hpp"
#include "ptx/gate/facts.hpp"
#include "ptx/syntax/parser.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

// `floor_us`: 0 where it is unknown.
Measurement modelled(const VirtualContext& context, const Task& task,
                     const std::vector<ModelInput>& inputs, double floor_us) {
  const ModelledTime time = predicted_time(context.device, task, inputs, floor_us);
  Measurement measurement;
  measurement.provenance = Provenance::modelled;
  measurement.time_us = time.us;
  measurement.samples_us = {time.us};
  measurement.interval_low_us = time.low_us;
  measurement.interval_high_us = time.high_us;
  measurement.binding = time.binding;
  for (const ModelInput& input : inputs) add_counts(measurement.counts, input.counts);
  return measurement;
}

bool any_extrapolated(const std::vector<ModelInput>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) {
    return std::any_of(input.counts.all.begin(), input.counts.all.end(),
                       [](const Count& one) { return one.how == CountHow::extrapolated; });
  });
}

}  // namespace

// Counts fitted to smaller shapes may miss work; they cannot show that a kernel does less than its
// task asks of the device. At the floor it would win over kernels that are counted well.
void turn_at_floor(Measurement& measurement, double floor_us) {
  if (!(measurement.time_us < floor_us)) return;
  const double turned = floor_us * floor_us / std::max(measurement.time_us, 1e-3 * floor_us);
  measurement.conditions.push_back(
      fmt::format("counts fitted to smaller shapes make {:.4g} us, below the floor of {:.4g} us: "
                  "they miss work, and {:.4g} us, as far above it, stand for them",
                  measurement.time_us, floor_us, turned));
  measurement.time_us = turned;
  measurement.interval_low_us = floor_us;
  measurement.interval_high_us = std::max(measurement.interval_high_us, turned);
  measurement.samples_us = {turned};
}

double counted_operations(const Counts& counts, bool products_alone) {
  constexpr Counter products[] = {Counter::flops_fp64,      Counter::flops_fp32,
                                  Counter::flops_fp16,      Counter::ops_tensor_bf16,
                                  Counter::ops_tensor_fp16, Counter::ops_tensor_tf32,
                                  Counter::ops_tensor_fp8,  Counter::ops_tensor_int8};
  double sum = 0;
  for (const Counter one : products) sum += counts[one].value;
  if (products_alone) return sum;
  return sum + counts[Counter::integer_ops].value + counts[Counter::special_ops].value;
}

// A kernel that computes so little knows a short cut, or was counted at blocks that do not stand
// for the others.
void flag_little_work(Measurement& measurement, double counted, double textbook) {
  constexpr double enough = 0.5, most = 100;
  if (counted >= enough * textbook) return;
  measurement.conditions.push_back(fmt::format(
      "counts {:.3g} operations, {:.2g} % of the textbook's {:.3g}: the kernel takes a short cut, "
      "or the counted blocks do not stand for the others and its time is too short",
      counted, 100 * counted / textbook, textbook));
  const double times = std::min(enough * textbook / std::max(counted, 1.0), most);
  measurement.interval_high_us =
      std::max(measurement.interval_high_us, measurement.time_us * times);
}

Measurement modelled_plan(const VirtualContext& context, const TaskRef& task,
                          const Workload& workload, const std::vector<ModelInput>& inputs) {
  // The floor of the lowest class that the task allows: a kernel of a higher one takes longer.
  const auto floor = floor_us(task, workload, context.device, task->precision);
  Measurement measurement = modelled(context, *task, inputs, floor ? *floor : 0);
  if (floor && any_extrapolated(inputs)) turn_at_floor(measurement, *floor);
  if (const auto textbook = textbook_flops(*task, workload))
    flag_little_work(measurement, counted_operations(measurement.counts, is_matmul_like(*task)),
                     static_cast<double>(*textbook));
  return measurement;
}

namespace {

std::vector<double> ratio_to(const Measurement& time, const Measurement& first) {
  if (first.time_us <= 0) return {};
  return {time.time_us / first.time_us};
}

}  // namespace

Attempt<Measurement> VirtualMeasurer::candidate(const TaskRef& task, const CompiledKernel& kernel,
                                                const Workload& workload, const Content& content) {
  Attempt<KernelPrograms> programs = KernelPrograms::parse(kernel);
  if (!programs) return programs.failure();
  const PlanAt plan_at = [&](const Workload& at) {
    return resolve(kernel.source, task, at, context_.device, &kernel);
  };
  Attempt<Resolution> resolution = plan_at(workload);
  if (!resolution) return resolution.failure();
  const auto* plan = std::get_if<ResolvedPlan>(&*resolution);
  if (plan == nullptr) {
    return reject("verify.no_shape",
                  "the plan requires " + std::get<NotForThisShape>(*resolution).require);
  }
  auto inputs =
      count_launches(context_, task, kernel, *programs, plan_at, *plan, workload, content);
  if (!inputs) return inputs.failure();
  Measurement measurement = modelled_plan(context_, task, workload, *inputs);
  for (std::string& sentence : sentences_of(*plan))
    measurement.conditions.push_back(std::move(sentence));
  if (inputs->size() > 1)
    measurement.conditions.push_back(launched_sentence(inputs->size(), Launched::modelled));
  return measurement;
}

Result<CompiledKernel> VirtualMeasurer::compile_plain(const TaskRef& task,
                                                      const ReferenceProgram& program) {
  CompileRequest request;
  request.text = program.text;
  request.arch = context_.device.arch;
  request.caps = own_caps;
  Attempt<CompileOutput> compiled = pool_.compile(request);
  if (compiled.is_error()) return compiled.error();
  if (compiled.is_rejected()) {
    return reference_not_compiled(
        fmt::format("reference of task {}, as plain baseline", task->name), compiled.rejected(),
        !task->operations.empty());
  }
  CompiledKernel kernel;
  kernel.ptx = std::move(compiled->ptx);
  const auto assembled = read_assembler_log(compiled->log);
  const auto add = [&](const std::string& entry) {
    EntryFacts facts;
    facts.name = facts.source_name = entry;
    const auto row = assembled.find(entry);
    if (row != assembled.end()) facts.registers = row->second.registers;
    kernel.entries.push_back(std::move(facts));
  };
  for (const std::string& entry : entry_names(program)) add(entry);
  return kernel;
}

Attempt<Measurement> VirtualMeasurer::plain(const TaskRef& task, const Workload& workload,
                                            const Content& content) {
  const auto make = [&]() -> Result<Attempt<Measurement>> {
    Result<ReferenceProgram> program = reference_program(task, ReferenceBuild::plain);
    if (!program) return program.error();
    Result<CompiledKernel> kernel = compile_plain(task, *program);
    if (!kernel) return kernel.error();
    Result<ResolvedPlan> plan = plain_plan(task, workload, *program);
    if (!plan) return plan.error();
    const PlanAt plan_at = [&](const Workload& at) -> Attempt<Resolution> {
      Result<ResolvedPlan> made = plain_plan(task, at, *program);
      if (!made) return made.error();
      return Resolution{std::move(*made)};
    };
    Attempt<KernelPrograms> programs = KernelPrograms::parse(*kernel);
    if (programs.is_rejected()) return Attempt<Measurement>(programs.rejected());
    if (programs.is_error()) return programs.error();
    auto inputs =
        count_launches(context_, task, *kernel, *programs, plan_at, *plan, workload, content);
    if (inputs.is_rejected()) return Attempt<Measurement>(inputs.rejected());
    if (inputs.is_error()) return inputs.error();
    const auto floor = floor_us(task, workload, context_.device, task->precision);
    return Attempt<Measurement>(modelled(context_, *task, *inputs, floor ? *floor : 0));
  };
  auto kept =
      plain_.get(case_key(task.id(), workload, content), make, [](const auto&) { return 1; });
  if (!kept) return kept.error();
  return **kept;
}

Result<std::vector<SubjectReport>> VirtualMeasurer::measure(const TaskRef& task,
                                                            const Workload& workload,
                                                            std::span<const Subject> contestants,
                                                            const MeasureOptions&) {
  // Counts of kernels are compared on one content: another would only make them differ by chance.
  const Content content{1, ContentKind::ordinary};
  std::vector<SubjectReport> reports;
  for (const Subject& contestant : contestants) {
    SubjectReport report;
    report.name = contestant.name;
    if (contestant.kind == Subject::Kind::library) {
      report.measurement = reject(
          "measure.failed", "the virtual device has no libraries, and claims nothing about them");
    } else if (contestant.kind == Subject::Kind::contestant) {
      report.measurement =
          reject("measure.failed", "a contestant's time is measured, never modelled");
    } else if (contestant.kind == Subject::Kind::plain) {
      report.measurement = plain(task, workload, content);
    } else if (contestant.kernel != nullptr) {
      report.measurement = candidate(task, *contestant.kernel, workload, content);
    }
    if (report.measurement.is_error()) return report.measurement.error();
    const bool comparable = !reports.empty() && reports[0].measurement && report.measurement;
    if (comparable) report.ratio = ratio_to(*report.measurement, *reports[0].measurement);
    if (reports.empty() && report.measurement) report.ratio = {1};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace cupilot
