#include "kernel/plan_program.hpp"

#include <algorithm>

#include "kernel/plan_scope.hpp"

namespace cupilot {
namespace {

constexpr ExprNode::Children no_children = {-1, -1, -1, -1, -1};

}  // namespace

std::vector<std::string> constant_names(const Tunable& tunable) {
  std::vector<std::string> names;
  for (const TunableParameter& parameter : tunable.parameters) names.push_back(parameter.constant);
  return names;
}

PlanProgram::PlanProgram(const LaunchPlan& plan, const std::vector<std::string>& variables,
                         const Task& task, const Workload& workload, const DeviceSpec& device)
    : plan_(plan),
      variables_(variables),
      task_scope_(task_scope(task, workload)),
      device_(device) {}

int PlanProgram::add(const Expr& expr) {
  const auto parsed = parse_expr(expr.text);
  if (const auto* tree = std::get_if<ExprTree>(&parsed)) return add_tree(*tree, tree->root);
  nodes_.push_back({});
  return static_cast<int>(nodes_.size()) - 1;
}

int PlanProgram::add_tree(const ExprTree& tree, int index) {
  const ExprNode& from = tree.nodes[static_cast<std::size_t>(index)];
  Node node;
  if (from.op == ExprOp::literal) {
    node = {Node::Is::literal, from.op, from.value, no_children};
  } else if (from.op == ExprOp::name) {
    node = of_name(from.name);
  } else {
    node.is = Node::Is::arithmetic;
    node.op = from.op;
    for (std::size_t i = 0; i < most_operands; ++i)
      node.child[i] = from.child[i] < 0 ? -1 : add_tree(tree, from.child[i]);
    node = folded(node);
  }
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

// An operation on literals is one, and a choice by a literal is what it chooses: most of a plan is
// about the task alone.
PlanProgram::Node PlanProgram::folded(const Node& node) const {
  const auto at = [&](std::size_t i) -> const Node& {
    return nodes_[static_cast<std::size_t>(node.child[i])];
  };
  const auto is_literal = [&](std::size_t i) {
    return node.child[i] >= 0 && at(i).is == Node::Is::literal;
  };
  const auto literal = [](std::int64_t value) {
    return Node{Node::Is::literal, ExprOp::literal, value, no_children};
  };
  if (!is_literal(0)) return node;
  const std::int64_t first = at(0).number;
  if (node.op == ExprOp::choose) return at(first != 0 ? 1 : 2);
  if (node.op == ExprOp::logical_and || node.op == ExprOp::logical_or) {
    const bool stops_at = node.op == ExprOp::logical_or;
    if ((first != 0) == stops_at) return literal(stops_at ? 1 : 0);
    return is_literal(1) ? literal(at(1).number != 0 ? 1 : 0) : node;
  }
  ExprOperands operands{};
  for (std::size_t i = 0; i < most_operands && node.child[i] >= 0; ++i) {
    if (!is_literal(i)) return node;
    operands[i] = at(i).number;
  }
  std::int64_t result = 0;
  return apply(node.op, operands, result) ? literal(result) : node;
}

// In PlanScope's order: definitions, what the plan's launches tell, then names from outside.
PlanProgram::Node PlanProgram::of_name(std::string_view name) {
  const auto launch_called = [&](std::string_view wanted) {
    return std::find_if(plan_.launches.begin(), plan_.launches.end(),
                        [&](const PlanLaunch& l) { return l.name == wanted; });
  };
  Node node;
  const auto defined_as = [&](const std::vector<Expr>& factors) {
    node.is = Node::Is::definition;
    node.number = definition(std::string(name), factors);
    // None yet: it is asked for by what defines it.
    const int product = definitions_[static_cast<std::size_t>(node.number)];
    return product >= 0 && nodes_[static_cast<std::size_t>(product)].is == Node::Is::literal
               ? nodes_[static_cast<std::size_t>(product)]
               : node;
  };
  for (const auto& [let, expr] : plan_.let) {
    if (let == name) return defined_as({expr});
  }
  if (name.starts_with("resident.")) {
    if (launch_called(name.substr(9)) != plan_.launches.end()) node.is = Node::Is::not_yet;
    return node;
  }
  if (name.ends_with(".ctas")) {
    if (const auto launch = launch_called(name.substr(0, name.size() - 5));
        launch != plan_.launches.end())
      return defined_as(launch->grid);
  }
  const auto variable = std::find(variables_.begin(), variables_.end(), name);
  if (variable != variables_.end() && !name.starts_with("dev.")) {
    node.is = Node::Is::variable;
    node.number = variable - variables_.begin();
    return node;
  }
  const ExprValue known = name.starts_with("dev.") ? device_name(device_, name) : task_scope_(name);
  if (const auto* number = std::get_if<std::int64_t>(&known))
    node = {Node::Is::literal, ExprOp::literal, *number, no_children};
  return node;
}

// The product of the factors, under a name.
int PlanProgram::definition(const std::string& name, const std::vector<Expr>& factors) {
  if (const auto known = defined_.find(name); known != defined_.end()) return known->second;
  const int number = static_cast<int>(definitions_.size());
  defined_.emplace(name, number);
  definitions_.push_back(-1);
  int product = -1;
  for (const Expr& factor : factors) {
    const int next = add(factor);
    if (product >= 0)
      nodes_.push_back(
          folded({Node::Is::arithmetic, ExprOp::multiply, 0, {product, next, -1, -1, -1}}));
    product = static_cast<int>(nodes_.size()) - 1;
  }
  if (product < 0) {
    nodes_.push_back({Node::Is::literal, ExprOp::literal, 1, no_children});
    product = static_cast<int>(nodes_.size()) - 1;
  }
  definitions_[static_cast<std::size_t>(number)] = product;
  return number;
}

// One evaluation: definitions are computed at most once, and one that needs itself has no value.
class PlanProgram::Asking {
 public:
  Asking(const PlanProgram& program, std::span<const std::int64_t> variables)
      : program_(program),
        variables_(variables),
        known_(program.definitions_.size()),
        begun_(program.definitions_.size(), 0) {}

  Answer value(int index) {
    const Node& node = program_.nodes_[static_cast<std::size_t>(index)];
    switch (node.is) {
      case Node::Is::literal:
        return number(node.number);
      case Node::Is::variable:
        return number(variables_[static_cast<std::size_t>(node.number)]);
      case Node::Is::definition:
        return defined(static_cast<std::size_t>(node.number));
      case Node::Is::not_yet:
        return {Answer::Is::not_yet, 0};
      case Node::Is::fault:
        return {};
      case Node::Is::arithmetic:
        break;
    }
    if (node.op == ExprOp::logical_and || node.op == ExprOp::logical_or ||
        node.op == ExprOp::choose)
      return lazy(node);
    ExprOperands operands{};
    for (std::size_t i = 0; i < most_operands && node.child[i] >= 0; ++i) {
      const Answer got = value(node.child[i]);
      if (got.is != Answer::Is::number) return got;
      operands[i] = got.number;
    }
    std::int64_t result = 0;
    if (!apply(node.op, operands, result)) return {};
    return number(result);
  }

 private:
  static Answer number(std::int64_t value) { return {Answer::Is::number, value}; }

  Answer lazy(const Node& node) {
    const Answer first = value(node.child[0]);
    if (first.is != Answer::Is::number) return first;
    if (node.op == ExprOp::choose) return value(first.number != 0 ? node.child[1] : node.child[2]);
    const bool stops_at = node.op == ExprOp::logical_or;
    if ((first.number != 0) == stops_at) return number(stops_at ? 1 : 0);
    const Answer second = value(node.child[1]);
    return second.is != Answer::Is::number ? second : number(second.number != 0 ? 1 : 0);
  }

  Answer defined(std::size_t at) {
    if (begun_[at] != 0) return known_[at];
    begun_[at] = 1;
    const Answer answer = value(program_.definitions_[at]);
    return known_[at] = answer;
  }

  const PlanProgram& program_;
  std::span<const std::int64_t> variables_;
  std::vector<Answer> known_;
  std::vector<char> begun_;
};

PlanProgram::Answer PlanProgram::value(int expr, std::span<const std::int64_t> variables) const {
  return Asking(*this, variables).value(expr);
}

std::vector<PlanProgram::Answer> PlanProgram::values(
    std::span<const int> exprs, std::span<const std::int64_t> variables) const {
  Asking asking(*this, variables);
  std::vector<Answer> answers;
  for (const int expr : exprs) answers.push_back(asking.value(expr));
  return answers;
}

}  // namespace cupilot
