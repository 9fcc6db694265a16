// Outputs that are wrong in the ways kernels cheat, and the comparison that must refuse them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "trusted/bound.cuh"

namespace cupilot {

// The whole storage of each tensor of a task, empty for pure outputs.
using TensorList = std::vector<std::vector<std::byte>>;
Result<TensorList> contents_of(const Task& task, const Workload& workload, const Content& content);

struct Fake {
  enum class Kind {
    constant,
    mean,
    copy,
    shifted,
    first_row,
    negated,
    scaled,
    rounded_inputs,
    rounded_output
  };
  Kind kind = Kind::constant;
  std::string name{};     // "zeros", "a copy of input A"
  double value = 0;       // constant
  std::size_t input = 0;  // copy
  Precision precision{};  // rounded_inputs, rounded_output
};

// Returns the fakes offered for one output.
std::vector<Fake> fakes_of(const Task& task, std::size_t output);

// Computes an output's values from other inputs.
using Recompute = std::function<Result<std::vector<double>>(const TensorList& inputs)>;

// The fake's values where the right ones are `right`.
Result<std::vector<double>> fake_values(const Fake& fake, const TaskRef& task, std::size_t output,
                                        const Workload& workload, const TensorList& inputs,
                                        const std::vector<double>& right,
                                        const Recompute& recompute);

// True if every element passes the comparison that candidates go through, values of one term
// included.
Result<bool> accepts(const Task& task, std::size_t output, const Workload& workload,
                     const Content& content, const ReferenceValues& right,
                     const std::vector<double>& values);

// Returns the reason for which the contract itself lets the fake pass; "": it does not.
std::string why_allowed(const Task& task, std::size_t output, const Workload& workload,
                        const Fake& fake);

// The bound without what the contract grants beyond honest arithmetic of its class.
Result<BoundParams> honest_bound(const Task& task, std::size_t output, const Workload& workload);

// True if a tenth more or less is a small change of this input: not of an index or a mask.
bool is_perturbed(const Tensor& tensor);

}  // namespace cupilot
