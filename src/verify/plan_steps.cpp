#include "verify/plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/expr_parse.hpp"
#include "kernel/plan_arguments.hpp"
#include "kernel/plan_scope.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t largest_step = 4096;
constexpr int longest_chain =
    256;  // of definitions that stand on one another; a hostile plan may have longer ones

// One expression of the plan with its names looked up.
class Reader {
 public:
  Reader(const Task& task, const KernelSource& source, const DeviceSpec& device)
      : task_(task),
        workload_(task.time_shapes.empty() ? Workload{} : task.time_shapes.front()),
        scope_(source.plan, source.constants, task, workload_, device, nullptr) {
    for (const auto& [name, text] : source.plan.let)
      definitions_.emplace(name, parse_expr(text.text));
  }

  void read_definitions() {
    for (const auto& [name, parsed] : definitions_) read_parsed(parsed);
  }
  void read(const Expr& expr) { read_parsed(parse_expr(expr.text)); }
  // A grid that divides an axis by 1 takes it by ones; one as long as an axis leaves open how, but
  // not by other constants.
  void read_grid(const Expr& expr) {
    const Parsed parsed = parse_expr(expr.text);
    least_step_ = 1;
    read_parsed(parsed);
    least_step_ = 2;
    Uses uses;
    if (const auto* tree = std::get_if<ExprTree>(&parsed)) collect(*tree, tree->root, uses);
    if (!uses.divides) whole.insert(uses.axes.begin(), uses.axes.end());
  }

  std::map<std::string, std::set<std::int64_t>> steps;
  // Holds for each step the axes that stand before in all products that it divides.
  std::map<std::string, std::map<std::int64_t, std::set<std::string>>> before;
  std::set<std::string> partners;  // axes that stand before another in a divided product
  std::set<std::string> whole;     // axes that a grid has whole

 private:
  // The axes that a subtree uses through the plan's definitions.
  struct Uses {
    std::set<std::string_view> axes;
    bool divides = false;
  };
  using Parsed = std::variant<ExprTree, ExprFault>;

  void read_parsed(const Parsed& parsed) {
    const auto* tree = std::get_if<ExprTree>(&parsed);
    if (tree == nullptr) return;
    for (const ExprNode& node : tree->nodes) {
      const bool divides = node.op == ExprOp::cdiv || node.op == ExprOp::up ||
                           node.op == ExprOp::divide || node.op == ExprOp::modulo;
      if (divides) division(*tree, node);
    }
  }

  void collect(const ExprTree& tree, int index, Uses& uses) {
    if (index < 0) return;
    const ExprNode& node = tree.nodes[static_cast<std::size_t>(index)];
    if (node.op == ExprOp::name) name(node.name, uses);
    if (node.op != ExprOp::cdiv && node.op != ExprOp::divide) {
      for (const int child : node.child) collect(tree, child, uses);
      return;
    }
    Uses left, right;
    collect(tree, node.child[0], left);
    collect(tree, node.child[1], right);
    // A quotient by 1 is what it divides; one by axes of a product leaves the others.
    const bool by_axes =
        std::includes(left.axes.begin(), left.axes.end(), right.axes.begin(), right.axes.end()) &&
        is_product(tree, node.child[1]);
    const bool by_step =
        right.axes.empty() ? number(tree, node.child[1]) != 1 : right.divides || !by_axes;
    uses.divides |= left.divides || right.divides || (!left.axes.empty() && by_step);
    uses.axes.merge(left.axes);
    uses.axes.merge(right.axes);
  }

  // True for a product of names alone.
  static bool is_product(const ExprTree& tree, int index) {
    const ExprNode& node = tree.nodes[static_cast<std::size_t>(index)];
    if (node.op == ExprOp::name) return true;
    return node.op == ExprOp::multiply && is_product(tree, node.child[0]) &&
           is_product(tree, node.child[1]);
  }

  // The value of a subtree at the shape to be timed; nullopt: it has none there.
  std::optional<std::int64_t> number(const ExprTree& tree, int index) {
    const ExprValue value = scope_.value(text_of(tree, index));
    const auto* known = std::get_if<std::int64_t>(&value);
    return known == nullptr ? std::nullopt : std::optional(*known);
  }

  void name(std::string_view word, Uses& uses) {
    if (const auto found = definitions_.find(word); found != definitions_.end()) {
      const Uses& within = uses_of(found->first, found->second);
      uses.axes.insert(within.axes.begin(), within.axes.end());
      uses.divides |= within.divides;
      return;
    }
    for (const Axis& axis : task_.axes) {
      if (axis.name == word) uses.axes.insert(axis.name);
    }
  }

