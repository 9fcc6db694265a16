#include "evolution/journal/record_parts.hpp"

#include <array>

#include "strategy/strategy_json.hpp"

namespace cupilot::parts {
namespace {

constexpr std::array<const char*, 3> level_names = {"candidate", "elite", "finalist"};
constexpr int resources = 10, zones = 3, provenances = 3, precisions = 9, sources = 5;

template <std::size_t N>
int index_of(const std::array<const char*, N>& names, const std::string& name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<int>(i);
  }
  throw Json::other_error::create(501, "unknown word " + name, nullptr);
}

ContentKind content_kind_of(const std::string& name) {
  for (int kind = 0; kind <= static_cast<int>(last_content); ++kind) {
    if (name == name_of(static_cast<ContentKind>(kind))) return static_cast<ContentKind>(kind);
  }
  throw Json::other_error::create(501, "unknown content " + name, nullptr);
}

Json put_case(const CaseReport& report) {
  Json outputs = Json::array();
  for (const OutputReport& output : report.outputs) {
    outputs.push_back({{"tensor", output.tensor},
                       {"elements", output.elements},
                       {"compared", output.compared},
                       {"failed", output.failed},
                       {"worst_ratio", finite(output.worst_ratio)}});
  }
  Json json = {{"sizes", report.what.workload.sizes},
               {"content", name_of(report.what.content.kind)},
               {"seed", report.what.content.seed},
               {"not_for_this_shape", report.not_for_this_shape},
               {"outputs", std::move(outputs)}};
  if (report.what.content.held != 0) json["held"] = report.what.content.held;
  return json;
}

CaseReport case_of(const Json& json) {
  CaseReport report;
  report.what.workload.sizes = json.at("sizes").get<Sizes>();
  report.what.content.kind = content_kind_of(json.at("content").get<std::string>());
  report.what.content.seed = json.at("seed").get<std::uint64_t>();
  report.what.content.held = json.value("held", 0.0);
  report.not_for_this_shape = json.at("not_for_this_shape").get<bool>();
  for (const Json& entry : json.at("outputs")) {
    OutputReport& output = report.outputs.emplace_back();
    output.tensor = entry.at("tensor").get<std::string>();
    output.elements = entry.at("elements").get<std::int64_t>();
    output.compared = entry.at("compared").get<std::int64_t>();
    output.failed = entry.at("failed").get<std::int64_t>();
    output.worst_ratio = entry.at("worst_ratio").get<double>();
  }
  return report;
}

}  // namespace

Json put(const Verification& v) {
  Json cases = Json::array();
  for (const CaseReport& report : v.cases) cases.push_back(put_case(report));
  Json json = {{"level", level_names[static_cast<std::size_t>(v.level)]},
               {"worst_ratio", finite(v.worst_ratio)},
               {"compared", v.compared},
               {"proved", name_of(v.proved)},
               {"full_size", v.full_size},
               {"processes", v.processes},
               {"battery", v.battery},
               {"cases", std::move(cases)}};
  if (v.sampled) json["sampled"] = true;
  if (!v.up_to.empty()) json["up_to"] = v.up_to;
  if (!v.but_for.empty()) json["but_for"] = v.but_for;
  // A champion's page and evidence list them.
  if (v.level != ProofLevel::finalist) return json;
  if (!v.proved_by.empty()) json["shown"] = v.proved_by;
  if (!v.unproved.empty()) json["not_proved"] = v.unproved;
  return json;
}

Verification verification_of(const Json& json) {
  Verification v;
  v.level = static_cast<ProofLevel>(index_of(level_names, json.at("level").get<std::string>()));
  v.worst_ratio = json.at("worst_ratio").get<double>();
  v.compared = json.at("compared").get<std::int64_t>();
  v.proved = enum_of<Precision>(json.at("proved").get<std::string>(), precisions);
  v.full_size = json.at("full_size").get<bool>();
  v.sampled = json.value("sampled", false);
  v.up_to = json.value("up_to", std::string());
  v.but_for = json.value("but_for", std::string());
  v.proved_by = json.value("shown", std::vector<std::string>());
  v.unproved = json.value("not_proved", std::vector<std::string>());
  v.processes = json.at("processes").get<int>();
  v.battery = json.at("battery").get<std::string>();
  for (const Json& entry : json.at("cases")) v.cases.push_back(case_of(entry));
  return v;
}

