#include "evolution/checkpoint.hpp"

#include <algorithm>

#include <cupilot/version.hpp>

#include "evolution/record_parts.hpp"

namespace cupilot {

using parts::Json;

std::string checkpoint_path(const std::string& run_dir) { return run_dir + "/checkpoint"; }

Pieces checkpoint_bytes(const RecordMark& mark, const std::vector<Proposal>& open, Pieces search, Pieces ledger, Pieces known) {
  Json proposals = Json::array();
  for (const Proposal& proposal : open) proposals.push_back(parts::put(proposal));
  const Json json = {{"cupilot_checkpoint", checkpoint_format},
                     {"program", version},
                     {"records", mark.records},
                     {"chain", mark.chain},
                     {"open", std::move(proposals)}};
  Pieces bytes(frame(0, 0, json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  add_frame(bytes, 1, 1, std::move(search));
  add_frame(bytes, 2, 2, std::move(ledger));
  add_frame(bytes, 3, 3, std::move(known));
  return bytes;
}

std::optional<Checkpoint> checkpoint_from(std::string_view bytes) {
  ReadRecords read = read_records(bytes);
  if (!read.damage.empty() || read.records.size() != 4) return std::nullopt;
  Checkpoint c;
  try {
    const Json json = Json::parse(read.records[0].payload);
    if (json.at("cupilot_checkpoint").get<int>() != checkpoint_format || json.at("program") != version) return std::nullopt;
    json.at("records").get_to(c.mark.records);
    json.at("chain").get_to(c.mark.chain);
    for (const Json& proposal : json.at("open")) c.open.push_back(parts::proposal_of(proposal));
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  c.search = std::move(read.records[1].payload);
  c.ledger = std::move(read.records[2].payload);
  c.known = std::move(read.records[3].payload);
  return c;
}

std::int64_t slots_a_checkpoint(std::int64_t slots) { return std::clamp<std::int64_t>(slots / 4, 16, 4096); }

}  // namespace cupilot
