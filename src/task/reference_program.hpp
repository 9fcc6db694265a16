// The three builds of a task's reference text as self-contained CUDA programs (no toolkit headers).
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// oracle: real = double. plain: real = the contract's type, output in storage type: the plain baseline.
// tracked: value and condition sum of each element; its values equal the oracle's.
enum class ReferenceBuild { oracle, plain, tracked };

struct ReferenceEntry {
  std::string entry;   // extern "C" kernel
  std::string tensor;  // the output it computes
};

struct ReferenceProgram {
  std::string text;
  std::vector<ReferenceEntry> entries;  // one an output, in task order
};

// Parameters of every entry: one `const void*` per tensor that is not `out`, in task order; one `double` per scalar; one
// `long long` per axis in task order; then
//   oracle: double* values · tracked: double* values, double* sums · plain: void* output (whole tensor, storage type);
// then long long begin, long long count. values[i], sums[i] belong to element begin + i; the plain build writes elements
// [begin, begin + count) at their place. One thread an element: grid cdiv(count, 256), block 256.
Result<ReferenceProgram> reference_program(const Task& task, ReferenceBuild build);

}  // namespace cupilot
