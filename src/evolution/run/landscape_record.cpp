// Recording: strategies, each through the whole pipe, in a journal that recorded:DIR answers from
// and a table for people.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/core.h>

#include <cupilot/version.hpp>

#include "base/stop.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/run/driver.hpp"

namespace cupilot {
namespace {

constexpr int starts = 64;  // samples whose surroundings are walked

// Every feasible strategy that single steps lead to, nearest first.
class EveryStrategist final : public Strategist {
 public:
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    for (int i = 0; !started_ && i < starts; ++i)
      add(sample(*brief.space, rng.fork(static_cast<std::uint64_t>(i))));
    started_ = true;
    while (!waiting_.empty()) {
      Strategy next = std::move(waiting_.front());
      waiting_.pop_front();
      for (Strategy& beside : neighbours(*brief.space, next)) add(std::move(beside));
      if (!brief.tried || !brief.tried(strategy_id(next))) return std::optional(std::move(next));
    }
    return std::optional<Strategy>();
  }

 private:
  void add(Strategy strategy) {
    if (seen_.insert(strategy_id(strategy)).second) waiting_.push_back(std::move(strategy));
  }

  bool started_ = false;
  std::set<std::string> seen_;
  std::deque<Strategy> waiting_;
};

// Notes a line of the table for each candidate, and passes all on.
class TableObserver final : public SearchObserver {
 public:
  explicit TableObserver(SearchObserver* next) : next_(next) {}

  void note(const Candidate& candidate) {
    if (candidate.evaluated) rows_.push_back(row_of(candidate));
  }
  void on_candidate(const Candidate& candidate) override {
    note(candidate);
    if (next_ != nullptr) next_->on_candidate(candidate);
  }
  void on_generation(const Progress& progress) override {
    if (next_ != nullptr) next_->on_generation(progress);
  }
  void on_notice(const std::string& notice) override {
    if (next_ != nullptr) next_->on_notice(notice);
  }

  // A column a parameter, "technique.parameter", empty where the technique is not used; of a
  // switch, "technique".
  std::string csv() const {
    std::set<std::string> columns;
    for (const Row& row : rows_) {
      for (const auto& [name, value] : row.values) columns.insert(name);
    }
    std::string out;
    for (const std::string& column : columns) out += column + ",";
    out += "time_us,rejected\n";
    for (const Row& row : rows_) {
      for (const std::string& column : columns) {
        const auto value = row.values.find(column);
        out += (value == row.values.end() ? "" : std::to_string(value->second)) + ",";
      }
      out += row.time_us > 0 ? fmt::format("{:.4f},\n", row.time_us) : "," + row.rejected + "\n";
    }
    return out;
  }

 private:
  struct Row {
    std::map<std::string, std::int64_t> values;
    double time_us = 0;
    std::string rejected;
  };

  static Row row_of(const Candidate& candidate) {
    Row row;
    for (const Use& use : candidate.strategy.uses) {
      if (use.values.empty()) row.values[use.technique] = 1;
      for (const auto& [parameter, value] : use.values)
        row.values[use.technique + "." + parameter] = value;
    }
    if (const auto* accepted = std::get_if<Accepted>(&candidate.outcome))
      row.time_us = accepted->measurement.time_us;
    if (const auto* rejected = std::get_if<Rejected>(&candidate.outcome))
      row.rejected = rejected->code;
    return row;
  }

  SearchObserver* next_;
  std::vector<Row> rows_;
};

// A search without selection or surrogate that keeps everything: random proposals, no finals.
EvolveOptions without_selection(const RecordOptions& wanted, const std::string& dir) {
  EvolveOptions options;
  options.search.seed = wanted.seed;
  options.search.max_evaluations = wanted.count;
  options.search.offspring_per_slot = 1;
  options.search.tune_share = 0;
  options.run_dir = dir;
  options.tunables = wanted.tunables;
  options.families = wanted.families;
  options.random_search = true;
  options.cancel = wanted.cancel;
  options.task_words = wanted.task_words;
  options.device_name = wanted.device_name;
  return options;
}

// Returns what an interrupted recording of the same task, device and draw left.
Result<RunState> earlier_part(const ReadRecords& read, const Task& task, const Backend& backend,
                              const EvolveOptions& options) {
  auto state = fold(read);
  if (!state) return std::move(state.error()).while_doing(options.run_dir);
  const HeaderRecord& header = state->header;
  const bool same = task_id(state->task) == task_id(task) &&
                    header.identity == backend.identity() && header.random_search &&
                    header.search.seed == options.search.seed &&
                    header.search.offspring_per_slot == options.search.offspring_per_slot &&
                    header.search.max_evaluations == options.search.max_evaluations &&
                    header.tunables == options.tunables;
  if (same) return state;
  return Error{
      ErrorCode::usage, options.run_dir + " holds a run of another task, device or draw",
      "give the same words as before to go on with it, or name another directory by --out"};
}

struct Begun {
  Journal journal;
  std::optional<RunState> earlier;
};

Result<Begun> begin_or_go_on(const std::string& dir, const Task& task, const Backend& backend,
                             const EvolveOptions& options) {
  const bool there = real_host().exists(journal_path(dir));
  auto opened = Journal::open(real_host(), dir);
  if (!opened) {
    // Less than a header is begun over; of any other why it cannot be gone on with.
    auto created = Journal::create(real_host(), dir);
    if (!created) return there ? opened.error() : created.error();
    return Begun{std::move(*created), std::nullopt};
  }
  auto earlier = earlier_part(opened->read, task, backend, options);
  if (!earlier) return earlier.error();
  return Begun{std::move(opened->journal), std::move(*earlier)};
}

}  // namespace

Result<std::int64_t> record_landscape(const Task& task, Backend& backend, const std::string& dir,
                                      const RecordOptions& wanted) {
  const StopScope stoppable({wanted.cancel});
  EvolveOptions options = without_selection(wanted, dir);
  TableObserver table(wanted.observer);
  options.observer = &table;
  EveryStrategist every;
  if (wanted.count == 0) options.strategist = &every;
  auto context = open_context(task, backend, options);
  if (!context) return context.error();
  auto begun = begin_or_go_on(dir, *context->task, backend, options);
  if (!begun) return begun.error();
  const double began = real_host().monotonic_seconds();
  Driver driver(std::move(*context), options, std::move(begun->journal), began,
                Heartbeat(real_host(), options.observer, began));
  if (!begun->earlier) {
    if (auto done = driver.begin(); !done) return done.error();
  } else {
    for (const SearchEvent& event : begun->earlier->events) {
      if (const auto* result = std::get_if<ResultRecord>(&event)) table.note(result->candidate);
    }
    if (auto restored = driver.restore(*begun->earlier); !restored) return restored.error();
  }
  if (auto searching = driver.run_search(); !searching) return searching.error();
  if (auto written = real_host().write_file_atomically(dir + "/table.csv", table.csv(), false);
      !written)
    return written.error();
  return driver.evaluations();
}

}  // namespace cupilot
