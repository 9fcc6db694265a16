#include "backend/judge/check.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "backend/worker/timed_runner.hpp"
#include "base/hash.hpp"

namespace cupilot {
namespace {

// The structs of kernels/trusted/judge.cu.
struct Draw {
  CUdeviceptr begins = 0;
  long long slice = 1, held = 0, count = 0;
  unsigned long long key = 0;
};
struct ExtremeValues {
  CUdeviceptr memory = 0;
  FillParams layout{};
};
struct Tally {
  unsigned long long failed = 0, worst = 0, one_term = 0, inexact = 0, inexact_error = 0;
};
struct Worst {
  unsigned long long failed = 0;
  long long index = -1;
  double ratio = 0, got = 0, want = 0, bound = 0;
};

struct OutputCell {
  Tally tally;
  Worst worst;
  unsigned long long poisoned = 0, padding = 0;
};
struct GuardCell {
  unsigned long long changed = 0, first = ~0ull;
};

// Holds the result of each check of an order. They lie one behind another in the device's memory.
struct Cells {
  explicit Cells(const CheckOrder& order)
      : outputs(order.outputs.size()),
        guards(order.guards.size()),
        counts(order.zeros.size() + order.unchanged.size(), 0) {}
  std::size_t guards_at() const { return outputs.size() * sizeof(OutputCell); }
  std::size_t counts_at() const { return guards_at() + guards.size() * sizeof(GuardCell); }
  std::size_t bytes() const { return counts_at() + counts.size() * 8 + 8; }
  void write(CUdeviceptr memory) const {
    std::vector<char> host(bytes());
    if (!outputs.empty()) std::memcpy(host.data(), outputs.data(), guards_at());
    if (!guards.empty())
      std::memcpy(host.data() + guards_at(), guards.data(), counts_at() - guards_at());
    check(driver().cuMemcpyHtoD(memory, host.data(), host.size()), "clearing results");
  }
  void read(CUdeviceptr memory) {
    std::vector<char> host(bytes());
    check(driver().cuMemcpyDtoH(host.data(), memory, host.size()), "reading results");
    if (!outputs.empty()) std::memcpy(outputs.data(), host.data(), guards_at());
    if (!guards.empty())
      std::memcpy(guards.data(), host.data() + guards_at(), counts_at() - guards_at());
    if (!counts.empty()) std::memcpy(counts.data(), host.data() + counts_at(), counts.size() * 8);
  }

