// Named shape rules of operators: the shapes of outputs and the coordinates that an operator's
// stages are written in (docs/formats/operators.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// Begins names of sizes that a text does not use: conditions, without which a shape is not run.
constexpr std::string_view room_prefix = "room_";

using Attributes = std::map<std::string, Attribute>;
using ExprShape = std::vector<Expr>;  // outermost first

// An input as a rule sees it: the name in the operator's row, and its shape.
struct RuleInput {
  std::string name{};
  ExprShape shape{};
  bool optional = false;  // "bias?"
  Expr below = 0;         // its whole numbers are below that; 0: not said
};

// Collects which extents rules ask to be equal, where the numbers of shapes became names
// (task/axes.hpp).
struct Equalities {
  std::function<std::optional<std::int64_t>(const Expr&)> number{};  // an extent's
  // Lists of extents whose products are equal, row-major order kept.
  std::vector<std::pair<ExprShape, ExprShape>> products{};
  // Extents that are multiples of another, which counts groups of them.
  std::vector<std::pair<Expr, Expr>> multiples{};
  ExprShape kept{};                 // extents that a rule takes as numbers alone
  std::vector<RuleInput> inputs{};  // of the operation that came last
};

struct RuleCall {
  std::vector<RuleInput> inputs{};
  Attributes attributes{};      // every one of the row, given or default
  Equalities* equal = nullptr;  // gets what has to be equal; null: texts are compared
};

// Extents that must be equal at each shape: an input's, and what the others ask.
struct Agreement {
  std::string what{};  // "bias has", "the weight takes"
  Expr is{}, wanted{};
  std::string of{};  // "outputs", "channels"
};

struct RuleResult {
  ExprShape output{};                // shape of an output, unless its row says another
  std::vector<StageAxis> axes{};     // all coordinates, with extents
  std::vector<std::string> free{};   // coordinates of folds
  std::vector<std::string> over{};   // coordinates that folds and scans run over
  std::vector<std::string> whole{};  // coordinates of an element of the output
  std::vector<StageAxis> sizes{};    // further sizes that the text may name
  // Extents of several dimensions that one coordinate counts: shapes of outputs are made of them.
  std::map<std::string, ExprShape> parts{};
  // Names for several coordinates, in lists of a row: "whole", "kept" …
  std::map<std::string, std::vector<std::string>> groups{};
  // An input's extents, where the text calls it with coordinates.
  std::map<std::string, ExprShape> called{};
  // An input's coordinates, where the text names its value.
  std::map<std::string, std::vector<std::string>> valued{};
  std::vector<std::pair<std::string, std::string>> constants{};
  std::string term{};  // of stages without one
  std::vector<Agreement> agreements{};
};

// Error usage: what does not fit, without the operation's name.
Result<RuleResult> apply_rule(std::string_view rule, const RuleCall& call);
bool is_rule(std::string_view rule);

// An expression's value where it is a plain number; texts that are sums and products of numbers
// are reduced to one.
Expr product_of(const ExprShape& extents);

}  // namespace cupilot
