#include <nlohmann/json.hpp>

#include "screens/profile.hpp"

namespace cupilot::cli {
namespace {

using Json = nlohmann::json;

Json work(const InstructionWork& w) {
  return {{"warp_instructions", w.warps},   {"thread_instructions", w.threads},
          {"issue_slots", w.issue_slots()}, {"requests", w.requests},
          {"sectors", w.sectors},           {"wavefronts", w.wavefronts},
          {"conflicts", w.conflicts},       {"divergent_branches", w.divergences}};
}

Json time(const ModelledTime& t) {
  Json terms = Json::object();
  for (const auto& [name, us] : t.terms_us) terms[name] = us;
  return {
      {"provenance", "modelled"},   {"time_us", t.us},      {"interval_us", {t.low_us, t.high_us}},
      {"correction", t.correction}, {"binding", t.binding}, {"terms_us", terms}};
}

Json counts(const Counts& counted) {
  Json all = Json::object();
  for (std::size_t i = 0; i < counter_count; ++i) {
    const Count& count = counted.all[i];
    if (count.how == CountHow::unknown) continue;
    all[std::string(name_of(static_cast<Counter>(i)))] = {{"value", count.value},
                                                          {"low", count.low},
                                                          {"high", count.high},
                                                          {"how", name_of(count.how)}};
  }
  return all;
}

Json residency(const LaunchProfile& l, const DeviceSpec& device) {
  const Residency& r = l.residency;
  const int warps = r.blocks * ((l.block[0] * l.block[1] * l.block[2] + 31) / 32);
  return {{"blocks_per_sm", r.blocks},
          {"warps_per_sm", warps},
          {"share", 32.0 * warps / device.threads_per_sm},
          {"limit", r.limit},
          {"allowed_by",
           {{"threads", r.threads},
            {"registers", r.registers},
            {"shared", r.shared},
            {"slots", r.slots}}}};
}

Json launch(const OwnKernel& kernel, const LaunchProfile& l, const DeviceSpec& device) {
  Json kinds = Json::array(), lines = Json::array();
  for (const InstructionKind& kind : l.kinds) {
    kinds.push_back(work(kind.work));
    kinds.back()["kind"] = kind.name;
  }
  for (const ProfiledLine& line : l.lines) {
    const UserLine mine = user_line(kernel, line);
    lines.push_back(work(line.work));
    lines.back().update({{"file", mine.file},
                         {"line", mine.line},
                         {"text", mine.text},
                         {"ptx_instructions", line.instructions}});
  }
  Json json{{"name", l.name},
            {"entry", l.entry},
            {"grid", l.grid},
            {"block", l.block},
            {"cluster", l.cluster},
            {"registers", l.registers},
            {"shared_bytes", l.shared_bytes},
            {"spill_bytes", {{"store", l.spill_store_bytes}, {"load", l.spill_load_bytes}}},
            {"occupancy", residency(l, device)},
            {"model", time(l.time)},
            {"counts", counts(l.counts)},
            {"measured_us", l.measured_us},
            {"total", work(l.total)},
            {"mix", kinds},
            {"lines_from", l.lines_from},
            {"lines", lines}};
  for (const StallShare& one : l.stalls)
    json["stalls"][std::string(name_of(one.stall))] = one.share;
  return json;
}

}  // namespace

std::string profile_json(const OwnKernel& kernel, const Profile& profile,
                         const DeviceSpec& device) {
  Json launches = Json::array();
  for (const LaunchProfile& l : profile.launches) launches.push_back(launch(kernel, l, device));
  const Json all = {{"outcome", "profiled"},
                    {"device", profile.device},
                    {"file", kernel.path},
                    {"task", kernel.task ? Json(kernel.task->name) : Json(nullptr)},
                    {"shape", profile.workload.sizes},
                    {"model", time(profile.time)},
                    {"floor_us", profile.floor_us},
                    {"conditions", profile.conditions},
                    {"counted", profile.counted},
                    {"launches", launches}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cupilot::cli
