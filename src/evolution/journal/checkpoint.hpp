// DIR/checkpoint: the state of a search at a moment of its journal, so that a long run is continued
// without folding all of it. The journal stays the truth: a checkpoint that is damaged, of another
// program or of another journal is as good as none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/host.hpp>

#include "base/record_file.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

// Raised whenever what a checkpoint holds, or what a search makes of it, changes.
inline constexpr int checkpoint_format = 5;

struct Checkpoint {
  RecordMark mark;                    // the journal's
  std::vector<Proposal> open;         // without result
  std::string search, ledger, known;  // saved by these
};

std::string checkpoint_path(const std::string& run_dir);
// Frames hold at most `most` bytes each.
Pieces checkpoint_bytes(const RecordMark& mark, const std::vector<Proposal>& open, Pieces search,
                        Pieces ledger, Pieces known, std::size_t most = largest_payload);
std::optional<Checkpoint> checkpoint_from(std::string_view bytes);
// Slots from one checkpoint to the next: writing them costs a small part of the search, reading on
// from one a second.
std::int64_t slots_a_checkpoint(std::int64_t slots);

}  // namespace cupilot
