#include "screens/json_out.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/technique.hpp>

#include "screens/verify.hpp"

namespace cupilot::cli {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json roofline(const Verdict& verdict) {
  Json bottlenecks = Json::object();
  for (const Bottleneck& pressure : verdict.bottlenecks)
    bottlenecks[std::string(name_of(pressure.resource))] = pressure.share;
  Json json{{"zone", name_of(verdict.zone)},
            {"intensity_flops_per_byte", verdict.intensity},
            {"ridge_plain", verdict.ridge_plain},
            {"ridge_tensor", verdict.ridge_tensor},
            {"achieved_flops_per_s", verdict.achieved_flops},
            {"achieved_bytes_per_s", verdict.achieved_bytes},
            {"floor_us", verdict.floor_us},
            {"floor_share", verdict.floor_share},
            {"binding", name_of(verdict.binding)},
            {"pressures", bottlenecks},
            {"rung", name_of(verdict.source)},
            {"digest", verdict.digest}};
  for (const StallShare& one : verdict.stalls)
    json["stalls"][std::string(name_of(one.stall))] = one.share;
  return json;
}

Json measurement(const Measurement& m) {
  Json json{{"time_us", m.time_us},     {"provenance", name_of(m.provenance)},
            {"spread_us", m.spread_us}, {"samples_us", m.samples_us},
            {"cache", m.cache},         {"interval_us", {m.interval_low_us, m.interval_high_us}}};
  if (m.provenance != Provenance::measured) return json;
  json["host_us"] = m.host_us;
  json["resolution_us"] = m.resolution_us;
  json["too_short"] = m.too_short;
  json["conditions"] = m.conditions;
  return json;
}

Json verification(const Verification& v) {
  Json runs = Json::array();
  for (const CaseReport& done : v.cases) {
    Json outputs = Json::object();
    for (const OutputReport& output : done.outputs) {
      outputs[output.tensor] = {{"elements", output.elements},
                                {"compared", output.compared},
                                {"worst_error_over_bound", output.worst_ratio}};
    }
    runs.push_back({{"shape", done.what.workload.sizes},
                    {"content", name_of(done.what.content.kind)},
                    {"variation", name_of(done.what.content.variation)},
                    {"seed", done.what.content.seed},
                    {"repeats", done.repeats_done},
                    {"not_for_this_shape", done.not_for_this_shape},
                    {"outputs", outputs}});
  }
  return {{"proved", name_of(v.proved)},
          {"worst_error_over_bound", v.worst_ratio},
          {"compared", v.compared},
          {"cases", v.cases.size()},
          {"runs", runs},
          {"full_size", v.full_size},
          {"sampled", v.sampled},
          {"up_to", v.up_to},
          {"but_for", v.but_for},
          {"processes", v.processes},
          {"repeats", v.repeats},
          {"deterministic", v.deterministic},
          {"proved_by", v.proved_by},
          {"unproved", v.unproved},
          {"battery", v.battery}};
}

Json conditions(const Conditions& c) {
  return {{"compiler", c.compiler},
          {"options", c.options},
          {"arch", c.arch},
          {"gate_flags", c.flags},
          {"ran_under", c.ran_under},
          {"compiled_under", c.compiled_under},
          {"screened_on", c.screened_on}};
}

Json rejection(const Rejected& rejected, const std::string& next) {
  return {{"stage", name_of(rejected.stage)},
          {"code", rejected.code},
          {"message", rejected.message},
          {"where", rejected.where},
          {"next", next}};
}

Json candidate(const Candidate& c) {
  Json json = {{"id", c.id},
               {"strategy_id", c.strategy_id},
               {"kernel_id", c.kernel_id},
               {"strategy", Json::parse(strategy_to_json(c.strategy))}};
  if (const auto* accepted = std::get_if<Accepted>(&c.outcome)) {
    json["outcome"] = "accepted";
    json.update(measurement(accepted->measurement));
    json["precision"] = name_of(accepted->verification.proved);
    json["verification"] = verification(accepted->verification);
    json["roofline"] = roofline(accepted->verdict);
    json["conditions"] = conditions(accepted->conditions);
  } else if (const auto* rejected = std::get_if<Rejected>(&c.outcome)) {
    json["outcome"] = "rejected";
    json["rejected"] = rejection(*rejected, next_step(*rejected));
  } else {
    json["outcome"] = "lost";
    json["reason"] = std::get<Lost>(c.outcome).reason;
  }
  return json;
}

// `candidate` null: of a plain setting. `file` null: the line is of the kernel's text.
Json refusals(const std::vector<Refusal>& list) {
  Json all = Json::array();
  for (const Refusal& one : list) {
    Json json = rejection(one.why, one.next);
    json["candidate"] = one.candidate > 0 ? Json(one.candidate) : Json();
    json["setting"] = one.setting;
    json["file"] = one.file.empty() ? Json() : Json(one.file);
    json["line"] = one.line > 0 ? Json(one.line) : Json();
    json["source_line"] = one.source_line;
    all.push_back(std::move(json));
  }
  return all;
}

Json baselines(const std::vector<Baseline>& list) {
  Json json = Json::array();
  for (const Baseline& b : list) {
    json.push_back({{"name", b.name},
                    {"time_us", b.time_us},
                    {"provenance", name_of(b.provenance)},
                    {"ratio", b.ratio}});
    if (!b.says.empty()) json.back()["says"] = b.says;
  }
  return json;
}

// `of`: "agent" or "model".
Json uses_json(const char* of, const std::vector<RoleUse>& uses) {
  Json json = Json::array();
  for (const RoleUse& one : uses) {
    json.push_back({{of, one.name},
                    {"questions", one.questions},
                    {"again", one.again},
                    {"failed", one.failed},
                    {"cut", one.cut},
                    {"written", one.written},
                    {"accepted", one.accepted},
                    {"improved", one.improved},
                    {"gain", one.gain},
                    {"tokens", one.tokens},
                    {"cost", one.cost},
                    {"reserved_tokens", one.reserved_tokens},
                    {"reserved_cost", one.reserved_cost},
                    {"seconds", one.seconds}});
  }
  return json;
}

Json models(const ModelUse& use, std::int64_t evaluations) {
  Json json = {{"exchanges", use.exchanges},
               {"failed", use.failed},
               {"prompt_tokens", use.prompt_tokens},
               {"estimated", use.estimated},
               {"reused", use.reused},
               {"tokens", use.tokens},
               {"cost", use.cost},
               {"cost_per_candidate",
                use.cost / static_cast<double>(std::max<std::int64_t>(1, evaluations))},
               {"reserved_tokens", use.reserved_tokens},
               {"reserved_cost", use.reserved_cost},
               {"best_is_theirs", use.best_is_theirs},
               {"improvements", use.improvements},
               {"tokens_until_best", use.tokens_until_best},
               {"cost_until_best", use.cost_until_best},
               {"agents", uses_json("agent", use.roles)},
               {"models", uses_json("model", use.models)}};
  return json;
}

}  // namespace