  std::vector<OutputCell> outputs;
  std::vector<GuardCell> guards;
  std::vector<unsigned long long> counts;  // of zeros, then of unchanged inputs
};

FillParams by_falling_stride(FillParams layout) {
  std::vector<std::pair<long long, long long>> dimensions;
  for (int d = 0; d < layout.rank; ++d)
    dimensions.emplace_back(layout.strides[d], layout.extents[d]);
  std::sort(dimensions.rbegin(), dimensions.rend());
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    std::tie(layout.strides[d], layout.extents[d]) = dimensions[d];
  return layout;
}

// SHA-256 of the elements in linear order, without the gaps that strides leave.
std::string hash_of_elements(CudaSession& session, const CheckItem& item) {
  std::string stored(static_cast<std::size_t>(item.region.bytes), '\0');
  if (!stored.empty())
    check(driver().cuMemcpyDtoH(stored.data(), session.address(item.region), stored.size()),
          "reading an output");
  const auto size = static_cast<std::size_t>(storage_bytes(item.layout.type));
  if (item.layout.span == item.layout.elements) return sha256_hex(stored);
  std::string dense;
  for (long long i = 0; i < item.layout.elements; ++i) {
    dense.append(stored, static_cast<std::size_t>(storage_offset(item.layout, i)) * size, size);
  }
  return sha256_hex(dense);
}

// Starts the comparison of each output; `cell` is the first one's. Returns how many elements each
// is compared at.
std::vector<std::int64_t> launch_outputs(CudaSession& session, OracleStore& oracles,
                                         const CheckOrder& order, CUdeviceptr cell) {
  std::vector<std::int64_t> compared;
  for (std::size_t i = 0; i < order.outputs.size(); ++i, cell += sizeof(OutputCell)) {
    const CheckItem& item = order.outputs[i];
    const CUdeviceptr memory = session.address(item.region);
    const OracleStore::Entry& oracle = oracles.at(order.oracle_keys.at(i));
    const bool all = item.compare <= 0 || item.compare >= oracle.elements;
    const Draw draw{oracle.begins, std::max<long long>(oracle.slice, 1), oracle.elements,
                    all ? oracle.elements : item.compare, all ? 0 : (item.draw | 1)};
    const ExtremeValues extreme{session.address(item.extreme), item.extreme_layout};
    session.launch(judge_image, "compare_output", draw.count, memory, item.layout, item.bound,
                   extreme, draw, oracle.values, oracle.sums, cell + offsetof(OutputCell, tally),
                   CUdeviceptr{0});
    session.launch(judge_image, "compare_output", 1, memory, item.layout, item.bound, extreme, draw,
                   oracle.values, oracle.sums, cell + offsetof(OutputCell, tally),
                   cell + offsetof(OutputCell, worst));
    if (item.scan_poison) {
      session.launch(judge_image, "count_poison", item.layout.elements, memory, item.layout,
                     static_cast<int>(item.poison), cell + offsetof(OutputCell, poisoned));
    }
    if (item.layout.span > item.layout.elements) {
      session.launch(judge_image, "count_padding", item.layout.span, memory,
                     by_falling_stride(item.layout), static_cast<int>(item.poison),
                     cell + offsetof(OutputCell, padding));
    }
    compared.push_back(draw.count);
  }
  return compared;
}

void launch_guards(CudaSession& session, const CheckOrder& order, CUdeviceptr cell) {
  for (const Region& region : order.guards) {
    const MappedSlot& slot = session.slots.at(region.slot);
    session.launch(trusted_image, "count_guard", slot.bytes / 8, slot.address, slot.bytes,
                   region.offset, region.offset + region.bytes, cell);
    cell += sizeof(GuardCell);
  }
}

void launch_counts(CudaSession& session, const GivenBytes& given, const CheckOrder& order,
                   CUdeviceptr count) {
  for (const Region& region : order.zeros) {
    session.launch(trusted_image, "count_nonzero", region.bytes, session.address(region),
                   region.bytes, count);
    count += 8;
  }
  for (const PrepareItem& input : order.unchanged) {
    session.launch(judge_image, "fill_tensor", input.recipe.elements, session.address(input.region),
                   given.found(input.recipe), count);
    count += 8;
  }
}

CheckedOutput output_of(const OutputCell& cell, std::int64_t compared) {
  const Worst& worst = cell.worst;
  const Tally& tally = cell.tally;
  CheckedOutput output{compared,
                       static_cast<std::int64_t>(worst.failed),
                       static_cast<std::int64_t>(cell.poisoned),
                       worst.index,
                       worst.ratio,
                       worst.got,
                       worst.want,
                       worst.bound,
                       static_cast<std::int64_t>(tally.one_term),
                       static_cast<std::int64_t>(tally.inexact)};
  output.padding_changed = static_cast<std::int64_t>(cell.padding);
  std::memcpy(&output.one_term_error, &tally.inexact_error, sizeof output.one_term_error);
  return output;
}

CheckedGuard guard_of(const GuardCell& cell, const Region& region) {
  const bool intact = cell.changed == 0;
  return {static_cast<std::int64_t>(cell.changed),
          intact ? 0 : static_cast<std::int64_t>(cell.first) - region.offset};
}

}  // namespace

Checker::~Checker() {
  if (memory_ != 0) driver().cuMemFree(memory_);
}

CUdeviceptr Checker::scratch(std::size_t bytes) {
  if (bytes > bytes_) {
    if (memory_ != 0) check(driver().cuMemFree(memory_), "freeing scratch");
    bytes_ = std::max<std::size_t>(bytes, 64 << 10);
    check(driver().cuMemAlloc(&memory_, bytes_), "allocating scratch");
  }
  return memory_;
}

CheckAnswer Checker::check_all(const CheckOrder& order) {
  Cells cells(order);
  const CUdeviceptr base = scratch(cells.bytes());
  cells.write(base);
  const std::vector<std::int64_t> compared = launch_outputs(session_, oracles_, order, base);
  launch_guards(session_, order, base + cells.guards_at());
  launch_counts(session_, given_, order, base + cells.counts_at());
  session_.synchronize();
  cells.read(base);

  CheckAnswer answer;
  for (std::size_t i = 0; i < cells.outputs.size(); ++i)
    answer.outputs.push_back(output_of(cells.outputs[i], compared[i]));
  for (std::size_t i = 0; i < cells.guards.size(); ++i)
    answer.guards.push_back(guard_of(cells.guards[i], order.guards[i]));
  const auto unchanged = cells.counts.begin() + static_cast<std::ptrdiff_t>(order.zeros.size());
  answer.nonzero.assign(cells.counts.begin(), unchanged);
  answer.changed.assign(unchanged, cells.counts.end());
  for (const CheckItem& item : order.outputs)
    answer.hashes.push_back(item.hash ? hash_of_elements(session_, item) : std::string());
  return answer;
}

}  // namespace cupilot
