// Trusted programs of a task as images: the tracked reference for the judge, the plain baseline for
// the runner.
#pragma once

#include <map>
#include <string>

#include <cupilot/task.hpp>

#include "backend/compile/pool.hpp"
#include "backend/cuda/trial_device.hpp"
#include "task/reference/program.hpp"

namespace cupilot {

struct ReferenceImage {
  NamedImage image;
  ReferenceProgram program;
};

class CudaPrograms {
 public:
  CudaPrograms(CompilePool& pool, std::string arch) : pool_(pool), arch_(std::move(arch)) {}
  // Compiled once a task. Error{usage} with the compiler's words when the task's reference does not
  // compile.
  Result<const ReferenceImage*> reference(const TaskRef& task, ReferenceBuild build);

 private:
  CompilePool& pool_;
  std::string arch_;
  std::map<std::string, ReferenceImage> images_;
};

// Kernels of every process: slots, the L2 flush, the health probe. Takes some 0.1 s.
Result<std::vector<std::uint8_t>> compile_trusted(CompilePool& pool, const std::string& arch);
// The judge's own kernels: content and comparison. Takes seconds.
Result<std::vector<std::uint8_t>> compile_judging(CompilePool& pool, const std::string& arch);

}  // namespace cupilot
