// The answers of recorded:DIR, and readers of the two files that hold them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// The result that an earlier run has of one strategy.
struct Answer {
  bool accepted = false;
  Measurement measurement;
  Rejected rejected;
  std::string kernel_hash;
};

struct Recording {
  std::string identity;
  Provenance provenance = Provenance::modelled;
  DeviceSpec device;
  std::string task_json;                // of what was timed; "null": it does not say
  std::vector<std::string> task_words;  // and how it was named
  std::vector<Technique> techniques;
  std::map<std::string, Answer> answers;    // by strategy id
  bool short_ids = false;                   // these have short_id characters
  std::map<std::string, double> baselines;  // by name
  std::string notice;                       // of a torn end; "": there was none
};

// A table's rows name strategies by this many of their id's characters.
inline constexpr std::size_t short_id = 16;

// Reads a journal's bytes; `path` is for messages.
Result<Recording> recording_of_journal(const std::string& bytes, const std::string& path);
// Reads a landscape's lines (docs/formats/landscape.md). Ids are short_id long.
Result<Recording> recording_of_table(const std::string& text, const std::string& path);

// The answer for a strategy's whole id; null: the recording does not hold it.
inline const Answer* find_answer(const Recording& recording, const std::string& strategy_id) {
  const auto found =
      recording.answers.find(recording.short_ids ? strategy_id.substr(0, short_id) : strategy_id);
  return found == recording.answers.end() ? nullptr : &found->second;
}

}  // namespace cupilot