namespace {

double ms_a_candidate(const EvolveReport& report, double seconds) {
  return report.proposed > 0 ? 1e3 * seconds / static_cast<double>(report.proposed) : 0;
}

}  // namespace

double controller_cpu_ms(const EvolveReport& report) {
  return ms_a_candidate(report, report.controller_cpu_seconds);
}
double interpreting_cpu_ms(const EvolveReport& report) {
  return ms_a_candidate(report, report.interpreting_cpu_seconds);
}

std::string report_json(const EvolveReport& report, const Task& task, const ModelUse* use) {
  Json json = {{"task", task.name},
               {"baselines", baselines(report.best ? report.best->baselines : report.baselines)},
               {"evaluations", report.evaluations},
               {"proposed", report.proposed},
               {"rejected", report.rejected},
               {"refusals", refusals(report.refusals)},
               {"wall_s", report.wall_seconds > 0 ? Json(report.wall_seconds) : Json()},
               {"resumed", report.resumed},
               {"part_seconds", report.part_seconds},
               {"phase_seconds", report.phase_seconds},
               {"counting_s", report.counting_seconds},
               {"controller_cpu_ms_per_candidate", controller_cpu_ms(report)},
               {"controller_cpu_phases", report.controller_cpu_phases},
               {"interpreting_cpu_ms_per_candidate", interpreting_cpu_ms(report)},
               {"seed", report.seed},
               {"device", report.device},
               {"stopped", report.stopped},
               {"notices", report.notices},
               {"best", nullptr}};
  if (report.best) {
    json["best"] = candidate(report.best->candidate);
    json["best"]["path"] = report.run_dir.empty() ? "" : report.run_dir + "/best";
    json["best"]["ratio_interval"] = {report.best->ratio_low, report.best->ratio_high};
    json["best"]["gain"] = report.best->gain;
    // A model's times have no noise to compare a gain with.
    json["best"]["gain_noise"] =
        report.best->gain_noise > 0 ? Json(report.best->gain_noise) : Json();
  }
  if (use != nullptr) json["models"] = models(*use, report.evaluations);
  return dump(json);
}

std::string candidate_json(const Candidate& c) { return dump(candidate(c)); }

std::string show_json(const RunCandidate& c) {
  Json json = candidate(c.candidate);
  json["source"] = c.candidate.source.text;
  json["launch"] = Json::parse(launch_plan_to_json(c.candidate.source.plan));
  json["lineage"] = c.lineage;
  json["evidence"] = Json::parse(c.evidence_json, nullptr, false);
  return dump(json);
}

