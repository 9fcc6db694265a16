#include "own_strategy.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/parts/tunable.hpp>

namespace cupilot::cli {
namespace {

constexpr std::size_t most_fitted = 3;

using Sizes = std::map<std::string, std::int64_t>;

const Sizes& sizes_of(const Task& task) { return task.time_shapes.front().sizes; }

// True if both are one task at different sizes.
bool is_other_size(const Task& found, const Task& task) {
  if (found.time_shapes.size() != 1 || task.time_shapes.size() != 1) return false;
  if (sizes_of(found) == sizes_of(task)) return false;
  const auto without_sizes = [](Task one) {
    one.time_shapes.clear();
    one.check_shapes.clear();
    return task_id(one);
  };
  return without_sizes(found) == without_sizes(task);
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const auto& [axis, size] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, size);
  return text;
}

// The task of the run whose best/ holds the strategy, if it is this one at other sizes.
std::optional<Task> task_found_at(const std::string& path, const Task& task) {
  const auto folder = std::filesystem::path(path).parent_path();
  const std::string beside = folder / "task.json";
  if (!real_host().exists(beside)) return std::nullopt;
  auto found = load_task(beside);
  if (!found || !is_other_size(*found, task)) return std::nullopt;
  return std::move(*found);
}

// Techniques of the families that are not built in.
std::vector<Technique> added_techniques(const Families& families) {
  std::vector<Technique> added;
  for (const Family& family : families) {
    if (!family.built_in)
      added.insert(added.end(), family.techniques.begin(), family.techniques.end());
  }
  return added;
}

void note(const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); }

Error not_of(const std::string& path, const std::string& reason) {
  return {ErrorCode::usage, path + ": " + reason,
          "give the kernel.cu beside it, or its tunable with --set NAME=VALUE; a strategy is of a "
          "built-in family's templates, or of those that --family brings"};
}

// Error usage: the family's templates know none of the strategy's techniques, as where a run had
// its own tunable.
std::optional<Error> foreign(const OwnStrategy& own, const Space& space, const std::string& path) {
  std::string names;
  for (const Use& use : own.strategy.uses) {
    const bool known = std::any_of(space.techniques().begin(), space.techniques().end(),
                                   [&](const Technique& one) { return one.name == use.technique; });
    if (known) return std::nullopt;
    names += (names.empty() ? "" : ", ") + use.technique;
  }
  if (names.empty()) return std::nullopt;
  return not_of(path, fmt::format("none of its techniques ({}) is known to family {}", names,
                                  own.task.family));
}

// Gives it values that the task's sizes allow, and finds others that may suit them. Error usage: it
// is of other templates.
Result<void> suit(OwnStrategy& own, const KernelFlags& flags, const DeviceSpec& device,
                  const std::string& path) {
  const std::vector<Tunable> templates = templates_of(own.families, own.task);
  const auto space = make_space(own.task, device, templates, added_techniques(own.families));
  if (!space) return {};
  if (auto other = foreign(own, **space, path)) return std::move(*other);
  auto nearest = (*space)->complete(own.strategy);
  if (!nearest) return {};
  if (const auto found = flags.as_is ? std::nullopt : task_found_at(path, own.task)) {
    auto all =
        fitted(**space, own.strategy, make_cost_model(own.task, device, templates),
               make_cost_model(*found, device, templates_of(own.families, *found)), most_fitted);
    if (all) {
      all->pop_back();
      own.fitted = std::move(*all);
    }
    own.found_at = text_of(sizes_of(*found));
  }
  if (strategy_id(own.strategy) == strategy_id(nearest->strategy)) return {};
  own.strategy = std::move(nearest->strategy);
  note("as written the strategy does not fit these sizes; taken is " + describe(own.strategy));
  return {};
}

}  // namespace

Families realising(const OwnStrategy& own, const DeviceSpec& device) {
  Families families = own.families;
  const std::vector<Technique> added = added_techniques(families);
  std::set<std::string> names;
  for (const Tunable& tunable : templates_of(families, own.task)) {
    const auto space = make_space(own.task, device, {tunable}, added);
    if (!space) continue;
    const auto completed = (*space)->complete(own.strategy);
    if (completed && strategy_id(completed->strategy) == strategy_id(own.strategy))
      names.insert(tunable.name);
  }
  for (Family& family : families) {
    std::erase_if(family.templates,
                  [&](const Tunable& one) { return !names.empty() && names.count(one.name) == 0; });
  }
  return families;
}

void note_taken(const OwnStrategy& own, const Strategy& taken) {
  if (own.found_at.empty()) return;
  const bool as_is = strategy_id(taken) == strategy_id(own.strategy);
  note(fmt::format(
      "found at {}; {} these sizes: taken is {}{}", own.found_at,
      as_is ? "not faster, or refused, with its numbers fitted to" : "its numbers are fitted to",
      describe(taken), as_is ? "" : "; --as-is tries no others"));
}

bool is_strategy(const std::string& path) { return path.ends_with(".json"); }

Result<OwnStrategy> open_strategy(const std::string& path, const KernelFlags& flags,
                                  const DeviceSpec& device) {
  const Result<std::string> text = real_host().read_file(path);
  if (!text) return text.error();
  Result<Strategy> strategy = strategy_from_json(*text);
  if (!strategy) return std::move(strategy.error()).while_doing(path);
  if (flags.task.empty())
    return Error{ErrorCode::usage, path + ": a strategy is of a task, and none is stated",
                 "say it with --task"};
  Result<Families> families = load_families(flags.common.families);
  if (!families) return families.error();
  Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return task.error();
  OwnStrategy own{std::move(*task), std::move(*families), std::move(*strategy)};
  if (parts_of(own.strategy).parts.size() == 1 && !is_library_step(own.strategy)) {
    if (auto suited = suit(own, flags, device, path); !suited) return suited.error();
  }
  if (own.task.operations.empty()) {
    const auto writer = template_writer(templates_of(own.families, own.task));
    if (const auto reason = writer->lacks(own.task, own.strategy)) return not_of(path, *reason);
  }
  return own;
}

}  // namespace cupilot::cli
