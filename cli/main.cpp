// The `cupilot` program: flags in, one verb out.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>

#include <cupilot/parts/device.hpp>
#include <cupilot/version.hpp>

#include "baseline_options.hpp"
#include "capture_words.hpp"
#include "commands/verbs.hpp"
#include "models.hpp"
#include "nearest.hpp"
#include "numbers.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"
#include "signals.hpp"
#include "standard_streams.hpp"
#include "steering.hpp"

namespace {

using namespace cupilot::cli;

void add_common(CLI::App& verb, CommonFlags& flags, bool with_device) {
  verb.add_flag("--json", flags.json, "print one JSON object on standard output");
  if (with_device) {
    std::string chips;
    for (const std::string& chip : cupilot::known_chips())
      chips += (chips.empty() ? "" : ", ") + chip;
    verb.add_option("--device", flags.device,
                    "auto, cuda:N, virtual:CHIP (" + chips + "), recorded:DIR or fake:FILE")
        ->capture_default_str();
  }
}

void add_families(CLI::App& verb, CommonFlags& flags) {
  verb.add_option("--family", flags.families,
                  "a folder that holds a family of your own (docs/formats/family.md)")
      ->check(CLI::ExistingDirectory);
}

void add_counters(CLI::App& verb, CommonFlags& flags) {
  verb.add_flag("!--no-counters", flags.counters,
                "read no hardware counters: the virtual device's counts stand in");
}

void add_settings(CLI::App& verb, KernelFlags& flags) {
  verb.add_option("--set", flags.set,
                  "NAME=VALUE of a parameter of the tunable; the others are plain. Repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_flag("--as-is", flags.as_is,
                "keep the numbers of a strategy that a run found at other sizes");
}

void add_plan(CLI::App& verb, KernelFlags& flags) {
  verb.add_option("--launch", flags.launch, "launch plan (JSON) where the file carries none");
  verb.add_option("--entry", flags.entry,
                  "of a file with several kernels, the one meant; the others are left out");
  verb.add_option("-I", flags.include,
                  "a folder of the kernel's own headers; those beside the file are found anyway. "
                  "Repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

struct Verbs {
  EvolveFlags evolve;
  SuiteFlags suite;
  WisdomFlags wisdom;
  RunFlags resume, report, show;
  ExplainFlags explain;
  KernelFlags verify, sanitize, profile, bench, write;
  CaptureFlags capture;
  PeaksFlags peaks;
  RecordFlags record;
  TaskFlags task_check, task_new;
  ReplayFlags replay;
  PlanFlags plan;
  TasksFlags tasks;
  CommonFlags techniques, operators, doctor;
  std::function<int()> chosen;
};

// Has the verb run its command with what its flags said.
template <class Flags>
void choose(CLI::App& verb, Verbs& verbs, int (*command)(const Flags&), const Flags& flags) {
  verb.callback(
      [&verbs, command, &flags] { verbs.chosen = [command, &flags] { return command(flags); }; });
}

const CLI::Validator models_words(
    [](std::string& text) -> std::string { return fault_of_models(text); }, "");

CLI::Option* add_models(CLI::App& verb, SeatFlags& flags, const std::string& what) {
  CLI::Option* models =
      verb.add_option("--models", flags.models,
                      what +
                          ": a file (docs/formats/models.md), URL#MODEL, or handoff:DIR for files "
                          "that anybody answers (docs/models.md)")
          ->check(models_words);
  verb.add_option("--patience", flags.patience,
                  "stop in order after so many seconds in which only models are waited for; 0: "
                  "wait")
      ->check(quantity)
      ->needs(models);
  return models;
}

void add_seats(CLI::App& verb, SeatFlags& flags) {
  CLI::Option* models = add_models(verb, flags, "language models beside the built-in strategist");
  verb.add_option("--tape", flags.tape, "models' answers from this tape, without endpoint or key")
      ->check(CLI::ExistingFile)
      ->excludes(models);
  const std::vector<CLI::Option*> of_models = {
      verb.add_option("--model-share", flags.share, "share of the slots that models propose for")
          ->capture_default_str()
          ->check(CLI::Range(0.0, 1.0)),
      verb.add_option(
              "--strategies", flags.later,
              "strategies that a model is asked for in each question after the first; those "
              "left over wait for its next slots")
          ->capture_default_str()
          ->transform(whole(1, 16)),
      verb.add_option("--repairs", flags.repairs,
                      "how often a refused kernel goes back to its model")
          ->capture_default_str()
          ->transform(whole<int>(0)),
      verb.add_option("--statement", flags.statement,
                      "a file that says what the task computes, such as its PyTorch module, for a "
                      "model's first kernels")
          ->check(CLI::ExistingFile),
      verb.add_flag("!--no-prose", flags.prose,
                    "let no model rewrite the reason of a strategy that alignment changed"),
      verb.add_flag("!--no-alignment", flags.alignment,
                    "believe models' strategies without looking at the PTX: for research"),
      verb.add_flag("--code-crossover", flags.code_crossover,
                    "models cross source texts instead of strategies: for research")};
  verb.parse_complete_callback([of_models, &flags] {
    if (!flags.models.empty() || !flags.tape.empty()) return;
    for (const CLI::Option* option : of_models) {
      if (option->count() > 0) throw CLI::RequiresError(option->get_name(), "--models or --tape");
    }
  });
}

void add_budget(CLI::App& verb, EvolveFlags& flags) {
  verb.add_option("--evaluations", flags.evaluations, "kernels handed to the compiler at most")
      ->capture_default_str()
      ->transform(whole<std::int64_t>(1));
  verb.add_option(
          "--seconds", flags.seconds,
          "wall clock of the whole run, confirmation included, seconds; a first kernel, and a "
          "virtual device's confirmation, may take as many again, at least 10; 0: no limit")
      ->check(quantity);
  verb.add_option("--generations", flags.generations, "generations at most; 0: no limit")
      ->transform(whole<int>(0));
  verb.add_option("--target", flags.target_us, "stop at this time, microseconds; 0: none")
      ->check(quantity);
}

void add_portfolio(CLI::App& verb, EvolveFlags& flags) {
  CLI::Option* shapes =
      verb.add_option(
              "--shapes", flags.shapes,
              "a file of weighted shapes, a line each: a portfolio of kernels for all of them")
          ->check(CLI::ExistingFile)
          ->excludes("--models")  // models see one shape
          ->excludes("--tape");
  verb.add_option("--keep", flags.keep,
                  "kernels of a portfolio at most, a fallback for other shapes not counted; 0: as "
                  "few as reach --regret")
      ->transform(whole<int>(0))
      ->needs(shapes);
  verb.add_option("--regret", flags.regret,
                  "mean loss against the best kernel of each shape, percent")
      ->capture_default_str()
      ->check(quantity)
      ->needs(shapes);
  verb.add_option("--wisdom", flags.wisdom,
                  "file that keeps the portfolio (default wisdom.json in the run directory)")
      ->needs(shapes);
}

void add_evolve(CLI::App& app, Verbs& verbs) {
  EvolveFlags& flags = verbs.evolve;
  CLI::App* verb = app.add_subcommand("evolve", "evolve the fastest proven kernel for a task");
  verb->add_option(
      "task", flags.task,
      "FAMILY key=value …, SUITE:LEVEL/ID axis=size …, or a task file (see `cupilot tasks`); or a "
      "folder of `cupilot capture`, or a launch in one, as a baseline of --task");
  add_captured(*verb, flags);
  add_common(*verb, flags.common, true);
  add_families(*verb, flags.common);
  add_budget(*verb, flags);
  verb->add_option("--seed", flags.seed, "same seed and same pool, same search")
      ->capture_default_str()
      ->transform(whole<std::uint64_t>(0));
  verb->add_option("--threads", flags.threads, "evaluations in flight; 0: what the device can use")
      ->transform(whole<int>(0));
  verb->add_option("--run", flags.run_dir, "run directory to make (default runs/<time>-<task>)");
  verb->add_option("--tunable", flags.tunables,
                   "a tunable .cu of your own, beside the built-in ones");
  verb->add_option("--policy", flags.policy,
                   "who proposes: evolution, or random as a baseline for research")
      ->check(CLI::IsMember({"evolution", "random"}))
      ->capture_default_str();
  verb->add_flag_callback(
      "--random", [&flags] { flags.policy = "random"; }, "the same as --policy random");
  add_seats(*verb, flags.seats);
  add_steering(*verb, flags);
  verb->add_flag("!--no-screen", flags.screen,
                 "do not interpret candidates of a real device on a virtual one first");
  verb->add_flag("!--no-plain", flags.plain, "do not time the task's reference as a baseline");
  add_against(*verb, flags.against, "), kernel files with a plan, folders of `cupilot capture`");
  add_counters(*verb, flags.common);
  add_portfolio(*verb, flags);
  verb->callback([&verbs] {
    verbs.chosen = [&verbs] {
      return verbs.evolve.shapes.empty() ? evolve_command(verbs.evolve)
                                         : portfolio_command(verbs.evolve);
    };
  });
}

void add_suite(CLI::App& app, Verbs& verbs) {
  SuiteFlags& flags = verbs.suite;
  CLI::App* verb = app.add_subcommand("suite", "evolve the tasks of a suite, one after another");
  verb->add_option("suite", flags.suite, "such as kernelbench:1, or a suite file");
  add_common(*verb, flags.common, true);
  verb->add_option("--run", flags.run_dir, "run directory to make or to go on with")->required();
  verb->add_option("--only", flags.only, "ids of tasks, separated by commas")->delimiter(',');
  verb->add_option("--seconds-per-task", flags.seconds,
                   "wall clock of a task without its contestants; 0: no limit")
      ->capture_default_str()
      ->check(quantity);
  verb->add_option("--evaluations", flags.evaluations, "of a task, at most")
      ->capture_default_str()
      ->transform(whole<std::int64_t>(1));
  verb->add_option("--seed", flags.seed, "of every search")
      ->capture_default_str()
      ->transform(whole<std::uint64_t>(0));
  add_against(*verb, flags.against, ")");
  verb->add_option("--pool", flags.pool,
                   "file of a strategy pool, or off (default: pool.sqlite in the run directory)");
  CLI::Option* pack = verb->add_option("--pack", flags.pack,
                                       "write what has ended into this .tar.xz, of at most 16 MiB");
  verb->add_option("--unpack", flags.unpack, "make the run directory of such an archive first")
      ->check(CLI::ExistingFile)
      ->excludes(pack);
  choose(*verb, verbs, suite_command, verbs.suite);
}

void add_wisdom(CLI::App& app, Verbs& verbs) {
  WisdomFlags& flags = verbs.wisdom;
  CLI::App* verb = app.add_subcommand("wisdom", "what a wisdom file holds; dispatchers from it");
  verb->add_option("file", flags.file, "a wisdom file (see `cupilot evolve --shapes`)")
      ->required()
      ->check(CLI::ExistingFile);
  CLI::Option* dispatcher =
      verb->add_option("--dispatcher", flags.dispatcher,
                       "folder to write a C++ header with the kernels and a launcher into");
  verb->add_option("--entry", flags.entry, "one entry, from 1, instead of all")
      ->transform(whole<int>(1));
  verb->add_option("--name", flags.name, "name of the dispatcher (default: the task's)")
      ->needs(dispatcher);
  verb->add_flag("--json", flags.json, "print one JSON object on standard output");
  choose(*verb, verbs, wisdom_command, verbs.wisdom);
}

void add_run_verbs(CLI::App& app, Verbs& verbs) {
  CLI::App* resume =
      app.add_subcommand("resume", "continue a run directory as if it had never stopped");
  resume->add_option("dir", verbs.resume.dir, "run directory")->required();
  verbs.resume.common.device = "";
  add_common(*resume, verbs.resume.common, true);
  resume
      ->add_option("--evaluations", verbs.resume.evaluations,
                   "raise the limit to so many in all; fewer change nothing")
      ->transform(whole<std::int64_t>(0));
  resume->add_option("--seconds", verbs.resume.seconds, "wall clock for the rest, seconds")
      ->check(quantity);
  resume->add_flag("--other-card", verbs.resume.other_card,
                   "go on with another card of the model that the run began on");
  resume->add_option("--threads", verbs.resume.threads, "evaluations in flight")
      ->transform(whole<int>(0));
  add_models(*resume, verbs.resume.seats, "the language models that the run goes on with");
  resume->add_option("--pool", verbs.resume.pool,
                     "strategy pool to tell of the champion; off: none (default: the run's own)");
  choose(*resume, verbs, resume_command, verbs.resume);

  CLI::App* report = app.add_subcommand("report", "summary of a run; writes report.html");
  report->add_option("dir", verbs.report.dir, "run directory")->required();
  add_common(*report, verbs.report.common, false);
  choose(*report, verbs, report_command, verbs.report);

  CLI::App* show =
      app.add_subcommand("show", "strategy, source, evidence and lineage of a candidate");
  show->add_option("dir", verbs.show.dir, "run directory")->required();
  show->add_option("which", verbs.show.which,
                   "best, a candidate's number, or four digits of its kernel's id")
      ->capture_default_str();
  add_common(*show, verbs.show.common, false);
  choose(*show, verbs, show_command, verbs.show);

  CLI::App* explain = app.add_subcommand(
      "explain", "what each technique of a run's champion is worth, taken away one at a time");
  explain->add_option("dir", verbs.explain.dir, "run directory")->required();
  verbs.explain.common.device = "";
  add_common(*explain, verbs.explain.common, true);
  explain->add_option("--rounds", verbs.explain.rounds, "visits of each contestant")
      ->capture_default_str()
      ->transform(whole<int>(1));
  explain->add_flag("!--no-screen", verbs.explain.screen,
                    "do not interpret kernels on a virtual device before a real one");
  choose(*explain, verbs, explain_command, verbs.explain);
}

void add_model_verbs(CLI::App& app, Verbs& verbs) {
  CLI::App* plan = app.add_subcommand(
      "plan", "what a run with language models would ask and cost, without asking");
  plan->add_option("task", verbs.plan.task,
                   "FAMILY key=value …, SUITE:LEVEL/ID axis=size …, or a task file")
      ->required();
  plan->add_option("--models", verbs.plan.models, "as evolve takes them (docs/formats/models.md)")
      ->required()
      ->check(models_words);
  plan->add_option("--evaluations", verbs.plan.evaluations, "of the run")
      ->transform(whole<std::int64_t>(1))
      ->capture_default_str();
  plan->add_option("--model-share", verbs.plan.share, "of the slots that models propose for")
      ->check(CLI::Range(0.0, 1.0));
  plan->add_option("--strategies", verbs.plan.later, "as evolve takes them")
      ->capture_default_str()
      ->transform(whole(1, 16));
  plan->add_option("--repairs", verbs.plan.repairs, "as evolve takes them")
      ->capture_default_str()
      ->transform(whole<int>(0));
  verbs.plan.common.device = "virtual:h200";
  add_common(*plan, verbs.plan.common, true);
  add_families(*plan, verbs.plan.common);
  choose(*plan, verbs, plan_command, verbs.plan);

  ReplayFlags& flags = verbs.replay;
  CLI::App* replay =
      app.add_subcommand("replay", "repeat a run from its directory, without device, model or key");
  replay->add_option("dir", flags.dir, "run directory")->required();
  replay->add_option("--policy", flags.policy, "who proposes: run (as it was), rules, random")
      ->check(CLI::IsMember({"run", "rules", "random"}))
      ->capture_default_str();
  replay->add_option("--seed", flags.seed, "another seed than the run's")
      ->transform(whole<std::int64_t>(0));
  replay->add_flag("--json", flags.json, "print one JSON object on standard output");
  choose(*replay, verbs, replay_command, verbs.replay);
}

void add_verify(CLI::App& app, Verbs& verbs) {
  CLI::App* verify = app.add_subcommand(
      "verify", "prove a kernel of your own: safe, right, how fast against the floor");
  verify
      ->add_option("file", verbs.verify.files,
                   "a .cu file: a kernel, or a tunable; a .json file: a strategy; a capture")
      ->required()
      ->expected(1);
  add_settings(*verify, verbs.verify);
  verify->add_option("--task", verbs.verify.task, "FAMILY key=value …, or a task file");
  add_bind(*verify, verbs.verify.bind);
  add_plan(*verify, verbs.verify);
  verify->add_option("--seed", verbs.verify.seed, "seed of the contents")
      ->transform(whole<std::uint64_t>(0));
  verify->add_flag("!--no-screen", verbs.verify.screen,
                   "do not interpret it on a virtual device before a real one");
  add_common(*verify, verbs.verify.common, true);
  add_families(*verify, verbs.verify.common);
  choose(*verify, verbs, verify_command, verbs.verify);
}

void add_sanitize(CLI::App& app, Verbs& verbs) {
  CLI::App* sanitize = app.add_subcommand(
      "sanitize", "look for bad accesses, races and unwritten memory: a plan and no task");
  sanitize->add_option("file", verbs.sanitize.files, "a .cu or .ptx file, or a capture")
      ->required()
      ->expected(1);
  add_plan(*sanitize, verbs.sanitize);
  verbs.sanitize.common.device = "virtual:h200";
  add_common(*sanitize, verbs.sanitize.common, true);
  choose(*sanitize, verbs, sanitize_command, verbs.sanitize);
}

void add_profile(CLI::App& app, Verbs& verbs) {
  CLI::App* profile = app.add_subcommand(
      "profile", "where a kernel's work and its modelled time go, by instruction and source line");
  profile
      ->add_option("file", verbs.profile.files,
                   "a .cu file: a kernel, or a tunable; a .json file: a strategy")
      ->required()
      ->expected(1);
  add_settings(*profile, verbs.profile);
  profile->add_option("--task", verbs.profile.task, "FAMILY key=value …, or a task file");
  add_plan(*profile, verbs.profile);
  profile->add_option("--only", verbs.profile.only, "of a plan's launches, the one to show");
  profile->add_option("--line-count", verbs.profile.line_count, "source lines to show")
      ->transform(whole<int>(1));
  verbs.profile.common.device = "virtual:h200";
  add_common(*profile, verbs.profile.common, true);
  add_families(*profile, verbs.profile.common);
  add_counters(*profile, verbs.profile.common);
  choose(*profile, verbs, profile_command, verbs.profile);
}

void add_peaks(CLI::App& app, Verbs& verbs) {
  CLI::App* peaks = app.add_subcommand(
      "peaks", "measure what a device sustains, for verdicts and models; takes some seconds");
  peaks->add_option(
      "--out", verbs.peaks.out,
      "the file that keeps it (default cupilot/peaks.json in the user's data folder)");
  verbs.peaks.common.device = "cuda:0";
  add_common(*peaks, verbs.peaks.common, true);
  choose(*peaks, verbs, peaks_command, verbs.peaks);
}

void add_bench(CLI::App& app, Verbs& verbs) {
  CLI::App* bench = app.add_subcommand(
      "bench", "time proven kernels against each other and the baselines, interleaved");
  bench->add_option("files", verbs.bench.files, ".cu files of one task")->required();
  bench->add_option("--task", verbs.bench.task, "FAMILY key=value …, or a task file");
  bench->add_option("--launch", verbs.bench.launch, "launch plan (JSON) where a file carries none");
  bench
      ->add_option("--against", verbs.bench.against,
                   "cublaslt, plain, torch and the other contestants of evolve")
      ->delimiter(',');
  bench->add_option("--rounds", verbs.bench.rounds, "visits of each contestant")
      ->transform(whole<int>(1));
  bench->add_option("--seed", verbs.bench.seed, "seed of the contents")
      ->transform(whole<std::uint64_t>(0));
  add_common(*bench, verbs.bench.common, true);
  add_families(*bench, verbs.bench.common);
  choose(*bench, verbs, bench_command, verbs.bench);
}

void add_record(CLI::App& app, Verbs& verbs) {
  CLI::App* record = app.add_subcommand(
      "record", "measure drawn strategies and keep them as a landscape for recorded:DIR");
  record->add_option("task", verbs.record.task, "FAMILY key=value …, or a task file")->required();
  record->add_option("--out", verbs.record.dir, "directory to make")->required();
  record->add_option("--count", verbs.record.count, "strategies to draw")
      ->transform(whole<std::int64_t>(1));
  record->add_flag("--all", verbs.record.all, "every feasible strategy: an exhaustive search");
  record->add_option("--seed", verbs.record.seed, "seed of the draw")
      ->transform(whole<std::uint64_t>(0));
  record->add_option("--tunable", verbs.record.tunables,
                     "a tunable .cu of your own, beside the built-in ones");
  add_common(*record, verbs.record.common, true);
  add_families(*record, verbs.record.common);
  choose(*record, verbs, record_command, verbs.record);
}

void add_lists(CLI::App& app, Verbs& verbs) {
  CLI::App* task = app.add_subcommand("task", "work on a task of your own");
  task->require_subcommand(1);
  CLI::App* check =
      task->add_subcommand("check", "whether the task's own check tells right from wrong");
  check->add_option("task", verbs.task_check.task, "FAMILY key=value …, or a task file")
      ->required();
  add_common(*check, verbs.task_check.common, true);
  add_families(*check, verbs.task_check.common);
  choose(*check, verbs, task_check_command, verbs.task_check);
  CLI::App* fresh = task->add_subcommand(
      "new", "a folder with a task, its reference and a tunable, ready to be changed");
  fresh->add_option("name", verbs.task_new.name, "of the task and its folder")->required();
  fresh->add_option("--family", verbs.task_new.family,
                    "which tunables serve it (default: the name)");
  choose(*fresh, verbs, task_new_command, verbs.task_new);
  CLI::App* tasks = app.add_subcommand("tasks", "the tasks it knows and their keys");
  add_common(*tasks, verbs.tasks.common, false);
  add_families(*tasks, verbs.tasks.common);
  tasks->add_option("--suite", verbs.tasks.suite, "those of a suite, such as kernelbench:1");
  choose(*tasks, verbs, tasks_command, verbs.tasks);
  CLI::App* techniques =
      app.add_subcommand("techniques", "the catalogue of optimization techniques");
  add_common(*techniques, verbs.techniques, false);
  add_families(*techniques, verbs.techniques);
  choose(*techniques, verbs, techniques_command, verbs.techniques);
  CLI::App* operators =
      app.add_subcommand("operators", "the operators that a task's graph is made of");
  add_common(*operators, verbs.operators, false);
  choose(*operators, verbs, operators_command, verbs.operators);
  CLI::App* doctor =
      app.add_subcommand("doctor", "what this machine has, and what each lack costs");
  add_common(*doctor, verbs.doctor, false);
  choose(*doctor, verbs, doctor_command, verbs.doctor);
}

void add_tunable_verbs(CLI::App& app, Verbs& verbs) {
  CLI::App* tunable = app.add_subcommand("tunable", "work on a tunable of your own");
  tunable->require_subcommand(1);
  CLI::App* from_lists = tunable->add_subcommand(
      "import", "says which script makes one from another tuner's parameter lists and a kernel");
  from_lists->allow_extras();
  from_lists->callback([&verbs] { verbs.chosen = [] { return tunable_import_command(); }; });
  CLI::App* write = tunable->add_subcommand(
      "write", "a tunable's kernel at one setting, as a kernel file on standard output");
  write
      ->add_option("file", verbs.write.files,
                   "a tunable .cu file, or the name of a built-in template of the task")
      ->required()
      ->expected(1);
  add_settings(*write, verbs.write);
  write->add_option("--task", verbs.write.task, "FAMILY key=value …, or a task file")->required();
  verbs.write.common.device = "virtual:h200";
  add_common(*write, verbs.write.common, true);
  add_families(*write, verbs.write.common);
  choose(*write, verbs, tunable_write_command, verbs.write);
}

bool asks_json(int argc, char** argv) {
  // Words behind -- are of another program.
  char** const end = std::find(argv + 1, argv + argc, std::string_view("--"));
  return std::any_of(argv + 1, end, [](std::string_view word) { return word == "--json"; });
}

// CLI11 names a wrong word; this adds the nearest right one.
void explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> known;
  const CLI::App* verb = &app;
  std::string path = "cupilot ";
  int place = 1;  // of the next verb among the arguments
  for (; !verb->get_subcommands().empty(); ++place) {
    verb = verb->get_subcommands().back();
    path += verb->get_name() + " ";
  }
  for (const CLI::App* sub : verb->get_subcommands({})) known.push_back(sub->get_name());
  const bool lacks_verb = !known.empty() && argc > place && argv[place][0] != '-';
  std::string said = error.what();
  if (lacks_verb)
    said = fmt::format("'{}' is no command{}", argv[place],
                       verb == &app ? "" : " of '" + path.substr(0, path.size() - 1) + "'");
  std::fprintf(stderr, "cupilot: %s\n", said.c_str());
  for (const CLI::Option* option : verb->get_options())
    known.push_back("--" + option->get_single_name());
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    const bool is_flag = word.rfind("--", 0) == 0;
    const bool is_verb = lacks_verb && i == place;
    if (!is_flag && !is_verb) continue;
    const std::string near = nearest(word, known);
    if (!near.empty() && near != word)
      std::fprintf(stderr, "  %s: did you mean %s?\n", word.c_str(), near.c_str());
    else if (is_flag && word != "--" && verb->get_option_no_throw(word) == nullptr)
      std::fprintf(stderr, "  %s is no option of '%s'\n", word.c_str(),
                   path.substr(0, path.size() - 1).c_str());
  }
  const std::string help = path + "--help";
  std::fprintf(stderr, "  see: %s\n", help.c_str());
  if (asks_json(argc, argv)) say(error_json({cupilot::ErrorCode::usage, said, "see: " + help}));
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  Verbs verbs;
  CLI::App app("cupilot: evolves CUDA kernels and proves them");
  app.set_version_flag("--version", std::string("cupilot ") + cupilot::version);
  app.require_subcommand(1);
  add_evolve(app, verbs);
  add_suite(app, verbs);
  add_wisdom(app, verbs);
  add_run_verbs(app, verbs);
  add_model_verbs(app, verbs);
  add_verify(app, verbs);
  add_sanitize(app, verbs);
  add_profile(app, verbs);
  add_peaks(app, verbs);
  add_bench(app, verbs);
  add_record(app, verbs);
  add_capture(app, verbs.capture, verbs.chosen);
  add_lists(app, verbs);
  add_tunable_verbs(app, verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    explain(app, error, argc, argv);
    return static_cast<int>(cupilot::ErrorCode::usage);
  }
  try {
    const int code = end_of_output(verbs.chosen());
    return signal_exit_code() != 0 ? signal_exit_code() : code;
  } catch (const std::exception& error) {
    return fail({cupilot::ErrorCode::failure, error.what(), ""}, asks_json(argc, argv));
  }
}
