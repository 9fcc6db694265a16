#include "evolution/program/writer.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/program.hpp>
#include <cupilot/parts/rejection.hpp>

#include "program/equal_parts.hpp"
#include "program/library_part.hpp"

namespace cupilot {
namespace {

Error no_partition(const Task& task, const std::string& reason) {
  return {
      ErrorCode::usage, fmt::format("program of {}: {}", task.name, reason),
      "let its parts hold each operation of the task once (docs/formats/strategy.md, Programs)"};
}

// The operations of a part by number; a composite's name stands for its body. Error names what is
// no operation, or stands elsewhere too.
Result<Part> numbered(const ComposedTask& program, const std::vector<std::string>& on,
                      std::vector<bool>& placed) {
  const Task& task = program.task;
  Part part;
  std::set<std::string> known;
  for (std::size_t i = 0; i < task.operations.size(); ++i) {
    const std::string& own = task.operations[i].name;
    const std::string& given =
        program.given.operations[static_cast<std::size_t>(program.origin[i])].name;
    known.insert({own, given});
    const auto found = std::find_if(on.begin(), on.end(), [&](const std::string& name) {
      return name == own || name == given;
    });
    if (found == on.end() && !on.empty()) continue;
    if (placed[i]) return no_partition(task, "operation " + own + " stands in two parts");
    placed[i] = true;
    part.push_back(static_cast<int>(i));
  }
  for (const std::string& name : on) {
    if (!known.contains(name)) return no_partition(task, "it has no operation " + name);
  }
  return part;
}

}  // namespace

ProgramWriter::ProgramWriter(const Task& task, const Families& families)
    : ProgramWriter(compose_with_views(task, families.empty() ? builtin_families() : families),
                    families) {}

ProgramWriter::ProgramWriter(ComposedTask program, Families families)
    : families_(families.empty() ? builtin_families() : std::move(families)),
      program_(std::move(program)),
      task_(program_.task),
      graph_(operation_graph(task_)) {}

Result<Partition> ProgramWriter::partition_of(const Strategy& strategy,
                                              std::map<Part, Strategy>& strategies) const {
  Partition partition;
  std::vector<bool> placed(task_.operations.size(), false);
  for (const PartStrategy& one : parts_of(strategy).parts) {
    auto part = numbered(program_, one.on, placed);
    if (!part) return part.error();
    strategies[*part] = one.strategy;
    partition.push_back(std::move(*part));
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i])
      return no_partition(task_, "operation " + task_.operations[i].name + " is in no part");
  }
  Partition ordered = in_launch_order(graph_, std::move(partition));
  if (ordered.empty()) return no_partition(task_, "two of its parts need each other");
  return ordered;
}

Result<ProgramWriter::KnownPart*> ProgramWriter::known_part(const Part& part) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(part);
  if (known != known_.end()) return &known->second;
  auto form = served_part(program_, part, families_);
  std::unique_ptr<KernelWriter> writer;
  if (form && form->only_views) {
    // It has no kernel.
  } else if (form) {
    writer = template_writer(templates_of(families_, form->task));
  } else if (auto step = step_alone(task_, part, families_)) {
    form = std::move(*step);
  } else {
    return form.error();
  }
  return &known_
              .emplace(part,
                       KnownPart{TaskRef(form->task), *form, kind_of(*form), std::move(writer)})
              .first->second;
}

std::optional<std::string> ProgramWriter::lacks(const Task&, const Strategy&) const {
  return std::nullopt;  // write() names the part
}

Attempt<std::vector<PartKernel>> ProgramWriter::write_parts(const Strategy& strategy,
                                                            const DeviceSpec* device) {
  std::map<Part, Strategy> strategies;
  auto partition = partition_of(strategy, strategies);
  if (!partition) return partition.error();
  std::vector<PartKernel> kernels;
  std::vector<std::pair<const KnownPart*, const Strategy*>> written;
  for (const Part& part : *partition) {
    auto known = known_part(part);
    if (!known) return known.error();
    if ((*known)->form.only_views) {
      written.emplace_back(*known, &strategies.at(part));
      kernels.push_back({(*known)->form, {}});
      continue;
    }
    WriterBrief brief;
    brief.task = (*known)->task;
    brief.strategy = &strategies.at(part);
    brief.device = device;
    const auto like = std::find_if(written.begin(), written.end(), [&](const auto& one) {
      return !(*known)->kind.empty() && one.first->kind == (*known)->kind &&
             one.second->uses == brief.strategy->uses;
    });
    const auto number = static_cast<std::size_t>(like - written.begin());
    written.emplace_back(*known, brief.strategy);
    if (number < kernels.size() && !is_library_step(*brief.strategy)) {
      kernels.push_back({told_as((*known)->form, kernels[number].form), kernels[number].source});
      continue;
    }
    auto source = is_library_step(*brief.strategy) ? library_part((*known)->form.task, families_)
                  : (*known)->writer != nullptr
                      ? (*known)->writer->write(brief)
                      : Attempt<KernelSource>(reject("write.uncovered", "no template serves it"));
    if (source.is_rejected()) {
      Rejected why = source.rejected();
      why.message = fmt::format("part {}: {}", (*known)->form.name, why.message);
      return why;
    }
    if (source.is_error()) return source.error();
    if (const auto library = library_of(*brief.strategy);
        !library.empty() && source->template_name != library)
      return reject("write.uncovered",
                    fmt::format("part {}: {} does not compute it, {} does", (*known)->form.name,
                                library, source->template_name));
    kernels.push_back({(*known)->form, std::move(*source)});
  }
  return kernels;
}

Attempt<KernelSource> ProgramWriter::write(const WriterBrief& brief) {
  auto kernels = write_parts(*brief.strategy, brief.device);
  if (!kernels) return kernels.failure();
  const bool alone = kernels->size() == 1 && kernels->front().form.task.family == task_.family;
  auto joined = alone ? Result<KernelSource>(std::move(kernels->front().source))
                      : join_parts(task_, *kernels);
  if (!joined) return joined.error();
  joined->strategy_id = strategy_id(*brief.strategy);
  return std::move(*joined);
}

std::unique_ptr<KernelWriter> program_writer(Task task, const Families& families) {
  if (task.operations.empty()) return template_writer(templates_of(families, task));
  return std::make_unique<ProgramWriter>(task, families);
}

}  // namespace cupilot
