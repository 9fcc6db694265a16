#include "backend/virtual/timed.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "backend/oracle/timed_output.hpp"
#include "task/content.hpp"
#include "task/host_judge.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t drawn_of_whole = 1024;
constexpr std::int64_t compared_run = 32;  // elements
// The number of drawn runs compared, how many of the places asked for as well, and the warp
// instructions that their reference may take; fewer follow where that is too expensive.
struct Comparing {
  std::int64_t runs;
  std::size_t places;
  std::uint64_t budget;
};
constexpr Comparing comparing[] = {{72, 40, 3'000'000},
                                   {24, 40, 6'000'000},
                                   {4, 16, 6'000'000},
                                   {1, 2, 40'000'000},
                                   {1, 0, 60'000'000}};

constexpr std::int64_t few_runs = 4;

// The element that owns an offset of the storage, by strides that do not overlap.
std::int64_t element_at(const TensorShape& shape, std::int64_t offset) {
  std::vector<std::size_t> sides;
  for (std::size_t d = 0; d < shape.extents.size(); ++d) {
    if (shape.extents[d] > 1) sides.push_back(d);
  }
  std::sort(sides.begin(), sides.end(),
            [&](std::size_t a, std::size_t b) { return shape.strides[a] > shape.strides[b]; });
  std::vector<std::int64_t> at(shape.extents.size());
  for (const std::size_t d : sides) {
    at[d] = std::min(offset / shape.strides[d], shape.extents[d] - 1);
    offset -= at[d] * shape.strides[d];
  }
  std::int64_t element = 0;
  for (std::size_t d = 0; d < at.size(); ++d) element = element * shape.extents[d] + at[d];
  return element;
}

// Elements at both ends of neighbours that were written together, those first of which few have as
// many: a store beside a block's own share is one of them. At most `most`; none where more was
// written than is looked through.
std::vector<std::int64_t> odd_ones(VirtualMemory& memory, std::size_t buffer, std::int64_t written,
                                   int size, std::size_t most) {
  constexpr std::int64_t most_looked_through = 1 << 18;
  constexpr std::size_t alike = 4;
  std::vector<std::int64_t> out;
  const std::int64_t count = written / size;
  if (most == 0 || count > most_looked_through) return out;
  std::vector<std::uint64_t> ranks(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i * static_cast<std::uint64_t>(size);
  std::map<std::int64_t, std::vector<std::int64_t>> firsts;  // by the number of neighbours
  std::int64_t first = 0, next = -1;
  const auto end_run = [&] {
    if (next > first) firsts[next - first].push_back(first);
  };
  for (const std::uint64_t byte : memory.device().written_at(buffer, ranks)) {
    const std::int64_t at = static_cast<std::int64_t>(byte) / size;
    if (at != next) {
      end_run();
      first = at;
    }
    next = at + 1;
  }
  end_run();
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> groups(firsts.begin(),
                                                                         firsts.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [neighbours, begins] : groups) {
    for (std::size_t i = 0; i < std::min(begins.size(), alike) && out.size() + 1 < most; ++i) {
      out.push_back(begins[i]);
      out.push_back(begins[i] + neighbours - 1);
    }
  }
  return out;
}

// Around drawn ones of the written elements and odd ones, and around places; none: nothing was
// written.
Result<ElementRuns> drawn_runs(const Task& task, std::size_t tensor, const Workload& workload,
                               VirtualMemory& memory, const Comparing& how,
                               std::span<const std::int64_t> places, Rng rng) {
  ElementRuns runs;
  const std::size_t buffer = memory.tensor(tensor);
  Result<TensorShape> shape = shape_of(task, task.tensors[tensor], workload);
  if (!shape) return shape.error();
  if (buffer == no_buffer) return runs;
  const auto written = static_cast<std::int64_t>(memory.device()[buffer].bytes -
                                                 memory.device().unwritten_bytes(buffer));
  if (written == 0) return runs;
  std::vector<std::uint64_t> ranks;
  const std::int64_t drawn = std::min(how.runs, written);
  for (std::int64_t i = 0; i < drawn; ++i)  // one of each part of them
    ranks.push_back(static_cast<std::uint64_t>((written / drawn) * i + rng.below(written / drawn)));
  runs.length = std::min(compared_run, shape->elements);
  for (const std::uint64_t byte : memory.device().written_at(buffer, ranks)) {
    const std::int64_t element =
        element_at(*shape, static_cast<std::int64_t>(byte) / size_of(task.tensors[tensor].type));
    runs.begins.push_back(std::clamp<std::int64_t>(element - rng.below(runs.length), 0,
                                                   shape->elements - runs.length));
  }
  const int size = size_of(task.tensors[tensor].type);
  for (const std::int64_t offset : odd_ones(memory, buffer, written, size, how.places))
    runs.begins.push_back(std::clamp<std::int64_t>(element_at(*shape, offset) - runs.length / 2, 0,
                                                   shape->elements - runs.length));
  for (const std::int64_t place : places) {
    const std::int64_t element = place < 0 ? shape->elements + place : place;
    if (element >= 0 && element < shape->elements)
      runs.begins.push_back(
          std::clamp<std::int64_t>(element - runs.length / 2, 0, shape->elements - runs.length));
  }
  std::sort(runs.begins.begin(), runs.begins.end());
  runs.begins.erase(std::unique(runs.begins.begin(), runs.begins.end()), runs.begins.end());
  runs.count = static_cast<std::int64_t>(runs.begins.size()) * runs.length;
  return runs;
}

// Addresses of the tensors' contents before the run.
std::vector<std::uint64_t> originals(const Task& task, VirtualMemory& memory) {
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const std::size_t buffer = memory.original(i);
    addresses.push_back(buffer == no_buffer ? 0 : memory.device().address(buffer));
  }
  return addresses;
}

}  // namespace

