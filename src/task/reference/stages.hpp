// CUDA text of a reference's stages: members of `struct Inputs`, and an entry for each stage that
// may be stored.
#pragma once

#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// The stage that `read` of stage number `reader` finds: the last of its name before it, or of what
// a repeat carries the one that makes it, which may come later. -1: a tensor.
int source_stage(const std::vector<ReferenceStage>& stages, std::size_t reader,
                 const StageRead& read);

// A stage that may be computed into memory: folds and scans.
bool is_storable(const ReferenceStage& stage);

// Which stages have values that may be computed from inputs alone, by a text of some size: one of a
// deep graph holds a text of each stage as often as it is read along the way, which grows
// exponentially with depth. What such a stage reads is one too.
std::vector<bool> directly_read(const std::vector<ReferenceStage>& stages);

// Members of Inputs for one stage: `number` is its index in the reference. `stored`: those of
// StoredInputs, where every stage that is read lies in memory, so that no kernel holds registers
// for computing it.
std::string stage_members(const Task& task, std::size_t number, bool stored);

// reference_X of a stage that is an output.
std::string stage_as_output(const ReferenceStage& stage);

// The body of a storable stage's entry, after the declaration of `in`; parameters as
// program.hpp says.
std::string stage_entry_body(const Task& task, std::size_t number);

}  // namespace cupilot
