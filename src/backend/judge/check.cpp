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

// Holds the result of each check of an order.
struct OutputCell {
  Tally tally;
  Worst worst;
  unsigned long long poisoned = 0, padding = 0;
};
struct GuardCell {
  unsigned long long changed = 0, first = ~0ull;
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
  std::vector<OutputCell> outputs(order.outputs.size());
  std::vector<GuardCell> guards(order.guards.size());
  std::vector<unsigned long long> counts(order.zeros.size() + order.unchanged.size(), 0);
  const std::size_t output_bytes = outputs.size() * sizeof(OutputCell),
                    guard_bytes = guards.size() * sizeof(GuardCell);
  std::vector<char> host(output_bytes + guard_bytes + counts.size() * 8 + 8);
  if (output_bytes > 0) std::memcpy(host.data(), outputs.data(), output_bytes);
  if (guard_bytes > 0) std::memcpy(host.data() + output_bytes, guards.data(), guard_bytes);
  const CUdeviceptr base = scratch(host.size());
  check(driver().cuMemcpyHtoD(base, host.data(), host.size()), "clearing results");

  std::vector<std::int64_t> compared;
  for (std::size_t i = 0; i < order.outputs.size(); ++i) {
    const CheckItem& item = order.outputs[i];
    const CUdeviceptr memory = session_.address(item.region);
    const CUdeviceptr cell = base + i * sizeof(OutputCell);
    const OracleStore::Entry& oracle = oracles_.at(order.oracle_keys.at(i));
    const bool all = item.compare <= 0 || item.compare >= oracle.elements;
    const Draw draw{oracle.begins, std::max<long long>(oracle.slice, 1), oracle.elements,
                    all ? oracle.elements : item.compare, all ? 0 : (item.draw | 1)};
    const ExtremeValues extreme{session_.address(item.extreme), item.extreme_layout};
    session_.launch(trusted_image, "compare_output", draw.count, memory, item.layout, item.bound,
                    extreme, draw, oracle.values, oracle.sums, cell + offsetof(OutputCell, tally));
    session_.launch(trusted_image, "describe_worst", 1, memory, item.layout, item.bound, extreme,
                    draw, oracle.values, oracle.sums, cell + offsetof(OutputCell, tally),
                    cell + offsetof(OutputCell, worst));
    if (item.scan_poison) {
      session_.launch(trusted_image, "count_poison", item.layout.elements, memory, item.layout,
                      static_cast<int>(item.poison), cell + offsetof(OutputCell, poisoned));
    }
    if (item.layout.span > item.layout.elements) {
      session_.launch(trusted_image, "count_padding", item.layout.span, memory,
                      by_falling_stride(item.layout), static_cast<int>(item.poison),
                      cell + offsetof(OutputCell, padding));
    }
    compared.push_back(draw.count);
  }
  for (std::size_t i = 0; i < order.guards.size(); ++i) {
    const Region& region = order.guards[i];
    const MappedSlot& slot = session_.slots.at(region.slot);
    session_.launch(trusted_image, "count_guard", slot.bytes / 8, slot.address, slot.bytes,
                    region.offset, region.offset + region.bytes,
                    base + output_bytes + i * sizeof(GuardCell));
  }
  CUdeviceptr count = base + output_bytes + guard_bytes;
  for (const Region& region : order.zeros) {
    session_.launch(trusted_image, "count_nonzero", region.bytes, session_.address(region),
                    region.bytes, count);
    count += 8;
  }
  for (const PrepareItem& input : order.unchanged) {
    session_.launch(trusted_image, "count_changed", input.recipe.elements,
                    session_.address(input.region), input.recipe, count);
    count += 8;
  }
  session_.synchronize();
  check(driver().cuMemcpyDtoH(host.data(), base, host.size()), "reading results");
  if (output_bytes > 0) std::memcpy(outputs.data(), host.data(), output_bytes);
  if (guard_bytes > 0) std::memcpy(guards.data(), host.data() + output_bytes, guard_bytes);
  if (!counts.empty())
    std::memcpy(counts.data(), host.data() + output_bytes + guard_bytes, counts.size() * 8);

  CheckAnswer answer;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Worst& worst = outputs[i].worst;
    const Tally& tally = outputs[i].tally;
    CheckedOutput output{compared[i],
                         static_cast<std::int64_t>(worst.failed),
                         static_cast<std::int64_t>(outputs[i].poisoned),
                         worst.index,
                         worst.ratio,
                         worst.got,
                         worst.want,
                         worst.bound,
                         static_cast<std::int64_t>(tally.one_term),
                         static_cast<std::int64_t>(tally.inexact)};
    output.padding_changed = static_cast<std::int64_t>(outputs[i].padding);
    std::memcpy(&output.one_term_error, &tally.inexact_error, sizeof output.one_term_error);
    answer.outputs.push_back(output);
  }
  for (std::size_t i = 0; i < guards.size(); ++i) {
    const bool intact = guards[i].changed == 0;
    answer.guards.push_back(
        {static_cast<std::int64_t>(guards[i].changed),
         intact ? 0 : static_cast<std::int64_t>(guards[i].first) - order.guards[i].offset});
  }
  answer.nonzero.assign(counts.begin(),
                        counts.begin() + static_cast<std::ptrdiff_t>(order.zeros.size()));
  answer.changed.assign(counts.begin() + static_cast<std::ptrdiff_t>(order.zeros.size()),
                        counts.end());
  for (const CheckItem& item : order.outputs)
    answer.hashes.push_back(item.hash ? hash_of_elements(session_, item) : std::string());
  return answer;
}

}  // namespace cupilot