Result<Coverage> Coverage::of(const Task& task, const Workload& workload, VirtualMemory& memory) {
  Coverage coverage;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role != Role::out || memory.tensor(i) == no_buffer) continue;
    const auto shape = shape_of(task, task.tensors[i], workload);
    if (!shape) return shape.error();
    coverage.buffers_.push_back(memory.tensor(i));
    coverage.bytes_ += static_cast<std::uint64_t>(shape->elements * size_of(task.tensors[i].type));
  }
  coverage.take(memory);
  return coverage;
}

Coverage Coverage::of_update(std::size_t tensor, const VirtualMemory& memory) {
  Coverage coverage;
  if (memory.original(tensor) == memory.tensor(tensor)) return coverage;
  coverage.buffers_.push_back(memory.tensor(tensor));
  return coverage;
}

double Coverage::take(VirtualMemory& memory) {
  std::uint64_t unwritten = 0;
  for (const std::size_t buffer : buffers_) unwritten += memory.device().unwritten_bytes(buffer);
  const std::uint64_t before = std::exchange(unwritten_, unwritten);
  return !any() || before < unwritten
             ? 0
             : static_cast<double>(before - unwritten) / static_cast<double>(bytes_);
}

double Coverage::reached(VirtualMemory& memory) const {
  if (buffers_.size() != 1) return 1;
  const std::uint64_t bytes = memory.device().data(buffers_[0]).size();
  const std::uint64_t written = bytes - memory.device().unwritten_bytes(buffers_[0]);
  if (written == 0) return 0;
  const std::uint64_t last = written - 1;
  const std::vector<std::uint64_t> at = memory.device().written_at(buffers_[0], {&last, 1});
  return at.empty() ? 1 : static_cast<double>(at[0] + 1) / static_cast<double>(bytes);
}

Result<std::optional<Rejected>> wrong_whole(const VirtualContext& context, const TaskRef& task,
                                            VirtualMemory& memory, const Workload& workload,
                                            const Content& content) {
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    const Role role = task->tensors[i].role;
    if (role != Role::out && role != Role::in_out) continue;
    if (is_judged_by_host(task->tensors[i])) {
      std::string reason;
      auto output = judge_on_host(context, task, i, workload, content, memory, reason);
      if (!output) return output.error();
      if (auto wrong = wrong_when_timed(*output)) return wrong;
      if (!reason.empty()) return std::optional(reject("measure.timed_launch", reason));
      continue;
    }
    auto oracle = context.oracle.values(task, i, workload, content, drawn_of_whole);
    if (!oracle) return oracle.error();
    auto output = compare_output(task, i, workload, content, memory, **oracle);
    if (!output) return output.error();
    if (output->failed > 0) {
      auto others = alternatives(context, task, i, workload, content, memory, **oracle);
      if (!others) return others.error();
      if (*others)
        output = compare_output(task, i, workload, content, memory, **oracle, {}, &**others);
      if (!output) return output.error();
    }
    if (auto wrong = wrong_when_timed(*output)) return wrong;
  }
  return std::optional<Rejected>();
}

namespace {

// The last elements of a tensor.
ElementRuns last_run(std::int64_t elements) {
  ElementRuns runs;
  runs.length = runs.count = std::min<std::int64_t>(compared_run, elements);
  runs.begins = {elements - runs.length};
  return runs;
}

constexpr std::uint64_t last_budget = 40'000'000;  // warp instructions of a reference

}  // namespace

