#include "backend/compile/checked_compile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <cupilot/parts/rejection.hpp>

#include "backend/compile/headers.hpp"
#include "backend/compile/image.hpp"
#include "backend/compile/log.hpp"
#include "backend/compile/source.hpp"
#include "base/phases.hpp"
#include "kernel/parameter_check.hpp"
#include "kernel/plan_scope.hpp"
#include "ptx/gate/facts.hpp"
#include "ptx/gate/gate.hpp"
#include "ptx/syntax/arch.hpp"
#include "ptx/syntax/kept.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot {
namespace {

// The scope of a plan without a task: the strategy's numbers and definitions over them.
ExprScope constant_scope(const KernelSource& source) {
  return scope_with(scope_of(source.constants), source.plan.let);
}

// Extents that the strategy's numbers alone decide; zeros when a size of the task takes part.
std::array<std::int64_t, 3> known_extents(const std::vector<Expr>& extents,
                                          const ExprScope& scope) {
  std::array<std::int64_t, 3> result{1, 1, 1};
  if (extents.empty()) return {};
  for (std::size_t i = 0; i < std::min<std::size_t>(3, extents.size()); ++i) {
    const ExprValue value = evaluate(extents[i], scope);
    if (!std::holds_alternative<std::int64_t>(value)) return {};
    result[i] = std::clamp<std::int64_t>(std::get<std::int64_t>(value), 0, 1 << 20);
  }
  return result;
}

// Source names of the plan's launches, {CONSTANT}s filled in.
Attempt<std::vector<std::string>> entry_names(const KernelSource& source, const ExprScope& scope) {
  std::vector<std::string> names;
  for (const PlanLaunch& launch : source.plan.launches) {
    auto name = fill_entry(launch.entry, scope);
    if (const auto* fault = std::get_if<ExprFault>(&name)) {
      return reject("plan.name", fmt::format("entry {}: {}", launch.entry, fault->message),
                    "launches." + launch.name);
    }
    names.push_back(std::get<std::string>(std::move(name)));
  }
  if (names.empty()) return reject("plan.name", "the launch plan has no launch");
  return names;
}

bool needs_expression(const std::string& name) {
  return name.find_first_of("<:") != std::string::npos;
}

// The entry of the PTX that a source name means: itself when it is extern "C", what the compiler
// lowered it to, or the one function of that name in the Itanium mangling. "" when there is none.
std::string ptx_name(const std::string& name, const ptx::Module& module,
                     const std::map<std::string, std::string>& lowered) {
  if (const auto found = lowered.find(name); found != lowered.end()) return found->second;
  if (module.entry(name) != nullptr) return name;
  const std::string head = fmt::format("_Z{}{}", name.size(), name);
  std::string match;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || function.name.compare(0, head.size(), head) != 0) continue;
    if (!match.empty()) return {};  // overloads: the plan must name one with extern "C"
    match = function.name;
  }
  return match;
}

std::vector<ptx::ExpectedParameter> expected_of(const LaunchPlan& plan, const PlanLaunch& launch) {
  std::vector<ptx::ExpectedParameter> expected;
  for (const ParameterSize& size : expected_parameters(plan, launch)) {
    expected.push_back(
        {static_cast<std::uint32_t>(size.bytes), static_cast<std::uint32_t>(size.alignment)});
  }
  return expected;
}

int max_threads_of(const ptx::Function& function) {
  for (const char* directive : {"reqntid", "maxntid"}) {
    const auto extents = function.directive(directive);
    if (extents.empty()) continue;
    std::uint64_t product = 1;
    for (const std::uint64_t extent : extents)
      product = std::min<std::uint64_t>(product * std::min<std::uint64_t>(extent, 1024), 1024);
    return static_cast<int>(product);
  }
  return 0;
}

EntryFacts entry_facts(const ptx::Function& function, const std::string& source_name,
                       const AssembledEntry* assembled) {
  EntryFacts facts;
  facts.name = function.name;
  facts.source_name = source_name;
  facts.max_threads = max_threads_of(function);
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    facts.parameter_bytes.push_back(static_cast<int>(function.parameter(i).bytes));
    facts.parameter_alignment.push_back(static_cast<int>(function.parameter(i).align));
  }
  if (assembled != nullptr) {
    facts.registers = assembled->registers;
    facts.static_shared = assembled->shared_bytes;
    facts.stack_bytes = assembled->stack_bytes;
    facts.spill_store_bytes = assembled->spill_store_bytes;
    facts.spill_load_bytes = assembled->spill_load_bytes;
  }
  return facts;
}