Json put(const Verdict& v) {
  Json bottlenecks = Json::array();
  for (const Bottleneck& pressure : v.bottlenecks)
    bottlenecks.push_back({name_of(pressure.resource), finite(pressure.share)});
  Json json{{"zone", name_of(v.zone)},
            {"intensity", finite(v.intensity)},
            {"ridges", {finite(v.ridge_plain), finite(v.ridge_tensor)}},
            {"achieved_flops", finite(v.achieved_flops)},
            {"achieved_bytes", finite(v.achieved_bytes)},
            {"floor_us", finite(v.floor_us)},
            {"floor_share", finite(v.floor_share)},
            {"binding", name_of(v.binding)},
            {"pressures", std::move(bottlenecks)},
            {"utilisation", finite(v.utilisation)},
            {"rung", name_of(v.source)},
            {"digest", v.digest}};
  for (const StallShare& one : v.stalls)
    json["stalls"].push_back({name_of(one.stall), finite(one.share)});
  return json;
}

Verdict verdict_of(const Json& json) {
  Verdict v;
  v.zone = enum_of<Zone>(json.at("zone").get<std::string>(), zones);
  v.intensity = json.at("intensity").get<double>();
  v.ridge_plain = json.at("ridges").at(0).get<double>();
  v.ridge_tensor = json.at("ridges").at(1).get<double>();
  v.achieved_flops = json.at("achieved_flops").get<double>();
  v.achieved_bytes = json.at("achieved_bytes").get<double>();
  v.floor_us = json.at("floor_us").get<double>();
  v.floor_share = json.at("floor_share").get<double>();
  v.binding = enum_of<Resource>(json.at("binding").get<std::string>(), resources);
  for (const Json& entry : json.at("pressures")) {
    v.bottlenecks.push_back(
        {enum_of<Resource>(entry.at(0).get<std::string>(), resources), entry.at(1).get<double>()});
  }
  for (const Json& entry : json.value("stalls", Json::array())) {
    v.stalls.push_back(
        {enum_of<Stall>(entry.at(0).get<std::string>(), static_cast<int>(stall_count)),
         entry.at(1).get<double>()});
  }
  v.utilisation = json.at("utilisation").get<double>();
  v.source = enum_of<CounterSource>(json.at("rung").get<std::string>(), sources);
  v.digest = json.at("digest").get<std::vector<std::string>>();
  return v;
}

Json put(const Strategy& strategy) { return sorted_json(strategy); }

Strategy strategy_of(const Json& json) {
  auto strategy = strategy_from_json(json.dump());
  if (!strategy) throw Json::other_error::create(501, strategy.error().message, nullptr);
  return std::move(*strategy);
}

Json put(const Conditions& c) {
  return {{"compiler", c.compiler},
          {"options", c.options},
          {"arch", c.arch},
          {"flags", c.flags},
          {"ran_under", c.ran_under},
          {"compiled_under", c.compiled_under},
          {"screened_on", c.screened_on}};
}

// Journals of earlier versions hold none.
Conditions conditions_of(const Json& json) {
  Conditions c;
  c.compiler = json.value("compiler", "");
  c.options = json.value("options", "");
  c.arch = json.value("arch", "");
  c.flags = json.value("flags", std::vector<std::string>());
  c.compiled_under = json.value("compiled_under", "");
  c.ran_under = json.value("ran_under", "");
  c.screened_on = json.value("screened_on", "");
  return c;
}

