// Values that an element may have besides the reference's: an index whose value lies as near the
// extreme, what follows from another output as the kernel stored it.
#include "backend/virtual/run.hpp"
#include "task/index_gap.hpp"
#include "task/stored_task.hpp"

namespace cupilot {
namespace {

// A task that judges the output once more, with what the kernel left in some outputs.
struct Judging {
  TaskRef task;
  std::size_t output = 0;
  std::vector<std::size_t> left;
  BoundParams bound{};
  bool of_index = false;
};

Result<std::optional<Judging>> judging_of(const TaskRef& task, std::size_t tensor,
                                          const Workload& workload, const Content& content,
                                          VirtualMemory& memory) {
  Judging out;
  Result<BoundParams> bound = BoundParams{};
  if (auto gaps = index_gap_task(task, tensor)) {
    out = {TaskRef(std::move(*gaps)), task->tensors.size(), {tensor}, {}, true};
    bound = gap_bound(out.task, workload, content);
  } else if (auto stored = stored_task(task, tensor)) {
    out = {TaskRef(std::move(stored->task)), tensor, std::move(stored->stored), {}, false};
    bound = bound_params(out.task, tensor, workload, content);
  } else {
    return std::optional<Judging>();
  }
  if (!bound) return bound.error();
  out.bound = *bound;
  for (const std::size_t one : out.left) {
    if (memory.tensor(one) == no_buffer) return std::optional<Judging>();
  }
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<Alternatives>> alternatives(const VirtualContext& context, const TaskRef& task,
                                                 std::size_t tensor, const Workload& workload,
                                                 const Content& content, VirtualMemory& memory,
                                                 const OracleValues& known) {
  auto judging = judging_of(task, tensor, workload, content, memory);
  if (!judging) return judging.error();
  if (!*judging) return std::optional<Alternatives>();
  const Judging& how = **judging;
  std::vector<GivenTensor> left;
  for (const std::size_t one : how.left)
    left.push_back({one, std::as_bytes(memory.device().data(memory.tensor(one)))});
  auto values = context.oracle.with(how.task, how.output, workload, content, left, known);
  if (!values) return values.error();
  return std::optional(
      Alternatives{how.bound, std::move(values->values), std::move(values->sums), how.of_index});
}

Result<std::optional<Alternatives>> alternatives_of(const VirtualContext& context,
                                                    const TaskRef& task, std::size_t tensor,
                                                    const Workload& workload,
                                                    const Content& content, VirtualMemory& memory,
                                                    const ElementRuns& runs,
                                                    std::span<const std::uint64_t> addresses) {
  constexpr std::uint64_t budget = 1ull << 30;  // warp instructions a launch
  auto judging = judging_of(task, tensor, workload, content, memory);
  if (!judging) return judging.error();
  if (!*judging) return std::optional<Alternatives>();
  const Judging& how = **judging;
  std::vector<std::uint64_t> places(addresses.begin(), addresses.end());
  for (const std::size_t one : how.left) places[one] = memory.device().address(memory.tensor(one));
  places.resize(how.task->tensors.size());
  auto values =
      context.oracle.at(how.task, how.output, workload, memory.device(), places, runs, budget);
  if (!values) return values.error();
  if (!*values) return std::optional<Alternatives>();
  return std::optional(Alternatives{how.bound, std::move((*values)->values),
                                    std::move((*values)->sums), how.of_index});
}

}  // namespace cupilot
