// The controller's own reference values: a few elements of an output, evaluated on the host from
// the recipe alone, so that neither judge nor runner is taken at its word.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/inputs.hpp"
#include "backend/oracle/reference_values.hpp"

namespace cupilot {

// Elements in short runs of neighbours, with value and condition sum.
struct SpotValues {
  std::vector<std::int64_t> indices;
  std::vector<double> values, sums;
};

// Storage of a tensor as a kernel left it, instead of content; zero where nobody looks.
struct LeftTensor {
  std::size_t tensor = 0;
  std::vector<std::byte> bytes;
};

class SpotCheck {
 public:
  SpotCheck(CompilePool& pool, std::string arch);

  // Values of elements of output `tensor` that only this process knows the choice of, inside
  // [begin, begin + count) for one of the slices. Empty when evaluating them here would cost too
  // much. Kept: the same case is asked about again and again.
  Result<std::shared_ptr<const SpotValues>> values(const TaskRef& task, std::size_t tensor,
                                                   const Case& what,
                                                   const std::vector<std::int64_t>& begins,
                                                   std::int64_t slice);
  // Distances of values at indices that a kernel left from the extremes: of element indices[i]
  // of output `tensor` with `bits`, as the last output of `gaps` says (task/index_gap.hpp). Empty
  // when evaluating them here would cost too much.
  Result<SpotValues> gaps(const TaskRef& gaps, std::size_t tensor, const Case& what,
                          std::span<const std::int64_t> indices,
                          std::span<const std::uint64_t> bits);
  // Draws the elements of one look, anew each time.
  std::vector<std::size_t> draw(const SpotValues& values);

 private:
  Result<SpotValues> evaluate(const TaskRef& task, std::size_t tensor, const Case& what,
                              std::vector<std::int64_t> runs, std::int64_t elements);
  // Values of the runs, of stages that are all stored first.
  Result<SpotValues> evaluate_stored(const TaskRef& task, std::size_t tensor, const Case& what,
                                     const std::vector<std::int64_t>& runs, std::int64_t elements);
  // Values of some of the runs, of elements that begin there.
  Result<SpotValues> evaluate_runs(const ReferenceModule& reference, const std::string& entry,
                                   const TaskRef& task, const Case& what,
                                   std::span<const std::int64_t> runs, std::int64_t elements,
                                   const LeftTensor* left = nullptr);
  VirtualInputs inputs_;
  VirtualOracle oracle_;
  ByteCache<SpotValues> kept_;
  std::uint64_t secret_;  // seed of every choice; never leaves this process
  std::uint64_t draws_ = 0;
};

// True if two computations of one reference value agree: rounding apart, in units of the condition
// sum.
bool same_reference(double ours, double theirs, double sum);

}  // namespace cupilot
