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
  log2
};

struct ExprNode {
  ExprOp op = ExprOp::literal;
  int column = 1;
  std::int64_t value = 0;  // literal
  std::string_view name;   // name: a piece of the parsed text
  std::array<int, 3> child{-1, -1, -1};
};

struct ExprTree {
  std::vector<ExprNode> nodes;
  int root = -1;
};

// What an operation of one or two numbers gives; false: none, `why` is the reason. Not of lazy
// ones.
bool apply(ExprOp op, std::int64_t a, std::int64_t b, std::int64_t& out, ExprFault* why = nullptr);

// The tree's names point into `text`.
std::variant<ExprTree, ExprFault> parse_expr(std::string_view text);

}  // namespace cupilot