// Gate and facts of the PTX in `kernel`.
std::optional<Rejected> admit(CompiledKernel& kernel, const ptx::Module& module,
                              const std::vector<std::string>& names,
                              const std::map<std::string, std::string>& lowered, ptx::Whose whose) {
  const LaunchPlan& plan = kernel.source.plan;
  const ExprScope scope = constant_scope(kernel.source);
  std::vector<ptx::ExpectedEntry> expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PlanLaunch& launch = plan.launches[i];
    expected.push_back({ptx_name(names[i], module, lowered), names[i], expected_of(plan, launch),
                        known_extents(launch.block, scope), known_extents(launch.cluster, scope),
                        launch.cooperative, !plan.textures.empty()});
  }
  if (auto refused = ptx::gate(module, expected, {}, whose)) return refused;
  if (!kernel.cubin.empty()) {
    std::vector<std::string> entries;
    for (const ptx::ExpectedEntry& entry : expected) entries.push_back(entry.name);
    if (auto refused = check_image(kernel.cubin, std::move(entries))) return refused;
  }
  const auto assembled = read_assembler_log(kernel.log);
  for (const ptx::ExpectedEntry& entry : expected) {
    if (find_entry(kernel, entry.source_name) != nullptr) continue;
    const auto row = assembled.find(entry.name);
    const ptx::Function& function = *module.entry(entry.name);
    EntryFacts facts =
        entry_facts(function, entry.source_name, row == assembled.end() ? nullptr : &row->second);
    if (row == assembled.end())
      facts.static_shared = static_cast<int>(ptx::static_shared_bytes(module, function));
    kernel.entries.push_back(std::move(facts));
  }
  kernel.facts = ptx::facts_of(module);
  return find_serialised(kernel.log);
}

Attempt<CompileOutput> assembled(CompilePool& pool, const std::string& ptx, const std::string& arch,
                                 const CompileCaps& caps) {
  CompileRequest request;
  request.text = ptx;
  request.arch = arch;
  request.is_ptx = true;
  request.caps = caps;
  return pool.compile(std::move(request));
}

// Takes all but the PTX and its names.
void take(CompileOutput output, CompiledKernel& kernel) {
  kernel.compiler = std::move(output.compiler);
  kernel.cubin = std::move(output.cubin);
  kernel.log = std::move(output.log);
  kernel.compile_seconds = output.seconds;
  kernel.confinement = std::move(output.confinement);
}

}  // namespace

Attempt<CompiledKernel> compile_and_check(CompilePool& pool, const KernelSource& source,
                                          const std::string& arch, CompileMode mode) {
  Attempt<std::vector<std::string>> names = entry_names(source, constant_scope(source));
  if (!names) return names.failure();
  CompiledKernel kernel;
  kernel.source = source;
  kernel.id = kernel_id(source);
  kernel.arch = arch;
  std::map<std::string, std::string> lowered;
  std::vector<std::string> includes;
  const CompileCaps caps = candidate_caps(std::set(names->begin(), names->end()).size());
  if (source.language == Language::ptx) {
    if (source.text.size() > caps.ptx)
      return reject("gate.source_size",
                    fmt::format("PTX of {} bytes; at most {}", source.text.size(), caps.ptx));
    if (source.text.find('\0') != std::string::npos)
      return reject("gate.ptx_syntax", "the PTX holds a byte 0, where an assembler ends");
    kernel.ptx = source.text;
    kernel.compiler = "none";  // unless it is assembled
  } else {
    if (auto refused =
            check_source(source.text, allowed_includes(), {.bytes = caps.source}, &includes))
      return std::move(*refused);
    CompileRequest request;
    request.text = source.text;
    request.arch = arch;
    request.ptx_only = mode.ptx_only;
    request.anew = mode.anew;
    request.caps = caps;
    for (const std::string& name : *names) {
      if (needs_expression(name)) request.name_expressions.push_back(name);
    }
    kernel.options = fmt::format("{}", fmt::join(standard_compile_options(request), " "));
    Attempt<CompileOutput> compiled = pool.compile(std::move(request));
    if (!compiled) return compiled.failure();
    kernel.ptx = std::move(compiled->ptx);
    lowered = std::move(compiled->lowered_names);
    take(std::move(*compiled), kernel);
  }
  const Phase phase("admit");
  Attempt<ptx::Module> module = ptx::parse(kernel.ptx);
  if (!module) return module.failure();
  if (source.language == Language::ptx) {
    if (auto refused = ptx::check_arch(*module, arch)) return std::move(*refused);
    if (mode.assembles) {
      Attempt<CompileOutput> image = assembled(pool, source.text, arch, caps);
      if (!image) return image.failure();
      take(std::move(*image), kernel);
    }
  }
  if (mode.leave_others_out) {
    std::vector<std::string> kept;
    for (const std::string& name : *names) kept.push_back(ptx_name(name, *module, lowered));
    ptx::keep_entries(*module, kept);
    kernel.cubin.clear();
  }
  if (auto refused = admit(kernel, *module, *names, lowered, mode.whose))
    return std::move(*refused);
  if (ignores_setmaxnreg(kernel.log))
    kernel.facts.flags.push_back("setmaxnreg ignored by " + kernel.compiler);
  for (const std::string& name : includes)
    kernel.facts.flags.push_back(fmt::format("#include <{}>", name));
  return kernel;
}

std::optional<Rejected> check_contract(const CompiledKernel& kernel, const Task& task) {
  // No instruction of a table of float classes tells that integers stay exact; comparison does.
  if (task.precision == Precision::integer || satisfies(kernel.facts.ceiling, task.precision))
    return std::nullopt;
  return reject("gate.precision",
                fmt::format("the instructions compute in {} at best, the task asks for {}",
                            name_of(kernel.facts.ceiling), name_of(task.precision)));
}

}  // namespace cupilot