Json put(const Candidate& c) {
  Json json = {{"id", c.id},
               {"strategy", put(c.strategy)},
               {"strategy_id", c.strategy_id},
               {"kernel_id", c.kernel_id},
               {"template", c.source.template_name},
               {"constants", c.source.constants},
               {"evaluated", c.evaluated}};
  if (const auto* accepted = std::get_if<Accepted>(&c.outcome)) {
    json["outcome"] = {{"kind", "accepted"},
                       {"measurement", put(accepted->measurement)},
                       {"verification", put(accepted->verification)},
                       {"verdict", put(accepted->verdict)},
                       {"conditions", put(accepted->conditions)}};
  } else if (const auto* rejected = std::get_if<Rejected>(&c.outcome)) {
    json["outcome"] = {{"kind", "rejected"}, {"rejected", put(*rejected)}};
  } else {
    json["outcome"] = {{"kind", "lost"}, {"reason", std::get<Lost>(c.outcome).reason}};
  }
  return json;
}

Candidate candidate_of(const Json& json) {
  Candidate c;
  c.id = json.at("id").get<std::uint64_t>();
  c.strategy = strategy_of(json.at("strategy"));
  c.strategy_id = json.at("strategy_id").get<std::string>();
  c.kernel_id = json.at("kernel_id").get<std::string>();
  c.source.template_name = json.at("template").get<std::string>();
  c.source.constants = json.at("constants").get<Constants>();
  c.source.strategy_id = c.strategy_id;
  c.evaluated = json.at("evaluated").get<bool>();
  const Json& outcome = json.at("outcome");
  const std::string kind = outcome.at("kind").get<std::string>();
  if (kind == "accepted") {
    c.outcome =
        Accepted{measurement_of(outcome.at("measurement")),
                 verification_of(outcome.at("verification")), verdict_of(outcome.at("verdict")),
                 conditions_of(outcome.value("conditions", Json::object()))};
  } else if (kind == "rejected") {
    c.outcome = rejected_of(outcome.at("rejected"));
  } else {
    c.outcome = Lost{outcome.at("reason").get<std::string>()};
  }
  return c;
}

Json put(const Baseline& b) {
  Json json = {{"name", b.name},
               {"time_us", finite(b.time_us)},
               {"provenance", name_of(b.provenance)},
               {"ratio", finite_all(b.ratio)},
               {"drift", finite(b.drift)}};
  if (!b.says.empty()) json["says"] = b.says;
  return json;
}

Baseline baseline_of(const Json& json) {
  return {json.at("name").get<std::string>(),
          json.at("time_us").get<double>(),
          enum_of<Provenance>(json.at("provenance").get<std::string>(), provenances),
          json.at("ratio").get<std::vector<double>>(),
          json.value("drift", 0.0),
          json.value("says", "")};
}

// `parallel` is left out: it may differ between a run and its continuation and changes nothing.
namespace {

// The switches by name: one table for both directions.
constexpr std::pair<const char*, bool SearchFeatures::*> switches[] = {
    {"roofline", &SearchFeatures::roofline},
    {"pool", &SearchFeatures::pool},
    {"crossover", &SearchFeatures::crossover},
    {"surrogate", &SearchFeatures::surrogate},
    {"model", &SearchFeatures::model},
    {"alignment", &SearchFeatures::alignment},
    {"code_crossover", &SearchFeatures::code_crossover},
};

Json put(const SearchFeatures& steering) {
  Json json = Json::object();
  for (const auto& [name, field] : switches) json[name] = steering.*field;
  return json;
}

// A feature that a journal does not name could not be switched off then.
SearchFeatures steering_of(const Json& json) {
  SearchFeatures steering;
  for (const auto& [name, field] : switches) steering.*field = json.value(name, steering.*field);
  return steering;
}

}  // namespace

Json put(const SearchOptions& o) {
  Json json = {{"seed", o.seed},
               {"population", o.population},
               {"initial", o.initial},
               {"children", o.children},
               {"elites", o.elites},
               {"tournament", o.tournament},
               {"generations_per_epoch", o.generations_per_epoch},
               {"lookahead", o.lookahead},
               {"utilisation_weight", o.utilisation_weight},
               {"tune_share", o.tune_share},
               {"brood", o.offspring_per_slot},
               {"repairs", o.repairs},
               {"one_first", o.one_first},
               {"max_evaluations", o.max_evaluations},
               {"max_generations", o.max_generations},
               {"target_us", o.target_us},
               {"steering", put(o.steering)}};
  if (o.policy != SearchPolicy::evolution) json["policy"] = name_of(o.policy);
  return json;
}

