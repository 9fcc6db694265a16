// The journal's payloads and their JSON (docs/formats/journal.md). Text in, text out:
// JSON stays in the .cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/pool.hpp>
#include <cupilot/search.hpp>

#include "base/phases.hpp"
#include "base/record_type.hpp"

namespace cupilot {

inline constexpr int journal_format = 1;

struct HeaderRecord {
  int format = journal_format;
  std::string program;  // version that wrote it
  std::string task_json;
  std::vector<std::string> task_words;
  SearchOptions search;
  double max_seconds = 0;
  std::vector<std::string> tunables;
  bool random_search = false;
  bool plain_baseline = true;        // the task's reference is timed
  std::vector<std::string> against;  // contestants that the champion is timed against
  std::vector<OwnBaseline> own_baselines;
  std::optional<SeatOptions> seats;  // options of models; nothing: there are none
  std::string device_name;           // to open the backend again
  std::string identity;              // Backend::identity()
  Provenance provenance = Provenance::modelled;
  DeviceSpec device;
  std::vector<Technique> techniques;  // Backend::techniques(): of a device that spans its own space
  std::string screen;  // identity of the virtual device that proves candidates first; "": none
  std::vector<Strategy> remembered;  // Knowledge::remembered: what the strategy pool said
  std::vector<StrategyBrief::Effect> remembered_effects;
  std::vector<PoolOutcome> learnt;  // outcomes that forecasts learnt from
  std::string pool;                 // the strategy pool that is told of the champion; "": none
  std::vector<std::string> pool_tags;
  std::string started;  // UTC
};

struct BaselinesRecord {
  std::vector<Baseline> baselines;
  std::vector<std::string> notices;
  double floor_us = 0;
};

// Time of the kernel that the task's reference text makes. 0: it was not timed.
double plain_time_us(const std::vector<Baseline>& baselines);

struct ResultRecord {
  int epoch = 0, generation = 0;
  std::int64_t slot = 0;
  Candidate
      candidate;  // without source text; `source.template_name` and `source.constants` are kept
  double seconds = 0;  // the whole pipe's; dropped when journals are compared, like its parts
  PhaseSeconds phases;
  CpuSpent cpu;  // its thread's
};

// Something the clock, a signal or a caller decided, which a replay cannot derive.
struct DecisionRecord {
  std::string kind;    // "stop", "extend", "models": they take seats from here on
  std::string reason;  // reason of a stop
  std::int64_t max_evaluations = 0;
  int max_generations = 0;
};

// One finalist: measured again among the fastest, or confirmed; or the plain setting of a template
// that was refused before the first candidate, `slot` -1.
struct FinalRecord {
  std::string stage;  // "again", "confirm", plain_stage
  std::int64_t slot = 0;
  Candidate candidate;
  std::vector<Baseline> baselines;  // interleaved with it
  double ratio_low = 0, ratio_high = 0;
  double gain = 0, gain_noise = 0;   // Best's
  std::vector<std::string> notices;  // contestants without a time
};

inline constexpr const char* plain_stage = "plain setting";

struct EndRecord {
  std::string stopped;
  std::int64_t best_slot = -1;
  std::int64_t evaluations = 0, proposed = 0;
  double wall_seconds = 0;
  PhaseSeconds phases;  // the driver's own thread's
  CpuSpent cpu;
  bool resumed = false;  // wall_seconds, phases and parts are of the last sitting
  PhaseSeconds parts;    // EvolveReport::part_seconds
};

std::string to_json(const HeaderRecord& record);
std::string to_json(const BaselinesRecord& record);
std::string to_json(const Proposal& proposal);
std::string to_json(const ResultRecord& record);
std::string to_json(const DecisionRecord& record);
std::string to_json(const FinalRecord& record);
std::string to_json(const EndRecord& record);

// Error{usage} for another format version, Error{failure} for text that is not what its type says.
Result<HeaderRecord> header_from(std::string_view json);
Result<BaselinesRecord> baselines_from(std::string_view json);
Result<Proposal> proposal_from(std::string_view json);
Result<ResultRecord> result_from(std::string_view json);
// Without Verification::cases, which are most of it.
Result<ResultRecord> result_without_cases(std::string_view json);
Result<DecisionRecord> decision_from(std::string_view json);
Result<FinalRecord> final_from(std::string_view json);
Result<EndRecord> end_from(std::string_view json);

// The sort key of a record and its payload without what depends on the clock: what "equal journals"
// compares.
std::string comparable_record(std::uint32_t type, std::string_view json);

// Evidence of a candidate for a person: who made it, what was proved and by what, its times and
// what they were compared with; indented.
std::string evidence_json(const Best& best, const Task& task, const std::string& device);

}  // namespace cupilot
