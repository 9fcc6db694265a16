#include "strategy/repair.hpp"

#include <cstdlib>
#include <queue>
#include <unordered_set>

#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

constexpr double technique_cost = 4.0;
// What a restriction that still fails is expected to cost more; it steers, legality alone decides.
constexpr double broken_cost = 1.0;
constexpr double tie_breadth = 0.01;

std::uint64_t hash_of(const Choice& choice) {
  std::uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a
  const auto mix = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001B3ull; };
  for (const char c : choice.present) mix(static_cast<unsigned char>(c));
  for (const std::int16_t at : choice.at) mix(static_cast<std::uint16_t>(at));
  return hash;
}

struct Node {
  double order = 0;
  double cost = 0;
  int broken = -1;  // a restriction that failed for its parent, to look at first
  Choice choice;
};
struct Later {
  bool operator()(const Node& a, const Node& b) const { return a.order > b.order; }
};

class Repair {
 public:
  Repair(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& wish, const Prices& prices)
      : plan_(plan), graph_(graph), wish_(wish), prices_(prices), salt_(hash_of(wish)) {
    push(wish, 0.0, -1);
  }

  std::optional<Choice> run(int budget) {
    for (; !open_.empty() && budget > 0; --budget) {
      const Node node = open_.top();
      open_.pop();
      const int broken = first_broken(plan_, node.choice, node.broken);
      if (broken < 0) return node.choice;
      expand(node, broken);
    }
    return std::nullopt;
  }

 private:
  // Any legal choice differs from an illegal one in something the failing restriction reads.
  void expand(const Node& node, int broken) {
    const PlannedRestriction& restriction = plan_.restrictions[static_cast<std::size_t>(broken)];
    for (const int k : restriction.knobs) step_knob(node, k, broken);
    for (const int t : restriction.techniques) toggle(node, t, broken);
  }

  void step_knob(const Node& node, int k, int broken) {
    const auto i = static_cast<std::size_t>(k);
    const KnobSlot& slot = plan_.slots[i];
    if (!node.choice.present[static_cast<std::size_t>(slot.technique)] || node.choice.at[i] != wish_.at[i]) return;
    const double price = prices_.knobs.empty() ? 1.0 : prices_.knobs[i];
    for (std::size_t value = 0; value < slot.knob.domain.size(); ++value) {
      const int steps = std::abs(static_cast<int>(value) - wish_.at[i]);
      if (steps == 0) continue;
      Choice next = node.choice;
      next.at[i] = static_cast<std::int16_t>(value);
      push(std::move(next), node.cost + price * steps, broken);
    }
  }

  void toggle(const Node& node, int technique, int broken) {
    const auto i = static_cast<std::size_t>(technique);
    if (node.choice.present[i] != wish_.present[i] || plan_.required[i] || !plan_.available[i]) return;
    Choice next = node.choice;
    const bool done = next.present[i] ? remove_with_dependents(plan_, graph_, technique, next)
                                      : !add_closure(plan_, graph_, technique, next).has_value();
    if (!done) return;
    std::vector<std::string> dropped;
    settle(plan_, graph_, next, dropped);
    if (!dropped.empty() || !well_formed(plan_, graph_, next)) return;
    double cost = node.cost;
    for (std::size_t t = 0; t < next.present.size(); ++t)
      cost += next.present[t] != node.choice.present[t] ? technique_cost : 0.0;
    push(std::move(next), cost, broken);
  }

  void push(Choice choice, double cost, int broken) {
    const std::uint64_t hash = hash_of(choice);
    if (!seen_.insert(hash).second) return;
    const bool still = broken >= 0 && !holds(plan_, static_cast<std::size_t>(broken), choice);
    const double tie = tie_breadth * Rng(hash ^ salt_).unit();
    open_.push({cost + (still ? broken_cost : 0.0) + tie, cost, broken, std::move(choice)});
  }

  const SkeletonPlan& plan_;
  const ConstraintGraph& graph_;
  const Choice& wish_;
  const Prices& prices_;
  std::uint64_t salt_;
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::unordered_set<std::uint64_t> seen_;
};

bool keep_if_legal(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice next, Choice& from) {
  if (next == from || !well_formed(plan, graph, next) || first_broken(plan, next) >= 0) return false;
  from = std::move(next);
  return true;
}

bool approach_technique(const SkeletonPlan& plan, const ConstraintGraph& graph, int t, const Choice& wish, Choice& from) {
  const auto i = static_cast<std::size_t>(t);
  if (wish.present[i] == from.present[i]) return false;
  Choice next = from;
  if (!wish.present[i]) return remove_with_dependents(plan, graph, t, next) && keep_if_legal(plan, graph, std::move(next), from);
  if (add_closure(plan, graph, t, next)) return false;
  for (const int k : plan.slots_of[i]) next.at[static_cast<std::size_t>(k)] = wish.at[static_cast<std::size_t>(k)];
  return keep_if_legal(plan, graph, std::move(next), from);
}

bool approach_knob(const SkeletonPlan& plan, const ConstraintGraph& graph, std::size_t k, const Choice& wish, Choice& from) {
  const auto technique = static_cast<std::size_t>(plan.slots[k].technique);
  if (!from.present[technique] || !wish.present[technique]) return false;
  for (std::int16_t at = wish.at[k]; at != from.at[k]; at = static_cast<std::int16_t>(at + (at < from.at[k] ? 1 : -1))) {
    Choice next = from;
    next.at[k] = at;
    if (keep_if_legal(plan, graph, std::move(next), from)) return true;
  }
  return false;
}

}  // namespace

std::optional<Choice> repair(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& wish, const Prices& prices,
                             int budget) {
  return Repair(plan, graph, wish, prices).run(budget);
}

Choice approach(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice from, const Choice& wish) {
  // Knobs move only towards the wish and techniques only to its side, so a few rounds reach a fixed point.
  constexpr int rounds = 4;
  bool moved = true;
  for (int round = 0; round < rounds && moved; ++round) {
    moved = false;
    for (int t = 0; t < graph.size(); ++t) moved = approach_technique(plan, graph, t, wish, from) || moved;
    for (std::size_t k = 0; k < plan.slots.size(); ++k) moved = approach_knob(plan, graph, k, wish, from) || moved;
  }
  return from;
}

}  // namespace cupilot
