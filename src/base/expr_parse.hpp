// The syntax tree of an Expr. Nodes sit in one array; children are indices into it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include <cupilot/parts/expr.hpp>

namespace cupilot {

enum class ExprOp {
  literal,
  name,
  negate,
  logical_not,
  multiply,
  divide,
  modulo,
  add,
  subtract,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  choose,
  min,
  max,
  cdiv,
  up,
  pow2,
  log2,
  isqrt,
  passes
};

inline constexpr std::size_t most_operands = 5;
using ExprOperands = std::array<std::int64_t, most_operands>;

struct ExprNode {
  ExprOp op = ExprOp::literal;
  int column = 1;
  std::int64_t value = 0;  // literal
  std::string_view name;   // name: a piece of the parsed text
  using Children = std::array<int, most_operands>;
  Children child{-1, -1, -1, -1, -1};
};

struct ExprTree {
  std::vector<ExprNode> nodes;
  int root = -1;
};

// Computes an operation of numbers, which is none of the lazy ones. False: it has no value, and
// `why` is the reason.
bool apply(ExprOp op, const ExprOperands& of, std::int64_t& out, ExprFault* why = nullptr);

// The tree's names point into `text`.
std::variant<ExprTree, ExprFault> parse_expr(std::string_view text);

}  // namespace cupilot
