// The distances of values at indices that a kernel left from the extremes that it looked for.
#include "backend/virtual/run.hpp"
#include "task/index_gap.hpp"

namespace cupilot {

Result<std::optional<IndexGaps>> index_gaps(const VirtualContext& context, const TaskRef& task,
                                            std::size_t tensor, const Workload& workload,
                                            const Content& content, VirtualMemory& memory,
                                            const OracleValues& known) {
  auto made = index_gap_task(task, tensor);
  if (!made || memory.tensor(tensor) == no_buffer) return std::optional<IndexGaps>();
  const TaskRef judging(std::move(*made));
  auto bound = gap_bound(judging, workload, content);
  if (!bound) return bound.error();
  auto values =
      context.oracle.with(judging, judging->tensors.size() - 1, workload, content, tensor,
                          std::as_bytes(memory.device().data(memory.tensor(tensor))), known);
  if (!values) return values.error();
  return std::optional(IndexGaps{*bound, std::move(values->values), std::move(values->sums)});
}

Result<std::optional<IndexGaps>> index_gaps_of(const VirtualContext& context, const TaskRef& task,
                                               std::size_t tensor, const Workload& workload,
                                               const Content& content, VirtualMemory& memory,
                                               const ElementRuns& runs,
                                               std::span<const std::uint64_t> addresses) {
  constexpr std::uint64_t budget = 1ull << 30;  // warp instructions a launch
  auto made = index_gap_task(task, tensor);
  if (!made || memory.tensor(tensor) == no_buffer) return std::optional<IndexGaps>();
  const TaskRef judging(std::move(*made));
  auto bound = gap_bound(judging, workload, content);
  if (!bound) return bound.error();
  std::vector<std::uint64_t> places(addresses.begin(), addresses.end());
  places[tensor] = memory.device().address(memory.tensor(tensor));
  places.push_back(0);
  auto values = context.oracle.at(judging, judging->tensors.size() - 1, workload, memory.device(),
                                  places, runs, budget);
  if (!values) return values.error();
  if (!*values) return std::optional<IndexGaps>();
  return std::optional(IndexGaps{*bound, std::move((*values)->values), std::move((*values)->sums)});
}

}  // namespace cupilot
