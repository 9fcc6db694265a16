// The operators that tasks are made of: what `cupilot operators` lists (docs/formats/operators.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct OperatorInfo {
  std::string name{}, group{};                   // Operation::kind; folder of kernels/reference
  std::string rule{};                            // shape rule; "": its reference is a text
  std::vector<std::string> inputs{}, outputs{};  // "bias?" may be absent, "x..." any number
  // Each with its default as JSON, "" where an operation must give it; words as "a|b", the first by
  // default.
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::vector<std::string> aten{}, onnx{};  // names elsewhere
  std::string flops{};                      // textbook work, over the rule's coordinates
};

// All of them, by group and file order.
std::vector<OperatorInfo> operators();

}  // namespace cupilot
CUPILOT_EXPORTS_END
