// Measures the share of the inputs read by a grid whose blocks add to what others add.
#pragma once

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

}  // namespace cupilot
