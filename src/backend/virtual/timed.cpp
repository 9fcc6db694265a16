#include "backend/virtual/timed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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

Coverage Coverage::of_update(std::size_t tensor, VirtualMemory& memory) {
  Coverage coverage;
  if (memory.original(tensor) == memory.tensor(tensor)) return coverage;
  coverage.buffers_.push_back(memory.tensor(tensor));
  coverage.bytes_ = memory.device()[memory.tensor(tensor)].bytes;
  coverage.unwritten_ = memory.device().unwritten_bytes(memory.tensor(tensor));
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

namespace {

using WrittenWords = ptx::DeviceMemory::WrittenWords;

// The offset of the first byte that is written now and was not before.
std::uint64_t first_new(const WrittenWords& before, const WrittenWords& now) {
  std::size_t stretch = 0;
  for (std::size_t i = 0; i < now.first.size(); ++i) {
    for (std::size_t w = 0; w < now.bytes[i].size(); ++w) {
      const std::uint64_t word = now.first[i] + w;
      while (stretch < before.first.size() &&
             before.first[stretch] + before.bytes[stretch].size() <= word)
        ++stretch;
      const bool known = stretch < before.first.size() && before.first[stretch] <= word;
      const unsigned old = known ? before.bytes[stretch][word - before.first[stretch]] : 0u;
      const unsigned fresh = now.bytes[i][w] & ~old;
      if (fresh != 0) return 4 * word + static_cast<std::uint64_t>(std::countr_zero(fresh));
    }
  }
  return 0;
}

std::array<std::int64_t, 3> place_in(const std::array<std::int64_t, 3>& grid, std::uint64_t block) {
  const auto at = static_cast<std::int64_t>(block);
  return {at % grid[0], at / grid[0] % grid[1], at / grid[0] / grid[1]};
}

// Gives where a block begins: at `first`, and so many bytes further for each step along a side.
struct GridMap {
  std::int64_t first = 0;
  std::array<std::int64_t, 3> steps{};

  std::int64_t of(const std::array<std::int64_t, 3>& at) const {
    return first + at[0] * steps[0] + at[1] * steps[1] + at[2] * steps[2];
  }
};

// A block by its place, and where it began.
struct Begun {
  std::array<std::int64_t, 3> at;
  std::int64_t first;
};

// The bytes of a step along a side, by two blocks that differ there alone.
std::optional<std::int64_t> step_along(const std::vector<Begun>& blocks, std::size_t side) {
  for (const Begun& a : blocks) {
    for (const Begun& b : blocks) {
      bool alone = a.at[side] < b.at[side];
      for (std::size_t d = 0; d < 3; ++d) alone = alone && (d == side || a.at[d] == b.at[d]);
      if (!alone) continue;
      const std::int64_t steps = b.at[side] - a.at[side];
      if ((b.first - a.first) % steps != 0) return std::nullopt;
      return (b.first - a.first) / steps;
    }
  }
  return std::nullopt;
}

// nullopt: blocks do not begin at their places in the grid.
std::optional<GridMap> map_of(const std::vector<Begun>& blocks,
                              const std::array<std::int64_t, 3>& grid) {
  GridMap map;
  for (std::size_t side = 0; side < 3; ++side) {
    if (grid[side] == 1) continue;
    const auto step = step_along(blocks, side);
    if (!step) return std::nullopt;
    map.steps[side] = *step;
  }
  map.first = blocks[0].first - map.of(blocks[0].at);
  const bool all = std::all_of(blocks.begin(), blocks.end(),
                               [&](const Begun& one) { return map.of(one.at) == one.first; });
  return all ? std::optional(map) : std::nullopt;
}

}  // namespace

UpdatePlaces::UpdatePlaces(std::size_t tensor, VirtualMemory& memory)
    : tensor_(tensor), coverage_(Coverage::of_update(tensor, memory)), size_(coverage_.bytes()) {
  if (size_ > 0) before_ = memory.device().written_words(memory.tensor(tensor));
}

void UpdatePlaces::note(std::uint64_t block, VirtualMemory& memory) {
  if (size_ == 0) return;
  const double share = coverage_.take(memory);
  Block one{block, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(size_))), 0};
  if (one.bytes > 0) {
    WrittenWords now = memory.device().written_words(memory.tensor(tensor_));
    one.first = first_new(std::exchange(before_, now), now);
  }
  blocks_.push_back(one);
}

bool UpdatePlaces::knows(std::uint64_t block) const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [&](const Block& one) { return one.block == block; });
}

std::uint64_t UpdatePlaces::each() const {
  std::uint64_t most = 0;
  for (const Block& one : blocks_) most = std::max(most, one.bytes);
  return most > 0 ? most : size_;
}

std::vector<std::uint64_t> UpdatePlaces::left_out(const std::array<std::int64_t, 3>& grid) const {
  constexpr std::size_t fewest = 5, many = 16;
  std::vector<Begun> begun;
  for (const Block& one : blocks_) {
    if (one.bytes > 0)
      begun.push_back({place_in(grid, one.block), static_cast<std::int64_t>(one.first)});
  }
  if (begun.empty() && blocks_.size() >= many) return {0, size_ - 1};
  const double whole = static_cast<double>(each()) * static_cast<double>(grid[0] * grid[1]) *
                       static_cast<double>(grid[2]);
  const bool spare = whole > 1.5 * static_cast<double>(size_);
  if (begun.size() < fewest || spare) return {};
  const std::optional<GridMap> map = map_of(begun, grid);
  std::vector<std::uint64_t> offsets;
  for (const Block& one : blocks_) {
    if (!map || one.bytes > 0) continue;
    const std::int64_t offset = map->of(place_in(grid, one.block));
    if (offset >= 0 && static_cast<std::uint64_t>(offset) < size_)
      offsets.push_back(static_cast<std::uint64_t>(offset));
  }
  return offsets;
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

constexpr std::uint64_t last_budget = 40'000'000;  // warp instructions of a reference

}  // namespace

Result<bool> changes_at(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                        const Workload& workload, std::uint64_t offset, VirtualMemory& memory) {
  const auto shape = shape_of(task, task->tensors[tensor], workload);
  if (!shape) return shape.error();
  const auto layout = fill_params(task, tensor, workload, {});
  if (!layout) return layout.error();
  const int size = size_of(task->tensors[tensor].type);
  ElementRuns runs;
  runs.length = runs.count = std::min<std::int64_t>(compared_run, shape->elements);
  runs.begins = {
      std::clamp<std::int64_t>(element_at(*shape, static_cast<std::int64_t>(offset) / size), 0,
                               shape->elements - runs.length)};
  const auto wanted = context.oracle.at(task, tensor, workload, memory.device(),
                                        originals(task, memory), runs, last_budget);
  if (!wanted) return wanted.error();
  if (!*wanted) return false;
  const std::uint8_t* before = memory.device().data(memory.original(tensor)).data();
  for (std::int64_t i = 0; i < runs.length; ++i) {
    const auto at = storage_offset(*layout, runs.begins[0] + i);
    const auto byte = static_cast<std::uint64_t>(at * size);
    const double value = (*wanted)->values[static_cast<std::size_t>(i)];
    if (!memory.device().is_written(memory.tensor(tensor), byte) &&
        load_bits(before, at, layout->type) != encode(value, layout->type))
      return true;
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
