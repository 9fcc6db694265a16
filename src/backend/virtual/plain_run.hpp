// The reference run in arithmetic of the contract's own type, as the plain baseline is: what a
// content asks too much of shows there.
#pragma once

#include <memory>
#include <optional>

#include "backend/virtual/run.hpp"

namespace cupilot {

class PlainRun {
 public:
  static Result<std::unique_ptr<PlainRun>> run(const VirtualContext& context, const TaskRef& task,
                                               const Case& what);
  // The outputs; null where the reference could not be run so.
  VirtualMemory* memory() { return memory_ ? &*memory_ : nullptr; }

 private:
  ResolvedPlan plan_;
  std::optional<VirtualMemory> memory_;
};

}  // namespace cupilot
