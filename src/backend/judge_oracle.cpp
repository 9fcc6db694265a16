#include "backend/judge_oracle.hpp"

#include <algorithm>
#include <cstring>

namespace cupilot {
namespace {

// The parameters of a tracked entry, eight bytes each (src/task/reference_program.hpp).
std::vector<std::uint64_t> parameters(const CudaSession& session, const OracleOrder& order, const OracleStore::Entry& entry) {
  std::vector<std::uint64_t> words;
  for (const Region& region : order.pointers) words.push_back(session.address(region));
  for (const double scalar : order.scalars) {
    std::uint64_t word = 0;
    std::memcpy(&word, &scalar, sizeof word);
    words.push_back(word);
  }
  for (const std::int64_t axis : order.axes) words.push_back(static_cast<std::uint64_t>(axis));
  words.insert(words.end(), {entry.values, entry.sums, 0, 0});
  return words;
}

void launch_slice(CudaSession& session, CUfunction function, std::vector<std::uint64_t>& words, std::int64_t count) {
  std::vector<void*> pointers;
  for (std::uint64_t& word : words) pointers.push_back(&word);
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>((count + 255) / 256);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = session.stream();
  check(driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "launching the reference");
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
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
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
  if (!order.begins.empty()) check(driver().cuMemcpyHtoD(entry.begins, order.begins.data(), begins), "copying slices");
  const CUfunction function = session_.function(order.image, order.entry);
  std::vector<std::uint64_t> words = parameters(session_, order, entry);
  std::int64_t done = 0;
  for (const std::int64_t begin : order.begins) {
    const std::int64_t count = std::min(order.slice, order.elements - done);
    words[words.size() - 4] = entry.values + static_cast<CUdeviceptr>(done) * 8;
    words[words.size() - 3] = entry.sums + static_cast<CUdeviceptr>(done) * 8;
    words[words.size() - 2] = static_cast<std::uint64_t>(begin);
    words[words.size() - 1] = static_cast<std::uint64_t>(count);
    if (count > 0) launch_slice(session_, function, words, count);
    done += count;
  }
  session_.synchronize();
  held_ += entry.bytes;
  entries_[order.key] = entry;
}

const OracleStore::Entry& OracleStore::at(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) throw CudaFailure{CUDA_ERROR_NOT_FOUND, "no reference values under this key"};
  return found->second;
}

}  // namespace cupilot
