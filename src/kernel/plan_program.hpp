// Expressions over a launch plan, made ready to be asked again and again: names are looked up once,
// values are numbers alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "base/expr_parse.hpp"

namespace cupilot {

// At one workload and before anything is compiled. Says what PlanScope says; any thread.
class PlanProgram {
 public:
  // `variables`: names of a strategy's constants; values come in their order.
  PlanProgram(const LaunchPlan& plan, const std::vector<std::string>& variables, const Task& task,
              const Workload& workload, const DeviceSpec& device);
  // Returns the number to ask for later.
  int add(const Expr& expr);

  struct Answer {
    enum class Is : char { number, not_yet, fault } is = Is::fault;
    std::int64_t number = 0;
  };
  Answer value(int expr, std::span<const std::int64_t> variables) const;
  // Several at once: definitions are computed once for all.
  std::vector<Answer> values(std::span<const int> exprs,
                             std::span<const std::int64_t> variables) const;

 private:
  struct Node {
    enum class Is : char {
      arithmetic,
      literal,
      variable,
      definition,
      not_yet,
      fault
    } is = Is::fault;
    ExprOp op = ExprOp::literal;
    std::int64_t number = 0;  // literal; position of a variable or definition
    ExprNode::Children child{-1, -1, -1, -1, -1};
  };
  class Asking;

  int add_tree(const ExprTree& tree, int index);
  Node folded(const Node& node) const;
  Node of_name(std::string_view name);
  int definition(const std::string& name, const std::vector<Expr>& factors);

  LaunchPlan plan_;
  std::vector<std::string> variables_;
  ExprScope task_scope_;
  DeviceSpec device_;
  std::vector<Node> nodes_;
  std::vector<int> definitions_;  // their nodes
  std::map<std::string, int, std::less<>> defined_;
};

// Names of a tunable's constants, in the order of its parameters.
std::vector<std::string> constant_names(const Tunable& tunable);

}  // namespace cupilot
