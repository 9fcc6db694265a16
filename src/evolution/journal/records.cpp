#include "evolution/journal/records.hpp"

#include <cstdio>

#include <cupilot/version.hpp>

#include "evolution/journal/record_parts.hpp"
#include "kernel/standalone.hpp"

namespace cupilot {
namespace {

std::string canonical(const parts::Json& json) {
  return json.dump(-1, ' ', false, parts::Json::error_handler_t::replace);
}

Error damaged(const std::string& what, const std::string& reason) {
  return {ErrorCode::failure, "the journal's " + what + " record cannot be read: " + reason,
          "the file was changed by something else; start a new run directory"};
}

// Runs a reader that may throw.
template <class T, class Read>
Result<T> reading(const std::string& what, std::string_view text, Read read) {
  try {
    return read(parts::Json::parse(text));
  } catch (const parts::Json::exception& fault) {
    return damaged(what, fault.what());
  }
}

parts::Json put(const OwnBaseline& own) {
  parts::Json json = {{"name", own.name},
                      {"language", own.source.language == Language::ptx ? "ptx" : "cuda"},
                      {"text", standalone_text(own.source, {})}};
  if (!own.says.empty()) json["says"] = own.says;
  return json;
}

Result<OwnBaseline> own_baseline_of(const parts::Json& json) {
  const std::string file = json.at("language") == "ptx" ? "baseline.ptx" : "baseline.cu";
  auto read = standalone_from(json.at("text").get<std::string>(), file);
  if (!read) return read.error();
  return OwnBaseline{json.at("name").get<std::string>(), std::move(read->source),
                     json.value("says", "")};
}

parts::Json put_all(const std::vector<Baseline>& baselines) {
  parts::Json all = parts::Json::array();
  for (const Baseline& baseline : baselines) all.push_back(parts::put(baseline));
  return all;
}

// Lets a replay of a landscape span the same space.
parts::Json put_all(const std::vector<Technique>& techniques) {
  parts::Json all = parts::Json::array();
  for (const Technique& technique : techniques) all.push_back(parts::put(technique));
  return all;
}

parts::Json put_remembered(const HeaderRecord& r) {
  parts::Json strategies = parts::Json::array(), effects = parts::Json::array();
  for (const Strategy& strategy : r.remembered) strategies.push_back(parts::put(strategy));
  for (const StrategyBrief::Effect& effect : r.remembered_effects) {
    effects.push_back({{"technique", effect.technique},
                       {"gain", parts::finite(effect.gain)},
                       {"count", effect.count}});
  }
  return {{"strategies", std::move(strategies)}, {"effects", std::move(effects)}};
}

// Journals written before there was a pool have none.
void take_remembered(const parts::Json& json, HeaderRecord& r) {
  if (!json.contains("remembered")) return;
  for (const parts::Json& one : json.at("remembered").at("strategies"))
    r.remembered.push_back(parts::strategy_of(one));
  for (const parts::Json& one : json.at("remembered").at("effects")) {
    r.remembered_effects.push_back({one.at("technique").get<std::string>(),
                                    one.at("gain").get<double>(), one.at("count").get<int>()});
  }
}

parts::Json put_learnt(const HeaderRecord& r) {
  parts::Json all = parts::Json::array();
  for (const PoolOutcome& outcome : r.learnt)
    all.push_back({{"sizes", outcome.sizes},
                   {"strategy", parts::put(outcome.strategy)},
                   {"time_us", parts::finite(outcome.time_us)}});
  return all;
}

// Most journals have none.
void take_learnt(const parts::Json& json, HeaderRecord& r) {
  if (!json.contains("learnt")) return;
  for (const parts::Json& one : json.at("learnt"))
    r.learnt.push_back({parts::strategy_of(one.at("strategy")),
                        one.at("sizes").get<std::map<std::string, std::int64_t>>(),
                        one.at("time_us").get<double>()});
}

std::vector<Baseline> baselines_in(const parts::Json& json) {
  std::vector<Baseline> all;
  for (const parts::Json& entry : json) all.push_back(parts::baseline_of(entry));
  return all;
}

// Journals written before phases were noted have none.
PhaseSeconds phases_in(const parts::Json& json) {
  return json.at("clock").value("phases", PhaseSeconds());
}

// Reads the sum alone from a journal that was written before CPU was told by phase.
CpuSpent cpu_in(const parts::Json& json) {
  const parts::Json& clock = json.at("clock");
  CpuSpent cpu{clock.value("cpu_phases", PhaseSeconds()), clock.value("cpu_as_device", 0.0)};
  if (const double sum = clock.value("cpu", 0.0); cpu.own.empty() && sum > 0)
    cpu.own[in_no_phase] = sum;
  return cpu;
}

parts::Json put_clock(const char* name, double seconds, const PhaseSeconds& phases,
                      const CpuSpent& cpu) {
  return {{name, seconds},
          {"phases", phases},
          {"cpu", cpu.own_seconds()},
          {"cpu_as_device", cpu.as_device},
          {"cpu_phases", cpu.own}};
}

}  // namespace

// Times of day and durations stand under "clock", so that one rule drops them when journals are
// compared.
namespace {

parts::Json put(const SeatOptions& seats) {
  return {{"share", seats.share},
          {"initial", seats.initial},
          {"later", seats.later},
          {"questions", seats.questions},
          {"statement", seats.statement},
          {"prose", seats.prose},
          {"example",
           {{"kernel", seats.example.kernel},
            {"computes", seats.example.computes},
            {"about", seats.example.about}}}};
}

SeatOptions seats_of(const parts::Json& json) {
  SeatOptions seats;
  json.at("share").get_to(seats.share);
  json.at("initial").get_to(seats.initial);
  seats.later = json.value("later", seats.later);
  seats.questions = json.value("questions", 1);
  json.at("statement").get_to(seats.statement);
  json.at("prose").get_to(seats.prose);
  if (json.contains("example")) {
    const parts::Json& example = json.at("example");
    seats.example = {example.at("kernel").get<std::string>(),
                     example.at("computes").get<std::string>(),
                     example.at("about").get<std::string>()};
  }
  return seats;
}

}  // namespace

std::string to_json(const HeaderRecord& r) {
  parts::Json json = {{"cupilot_journal", r.format},
                      {"program", r.program},
                      {"task", parts::Json::parse(r.task_json)},
                      {"task_words", r.task_words},
                      {"search", parts::put(r.search)},
                      {"max_seconds", r.max_seconds},
                      {"tunables", r.tunables},
                      {"random_search", r.random_search},
                      {"device_name", r.device_name},
                      {"identity", r.identity},
                      {"provenance", name_of(r.provenance)},
                      {"device", parts::put(r.device)},
                      {"techniques", put_all(r.techniques)},
                      {"screen", r.screen},
                      {"remembered", put_remembered(r)},
                      {"clock", {{"started", r.started}}}};
  if (r.seats) json["seats"] = put(*r.seats);
  if (!r.plain_baseline) json["plain_baseline"] = false;
  if (!r.against.empty()) json["against"] = r.against;
  for (const OwnBaseline& one : r.own_baselines) json["own_baselines"].push_back(put(one));
  if (!r.learnt.empty()) json["learnt"] = put_learnt(r);
  if (!r.pool.empty()) json["pool"] = r.pool;
  if (!r.pool_tags.empty()) json["pool_tags"] = r.pool_tags;
  return canonical(json);
}

Result<HeaderRecord> header_from(std::string_view text) {
  return reading<HeaderRecord>("header", text, [](const parts::Json& json) -> Result<HeaderRecord> {
    HeaderRecord r;
    r.format = json.at("cupilot_journal").get<int>();
    r.program = json.at("program").get<std::string>();
    if (r.format != journal_format) {
      return Error{ErrorCode::usage,
                   "the journal has format " + std::to_string(r.format) + ", written by cupilot " +
                       r.program + "; this program reads format " + std::to_string(journal_format),
                   "use the version that wrote it, or start a new run directory"};
    }
    r.task_json = json.at("task").dump();
    r.task_words = json.at("task_words").get<std::vector<std::string>>();
    r.search = parts::search_options_of(json.at("search"));
    r.max_seconds = json.at("max_seconds").get<double>();
    r.tunables = json.at("tunables").get<std::vector<std::string>>();
    r.random_search = json.at("random_search").get<bool>();
    r.plain_baseline = json.value("plain_baseline", true);
    r.against = json.value("against", std::vector<std::string>());
    for (const parts::Json& one : json.value("own_baselines", parts::Json::array())) {
      auto own = own_baseline_of(one);
      if (!own) return own.error();
      r.own_baselines.push_back(std::move(*own));
    }
    r.device_name = json.at("device_name").get<std::string>();
    r.identity = json.at("identity").get<std::string>();
    r.provenance = parts::enum_of<Provenance>(json.at("provenance").get<std::string>(), 3);
    r.device = parts::device_of(json.at("device"));
    for (const parts::Json& technique : json.at("techniques"))
      r.techniques.push_back(parts::technique_of(technique));
    r.screen = json.value("screen", "");
    if (json.contains("seats")) r.seats = seats_of(json.at("seats"));
    take_remembered(json, r);
    take_learnt(json, r);
    r.pool = json.value("pool", "");
    r.pool_tags = json.value("pool_tags", std::vector<std::string>());
    r.started = json.at("clock").at("started").get<std::string>();
    return r;
  });
}

double plain_time_us(const std::vector<Baseline>& baselines) {
  for (const Baseline& baseline : baselines) {
    if (baseline.name == "plain") return baseline.time_us;
  }
  return 0;
}

std::string to_json(const BaselinesRecord& r) {
  return canonical(
      {{"baselines", put_all(r.baselines)}, {"notices", r.notices}, {"floor_us", r.floor_us}});
}

Result<BaselinesRecord> baselines_from(std::string_view text) {
  return reading<BaselinesRecord>(
      "baselines", text, [](const parts::Json& json) -> Result<BaselinesRecord> {
        return BaselinesRecord{baselines_in(json.at("baselines")),
                               json.at("notices").get<std::vector<std::string>>(),
                               json.at("floor_us").get<double>()};
      });
}

std::string to_json(const Proposal& p) { return canonical(parts::put(p)); }

Result<Proposal> proposal_from(std::string_view text) {
  return reading<Proposal>("proposal", text, [](const parts::Json& json) -> Result<Proposal> {
    return parts::proposal_of(json);
  });
}

std::string to_json(const ResultRecord& r) {
  return canonical({{"epoch", r.epoch},
                    {"generation", r.generation},
                    {"slot", r.slot},
                    {"stage", "result"},
                    {"candidate", parts::put(r.candidate)},
                    {"kernel_hash", r.candidate.kernel_hash},
                    {"clock", put_clock("seconds", r.seconds, r.phases, r.cpu)}});
}

Result<ResultRecord> result_from(std::string_view text) {
  return reading<ResultRecord>("result", text, [](const parts::Json& json) -> Result<ResultRecord> {
    ResultRecord r{json.at("epoch").get<int>(),
                   json.at("generation").get<int>(),
                   json.at("slot").get<std::int64_t>(),
                   parts::candidate_of(json.at("candidate")),
                   json.at("clock").at("seconds").get<double>(),
                   phases_in(json),
                   cpu_in(json)};
    r.candidate.kernel_hash = json.at("kernel_hash").get<std::string>();
    return r;
  });
}

Result<ResultRecord> result_without_cases(std::string_view text) {
  // A record's keys are sorted: this one is followed by "compared". A quote within a text has a
  // backslash before it.
  constexpr std::string_view begin = "\"cases\":[", end = "],\"compared\":";
  const std::size_t from = text.find(begin);
  const std::size_t to = from == std::string_view::npos ? from : text.find(end, from);
  if (to == std::string_view::npos) return result_from(text);
  return result_from(std::string(text.substr(0, from + begin.size())) +
                     std::string(text.substr(to)));
}

std::string to_json(const DecisionRecord& r) {
  return canonical({{"stage", "decision"},
                    {"kind", r.kind},
                    {"reason", r.reason},
                    {"max_evaluations", r.max_evaluations},
                    {"max_generations", r.max_generations}});
}

Result<DecisionRecord> decision_from(std::string_view text) {
  return reading<DecisionRecord>(
      "decision", text, [](const parts::Json& json) -> Result<DecisionRecord> {
        return DecisionRecord{
            json.at("kind").get<std::string>(), json.at("reason").get<std::string>(),
            json.at("max_evaluations").get<std::int64_t>(), json.at("max_generations").get<int>()};
      });
}

std::string to_json(const FinalRecord& r) {
  parts::Json json = {{"stage", r.stage},
                      {"slot", r.slot},
                      {"candidate", parts::put(r.candidate)},
                      {"baselines", put_all(r.baselines)},
                      {"ratio", {parts::finite(r.ratio_low), parts::finite(r.ratio_high)}},
                      {"gain", {parts::finite(r.gain), parts::finite(r.gain_noise)}}};
  if (!r.notices.empty()) json["notices"] = r.notices;
  return canonical(json);
}

Result<FinalRecord> final_from(std::string_view text) {
  return reading<FinalRecord>("final", text, [](const parts::Json& json) -> Result<FinalRecord> {
    const parts::Json gain = json.value("gain", parts::Json::array({0.0, 0.0}));
    return FinalRecord{json.at("stage").get<std::string>(),
                       json.at("slot").get<std::int64_t>(),
                       parts::candidate_of(json.at("candidate")),
                       baselines_in(json.at("baselines")),
                       json.at("ratio").at(0).get<double>(),
                       json.at("ratio").at(1).get<double>(),
                       gain.at(0).get<double>(),
                       gain.at(1).get<double>(),
                       json.value("notices", std::vector<std::string>())};
  });
}

std::string to_json(const EndRecord& r) {
  parts::Json clock = put_clock("wall_seconds", r.wall_seconds, r.phases, r.cpu);
  if (r.resumed) clock["resumed"] = true;
  if (!r.parts.empty()) clock["parts"] = r.parts;
  return canonical({{"stage", "end"},
                    {"stopped", r.stopped},
                    {"best_slot", r.best_slot},
                    {"evaluations", r.evaluations},
                    {"proposed", r.proposed},
                    {"clock", std::move(clock)}});
}

Result<EndRecord> end_from(std::string_view text) {
  return reading<EndRecord>("end", text, [](const parts::Json& json) -> Result<EndRecord> {
    return EndRecord{json.at("stopped").get<std::string>(),
                     json.at("best_slot").get<std::int64_t>(),
                     json.at("evaluations").get<std::int64_t>(),
                     json.at("proposed").get<std::int64_t>(),
                     json.at("clock").at("wall_seconds").get<double>(),
                     phases_in(json),
                     cpu_in(json),
                     json.at("clock").value("resumed", false),
                     json.at("clock").value("parts", PhaseSeconds())};
  });
}

std::string comparable_record(std::uint32_t type, std::string_view text) {
  parts::Json json = parts::Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::string(text);
  json.erase("clock");
  long long number = -1;
  try {
    number = json.value("slot", number);
  } catch (const parts::Json::exception&) {  // it is no slot's number
  }
  char key[64];
  std::snprintf(key, sizeof key, "%u %012lld ", type, number);
  return key + canonical(json);
}

std::string evidence_json(const Best& best, const Task& task, const std::string& device) {
  parts::Json json = parts::put(best.candidate);
  json["program"] = std::string("cupilot ") + version;
  json["device"] = device;
  json["task"] = {{"name", task.name}, {"id", task_id(task)}};
  json["baselines"] = put_all(best.baselines);
  json["ratio"] = {parts::finite(best.ratio_low), parts::finite(best.ratio_high)};
  json["gain"] = {{"over_strongest_baseline", parts::finite(best.gain)},
                  {"noise", parts::finite(best.gain_noise)}};
  return json.dump(2, ' ', false, parts::Json::error_handler_t::replace) + "\n";
}

}  // namespace cupilot
