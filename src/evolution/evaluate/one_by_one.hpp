// Honest executions of a graph operation by operation, in which tensor cores take the factors of
// contractions (docs/formats/numerics.md, Programs).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/observed.hpp"
#include "program/part_task.hpp"

namespace cupilot {

// Says how tensor cores take the factors of one contraction, and what their sums lose.
struct FactorWidth {
  int bits = 0;            // of a fraction; 0: factors stay as they are
  int least = -1022;       // the exponent below which steps stay as they are
  double largest = 0;      // beyond it a number is infinite, truncated this one; 0: none
  bool truncates = false;  // toward zero; else to the nearest, ties to even
  double lost = 0;         // of the result, for each term that it sums, toward zero
  int result_bits = 0;     // of a fraction, kept of what any operation leaves; 0: all
};

// The width of a class whose contractions run on tensor cores: tf32, bf16 or fp16; else none.
FactorWidth width_of(Precision precision);
// A number that a factor of this width holds.
double narrowed(double value, const FactorWidth& width);

// A graph with two factors in products: what tensor cores would take.
bool is_contraction(const Operation& operation);

// Runs a graph operation by operation; each result is rounded to its type once.
class OneByOne {
 public:
  using Storages = std::vector<std::vector<std::byte>>;

  OneByOne(ObservingDevice& device, const Task& task) : device_(device), task_(task) {}

  Result<void> cut();

  // The storages of the task's tensors; empty where an operation did not end. `widths`: one an
  // operation; factors are those of contractions.
  Result<Storages> run(const Workload& workload, const Storages& inputs,
                       std::span<const FactorWidth> widths, HonestOrder order) const;

 private:
  using Values = std::map<std::string, std::vector<std::byte>>;
  Result<bool> step(std::size_t number, const Workload& workload, const FactorWidth& width,
                    HonestOrder order, Values& values) const;

  ObservingDevice& device_;
  const Task& task_;
  std::vector<PartTask> forms_;
  std::vector<TaskRef> tasks_;
};

}  // namespace cupilot
