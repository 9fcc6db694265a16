#include "endurance/world.hpp"

#include <algorithm>
#include <atomic>

#include <cupilot/evolve.hpp>

#include "base/hash.hpp"
#include "endurance/invariants.hpp"
#include "endurance/sim_models.hpp"
#include "evolution/journal/events.hpp"

namespace cupilot::testing {
namespace {

constexpr int most_sittings = 60;
constexpr double night_seconds = 1800;
constexpr double pace_factor = 6;  // three compile side by side, and not all of the time
// A sitting may pass its limit by what is in flight, and by as much for each finalist that it looks
// at: compiles of at most this many times their mean.
constexpr double longest_compile = 6;

struct World {
  WorldRules rules;
  Rng dice;
  SimHost host;
  SimDevice device;
  SimEndpoint endpoint;
  ModelBudget budget;
  Watcher watcher;
  EvolveOptions options;
  std::atomic<bool> cancel = false;
  double cancel_at = -1;
  WorldReport report;
  double sitting_began = 0, grace_seconds = 0;

  World(const WorldRules& r, Landscape landscape, const DeviceTrouble& trouble)
      : rules(r),
        dice(Rng::of(r.seed, "world")),
        host(dice.fork(1)),
        device(host, std::move(landscape), r.seed, trouble),
        endpoint(host, r.seed, true),
        watcher(device, 0) {}
};

LandscapeSpec landscape_of(std::uint64_t seed) {
  LandscapeSpec spec;
  spec.kind = LandscapeKind::nk;
  spec.variables = 6;
  spec.values = 3;
  spec.k = 1;
  spec.neutral = 1;
  spec.seed = seed;
  return spec;
}

SearchOptions search_of(Rng rng) {
  SearchOptions search;
  search.seed = rng.next();
  search.population = 8;
  search.initial = 8;
  search.children = 4;
  search.elites = 2;
  search.generations_per_epoch = 2;
  search.lookahead = 4;
  search.offspring_per_slot = 2;
  search.max_evaluations = 12 + rng.below(60);
  return search;
}

// What befalls this sitting; later ones are spared more and more, so that every night ends.
void draw_troubles(World& w, int sitting) {
  const double mercy = 1.0 / (1 + sitting / 3.0);
  if (!w.rules.troubled) return;
  if (w.dice.chance(0.5 * mercy))
    w.host.die_at(w.host.monotonic_seconds() + night_seconds * w.dice.unit() * w.dice.unit());
  if (w.dice.chance(0.4 * mercy)) {
    const auto fault = static_cast<DiskFault>(w.dice.below(5));
    w.host.fail_call(static_cast<int>(w.dice.below(200)), fault);
    w.host.stay_full(w.dice.chance(0.5));
  }
  w.cancel_at = w.dice.chance(0.2 * mercy)
                    ? w.host.monotonic_seconds() + night_seconds * w.dice.unit() * w.dice.unit()
                    : -1;
}

Result<EvolveReport> sit(World& w) {
  w.cancel = false;
  w.sitting_began = w.host.monotonic_seconds();
  std::unique_ptr<SimModels> models;
  if (w.report.models) {
    auto seated = SimModels::seat(w.host, w.device, w.endpoint, w.budget, w.options.max_seconds);
    if (!seated) return seated.error();
    models = std::move(*seated);
    w.options.strategist = models->strategist();
    w.options.writer = models->writer();
  }
  if (!w.host.exists(journal_path("run"))) return evolve(Task{}, w.device, w.options);
  auto report = resume("run", w.device, w.options);
  // A run that died before its header was whole.
  if (!report && report.error().message.find("no whole record") != std::string::npos)
    return evolve(Task{}, w.device, w.options);
  return report;
}

// An error must have a cause among the troubles, and must name it.
void account_for(World& w, const Error& error) {
  const bool named = w.host.struck().empty() || w.host.names_struck(error.message) ||
                     error.message.find("machine is off") != std::string::npos || w.device.lost();
  if (w.host.dead()) {
    ++w.report.crashes;
  } else if (!w.host.struck().empty()) {
    ++w.report.disk_faults;
    w.watcher.note(named, "a message that does not name the file: " + error.message);
  } else if (w.device.lost()) {
    ++w.report.device_losses;
  } else {
    const bool ends = error.code == ErrorCode::budget || error.code == ErrorCode::no_candidate;
    w.watcher.note(ends, "an error without a cause: " + error.message);
  }
}

bool nothing_found(const Result<EvolveReport>& report) {
  return !report && (report.error().code == ErrorCode::budget ||
                     report.error().code == ErrorCode::no_candidate);
}

void check_best(World& w, const EvolveReport& report) {
  if (!report.best) return;
  const Candidate& best = report.best->candidate;
  w.watcher.note(w.watcher.confirmed(static_cast<std::int64_t>(best.id) - 1),
                 "the best was not confirmed");
  w.watcher.note(w.device.nature_of(best.kernel_hash) == Nature::honest || best.kernel_hash.empty(),
                 "the best is not honest");
  w.watcher.note(w.host.exists("run/best/kernel.cu"), "the best has no file");
}

std::string essence_of(const std::vector<FramedRecord>& records,
                       const Result<EvolveReport>& report) {
  std::vector<std::string> results;
  for (const FramedRecord& record : records) {
    if (record.type == static_cast<std::uint32_t>(RecordType::result)) {
      results.push_back(comparable_record(record.type, record.payload));
    }
  }
  std::sort(results.begin(), results.end());
  std::string text;
  for (const std::string& result : results) text += result + "\n";
  return sha256_hex(text + (report && report->best ? report->best->candidate.strategy_id : ""));
}

// Processor time is this machine's, not the simulated one's.
std::string without_cpu(std::string payload) {
  constexpr std::string_view key = "\"clock\":{\"cpu\":";
  const std::size_t at = payload.find(key);
  if (at == std::string::npos) return payload;
  const std::size_t number = at + key.size();
  return payload.erase(number, payload.find(",\"phases\":", number) - number);
}

std::string journal_of(const std::vector<FramedRecord>& records) {
  std::string text;
  for (const FramedRecord& record : records) text += without_cpu(record.payload) + "\n";
  return sha256_hex(text);
}

std::vector<FramedRecord> records_on_disk(World& w) {
  auto bytes = w.host.read_file(journal_path("run"));
  return bytes ? read_records(*bytes).records : std::vector<FramedRecord>();
}

void prepare(World& w) {
  w.options.search = search_of(Rng::of(w.rules.seed, "search"));
  w.options.run_dir = "run";
  w.options.host = &w.host;
  w.options.cancel = &w.cancel;
  Rng limits = Rng::of(w.rules.seed, "limits");
  if (limits.chance(0.3)) {
    w.report.bounded = true;
    w.options.max_seconds = night_seconds * (1 + 0.3 * limits.unit());
  }
  w.report.models = w.rules.seed % 3 == 0;
  if (w.report.models && limits.chance(0.3)) {
    w.report.bounded = true;
    w.budget.tokens = 10000 + limits.below(200000);
  }
  w.watcher = Watcher(w.device, w.options.search.max_evaluations);
  w.host.on_durable = [&w](const std::string& path, std::string_view bytes) {
    if (path == journal_path("run")) w.watcher.durable(bytes);
  };
  w.host.on_tick = [&w](double now) {
    if (w.cancel_at >= 0 && now >= w.cancel_at && !w.cancel) {
      w.cancel = true;
      ++w.report.signals;
    }
  };
  w.device.on_compile = [&w](const std::string& strategy) { w.watcher.compiling(strategy); };
}

void check_clock(World& w) {
  const double spent = w.host.monotonic_seconds() - w.sitting_began;
  w.watcher.note(w.options.max_seconds <= 0 ||
                     spent <= w.options.max_seconds + (2 + w.watcher.finals()) * w.grace_seconds,
                 "a sitting passed its seconds");
}

void check_tape(World& w) {
  if (!w.report.models) return;
  const TapeLook look = look_at_tape(w.host, w.endpoint, w.budget);
  for (const std::string& fault : look.faults) w.watcher.note(false, fault);
  w.report.silences = look.silences;
}

}  // namespace

WorldReport run_world(const WorldRules& rules) {
  auto landscape = Landscape::make(landscape_of(rules.seed));
  if (!landscape) {
    WorldReport none;
    none.broken = {landscape.error().message};
    return none;
  }
  // A search of few kernels has a slow compiler: each fills the night.
  const SearchOptions search = search_of(Rng::of(rules.seed, "search"));
  DeviceTrouble trouble;
  trouble.pace_seconds = pace_factor * night_seconds / static_cast<double>(search.max_evaluations);
  if (rules.troubled) trouble.lost = 0.002;
  if (rules.troubled) trouble.slow = 0.02;
  World w(rules, std::move(*landscape), trouble);
  w.grace_seconds = longest_compile * trouble.pace_seconds;
  prepare(w);
  for (int sitting = 0;; ++sitting) {
    draw_troubles(w, sitting);
    auto report = sit(w);
    check_clock(w);
    ++w.report.sittings;
    if (!report) account_for(w, report.error());
    const bool over = (report && report->stopped != "interrupted") || nothing_found(report);
    if (over) {
      if (report) check_best(w, *report);
      check_tape(w);
      const auto records = records_on_disk(w);
      w.report.journal = journal_of(records);
      w.report.essence = essence_of(records, report);
      break;
    }
    w.watcher.note(sitting < most_sittings, "the night does not end");
    if (sitting >= most_sittings || w.watcher.broken().size() >= 8) break;
    w.host.start();
    check_tape(w);
    w.device.heal();
    w.watcher.reread(records_on_disk(w));
  }
  w.report.evaluations = w.watcher.evaluated();
  w.report.questions = w.endpoint.asked();
  w.report.endpoint_faults = w.endpoint.faults();
  w.report.virtual_seconds = w.host.monotonic_seconds();
  w.report.broken = w.watcher.broken();
  return w.report;
}

}  // namespace cupilot::testing
