// Limits of what an operation is told: attributes, and values of inputs that are places.
#pragma once

#include <string>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "task/rules/apply.hpp"

namespace cupilot {

// Refuses attributes whose values the operator cannot take.
Result<void> check_attributes(const std::string& rule, const RuleCall& call);

// Puts the largest number of a type where a default is the largest of all.
void bound_defaults(Attributes& attributes, const Attributes& given, DType type);

// Refuses an index of a type that gives no places. `name`: of the row's input.
Result<void> check_index(const std::string& rule, const RuleCall& call, const std::string& name,
                         const Tensor& tensor);

// Asks that an index stays below the extent that it names places of.
void keep_within(const std::string& rule, const RuleCall& call, RuleResult& out);

}  // namespace cupilot
