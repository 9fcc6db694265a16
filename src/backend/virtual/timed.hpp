// Outputs of the runs that a modelled time stands on: work that was not done, or not done right,
// must not be counted.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/rng.hpp>

#include "backend/virtual/run.hpp"

namespace cupilot {

// The share of a task's pure outputs that some blocks write.
class Coverage {
 public:
  static Result<Coverage> of(const Task& task, const Workload& workload, VirtualMemory& memory);
  // Covers one tensor that is updated in place; nothing where its content before is not kept.
  static Coverage of_update(std::size_t tensor, const VirtualMemory& memory);
  bool any() const { return bytes_ > 0; }  // true if there is anything to write
  std::uint64_t bytes() const { return bytes_; }
  // The share of the only output below the last byte that was written; 1: there are several.
  double reached(VirtualMemory& memory) const;
  // The share of all outputs' bytes that was first written since the last call, or since it was
  // made.
  double take(VirtualMemory& memory);

 private:
  std::vector<std::size_t> buffers_;
  std::uint64_t bytes_ = 0, unwritten_ = 0;  // of the elements; of the buffers
};

// After a whole run: drawn elements of every output. Rejected{measure.timed_launch}.
Result<std::optional<Rejected>> wrong_whole(const VirtualContext& context, const TaskRef& task,
                                            VirtualMemory& memory, const Workload& workload,
                                            const Content& content);

// True if some of the last elements of a tensor that is updated in place must change; false where
// the reference is too dear.
Result<bool> changes_the_end(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                             const Workload& workload, VirtualMemory& memory);

// True if some written element of an output behind that share of it is wrong; false where the
// reference is too dear.
Result<bool> is_wrong_beyond(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                             const Workload& workload, const Content& content, double share,
                             VirtualMemory& memory);

// After some blocks of a plan's only launch, each output element of one block: a few of the
// elements that they wrote.
// Compares elements around drawn ones of those that were written of each output, at most so many
// runs of them, and around `places`, negative ones from the end, where they were written. False: of
// none.
Result<bool> compare_part(const VirtualContext& context, const TaskRef& task, VirtualMemory& memory,
                          const Workload& workload, const Content& content, Rng rng,
                          std::int64_t most, std::span<const std::int64_t> places,
                          std::vector<OutputReport>& reports);

Result<std::optional<Rejected>> wrong_part(const VirtualContext& context, const TaskRef& task,
                                           VirtualMemory& memory, const Workload& workload,
                                           const Content& content, Rng rng);

}  // namespace cupilot
