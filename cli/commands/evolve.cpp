#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "own_baselines.hpp"
#include "screens/json_out.hpp"
#include "screens/model_report.hpp"
#include "screens/questions_page.hpp"
#include "screens/say.hpp"
#include "search_run.hpp"
#include "seats.hpp"
#include "signals.hpp"
#include "steering.hpp"

namespace cupilot::cli {
namespace {

// A run that was stopped without a signal waited for models in vain.
int unanswered_exit_code(const std::string& run_dir, const std::string& models) {
  if (signal_exit_code() != 0 || !watch_signals().load()) return 0;
  return fail({ErrorCode::endpoint, "no answer came: the run stopped and keeps all it has",
               fmt::format("write the answers and go on with `cupilot resume {} --models {}`",
                           run_dir, models)},
              false);
}

// The models' part, here and in the pages. It costs the same where the run ends in an error.
void tell_use(const std::string& run_dir, const SeatFlags& seats) {
  if (seats.models.empty() && seats.tape.empty()) return;
  const auto use = model_use(run_dir);
  if (!use) return;
  const auto all = report_run(run_dir, model_use_tables(*use));
  const std::int64_t evaluations = all ? all->summary.report.evaluations : 0;
  say(model_use_text(*use, evaluations));
  const auto questions = write_questions_page(run_dir, *use, evaluations);
  if (questions && *questions) say("questions: " + **questions);
}

int finish(Screen& screen, const Result<EvolveReport>& report, const Task& task,
           const std::string& run_dir, bool json, const SeatFlags& seats) {
  screen.end();
  if (json && report) say(report_json(*report, task));
  if (!json && report) print_report(*report, task);
  if (!json) tell_use(run_dir, seats);
  if (!report) return fail(report.error(), json);
  return unanswered_exit_code(run_dir, seats.models);
}

}  // namespace

int evolve_command(const EvolveFlags& given) {
  const double began = real_host().monotonic_seconds();
  EvolveFlags flags = given;
  if (auto sorted = sort_words(flags); !sorted) return fail(sorted.error(), flags.common.json);
  // A landscape spans its own space: the task says nothing.
  const bool landscape = flags.common.device.rfind("fake:", 0) == 0 && flags.task.empty();
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return fail(families.error(), flags.common.json);
  Result<Task> task =
      landscape ? Result<Task>(landscape_task()) : task_from_words(flags.task, *families);
  if (!task) return fail(task.error(), flags.common.json);
  Result<std::unique_ptr<Backend>> backend =
      open_device(flags.common.device, flags.threads, flags.common.counters, *families);
  if (!backend) return fail(backend.error(), flags.common.json);
  Result<Against> against = open_against(flags, *task, (*backend)->device());
  if (!against) return fail(against.error(), flags.common.json);

  Screen screen(flags.common.json, **backend);
  EvolveOptions options = options_from(flags, *task, **backend, screen);
  options.against = against->contestants;
  options.own_baselines = std::move(against->own);
  options.families = *families;
  if (auto unused = check_unused(flags.seats, options.run_dir); !unused)
    return fail(unused.error(), flags.common.json);
  const auto models = open_seats(flags.seats, options.run_dir, flags.seed,
                                 [&](const std::string& text) { screen.on_notice(text); });
  if (!models) return fail(models.error(), flags.common.json);
  const bool measures = (*backend)->provenance() == Provenance::measured;
  if (auto seated = seat_models(flags.seats, models->get(), measures, options); !seated)
    return fail(seated.error(), flags.common.json);
  if (!flags.common.json)
    screen.print(fmt::format("evolving {} on {}; run directory {}", task->name,
                             (*backend)->identity(), options.run_dir));
  for (const OwnBaseline& one : options.own_baselines)
    screen.on_notice("baseline " + one.name + (one.says.empty() ? "" : "; " + one.says));
  options.seconds_before = real_host().monotonic_seconds() - began;
  return finish(screen, evolve(*task, **backend, options), *task, options.run_dir,
                flags.common.json, flags.seats);
}

int resume_command(const RunFlags& flags) {
  const double began = real_host().monotonic_seconds();
  Result<RunBeginning> run = read_beginning(flags.dir);
  if (!run) return fail(run.error(), flags.common.json);
  const std::string device = flags.common.device.empty() ? run->device_name : flags.common.device;
  Result<std::unique_ptr<Backend>> backend = open_device(device, flags.threads);
  if (!backend) return fail(backend.error(), flags.common.json);

  Screen screen(flags.common.json, **backend);
  EvolveOptions options;
  options.raise_evaluations = flags.evaluations;
  options.other_card = flags.other_card;
  options.search.parallel = in_flight(flags.threads, **backend);
  options.max_seconds = flags.seconds;
  options.pool = pool_anywhere(flags.pool);
  options.worker_path = backend_options().worker_path;
  options.observer = &screen;
  options.cancel = &watch_signals();
  leave_with(stopped_text(flags.dir));
  const auto models = reopen_seats(flags.seats, flags.dir, *run,
                                   [&](const std::string& text) { screen.on_notice(text); });
  if (!models) return fail(models.error(), flags.common.json);
  const bool measures = (*backend)->provenance() == Provenance::measured;
  if (auto seated = seat_models(flags.seats, models->get(), measures, options); !seated)
    return fail(seated.error(), flags.common.json);
  options.seconds_before = real_host().monotonic_seconds() - began;
  return finish(screen, resume(flags.dir, **backend, options), run->task, flags.dir,
                flags.common.json, flags.seats);
}

int record_command(const RecordFlags& flags) {
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return fail(families.error(), flags.common.json);
  Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return fail(task.error(), flags.common.json);
  Result<std::unique_ptr<Backend>> backend = open_device(flags.common.device);
  if (!backend) return fail(backend.error(), flags.common.json);
  Screen screen(flags.common.json, **backend);
  const Result<std::int64_t> kept = record_landscape(*task, **backend, flags.dir,
                                                     {.count = flags.all ? 0 : flags.count,
                                                      .seed = flags.seed,
                                                      .tunables = flags.tunables,
                                                      .families = *families,
                                                      .observer = &screen,
                                                      .cancel = &watch_signals(),
                                                      .task_words = flags.task,
                                                      .device_name = flags.common.device});
  screen.end();
  if (!kept) return fail(kept.error(), flags.common.json);
  if (flags.common.json) {
    say(recorded_json(*kept, flags.dir));
  } else {
    say(fmt::format("recorded {} strategies in {}; replay: cupilot evolve … --device recorded:{}",
                    *kept, flags.dir, flags.dir));
  }
  return 0;
}

}  // namespace cupilot::cli
