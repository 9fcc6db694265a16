// The builds of a task's reference text as self-contained CUDA programs (no toolkit headers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// oracle: real = double. plain: real = the contract's type, output in storage type: the plain
// baseline. tracked: value and condition sum of each element; its values equal the oracle's.
// in_turn, by_eights: plain with folds of a staged reference in another order, all terms one after
// the other, or in a tree of eights.
enum class ReferenceBuild { oracle, plain, tracked, in_turn, by_eights };

struct ReferenceEntry {
  std::string entry;     // extern "C" kernel that needs no stage stored; "" in a deep graph
  std::string tensor;    // the output it computes
  std::string stored{};  // the same, of stages that all lie in memory; "" where no stage can
};

// A fold or scan of a staged reference, which may be computed into memory before it is read.
struct StageEntry {
  std::string entry;  // extern "C" kernel
  std::size_t stage;  // index in Reference::stages
};

struct ReferenceProgram {
  std::string text;
  std::vector<ReferenceEntry> entries;  // one an output, in task order
  std::vector<StageEntry> stages;
};

std::vector<std::string> entry_names(const ReferenceProgram& program);

// Bytes of one number of a stored stage.
std::int64_t stage_number_bytes(const Task& task, ReferenceBuild build);

// Parameters of every entry: one `const void*` per tensor that is not `out`, in task order; one
// `double` per scalar; one `long long` per axis in task order; one `const cupilot_number*` per
// entry of `stages`, null where its values are to be computed by those who read them, which entries
// of `stages` and `stored` ones do not; then
//   oracle: double* values, begin, count: values[i] belongs to element begin + i;
//   plain, in_turn, by_eights: void* output (whole tensor, storage type), begin, count: elements
//   [begin, begin + count) are written at their place; tracked: double* values, double* sums, const
//   long long* begins, slice, count: slices of `slice` elements from begins[0], begins[1] ... on,
//   one after the other in values and sums, of which there are `count`; an entry of `stages`: const
//   cupilot_number* from, cupilot_number* out, span, parts, from_parts, count: `span` terms a
//   thread (`from` null), or `span` of the `from_parts` parts an element that an earlier launch
//   left in `from`; `parts` threads an element, of which one finishes it. A stage of a repeat
//   computes one step a launch, which step stands in from_parts.
// numbers `long long`. One thread an element: grid cdiv(count, 256), for tracked cdiv(slice, 256)
// by the slices; block 256.
Result<ReferenceProgram> reference_program(const Task& task, ReferenceBuild build);

}  // namespace cupilot