  // Definitions stand on one another in many ways: each is walked once, and one that needs itself
  // adds nothing to itself.
  const Uses& uses_of(std::string_view defined, const Parsed& parsed) {
    const auto [known, fresh] = uses_.try_emplace(defined);
    const auto* tree = std::get_if<ExprTree>(&parsed);
    if (!fresh || tree == nullptr || chain_ >= longest_chain) return known->second;
    Uses uses;
    ++chain_;
    collect(*tree, tree->root, uses);
    --chain_;
    return known->second = std::move(uses);
  }

  void division(const ExprTree& tree, const ExprNode& node) {
    Uses left, right;
    collect(tree, node.child[0], left);
    collect(tree, node.child[1], right);
    // A quotient of a quotient counts tiles, not elements.
    if (left.axes.empty() || left.divides || !right.axes.empty()) return;
    const auto step = number(tree, node.child[1]);
    if (!step || *step < least_step_ || *step > largest_step) return;
    // The last axis of a product runs fastest: its ends are the ends of a step.
    const Axis* last = nullptr;
    std::set<std::string> others;
    for (const Axis& axis : task_.axes) {
      if (left.axes.count(axis.name) == 0) continue;
      if (last != nullptr) others.insert(last->name);
      last = &axis;
    }
    partners.insert(others.begin(), others.end());
    if (!is_product(tree, node.child[0])) others.clear();
    if (*step > 1 || last->kind == AxisKind::free) {
      const auto [known, fresh] = before[last->name].try_emplace(*step, others);
      if (!fresh) std::erase_if(known->second, [&](auto& one) { return !others.contains(one); });
      steps[last->name].insert(*step);
    }
  }

  // A subtree as text again, every operator in parentheses.
  static std::string text_of(const ExprTree& tree, int index) {
    static constexpr const char* operators[] = {"",  "",   "-", "!",  "*",  "/",  "%",  "+", "-",
                                                "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    static constexpr const char* functions[] = {"min",  "max",  "cdiv",  "up",
                                                "pow2", "log2", "isqrt", "passes"};
    const ExprNode& node = tree.nodes[static_cast<std::size_t>(index)];
    const auto child = [&](std::size_t i) { return text_of(tree, node.child[i]); };
    const auto word = static_cast<std::size_t>(node.op);
    if (node.op == ExprOp::literal) return std::to_string(node.value);
    if (node.op == ExprOp::name) return std::string(node.name);
    if (node.op == ExprOp::choose)
      return fmt::format("({} ? {} : {})", child(0), child(1), child(2));
    if (node.op >= ExprOp::min) {
      const char* function = functions[word - static_cast<std::size_t>(ExprOp::min)];
      std::string arguments;
      for (std::size_t i = 0; i < most_operands && node.child[i] >= 0; ++i)
        arguments += (i > 0 ? ", " : "") + child(i);
      return fmt::format("{}({})", function, arguments);
    }
    if (node.child[1] < 0) return fmt::format("({}{})", operators[word], child(0));
    return fmt::format("({} {} {})", child(0), operators[word], child(1));
  }

  const Task& task_;
  std::map<std::string_view, Parsed> definitions_;  // of the plan, the first of each name
  std::map<std::string_view, Uses> uses_;           // of those that were asked for
  int chain_ = 0;                                   // of definitions under way
  std::int64_t least_step_ = 2;                     // in requirements a division by 1 says nothing
  Workload workload_;
  PlanScope scope_;
};

void read_plan(Reader& reader, const LaunchPlan& plan) {
  reader.read_definitions();
  for (const Expr& text : plan.require) reader.read(text);
  for (const PlanLaunch& launch : plan.launches) {
    for (const Expr& text : launch.grid) reader.read_grid(text);
    for (const Expr& text : launch.block) reader.read(text);
    each_value(launch.args, [&](const PlanArgument& argument) {
      if (is_integer(argument.kind)) reader.read(argument.value);
    });
  }
}

bool contains(std::string word, std::string_view part) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word.find(part) != std::string::npos;
}

// A constant between 8 and 1024 may be a tile side whose axis the plan does not tell.
std::set<std::int64_t> loose_steps(const Constants& constants) {
  std::set<std::int64_t> all;
  for (const auto& [name, value] : constants) {
    if (value >= 8 && value <= 1024) all.insert(value);
  }
  if (all.size() > 2) all = {*all.begin(), *all.rbegin()};
  return all;
}

constexpr std::int64_t assumed_reduced = 128, assumed_inner = 32, assumed_outer = 8;

