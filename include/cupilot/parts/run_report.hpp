// Reads a run directory once, however long its journal, to show all of it or to continue it;
// repeats a run from its directory without device or model: the journal answers for the device, the
// tape for the models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/roofline_chart.hpp>
#include <cupilot/result.hpp>
#include <cupilot/search.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// The part of a run that is needed to open its device. Proposals and results are skipped.
struct RunBeginning {
  Task task{};
  std::string device_name{};  // to open the backend again
  std::uint64_t seed = 1;
  bool models = false;  // language models took part, from the beginning or since a resume
};
Result<RunBeginning> read_beginning(const std::string& run_dir);

// read_run, write_report and roofline_of_run in one.
struct RunReport {
  RunSummary summary{};
  Result<RooflineChart> chart;
  Result<std::string> page;  // path of report.html; Error: it could not be written
};
// A table of the caller's for the page; its first row is the head.
struct ReportTable {
  std::string title{};
  std::vector<std::vector<std::string>> rows{};
};
Result<RunReport> report_run(const std::string& run_dir,
                             const std::vector<ReportTable>& tables = {});

// One proposal of a run with what became of it.
struct RunOutcome {
  std::int64_t slot = 0;
  Strategy proposed{};    // before alignment
  Candidate candidate{};  // without its text
};
// All that have a result, by slot. Error{usage}: no run directory, or a damaged one.
Result<std::vector<RunOutcome>> outcomes_of_run(const std::string& run_dir);

struct ReplayOptions {
  // Answers for the run's models, such as open_tape() of its tape; null: the built-in strategist
  // proposes in their place. The built-in strategist also proposes where a question has no answer,
  // as it did in the run.
  ChatClient* chat = nullptr;
  // Makes the strategist from the run's task, device, options and own strategist, which outlives
  // it; null: the own strategist.
  std::function<Result<std::unique_ptr<Strategist>>(const Task&, const DeviceSpec&,
                                                    const SearchOptions&, Strategist&)>
      strategist{};
  // Changes options before the search begins: a seed, a population, disabled features. default: as
  // recorded.
  std::function<void(SearchOptions&)> change{};
  std::optional<bool> random_search{};  // the built-in strategist: random_strategist or
                                        // rule_strategist; nullopt: the run's
};

struct ReplayReport {
  std::int64_t proposed = 0;
  std::int64_t same = 0;                // proposals equal to the run's of the same slot
  std::int64_t first_other_slot = -1;   // first that differs; -1: none
  std::int64_t unknown = 0;             // proposals without outcome in the run; they count as lost
  std::int64_t recorded = 0;            // proposals of the run
  double best_us = 0, run_best_us = 0;  // fastest of the search; 0: none
  Provenance provenance = Provenance::modelled;  // provenance of both
  std::string best_strategy{};                   // describe()
};

// Searches again with as many proposals as the run made. With the run's own policy every proposal
// is the same. Error{usage}: no run directory, or one without baselines; errors of the strategist.
Result<ReplayReport> replay(const std::string& run_dir, const ReplayOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
