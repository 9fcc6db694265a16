#include "evolution/journal/tally.hpp"

#include <fmt/format.h>

#include <cupilot/parts/run_report.hpp>

#include "base/counting_seconds.hpp"
#include "base/guard.hpp"
#include "evolution/journal/kept_families.hpp"
#include "evolution/journal/program_record.hpp"
#include "evolution/journal/run_files.hpp"

namespace cupilot {
namespace {

// One screen line a generation.
std::string line_of(const Progress& p, Provenance how) {
  std::int64_t refused = 0;
  for (const auto& [code, count] : p.rejected) refused += count;
  return fmt::format(
      "epoch {} generation {}: {} evaluated, {} verified, {} rejected, best {:.4g} us {}: {}",
      p.epoch, p.generation, p.evaluations, p.accepted, refused, p.best_us, name_of(how),
      p.best_strategy);
}

// Notices on tails that resumes set aside and that can still be read.
std::vector<std::string> notices_of_torn(Host& host, const std::string& run_dir) {
  std::vector<std::string> notices;
  for (int number = 1; host.exists(torn_path(run_dir, number)); ++number) {
    std::int64_t records = 0;
    const auto bytes = host.read_file(torn_path(run_dir, number));
    if (bytes) find_records(*bytes, 0, [&](const FramedRecord&) { ++records; });
    if (records == 0) continue;
    notices.push_back(
        fmt::format("{} holds {} whole records that lay behind a damaged one; the search went on "
                    "from before it",
                    torn_path(run_dir, number), records));
  }
  return notices;
}

}  // namespace

void Tally::take_lines(bool closed) {
  for (const Progress& progress : ledger_.take_finished({}, closed))
    lines_.push_back(line_of(progress, how_));
}

void Tally::take(const SearchEvent& event) {
  if (const auto* proposal = std::get_if<Proposal>(&event)) ledger_.propose(*proposal);
  const auto* decision = std::get_if<DecisionRecord>(&event);
  if (decision != nullptr && decision->kind != "models") stopped_ = decision->reason;
  const auto* result = std::get_if<ResultRecord>(&event);
  if (result == nullptr) return;
  ledger_.settle(*result);
  take_lines(false);
}

EvolveReport Tally::report(const RunState& state, Host& host, const std::string& run_dir) const {
  EvolveReport report;
  report.stopped = stopped_;
  if (state.baselines) {
    report.baselines = state.baselines->baselines;
    report.notices = state.baselines->notices;
  }
  FirstRefusals refusals = ledger_.first_refusals();
  for (const FinalRecord& record : state.finals) {
    const auto* rejected = std::get_if<Rejected>(&record.candidate.outcome);
    if (rejected != nullptr) keep_first(refusals, first_refusal(record.candidate));
    if (record.stage == plain_stage) {
      if (rejected != nullptr) ++report.rejected[rejected->code];
    } else if (std::holds_alternative<Accepted>(record.candidate.outcome)) {
      report.best = best_of(record);
      if (auto source = kept_source(host, run_dir, record.candidate.kernel_id))
        report.best->candidate.source = std::move(*source);
      report.notices.insert(report.notices.end(), record.notices.begin(), record.notices.end());
      for (std::string& alarm : drift_alarms(*report.best))
        report.notices.push_back(std::move(alarm));
    } else {
      ++report.rejected["confirm.failed"];
    }
  }
  for (const auto& [code, count] : ledger_.rejected()) report.rejected[code] += count;
  report.evaluations = ledger_.evaluations();
  report.proposed = ledger_.proposed();
  report.phase_seconds = ledger_.phases();
  CpuSpent cpu = ledger_.cpu();
  report.seed = state.header.search.seed;
  report.device = state.header.identity;
  report.run_dir = run_dir;
  if (state.end) {
    report.stopped = state.end->stopped;
    report.wall_seconds = state.end->wall_seconds;
    report.resumed = state.end->resumed;
    report.part_seconds = state.end->parts;
    for (const auto& [path, seconds] : state.end->phases) report.phase_seconds[path] += seconds;
    cpu.add(state.end->cpu);
  }
  const std::vector<std::string>& tunables = state.header.tunables;
  const auto families = kept_families(host, run_dir);
  report.refusals = explained(refusals, host, run_dir,
                              own_templates(tunables, kept_tunables(host, run_dir, tunables),
                                            families ? *families : Families()));
  tell_cpu(report, std::move(cpu));
  report.counting_seconds = counting_seconds(report.phase_seconds);
  return report;
}

Result<RunWalk> walk_run(Host& host, const std::string& run_dir, const EventVisitor& also) {
  Tally tally;
  std::optional<ForecastScore> score;
  const Folding* so_far = nullptr;
  std::vector<std::string> programs = program_lines(host, run_dir);
  const bool is_program = !programs.empty();
  Folding folding([&](SearchEvent event, const FramedRecord& record) {
    const auto* result = is_program ? std::get_if<ResultRecord>(&event) : nullptr;
    if (result != nullptr) programs.push_back(program_line(result->candidate));
    if (!score) {
      score.emplace(so_far->state());
      tally.times_are(so_far->state().header.provenance);
    }
    tally.take(event);
    score->take(event);
    if (also) also(event, record);
  });
  so_far = &folding;
  JournalReader reader(host, run_dir);
  for (auto part = reader.next();; part = reader.next()) {
    if (!part) return part.error();
    if (part->empty()) break;
    if (auto added = folding.add(*part); !added) return added.error();
  }
  auto state = folding.end();
  if (!state) return state.error();
  tally.close();
  RunWalk walk{std::move(*state), {}};
  walk.summary.report = tally.report(walk.state, host, run_dir);
  std::vector<std::string>& notices = walk.summary.report.notices;
  for (std::string& notice : notices_of_torn(host, run_dir)) notices.push_back(std::move(notice));
  if (!reader.damage().empty()) {
    notices.push_back(
        torn_notice(journal_path(run_dir), reader.damage(), reader.beyond(),
                    "`cupilot resume` sets aside what begins there and goes on from before it"));
  }
  walk.summary.device_name = walk.state.header.device_name;
  walk.summary.lines = tally.lines();
  walk.summary.models = walk.state.models;
  walk.summary.task = walk.state.task;
  if (std::string sentence = score ? score->sentence() : ""; !sentence.empty()) {
    notices.push_back(std::move(sentence));
  }
  const std::optional<Best>& best = walk.summary.report.best;
  if (is_program && best)
    programs.push_back(taken_line(best->candidate, walk.summary.report.evaluations));
  for (std::string& line : programs) notices.push_back(std::move(line));
  return walk;
}

Result<RunBeginning> read_beginning(const std::string& run_dir) {
  return guarded([&]() -> Result<RunBeginning> {
    Folding folding([](const SearchEvent&, const FramedRecord&) {});
    JournalReader reader(real_host(), run_dir);
    for (auto part = reader.next();; part = reader.next()) {
      if (!part) return part.error();
      if (part->empty()) break;
      std::erase_if(*part, is_of_the_search);
      if (auto added = folding.add(*part); !added) return added.error();
    }
    auto state = folding.end();
    if (!state) return state.error();
    return RunBeginning{std::move(state->task), state->header.device_name,
                        state->header.search.seed, state->models};
  });
}

}  // namespace cupilot
