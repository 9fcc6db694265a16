#include "evolution/journal/program_record.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <cupilot/parts/program_strategy.hpp>

#include "evolution/journal/record_parts.hpp"

namespace cupilot {
namespace {

using parts::Json;

constexpr int format = 2;                // 1: parts without `library`
constexpr int slots_without_kernel = 2;  // then the part is refused
constexpr std::size_t partitions_told = 8;

Json json_of(const ProgramSlotRecord& slot) {
  Json json = {{"part", slot.part}, {"evaluations", slot.evaluations}};
  if (slot.time_us > 0) {
    json["time_us"] = slot.time_us;
    if (slot.library_us > 0) json["library_us"] = slot.library_us;
    json["strategy"] = parts::put(slot.strategy);
  } else {
    json["refused"] = slot.refused;
  }
  if (slot.step_us > 0) json["step_us"] = slot.step_us;
  if (!slot.step_refused.empty()) json["step_refused"] = slot.step_refused;
  return json;
}

ProgramSlotRecord slot_of(const Json& json) {
  ProgramSlotRecord slot;
  json.at("part").get_to(slot.part);
  json.at("evaluations").get_to(slot.evaluations);
  if (json.contains("time_us")) {
    json.at("time_us").get_to(slot.time_us);
    slot.library_us = json.value("library_us", 0.0);
    slot.strategy = parts::strategy_of(json.at("strategy"));
  } else {
    json.at("refused").get_to(slot.refused);
  }
  slot.step_us = json.value("step_us", 0.0);
  slot.step_refused = json.value("step_refused", "");
  return slot;
}

std::string names_of(const ProgramPartRecord& part) {
  std::string names;
  for (const std::string& name : part.on) names += (names.empty() ? "" : "+") + name;
  return names;
}

std::string shown(const ProgramRecord& record, const std::vector<std::size_t>& partition) {
  std::string text;
  for (const std::size_t part : partition)
    text += (text.empty() ? "" : " | ") + names_of(record.parts[part]);
  return text;
}

std::string shown(const Strategy& strategy) {
  std::string text;
  for (const PartStrategy& part : parts_of(strategy).parts) {
    std::string names;
    for (const std::string& name : part.on) names += (names.empty() ? "" : "+") + name;
    text += (text.empty() ? "" : " | ") + (names.empty() ? "one part" : names);
    if (is_library_step(part.strategy)) text += fmt::format(" by {}", library_of(part.strategy));
  }
  return text;
}

bool all_have_kernels(const std::vector<std::size_t>& partition,
                      const std::vector<PartStanding>& parts) {
  return std::all_of(partition.begin(), partition.end(),
                     [&](std::size_t part) { return parts[part].is_ready(); });
}

std::string part_line(const ProgramRecord& record, const std::vector<PartStanding>& all,
                      std::size_t part) {
  const PartStanding& one = all[part];
  const std::string name = names_of(record.parts[part]);
  if (record.parts[part].like)
    return fmt::format("part {}: computes what part {} does, whose search serves both", name,
                       names_of(record.parts[*record.parts[part].like]));
  if (one.views)
    return fmt::format("part {}: no kernel, other parts write its inputs where its result has them",
                       name);
  if (one.slots == 0)
    return fmt::format("part {}: not searched, at least {:.4g} us", name, one.floor_us);
  const std::string step = step_text(one);
  if (one.time_us <= 0) {
    const auto last =
        std::find_if(record.slots.rbegin(), record.slots.rend(),
                     [&](const ProgramSlotRecord& slot) { return slot.part == part; });
    return fmt::format("part {}: no kernel after {} evaluations: {}{}", name, one.evaluations,
                       last == record.slots.rend() ? "" : last->refused, step);
  }
  std::string line = fmt::format("part {}: {:.4g} us after {} evaluations, floor {:.4g} us", name,
                                 one.time_us, one.evaluations, one.floor_us);
  if (one.library_us > 0) line += fmt::format(", {} {:.4g} us", one.library, one.library_us);
  line += step;
  if (one.times > 1) line += fmt::format("; {} times in a program", one.times);
  if (one.prepared) line += "; of constants alone: run once before and not timed";
  return line;
}

}  // namespace

// Takes up what a slot came to, number `at` of all.
static void add_slot(PartStanding& part, const ProgramSlotRecord& slot, std::size_t at) {
  ++part.slots;
  part.evaluations = slot.evaluations;
  const double before = part.time_us;
  const bool better = slot.time_us > 0 && (before <= 0 || slot.time_us < before);
  if (slot.library_us > 0) part.library_us = slot.library_us;
  if (slot.step_us > 0) part.step_us = slot.step_us;
  if (!slot.step_refused.empty()) part.step_refused = slot.step_refused;
  part.last_gain = better && before > 0 ? before / slot.time_us - 1 : 0;
  if (better) {
    part.time_us = slot.time_us;
    part.best_slot = at;
  }
  part.refused = part.best_us() <= 0 && part.slots >= slots_without_kernel;
}

std::string step_text(const PartStanding& part) {
  if (part.step_us > 0)
    return fmt::format("; as a step of {} {:.4g} us", part.library, part.step_us);
  if (part.step_refused.empty()) return "";
  return fmt::format("; as a step of {} refused: {}", part.library, part.step_refused);
}

double PartStanding::expected_us() const {
  if (refused) return std::numeric_limits<double>::infinity();
  if (prepared || views) return 0;
  return static_cast<double>(times) * (best_us() > 0 ? best_us() : floor_us);
}

double PartStanding::likely_us() const {
  if (prepared || is_ready()) return expected_us();
  return std::max(expected_us(), static_cast<double>(times) * forecast_us);
}

std::vector<PartStanding> standings(const ProgramRecord& record) {
  std::vector<PartStanding> all(record.parts.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].floor_us = record.parts[i].floor_us;
    all[i].forecast_us = record.parts[i].forecast_us;
    all[i].prepared = record.parts[i].prepared;
    all[i].views = record.parts[i].views;
    all[i].times = record.parts[i].times;
    all[i].library = record.parts[i].library;
  }
  for (std::size_t i = 0; i < record.slots.size(); ++i) {
    for (std::size_t part = 0; part < all.size(); ++part) {
      if (searched_as(record, part) == record.slots[i].part)
        add_slot(all[part], record.slots[i], i);
    }
  }
  return all;
}

