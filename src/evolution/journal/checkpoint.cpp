#include "evolution/journal/checkpoint.hpp"

#include <algorithm>

#include <cupilot/version.hpp>

#include "evolution/journal/record_parts.hpp"

namespace cupilot {

std::string checkpoint_path(const std::string& run_dir) { return run_dir + "/checkpoint"; }

namespace {

enum CheckpointPart : std::uint32_t { head_part, search_part, ledger_part, known_part };

}  // namespace

Pieces checkpoint_bytes(const RecordMark& mark, const std::vector<Proposal>& open, Pieces search,
                        Pieces ledger, Pieces known, std::size_t most) {
  parts::Json proposals = parts::Json::array();
  for (const Proposal& proposal : open) proposals.push_back(parts::put(proposal));
  const parts::Json json = {{"cupilot_checkpoint", checkpoint_format},
                            {"program", version},
                            {"records", mark.records},
                            {"chain", mark.chain},
                            {"open", std::move(proposals)}};
  Pieces bytes(
      frame(head_part, 0, json.dump(-1, ' ', false, parts::Json::error_handler_t::replace)));
  std::uint64_t sequence = 1;
  add_frames(bytes, search_part, sequence, std::move(search), most);
  add_frames(bytes, ledger_part, sequence, std::move(ledger), most);
  add_frames(bytes, known_part, sequence, std::move(known), most);
  return bytes;
}

std::optional<Checkpoint> checkpoint_from(std::string_view bytes) {
  ReadRecords read = read_records(bytes);
  if (!read.damage.empty() || read.records.empty() || read.records[0].type != head_part)
    return std::nullopt;
  Checkpoint c;
  try {
    const parts::Json json = parts::Json::parse(read.records[0].payload);
    if (json.at("cupilot_checkpoint").get<int>() != checkpoint_format ||
        json.at("program") != version)
      return std::nullopt;
    json.at("records").get_to(c.mark.records);
    json.at("chain").get_to(c.mark.chain);
    for (const parts::Json& proposal : json.at("open"))
      c.open.push_back(parts::proposal_of(proposal));
  } catch (const parts::Json::exception&) {
    return std::nullopt;
  }
  std::size_t at = 1;
  auto search = take_frames(read.records, at, search_part);
  auto ledger = take_frames(read.records, at, ledger_part);
  auto known = take_frames(read.records, at, known_part);
  if (!search || !ledger || !known || at != read.records.size()) return std::nullopt;
  c.search = std::move(*search);
  c.ledger = std::move(*ledger);
  c.known = std::move(*known);
  return c;
}

std::int64_t slots_a_checkpoint(std::int64_t slots) {
  return std::clamp<std::int64_t>(slots / 4, 16, 4096);
}

}  // namespace cupilot
