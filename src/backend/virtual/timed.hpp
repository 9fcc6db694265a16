// Outputs of the runs that a modelled time stands on: work that was not done, or not done right,
// must not be counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
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
  static Coverage of_update(std::size_t tensor, VirtualMemory& memory);
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

// Shares of all outputs that the blocks of a launch wrote.
struct Shares {
  double least = 1, most = 0, sum = 0;
  std::size_t blocks = 0, writers = 0;
  std::vector<double> all{};

  void add(double one) {
    all.push_back(one);
    least = std::min(least, one);
    most = std::max(most, one);
    sum += one;
    ++blocks;
    if (one > 0) ++writers;
  }
  // By how much those that ran stay behind as many of those that write most.
  double behind() const { return most * static_cast<double>(blocks) - sum; }
  // At least what the whole grid writes; as most blocks do, or all alike.
  double bound(std::uint64_t grid) const { return most * static_cast<double>(grid); }
  bool alike() const { return blocks > 4 && most <= 1.001 * least; }
  // True if all but those at the ends of tensors, which write less, write alike.
  bool mostly_alike() const {
    const auto full =
        std::count_if(all.begin(), all.end(), [&](double one) { return most <= 1.001 * one; });
    return blocks > 4 && 4 * static_cast<std::size_t>(full) >= 3 * blocks;
  }
  bool tells() const { return alike() || writers > 4; }
  // True where the grid suffices only if those that ran had written as much as most do, too.
  bool leaves_out(double all_launches, double all_behind) const {
    constexpr double all = 1 - 1e-9, nearly_all = 0.95;
    return all_launches < (alike() ? all : nearly_all) ||
           (all_behind > 0 && all_launches - all_behind < all);
  }
};

// The places where blocks write a tensor that is updated in place.
class UpdatePlaces {
 public:
  UpdatePlaces(std::size_t tensor, VirtualMemory& memory);
  std::size_t tensor() const { return tensor_; }
  // Notes what a block wrote, all that was written since the last call.
  void note(std::uint64_t block, VirtualMemory& memory);
  bool knows(std::uint64_t block) const;
  bool known() const { return size_ > 0; }
  // Bytes that a block writes that has all to do; of none, those of the tensor.
  std::uint64_t each() const;
  // Offsets in bytes of what blocks that wrote nothing leave out: where all others begin at their
  // places in the grid, and the whole grid writes little more than all. Where none of many
  // writes anything, both ends.
  std::vector<std::uint64_t> left_out(const std::array<std::int64_t, 3>& grid) const;

 private:
  struct Block {
    std::uint64_t block, bytes, first;  // that it wrote; the offset of the first one
  };

  std::size_t tensor_;
  Coverage coverage_;
  std::uint64_t size_;  // of the tensor; 0: its content before is not kept
  ptx::DeviceMemory::WrittenWords before_;
  std::vector<Block> blocks_;
};

// After a whole run: drawn elements of every output. Rejected{measure.timed_launch}.
Result<std::optional<Rejected>> wrong_whole(const VirtualContext& context, const TaskRef& task,
                                            VirtualMemory& memory, const Workload& workload,
                                            const Content& content);

// True if some elements from that offset in bytes on, of a tensor that is updated in place, must
// change; false where the reference is too dear.
Result<bool> changes_at(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                        const Workload& workload, std::uint64_t offset, VirtualMemory& memory);

// True if some written element of an output behind that share of it is wrong; false where the
// reference is too dear.
Result<bool> is_wrong_beyond(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                             const Workload& workload, const Content& content, double share,
                             VirtualMemory& memory);

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
