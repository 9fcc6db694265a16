// The three builds of a task's reference text as self-contained CUDA programs (no toolkit headers).
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// oracle: real = double. plain: real = the contract's type, output in storage type: the plain
// baseline. tracked: value and condition sum of each element; its values equal the oracle's.
enum class ReferenceBuild { oracle, plain, tracked };

struct ReferenceEntry {
  std::string entry;   // extern "C" kernel
  std::string tensor;  // the output it computes
};

struct ReferenceProgram {
  std::string text;
  std::vector<ReferenceEntry> entries;  // one an output, in task order
};

// Parameters of every entry: one `const void*` per tensor that is not `out`, in task order; one
// `double` per scalar; one `long long` per axis in task order; then
//   oracle: double* values, begin, count: values[i] belongs to element begin + i;
//   plain: void* output (whole tensor, storage type), begin, count: elements [begin, begin + count)
//   are written at their place; tracked: double* values, double* sums, const long long* begins,
//   slice, count: slices of `slice` elements from begins[0], begins[1] ... on, one after the other
//   in values and sums, of which there are `count`;
// numbers `long long`. One thread an element: grid cdiv(count, 256), for tracked cdiv(slice, 256)
// by the slices; block 256.
Result<ReferenceProgram> reference_program(const Task& task, ReferenceBuild build);

}  // namespace cupilot
