#include "backend/judge/oracle.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cupilot {
namespace {

// Memory that stages are stored in while an output is computed.
class StageMemory {
 public:
  StageMemory(const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t bytes : sizes) {
      check(driver().cuMemAlloc(&held_.emplace_back(0), static_cast<std::size_t>(bytes)),
            "memory for stages of a reference");
    }
  }
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;
  ~StageMemory() {
    for (const CUdeviceptr memory : held_) driver().cuMemFree(memory);
  }
  CUdeviceptr at(std::int64_t buffer) const {
    return buffer < 0 ? 0 : held_.at(static_cast<std::size_t>(buffer));
  }

 private:
  std::vector<CUdeviceptr> held_;
};

// The parameters that all entries of a reference begin with, eight bytes each
// (src/task/reference/program.hpp).
std::vector<std::uint64_t> parameters(const CudaSession& session, const OracleOrder& order,
                                      const StageMemory& scratch) {
  std::vector<std::uint64_t> words;
  for (const Region& region : order.pointers) words.push_back(session.address(region));
  for (const double scalar : order.scalars) {
    std::uint64_t word = 0;
    std::memcpy(&word, &scalar, sizeof word);
    words.push_back(word);
  }
  for (const std::int64_t axis : order.axes) words.push_back(static_cast<std::uint64_t>(axis));
  for (const std::int64_t buffer : order.stored) words.push_back(scratch.at(buffer));
  return words;
}

void launch(CudaSession& session, const std::string& image, const std::string& entry,
            std::int64_t threads, std::size_t rows, std::vector<std::uint64_t> words) {
  std::vector<void*> pointers;
  for (std::uint64_t& word : words) pointers.push_back(&word);
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>((threads + 255) / 256);
  config.gridDimY = static_cast<unsigned>(rows);
  config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = session.stream();
  const CUfunction function = session.function(image, entry);
  check(driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr),
        "launching the reference");
}

void compute(CudaSession& session, const OracleOrder& order, const OracleStore::Entry& entry) {
  const StageMemory scratch(order.buffers);
  const auto head = parameters(session, order, scratch);
  for (const WireStage& stage : order.stages) {
    auto words = head;
    words.insert(words.end(), {scratch.at(stage.from), scratch.at(stage.out)});
    for (const std::int64_t number : {stage.span, stage.parts, stage.from_parts, stage.count})
      words.push_back(static_cast<std::uint64_t>(number));
    launch(session, order.image, stage.entry, stage.count, 1, std::move(words));
  }
  auto words = head;
  words.insert(words.end(),
               {entry.values, entry.sums, entry.begins, static_cast<std::uint64_t>(order.slice),
                static_cast<std::uint64_t>(order.elements)});
  launch(session, order.image, order.entry, std::min(order.slice, order.elements),
         order.begins.size(), std::move(words));
  session.synchronize();
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
  make_room(std::accumulate(order.buffers.begin(), order.buffers.end(), entry.bytes));
  const std::size_t half = static_cast<std::size_t>(std::max<std::int64_t>(order.elements, 1)) * 8;
  const std::size_t begins = std::max<std::size_t>(order.begins.size(), 1) * 8;
  check(driver().cuMemAlloc(&entry.values, half * 2), "memory for reference values");
  entry.sums = entry.values + half;
  check(driver().cuMemAlloc(&entry.begins, begins), "memory for reference values");
  if (!order.begins.empty())
    check(driver().cuMemcpyHtoD(entry.begins, order.begins.data(), begins), "copying slices");
  if (order.elements > 0) compute(session_, order, entry);
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