std::size_t searched_as(const ProgramRecord& record, std::size_t part) {
  return record.parts[part].like.value_or(part);
}

double expected_us(const std::vector<std::size_t>& partition,
                   const std::vector<PartStanding>& parts) {
  double sum = 0;
  for (const std::size_t part : partition) sum += parts[part].expected_us();
  return sum;
}

std::string program_path(const std::string& run_dir) { return run_dir + "/program.json"; }

std::string to_json(const ProgramRecord& record) {
  Json part_list = Json::array(), slot_list = Json::array();
  for (const ProgramPartRecord& part : record.parts) {
    part_list.push_back({{"on", part.on}, {"task_id", part.task_id}, {"floor_us", part.floor_us}});
    if (part.prepared) part_list.back()["prepared"] = true;
    if (part.views) part_list.back()["views"] = true;
    if (part.times != 1) part_list.back()["times"] = part.times;
    if (part.forecast_us > 0) part_list.back()["forecast_us"] = part.forecast_us;
    if (part.like) part_list.back()["like"] = *part.like;
    if (part.library != ProgramPartRecord().library) part_list.back()["library"] = part.library;
  }
  for (const ProgramSlotRecord& slot : record.slots) slot_list.push_back(json_of(slot));
  Json json = {{"cupilot_program", format},
               {"max_evaluations", record.max_evaluations},
               {"slot_evaluations", record.slot_evaluations},
               {"listed", record.listed},
               {"parts", std::move(part_list)},
               {"partitions", record.partitions},
               {"slots", std::move(slot_list)}};
  if (record.lookahead != 0) json["lookahead"] = record.lookahead;
  if (!record.pool.empty()) json["pool"] = record.pool;
  for (const ProgramViewRecord& view : record.views)
    json["views"].push_back(
        {{"tensor", view.tensor}, {"buffer", view.buffer}, {"from", view.from}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ProgramRecord> program_record_from(std::string_view text, const std::string& origin) {
  const auto malformed = [&](const std::string& reason) {
    return Error{ErrorCode::failure, origin + ": " + reason,
                 "begin a new run directory; the parts' own directories still hold their kernels"};
  };
  ProgramRecord record;
  try {
    const Json json = Json::parse(text);
    if (const int version = json.at("cupilot_program").get<int>(); version < 1 || version > format)
      return malformed("it is of another version");
    json.at("max_evaluations").get_to(record.max_evaluations);
    json.at("slot_evaluations").get_to(record.slot_evaluations);
    json.at("listed").get_to(record.listed);
    record.lookahead = json.value("lookahead", 0);
    record.pool = json.value("pool", "");
    for (const Json& part : json.at("parts")) {
      record.parts.push_back(
          {part.at("on").get<std::vector<std::string>>(), part.at("task_id").get<std::string>(),
           part.at("floor_us").get<double>(), part.value("prepared", false),
           part.value("times", std::int64_t{1}), part.value("forecast_us", 0.0)});
      if (part.contains("like")) record.parts.back().like = part.at("like").get<std::size_t>();
      record.parts.back().library = part.value("library", ProgramPartRecord().library);
      record.parts.back().views = part.value("views", false);
    }
    json.at("partitions").get_to(record.partitions);
    for (const Json& slot : json.at("slots")) record.slots.push_back(slot_of(slot));
    for (const Json& view : json.value("views", Json::array()))
      record.views.push_back({view.at("tensor").get<std::string>(),
                              view.at("buffer").get<std::string>(),
                              view.at("from").get<std::string>()});
  } catch (const Json::exception& fault) {
    return malformed(fault.what());
  }
  const auto unknown = [&](std::size_t part) { return part >= record.parts.size(); };
  for (const auto& partition : record.partitions) {
    if (std::any_of(partition.begin(), partition.end(), unknown))
      return malformed("a partition has a part that is not listed");
  }
  if (std::any_of(record.slots.begin(), record.slots.end(),
                  [&](const ProgramSlotRecord& slot) { return unknown(slot.part); }))
    return malformed("a slot has a part that is not listed");
  for (std::size_t part = 0; part < record.parts.size(); ++part) {
    const auto& like = record.parts[part].like;
    if (like && (*like >= part || record.parts[*like].like))
      return malformed("a part is like one that is not listed before it");
  }
  return record;
}

std::vector<std::string> program_lines(const ProgramRecord& record) {
  const std::vector<PartStanding> all = standings(record);
  auto order = record.partitions;
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return expected_us(a, all) < expected_us(b, all);
  });
  std::vector<std::string> lines = {fmt::format(
      "program: {} partitions {}, {} parts, {} slots of {} evaluations", record.partitions.size(),
      record.listed ? "are legal" : "were found by dynamic programming over times",
      record.parts.size(), record.slots.size(), record.slot_evaluations)};
  for (std::size_t part = 0; part < record.parts.size(); ++part)
    lines.push_back(part_line(record, all, part));
  for (const ProgramViewRecord& view : record.views)
    lines.push_back(fmt::format("view {}: lies in {}, from element {} on", view.tensor, view.buffer,
                                view.from));
  for (std::size_t i = 0; i < std::min(order.size(), partitions_told); ++i) {
    const double sum = expected_us(order[i], all);
    const bool known = all_have_kernels(order[i], all);
    if (known)
      lines.push_back(fmt::format("partition {}: its parts take {:.4g} us, each launched alone",
                                  shown(record, order[i]), sum));
    else if (sum < std::numeric_limits<double>::infinity())
      lines.push_back(fmt::format("partition {}: at least {:.4g} us, not all parts were searched",
                                  shown(record, order[i]), sum));
    else
      lines.push_back(
          fmt::format("partition {}: a part of it has no kernel", shown(record, order[i])));
  }
  return lines;
}

std::string program_line(const Candidate& candidate) {
  const std::string text = "program " + shown(candidate.strategy) + ": ";
  if (const auto* accepted = std::get_if<Accepted>(&candidate.outcome))
    return text + fmt::format("{:.4g} us {} end to end", accepted->measurement.time_us,
                              name_of(accepted->measurement.provenance));
  const auto* rejected = std::get_if<Rejected>(&candidate.outcome);
  return text + (rejected == nullptr ? "lost" : "refused, " + rejected->message);
}

std::string taken_line(const Candidate& best, std::int64_t programs) {
  return fmt::format(
      "taken: {}, the fastest end to end of {} program{} tried, those of the "
      "partitions whose parts take least",
      shown(best.strategy), programs, programs == 1 ? "" : "s");
}

std::vector<std::string> program_lines(Host& host, const std::string& run_dir) {
  if (!host.exists(program_path(run_dir))) return {};
  const auto text = host.read_file(program_path(run_dir));
  if (!text) return {};
  const auto record = program_record_from(*text, program_path(run_dir));
  return record ? program_lines(*record) : std::vector<std::string>{record.error().message};
}

}  // namespace cupilot
