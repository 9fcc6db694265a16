#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/roofline_chart.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"
#include "screens/json_out.hpp"
#include "screens/model_report.hpp"
#include "screens/questions_page.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

namespace {

// The chart of a run, `shown` marked instead of the champion; nothing where no ceilings are known.
void print_roofline(Result<RooflineChart> chart, const Candidate* shown) {
  if (!chart || chart->population.empty() || !chart->floor) return;
  if (const auto* accepted = shown != nullptr ? std::get_if<Accepted>(&shown->outcome) : nullptr) {
    chart->champion = {
        accepted->verdict.intensity, accepted->verdict.achieved_flops,
        fmt::format("#{}: {} {}", shown->id, time_text(accepted->measurement.time_us),
                    name_of(accepted->measurement.provenance))};
  }
  say("\n" + roofline_text(*chart));
}

}  // namespace

int report_command(const RunFlags& flags) {
  const Result<RunBeginning> beginning = read_beginning(flags.dir);
  const std::optional<ModelUse> use =
      beginning && beginning->models ? model_use(flags.dir) : std::nullopt;
  const Result<RunReport> all =
      report_run(flags.dir, use ? model_use_tables(*use) : std::vector<ReportTable>());
  if (!all) return fail(all.error(), flags.common.json);
  const RunSummary* run = &all->summary;
  const Result<std::string>& page = all->page;
  if (flags.common.json) {
    say(report_json(run->report, run->task, use ? &*use : nullptr));
  } else {
    for (const std::string& line : run->lines) say(line);
    print_report(run->report, run->task);
    for (const Refusal& refusal : run->report.refusals) say(refusal_text(refusal));
    print_phases(run->report);
    print_roofline(all->chart, nullptr);
    if (use) say(model_use_text(*use, run->report.evaluations));
    for (const std::string& notice : run->report.notices) say("note: " + notice);
  }
  // A read-only directory still has its summary; only the page is missing. Under --json that was
  // the one object.
  if (!page) return fail(page.error(), false);
  if (!flags.common.json) say("page: " + *page);
  const auto questions =
      use ? write_questions_page(flags.dir, *use, run->report.evaluations) : std::nullopt;
  if (questions && !*questions) return fail(questions->error(), false);
  if (questions && !flags.common.json) say("questions: " + **questions);
  return 0;
}

int show_command(const RunFlags& flags) {
  const Result<RunCandidate> found = read_candidate(flags.dir, flags.which);
  if (!found) return fail(found.error(), flags.common.json);
  if (flags.common.json) {
    say(show_json(*found));
    return 0;
  }
  const Candidate& candidate = found->candidate;
  say(fmt::format("candidate #{}  kernel {:.12}  strategy {:.12}", candidate.id,
                  candidate.kernel_id, candidate.strategy_id));
  say("strategy: " + describe(candidate.strategy));
  if (!candidate.strategy.rationale.empty()) say("because: " + candidate.strategy.rationale);
  if (!found->lineage.empty()) {
    say("\nlineage, nearest first:");
    for (const std::string& line : found->lineage) say("  " + line);
  }
  print_roofline(roofline_of_run(flags.dir), &candidate);
  say("\nevidence:\n" + found->evidence_json);
  if (!candidate.source.text.empty()) say("\nsource:\n" + candidate.source.text);
  return 0;
}

}  // namespace cupilot::cli