SearchOptions search_options_of(const Json& json) {
  SearchOptions o;
  json.at("seed").get_to(o.seed);
  o.policy = enum_of<SearchPolicy>(json.value("policy", "evolution"), 2);
  json.at("population").get_to(o.population);
  json.at("initial").get_to(o.initial);
  json.at("children").get_to(o.children);
  json.at("elites").get_to(o.elites);
  json.at("tournament").get_to(o.tournament);
  json.at("generations_per_epoch").get_to(o.generations_per_epoch);
  json.at("lookahead").get_to(o.lookahead);
  json.at("utilisation_weight").get_to(o.utilisation_weight);
  json.at("tune_share").get_to(o.tune_share);
  json.at("brood").get_to(o.offspring_per_slot);
  o.repairs = json.value("repairs", 0);
  o.one_first = json.value("one_first", false);
  json.at("max_evaluations").get_to(o.max_evaluations);
  json.at("max_generations").get_to(o.max_generations);
  json.at("target_us").get_to(o.target_us);
  o.steering = steering_of(json.value("steering", Json::object()));
  return o;
}

Json put(const Proposal& p) {
  Json json = {{"id", p.id},
               {"epoch", p.epoch},
               {"generation", p.generation},
               {"slot", p.slot},
               {"stage", "propose"},
               {"kind", name_of(p.kind)},
               {"strategy", put(p.strategy)}};
  if (p.failed != 0) json["failed"] = p.failed;
  if (p.silent) json["silent"] = true;
  if (!p.strategist.empty()) json["strategist"] = p.strategist;
  if (p.last) json["last"] = true;
  return json;
}

Proposal proposal_of(const Json& json) {
  return {json.at("id").get<std::uint64_t>(),
          json.at("epoch").get<int>(),
          json.at("generation").get<int>(),
          json.at("slot").get<std::int64_t>(),
          enum_of<BreedKind>(json.at("kind").get<std::string>(), 6),
          strategy_of(json.at("strategy")),
          json.value("failed", std::uint64_t{0}),
          json.value("silent", false),
          json.value("strategist", std::string()),
          json.value("last", false)};
}

Json put(const Technique& t) {
  Json parameters = Json::array();
  for (const TechniqueParameter& p : t.parameters) {
    parameters.push_back(
        {{"name", p.name}, {"domain", p.domain}, {"labels", p.labels}, {"fallback", p.fallback}});
  }
  Json targets = Json::array();
  for (const Resource resource : t.targets) targets.push_back(name_of(resource));
  return {{"name", t.name},         {"summary", t.summary},
          {"sentence", t.sentence}, {"parameters", std::move(parameters)},
          {"relieves", targets},    {"needs", t.needs},
          {"excludes", t.excludes}, {"must", t.must},
          {"group", t.group}};
}

// Journals of earlier programs tell names and domains alone: what spanned the space.
Technique technique_of(const Json& json) {
  const auto if_told = [](const Json& from, const char* key, auto& place) {
    if (const auto found = from.find(key); found != from.end()) found->get_to(place);
  };
  Technique t;
  json.at("name").get_to(t.name);
  if_told(json, "summary", t.summary);
  if_told(json, "sentence", t.sentence);
  for (const Json& p : json.at("parameters")) {
    TechniqueParameter& parameter = t.parameters.emplace_back();
    p.at("name").get_to(parameter.name);
    p.at("domain").get_to(parameter.domain);
    if_told(p, "labels", parameter.labels);
    p.at("fallback").get_to(parameter.fallback);
  }
  for (const Json& name : json.at("relieves")) {
    t.targets.push_back(enum_of<Resource>(name.get<std::string>(), resources));
  }
  if_told(json, "needs", t.needs);
  if_told(json, "excludes", t.excludes);
  if_told(json, "must", t.must);
  if_told(json, "group", t.group);
  return t;
}

}  // namespace cupilot::parts