std::string power_json(const PowerReport& power) {
  return dump({{"task", power.task},
               {"workload", power.workload.sizes},
               {"fakes_refused", power.fakes},
               {"shown", power.shown},
               {"exempt", power.exempt},
               {"seconds", power.seconds}});
}

std::string error_json(const Error& error) {
  return dump({{"error",
                {{"code", static_cast<int>(error.code)},
                 {"message", error.message},
                 {"next", error.hint}}}});
}

std::string recorded_json(std::int64_t count, const std::string& dir) {
  return dump({{"recorded", count}, {"dir", dir}});
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& f : findings) {
    json.push_back(
        {{"name", f.name}, {"present", f.present}, {"detail", f.detail}, {"cost", f.cost}});
  }
  return dump({{"findings", json}});
}

std::string techniques_json(const std::vector<Technique>& techniques) {
  Json json = Json::array();
  for (const Technique& t : techniques) {
    Json parameters = Json::array();
    for (const TechniqueParameter& p : t.parameters) {
      parameters.push_back(
          {{"name", p.name}, {"domain", p.domain}, {"labels", p.labels}, {"fallback", p.fallback}});
    }
    Json targets = Json::array();
    for (const Resource r : t.targets) targets.push_back(name_of(r));
    json.push_back({{"name", t.name},
                    {"summary", t.summary},
                    {"parameters", parameters},
                    {"relieves", targets},
                    {"needs", t.needs},
                    {"excludes", t.excludes},
                    {"must", t.must},
                    {"group", t.group}});
  }
  return dump({{"techniques", json}});
}

std::string operators_json(const std::vector<OperatorInfo>& operators) {
  Json json = Json::array();
  for (const OperatorInfo& one : operators) {
    Json attributes = Json::object();
    for (const auto& [name, fallback] : one.attributes)
      attributes[name] = fallback.empty() ? Json() : Json(fallback);
    json.push_back({{"name", one.name},
                    {"group", one.group},
                    {"rule", one.rule},
                    {"inputs", one.inputs},
                    {"outputs", one.outputs},
                    {"attributes", attributes},
                    {"aten", one.aten},
                    {"onnx", one.onnx},
                    {"flops", one.flops}});
  }
  return dump({{"operators", json}});
}

std::string tasks_json(const Families& families) {
  Json tasks = Json::array();
  for (const Family& family : families) {
    Json keys = Json::array(), words = Json::array();
    for (const FamilyWord& word : family.words) {
      keys.push_back(word.name);
      words.push_back({{"name", word.name},
                       {"kind", name_of(word.kind)},
                       {"default", word.default_value},
                       {"options", word.options},
                       {"about", word.about}});
    }
    tasks.push_back({{"name", family.name},
                     {"keys", std::move(keys)},
                     {"computes", family.computes},
                     {"words", std::move(words)}});
  }
  return dump({{"tasks", std::move(tasks)}});
}

std::string suite_json(const Suite& suite) {
  Json tasks = Json::array(), beside = Json::array(), skipped = Json::array();
  for (const SuiteTask& one : suite.beside)
    beside.push_back({{"task", one.word}, {"precision", name_of(one.task.precision)}});
  for (const SuiteTask& one : suite.tasks) {
    Json axes = Json::array();
    for (const Axis& axis : one.task.axes) axes.push_back(axis.name);
    Json checks = Json::array();
    for (const Workload& shape : one.task.check_shapes) checks.push_back(shape.sizes);
    tasks.push_back({{"task", one.word},
                     {"title", one.title},
                     {"precision", name_of(one.task.precision)},
                     {"axes", std::move(axes)},
                     {"sizes", one.task.time_shapes[0].sizes},
                     {"check_sizes", std::move(checks)},
                     {"structure", one.structure},
                     {"note", one.note}});
  }
  for (const SuiteGap& gap : suite.skipped)
    skipped.push_back({{"task", gap.word}, {"title", gap.title}, {"reason", gap.reason}});
  return dump({{"suite", suite.name},
               {"source", suite.source},
               {"tasks", std::move(tasks)},
               {"beside", std::move(beside)},
               {"skipped", std::move(skipped)}});
}

std::string bench_json(const std::vector<BenchRow>& rows, const std::string& device) {
  Json json = Json::array();
  for (const BenchRow& row : rows) {
    json.push_back({{"name", row.name},
                    {"time_us", row.time_us},
                    {"spread_us", row.spread_us},
                    {"ratio", row.ratio},
                    {"provenance", row.provenance},
                    {"refused", row.refused}});
  }
  return dump({{"device", device}, {"rows", json}});
}

}  // namespace cupilot::cli
