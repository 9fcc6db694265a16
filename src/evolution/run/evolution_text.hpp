// The saved form of a host's search (docs/formats/evolution.md). Text in, text out: JSON stays in
// the .cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/evolution.hpp>

namespace cupilot {

inline constexpr int evolution_format = 1;

struct EvolutionSlot {
  enum class Status { open, told, forgotten };
  Proposal proposal;
  Status status = Status::open;
  Score score;  // when told
};

// All that a search is a function of.
struct EvolutionRecord {
  TaskRef task;
  DeviceSpec device;
  EvolutionOptions options;     // without the strategist
  bool own_strategist = false;  // the host gave one
  std::vector<EvolutionSlot> slots;
};

Result<std::string> to_json(const EvolutionRecord& record);
// Error{usage} for text that is none, and for another format version.
Result<EvolutionRecord> evolution_from(std::string_view json);

}  // namespace cupilot
