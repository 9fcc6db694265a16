// Operators by name: rows of kernels/reference/GROUP/operators.json (docs/formats/operators.md).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// A stage in the coordinates of the row's rule.
struct OperatorStage {
  std::string name{};  // an output of the row, or a name for later stages
  StageKind kind = StageKind::map;
  std::optional<std::vector<std::string>> free{}, over{};  // coordinates; default: the rule's
  std::string term{};                                      // default: the rule's
  Combine combine = Combine::sum;
  std::string finish{};
  // The sum of a loss: attribute `reduction` "none" gives each of its terms.
  bool reduction = false;
  // The input that the stage's values are indices in, of an extreme of it; "": they are none.
  std::string index_of{};
};

// The row as a graph of other operators: the same mathematics in several steps.
struct OperatorBody {
  // Over the rule's coordinates: sizes at which it stands beside a kernel of the whole operator.
  Expr when = 1;
  // In names of the row's inputs and outputs and of edges between; an attribute "$NAME" is the
  // row's own.
  std::vector<Operation> operations{};
};

struct OperatorRow {
  std::string name{};   // Operation::kind
  std::string group{};  // folder of kernels/reference
  std::vector<std::string> aten{}, onnx{};
  std::vector<std::string> attributes{};  // constants of a task that it reads
  std::vector<std::string> inputs{}, outputs{};
  std::size_t factors = 0;            // inputs, from the first, whose products are summed; 0: none
  std::vector<std::string> finite{};  // inputs that an infinity would make undecidable
  Work work{};
  std::vector<std::string> references{};  // files of the group's folder, the plain one first
  std::string rule{};                     // shape rule; "": the row has texts instead of stages
  std::map<std::string, Attribute> defaults{};  // attributes of an operation, and their defaults
  std::vector<std::string> required{};          // attributes without default
  std::map<std::string, std::vector<std::string>> options{};  // words that one may be
  std::vector<OperatorStage> stages{};                        // none: the rule's own term
  // Coordinates of outputs whose shape is not the rule's.
  std::map<std::string, std::vector<std::string>> shapes{};
  std::optional<OperatorBody> body{};
};

// The row's input or output of a name without its "?".
std::string plain_role(const std::string& role);

// Error names the file and the field.
Result<std::vector<OperatorRow>> operators_from(std::string_view json, const std::string& origin,
                                                const std::string& group);

// All built-in rows, by group and file order.
const std::vector<OperatorRow>& all_operators();
// A built-in row, or null.
const OperatorRow* find_operator(std::string_view kind);
// Says what to write instead of an attribute that the row lacks.
std::string attribute_hint(const OperatorRow& row, std::string_view name);
// Text of a built-in reference, "GROUP/FILE.cu"; "": there is none.
std::string_view operator_reference(std::string_view path);

// True if an output is a sum of products: the task says so, or an operator of it does.
bool is_matmul_like(const Task& task);

}  // namespace cupilot
