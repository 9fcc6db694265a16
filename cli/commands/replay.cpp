#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"
#include "models.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

std::string best_text(double us, Provenance how) {
  return us > 0 ? fmt::format("{} {}", time_text(us), name_of(how)) : "none";
}

void print(const ReplayReport& report, const std::string& dir) {
  const bool whole = report.same == report.recorded;
  say(fmt::format(
      "replayed {}: {} proposals, {} as the run made them{}", dir, report.proposed, report.same,
      whole ? "" : fmt::format("; the first other one is in slot {}", report.first_other_slot)));
  if (report.unknown > 0)
    say(fmt::format("of {} proposals the run knows no outcome: they count as lost",
                    report.unknown));
  say(fmt::format("best {} of the search, {} of the run{}",
                  best_text(report.best_us, report.provenance),
                  best_text(report.run_best_us, report.provenance),
                  report.best_strategy.empty() ? "" : ": " + report.best_strategy));
}

void print_json(const ReplayReport& report) {
  const nlohmann::ordered_json json = {{"proposed", report.proposed},
                                       {"same", report.same},
                                       {"first_other_slot", report.first_other_slot},
                                       {"unknown", report.unknown},
                                       {"recorded", report.recorded},
                                       {"best_us", report.best_us},
                                       {"run_best_us", report.run_best_us},
                                       {"provenance", name_of(report.provenance)},
                                       {"best_strategy", report.best_strategy}};
  say(json.dump());
}

}  // namespace

int replay_command(const ReplayFlags& flags) {
  ReplayOptions options;
  if (flags.policy != "run") options.random_search = false;
  options.change = [&](SearchOptions& search) {
    if (flags.seed >= 0) search.seed = static_cast<std::uint64_t>(flags.seed);
    if (flags.policy == "rules") search.policy = SearchPolicy::evolution;
    if (flags.policy == "random") search.policy = SearchPolicy::random;
  };
  std::unique_ptr<ChatClient> tape;
  if (flags.policy == "run" && real_host().exists(tape_path(flags.dir))) {
    const auto run = read_beginning(flags.dir);
    if (!run) return fail(run.error(), flags.json);
    auto opened = run->models ? open_tape(tape_path(flags.dir)) : std::unique_ptr<ChatClient>();
    if (!opened) return fail(opened.error(), flags.json);
    tape = std::move(*opened);
    options.chat = tape.get();
  }
  const Result<ReplayReport> report = replay(flags.dir, options);
  if (!report) return fail(report.error(), flags.json);
  if (flags.json) {
    print_json(*report);
  } else {
    print(*report, flags.dir);
  }
  return 0;
}

}  // namespace cupilot::cli
