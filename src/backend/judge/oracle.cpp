#include "backend/judge/oracle.hpp"

#include <algorithm>
#include <cstring>

namespace cupilot {
namespace {

// The parameters of a tracked entry, eight bytes each (src/task/reference_program.hpp).
std::vector<std::uint64_t> parameters(const CudaSession& session, const OracleOrder& order,
                                      const OracleStore::Entry& entry) {
  std::vector<std::uint64_t> words;
  for (const Region& region : order.pointers) words.push_back(session.address(region));
  for (const double scalar : order.scalars) {
    std::uint64_t word = 0;
    std::memcpy(&word, &scalar, sizeof word);
    words.push_back(word);
  }
  for (const std::int64_t axis : order.axes) words.push_back(static_cast<std::uint64_t>(axis));
  words.insert(words.end(),
               {entry.values, entry.sums, entry.begins, static_cast<std::uint64_t>(order.slice),
                static_cast<std::uint64_t>(order.elements)});
  return words;
}

void launch(CudaSession& session, const OracleOrder& order, std::vector<std::uint64_t> words) {
  std::vector<void*> pointers;
  for (std::uint64_t& word : words) pointers.push_back(&word);
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>((std::min(order.slice, order.elements) + 255) / 256);
  config.gridDimY = static_cast<unsigned>(order.begins.size());
  config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = session.stream();
  const CUfunction function = session.function(order.image, order.entry);
  check(driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr),
        "launching the reference");
}

}  // namespace

OracleStore::~OracleStore() {
  for (const auto& [key, entry] : entries_) {
    for (const CUdeviceptr memory : {entry.values, entry.begins}) driver().cuMemFree(memory);
  }
}

void OracleStore::make_room(std::int64_t bytes) {
  const std::int64_t budget = session_.hello().memory_free / 5 * 2;
  while (!entries_.empty() && held_ + bytes > budget) {
    const auto oldest = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    session_.synchronize();
    for (const CUdeviceptr memory : {oldest->second.values, oldest->second.begins})
      check(driver().cuMemFree(memory), "freeing a reference");
    held_ -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

void OracleStore::ensure(const OracleOrder& order) {
  if (const auto found = entries_.find(order.key); found != entries_.end()) {
    found->second.used = ++uses_;
    return;
  }
  Entry entry;
  entry.slice = order.slice;
  entry.elements = order.elements;
  entry.used = ++uses_;
  entry.bytes = order.elements * 16;
  make_room(entry.bytes);
  const std::size_t half = static_cast<std::size_t>(std::max<std::int64_t>(order.elements, 1)) * 8;
  const std::size_t begins = std::max<std::size_t>(order.begins.size(), 1) * 8;
  check(driver().cuMemAlloc(&entry.values, half * 2), "memory for reference values");
  entry.sums = entry.values + half;
  check(driver().cuMemAlloc(&entry.begins, begins), "memory for reference values");
  if (!order.begins.empty())
    check(driver().cuMemcpyHtoD(entry.begins, order.begins.data(), begins), "copying slices");
  if (order.elements > 0) launch(session_, order, parameters(session_, order, entry));
  session_.synchronize();
  held_ += entry.bytes;
  entries_[order.key] = entry;
}

const OracleStore::Entry& OracleStore::at(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end())
    throw CudaFailure{CUDA_ERROR_NOT_FOUND, "no reference values under this key"};
  return found->second;
}

}  // namespace cupilot
