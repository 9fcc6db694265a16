// Measures the share of the inputs read by a grid whose blocks add to what others add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/oracle/memory.hpp"

namespace cupilot {

// The part of inputs that some blocks of a grid touch, in memory that makes them piece by piece.
class ReadShare {
 public:
  // Inputs that the task reads in whole; none where it reads parts of any.
  static Result<ReadShare> of(const Task& task, const Workload& workload, VirtualMemory& memory);

  std::size_t inputs() const { return inputs_.size(); }
  const std::string& name(std::size_t input) const { return inputs_[input].name; }
  // The share of an input that was first touched since the last call.
  double take(std::size_t input, VirtualMemory& memory);
  // The share of an input below the last byte that was touched.
  double reached(std::size_t input, VirtualMemory& memory) const;

 private:
  struct Input {
    std::string name;
    std::size_t buffer = 0;
    std::uint64_t taken = 0;  // pieces
  };
  std::vector<Input> inputs_;
};

// The share of one input that the blocks of all launches read.
struct Reads {
  std::vector<double> shares;  // of the blocks of the launch in progress
  double bound = 0;            // at least what all grids read
  const ResolvedLaunch* by = nullptr;
  int launches = 0;  // that read it
  bool alike = false;

  // Ends a launch of so many blocks.
  void end(const ResolvedLaunch& launch, std::uint64_t blocks) {
    const double most = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
    // The last block may have less to do.
    const auto less =
        std::count_if(shares.begin(), shares.end(), [&](double one) { return 1.001 * one < most; });
    bound += most * static_cast<double>(blocks);
    if (most > 0) {
      by = &launch;
      ++launches;
      alike = shares.size() > 4 && less <= 1;
    }
    shares.clear();
  }
};

}  // namespace cupilot
