// A kernel file of the corpus and what its header asks to be run.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "problem.hpp"

namespace cupilot::coverage {

// What the leading `// corpus: {json}` lines say, beside the plan in the `// cupilot:` ones:
//   sizes      {"n": 1000}: what the plan's expressions and the references see
//   constants  the same for numbers that may be 0, such as paddings
//   in, in_out, out   {"x": ["fp32", "rows", "cols", {"kind": "uniform"}]}: type, shape and, where
//   it is not normal, a task's fill expect     {"y": "relu"}: the reference of each output
//   tolerance  of an error, relative to the largest magnitude expected in its output (1e-5); 0 asks
//   for equal values
struct CorpusKernel {
  std::string file{};
  KernelSource source{};
  Task task{};  // tensors and sizes; its reference is the host's
  std::map<std::string, std::string> expect{};
  double tolerance = 1e-5;
};

// Error: unreadable, or a header that does not hold together; names the file.
Result<CorpusKernel> read_kernel(const std::string& folder, const std::string& file);

}  // namespace cupilot::coverage