// Beside tiled axes a free one is a batch; where none is tiled the last one takes the place of a
// tile's side.
std::map<std::string, std::int64_t> assumed_steps(const Task& task, const PlanSteps& steps,
                                                  const std::set<std::string>& partners) {
  std::map<std::string, std::int64_t> out;
  const auto is_free = [&](const Axis& axis) {
    return axis.kind == AxisKind::free && largest_size(task, axis.name) > 1;
  };
  const bool tiled = std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
    return is_free(axis) && steps.tells(axis.name);
  });
  bool inner = true;
  for (auto axis = task.axes.rbegin(); axis != task.axes.rend(); ++axis) {
    if (steps.tells(axis->name) || axis->kind == AxisKind::fixed) continue;
    std::int64_t wanted = 1;
    if (axis->kind == AxisKind::reduced) wanted = assumed_reduced;
    if (is_free(*axis) && (!tiled || partners.count(axis->name) > 0)) {
      wanted = inner && !tiled ? assumed_inner : assumed_outer;
      inner = false;
    }
    // No assumed step is larger than what the task asks of the axis.
    out[axis->name] = std::min(wanted, largest_size(task, axis->name));
  }
  return out;
}

// The step that padding costs most by: the largest, but for those that say how many elements a
// block of another launch takes where one is a tile's side.
std::int64_t tile_side(const std::set<std::int64_t>& steps) {
  constexpr std::int64_t least = 32, most = 1024;
  const auto beyond = steps.upper_bound(most);
  const bool side = beyond != steps.begin() && *std::prev(beyond) >= least;
  return side ? *std::prev(beyond) : *steps.rbegin();
}

}  // namespace

std::int64_t largest_size(const Task& task, const std::string& axis) {
  std::int64_t most = 1;
  for (const auto* shapes : {&task.time_shapes, &task.check_shapes}) {
    for (const Workload& shape : *shapes) {
      const auto size = shape.sizes.find(axis);
      if (size != shape.sizes.end()) most = std::max(most, size->second);
    }
  }
  return most;
}

std::int64_t PlanSteps::shaping_step(const std::string& axis) const {
  const auto found = assumed.find(axis);
  return found == assumed.end() ? step(axis) : found->second;
}

bool PlanSteps::tells(const std::string& axis) const {
  const auto found = by_axis.find(axis);
  return found != by_axis.end() && !found->second.empty();
}

std::int64_t PlanSteps::step(const std::string& axis) const {
  return tells(axis) ? by_axis.at(axis).back() : 1;
}

Sizes PlanSteps::padded(const Sizes& sizes) const {
  Sizes out = sizes;
  const auto up = [](std::int64_t size, std::int64_t step) {
    return (size + step - 1) / step * step;
  };
  for (auto& [axis, size] : out) {
    const auto told = padding.find(axis);
    size = up(size, told == padding.end() ? step(axis) : told->second.step);
  }
  // Leaves axes that stand before another and have no step of their own as they are.
  for (const auto& [axis, one] : padding) {
    for (const std::string& other : one.before) {
      if (!padding.contains(other) && sizes.contains(other)) out[other] = sizes.at(other);
    }
  }
  for (const auto& [axis, one] : padding) {
    std::int64_t product = 1;
    for (const std::string& other : one.before) product *= out.contains(other) ? out[other] : 1;
    if (!one.before.empty() && product > 0 && sizes.contains(axis))
      out[axis] = (up(product * sizes.at(axis), one.step) + product - 1) / product;
  }
  return out;
}

PlanSteps plan_steps(const Task& task, const KernelSource& source, const DeviceSpec& device) {
  Reader reader(task, source, device);
  read_plan(reader, source.plan);
  PlanSteps out;
  const bool none_known = reader.steps.empty();
  for (const Axis& axis : task.axes) {
    std::set<std::int64_t> steps = reader.steps[axis.name];
    if (!steps.empty()) {
      const std::int64_t step = tile_side(steps);
      const auto& others = reader.before[axis.name][step];
      out.padding[axis.name] = {step, {others.begin(), others.end()}};
    }
    const bool lent =
        axis.kind == AxisKind::reduced || (none_known && !reader.whole.contains(axis.name));
    if (steps.empty() && lent) {
      steps = loose_steps(source.constants);
      // Constants of several launches are those of some: the least is padded to.
      const bool mixed = source.plan.launches.size() > 1 && !reader.partners.contains(axis.name);
      if (mixed && !steps.empty()) out.padding[axis.name] = {*steps.begin(), {}};
    }
    out.by_axis[axis.name].assign(steps.begin(), steps.end());
  }
  for (const auto& [name, value] : source.constants) {
    if (value < 1 || value > 64) continue;
    if (contains(name, "stage")) out.stages = std::max(out.stages, value);
    if (contains(name, "split")) out.split = std::max(out.split, value);
    if (contains(name, "group")) out.group = std::max(out.group, value);
  }
  out.assumed = assumed_steps(task, out, reader.partners);
  return out;
}

}  // namespace cupilot
