// The reference run in arithmetic of the contract's own type, as the plain baseline is: it shows
// what a content asks too much of, and what honest arithmetic errs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/virtual/run.hpp"

namespace cupilot {

class PlainRun {
 public:
  static Result<std::unique_ptr<PlainRun>> run(const VirtualContext& context, const TaskRef& task,
                                               const Case& what);
  // Over given storages, one a tensor, those of pure outputs empty.
  static Result<std::unique_ptr<PlainRun>> over(const VirtualContext& context, const TaskRef& task,
                                                const Case& what, ReferenceBuild build,
                                                std::span<const TensorBytes> tensors);
  // The outputs; null where the reference could not be run so.
  VirtualMemory* memory() { return memory_ ? &*memory_ : nullptr; }

 private:
  ResolvedPlan plan_;
  std::optional<VirtualMemory> memory_;
};

}  // namespace cupilot