Result<bool> changes_the_end(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                             const Workload& workload, VirtualMemory& memory) {
  const auto layout = fill_params(task, tensor, workload, {});
  if (!layout) return layout.error();
  const ElementRuns runs = last_run(layout->elements);
  const auto wanted = context.oracle.at(task, tensor, workload, memory.device(),
                                        originals(task, memory), runs, last_budget);
  if (!wanted) return wanted.error();
  if (!*wanted) return false;
  const std::uint8_t* before = memory.device().data(memory.original(tensor)).data();
  for (std::int64_t i = 0; i < runs.length; ++i) {
    const auto at = storage_offset(*layout, runs.begins[0] + i);
    const double value = (*wanted)->values[static_cast<std::size_t>(i)];
    if (load_bits(before, at, layout->type) != encode(value, layout->type)) return true;
  }
  return false;
}

Result<bool> is_wrong_beyond(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                             const Workload& workload, const Content& content, double share,
                             VirtualMemory& memory) {
  constexpr std::uint64_t looked_at = 64;
  const auto shape = shape_of(task, task->tensors[tensor], workload);
  if (!shape) return shape.error();
  const std::size_t buffer = memory.tensor(tensor);
  if (buffer == no_buffer) return false;
  const auto size = static_cast<std::uint64_t>(size_of(task->tensors[tensor].type));
  const std::uint64_t written =
      memory.device()[buffer].bytes - memory.device().unwritten_bytes(buffer);
  std::vector<std::uint64_t> ranks;
  for (std::uint64_t i = 0; i < std::min(looked_at, written); ++i)
    ranks.push_back(written / std::min(looked_at, written) * i);
  ElementRuns runs{.length = 1};
  for (const std::uint64_t byte : memory.device().written_at(buffer, ranks)) {
    const std::int64_t element = element_at(*shape, static_cast<std::int64_t>(byte / size));
    if (static_cast<double>(element) >= share * static_cast<double>(shape->elements))
      runs.begins.push_back(element);
  }
  runs.count = static_cast<std::int64_t>(runs.begins.size());
  if (runs.count == 0) return false;
  const auto wanted = context.oracle.at(task, tensor, workload, memory.device(),
                                        originals(task, memory), runs, last_budget);
  if (!wanted) return wanted.error();
  if (!*wanted) return false;
  const auto output = compare_written(task, tensor, workload, content, memory, runs, **wanted);
  if (!output) return output.error();
  return output->failed > 0;
}

Result<bool> compare_part(const VirtualContext& context, const TaskRef& task, VirtualMemory& memory,
                          const Workload& workload, const Content& content, Rng rng,
                          std::int64_t most, std::span<const std::int64_t> places,
                          std::vector<OutputReport>& reports) {
  const std::vector<std::uint64_t> addresses = originals(task, memory);
  bool told = false;
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    const Role role = task->tensors[i].role;
    const bool kept = memory.original(i) != memory.tensor(i);  // its content before the run
    if (role != Role::out && !(role == Role::in_out && kept)) continue;
    if (is_judged_by_host(task->tensors[i])) continue;  // as a whole alone
    for (const Comparing& how : comparing) {
      if (how.runs > most) continue;
      auto runs = drawn_runs(task, i, workload, memory, how,
                             places.first(std::min(places.size(), how.places)), rng.fork(i));
      if (!runs) return runs.error();
      if (runs->count == 0) break;
      auto reference =
          context.oracle.at(task, i, workload, memory.device(), addresses, *runs, how.budget);
      if (!reference) return reference.error();
      if (!*reference) continue;
      auto output = compare_written(task, i, workload, content, memory, *runs, **reference);
      if (!output) return output.error();
      if (output->failed > 0) {
        auto others =
            alternatives_of(context, task, i, workload, content, memory, *runs, addresses);
        if (!others) return others.error();
        if (*others)
          output =
              compare_written(task, i, workload, content, memory, *runs, **reference, &**others);
        if (!output) return output.error();
      }
      told = true;
      reports.push_back(std::move(*output));
      break;
    }
  }
  return told;
}

Result<std::optional<Rejected>> wrong_part(const VirtualContext& context, const TaskRef& task,
                                           VirtualMemory& memory, const Workload& workload,
                                           const Content& content, Rng rng) {
  std::vector<OutputReport> reports;
  auto told = compare_part(context, task, memory, workload, content, rng, few_runs, {}, reports);
  if (!told) return told.error();
  for (const OutputReport& output : reports) {
    if (auto wrong = wrong_when_timed(output)) return wrong;
  }
  return std::optional<Rejected>();
}

}  // namespace cupilot
