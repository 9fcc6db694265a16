// `cupilot evolve --shapes FILE`: a portfolio, kept in a wisdom file.
#include <fmt/format.h>

#include <algorithm>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/wisdom.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"
#include "screens/wisdom.hpp"
#include "search_run.hpp"
#include "signals.hpp"

namespace cupilot::cli {
namespace {

Result<Task> task_over_shapes(const EvolveFlags& flags, const Families& families) {
  Result<Task> task = task_from_words(flags.task, families);
  if (!task) return task.error();
  Result<std::string> text = real_host().read_file(flags.shapes);
  if (!text) return text.error();
  std::vector<std::string> axes;
  for (const Axis& axis : task->axes) axes.push_back(axis.name);
  auto shapes = shapes_from_text(*text, flags.shapes, axes);
  if (!shapes) return shapes.error();
  task->time_shapes = std::move(*shapes);
  if (auto valid = validate(*task); !valid) return valid.error();
  return task;
}

}  // namespace

int portfolio_command(const EvolveFlags& flags) {
  // A captured launch is of one shape.
  const auto is_own = [](const std::string& word) {
    return !is_contestant(word) && real_host().exists(word);
  };
  const bool own = std::any_of(flags.against.begin(), flags.against.end(), is_own);
  if (own || !flags.stated.empty() || !flags.bind.empty() || !flags.entry.empty())
    return fail(
        {ErrorCode::usage, "--shapes: a portfolio takes no kernel of your own as a baseline",
         "evolve one shape, or leave the capture and kernel files out"},
        flags.common.json);
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return fail(families.error(), flags.common.json);
  Result<Task> task = task_over_shapes(flags, *families);
  if (!task) return fail(task.error(), flags.common.json);
  auto backend = open_device(flags.common.device, flags.threads, flags.common.counters, *families);
  if (!backend) return fail(backend.error(), flags.common.json);
  Screen screen(flags.common.json, **backend);
  PortfolioOptions options;
  options.evolve = options_from(flags, *task, **backend, screen);
  options.evolve.families = *families;
  leave_with(
      fmt::format("cupilot: stopped; what was in flight is dropped\n  next: the same command with "
                  "--run {} goes "
                  "on\n",
                  options.evolve.run_dir));
  options.keep = flags.keep;
  options.regret = flags.regret / 100;
  const std::string path =
      flags.wisdom.empty() ? options.evolve.run_dir + "/wisdom.json" : flags.wisdom;
  // Before anything is spent: a file that cannot be read would take no entry at the end either.
  if (auto wisdom = load_wisdom(path); !wisdom) return fail(wisdom.error(), flags.common.json);
  if (!flags.common.json) {
    screen.print(fmt::format("evolving {} for {} shapes on {}; wisdom goes to {}", task->name,
                             task->time_shapes.size(), (*backend)->identity(), path));
  }
  Result<WisdomEntry> entry = evolve_portfolio(*task, **backend, options);
  screen.end();
  if (!entry) return fail(entry.error(), flags.common.json);
  if (auto kept = remember_in(path, *entry); !kept) return fail(kept.error(), flags.common.json);
  say(flags.common.json ? wisdom_summary_json({{*entry}}) : wisdom_screen(*entry));
  if (!flags.common.json) say(fmt::format("next: cupilot wisdom {} --dispatcher DIR", path));
  return 0;
}

}  // namespace cupilot::cli
