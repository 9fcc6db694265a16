#include "evolution/run/evolution_text.hpp"

#include <cupilot/version.hpp>

#include "base/hash.hpp"
#include "evolution/journal/record_parts.hpp"

namespace cupilot {
namespace {

constexpr const char* statuses[] = {"open", "told", "forgotten"};

parts::Json put(const Score& s) {
  if (!s.accepted)
    return {{"rejection", s.rejection}, {"evaluated", s.evaluated}, {"kernel_hash", s.kernel_hash}};
  return {
      {"time_us", s.time_us}, {"kernel_hash", s.kernel_hash}, {"verdict", parts::put(s.verdict)}};
}

Score score_from(const parts::Json& json) {
  Score s;
  s.kernel_hash = json.at("kernel_hash").get<std::string>();
  s.accepted = json.contains("time_us");
  if (s.accepted) {
    s.evaluated = true;
    s.time_us = json.at("time_us").get<double>();
    s.verdict = parts::verdict_of(json.at("verdict"));
    if (!(s.time_us > 0))
      throw parts::Json::other_error::create(501, "a told time is not positive", nullptr);
  } else {
    s.evaluated = json.at("evaluated").get<bool>();
    s.rejection = json.at("rejection").get<std::string>();
  }
  return s;
}

parts::Json put(const EvolutionSlot& slot) {
  parts::Json json = parts::Json::parse(to_json(slot.proposal));
  json["status"] = statuses[static_cast<int>(slot.status)];
  if (slot.status == EvolutionSlot::Status::told) json["score"] = put(slot.score);
  return json;
}

EvolutionSlot slot_of(const parts::Json& json) {
  EvolutionSlot slot;
  auto proposal = proposal_from(json.dump());
  if (!proposal) throw parts::Json::other_error::create(501, proposal.error().message, nullptr);
  slot.proposal = std::move(*proposal);
  const auto status = json.at("status").get<std::string>();
  if (status == statuses[1]) {
    slot.status = EvolutionSlot::Status::told;
    slot.score = score_from(json.at("score"));
  } else if (status == statuses[2]) {
    slot.status = EvolutionSlot::Status::forgotten;
  } else if (status != statuses[0]) {
    throw parts::Json::other_error::create(501, "unknown status " + status, nullptr);
  }
  return slot;
}

EvolutionRecord record_of(const parts::Json& json) {
  EvolutionRecord record;
  auto task = task_from_json(json.at("task").dump(), "the saved task");
  if (!task) throw parts::Json::other_error::create(501, task.error().message, nullptr);
  record.task = TaskRef(std::move(*task));
  record.device = parts::device_of(json.at("device"));
  EvolutionOptions& options = record.options;
  options.search = parts::search_options_of(json.at("search"));
  options.provenance = parts::enum_of<Provenance>(json.at("provenance").get<std::string>(), 3);
  json.at("plain_us").get_to(options.plain_us);
  json.at("write").get_to(options.write);
  json.at("random_search").get_to(options.random_search);
  json.at("tunables").get_to(options.tunables);
  for (const parts::Json& technique : json.at("techniques"))
    options.techniques.push_back(parts::technique_of(technique));
  json.at("own_strategist").get_to(record.own_strategist);
  for (const parts::Json& slot : json.at("slots")) record.slots.push_back(slot_of(slot));
  return record;
}

// Covers all that it says, however it is spaced.
std::string digest_of(const parts::Json& json) {
  return sha256_hex(json.dump(-1, ' ', false, parts::Json::error_handler_t::replace));
}

Error no_save(const std::string& reason) {
  const std::size_t library =
      reason.rfind("[json.exception", 0) == 0 ? reason.find("] ") : std::string::npos;
  return {ErrorCode::usage,
          "the saved search cannot be read: " +
              (library == std::string::npos ? reason : reason.substr(library + 2)),
          "give the whole text that save() returned, unchanged"};
}

}  // namespace

Result<std::string> to_json(const EvolutionRecord& record) {
  auto task = task_to_json(record.task);
  if (!task) return task.error();
  const EvolutionOptions& options = record.options;
  parts::Json techniques = parts::Json::array(), slots = parts::Json::array();
  for (const Technique& technique : options.techniques) techniques.push_back(parts::put(technique));
  for (const EvolutionSlot& slot : record.slots) slots.push_back(put(slot));
  parts::Json json = {{"cupilot_evolution", evolution_format},
                      {"program", version},
                      {"task", parts::Json::parse(*task)},
                      {"device", parts::put(record.device)},
                      {"search", parts::put(options.search)},
                      {"provenance", name_of(options.provenance)},
                      {"plain_us", options.plain_us},
                      {"write", options.write},
                      {"random_search", options.random_search},
                      {"tunables", options.tunables},
                      {"techniques", std::move(techniques)},
                      {"own_strategist", record.own_strategist},
                      {"slots", std::move(slots)}};
  json["digest"] = digest_of(json);
  return json.dump(-1, ' ', false, parts::Json::error_handler_t::replace);
}

Result<EvolutionRecord> evolution_from(std::string_view text) {
  try {
    parts::Json json = parts::Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("cupilot_evolution"))
      return no_save("it is no text that save() returns");
    const int format = json.at("cupilot_evolution").get<int>();
    if (format != evolution_format) {
      return Error{ErrorCode::usage,
                   "the saved search has format " + std::to_string(format) +
                       ", this library reads " + std::to_string(evolution_format),
                   "load it with the version that saved it"};
    }
    // Earlier programs wrote none.
    if (const std::string digest = json.value("digest", ""); !digest.empty()) {
      json.erase("digest");
      if (digest != digest_of(json)) return no_save("it was changed after save() had written it");
    }
    return record_of(json);
  } catch (const parts::Json::exception& fault) {
    return no_save(fault.what());
  }
}

}  // namespace cupilot
