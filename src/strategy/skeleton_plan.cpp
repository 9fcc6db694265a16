#include "strategy/skeleton_plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

namespace cupilot {
namespace {

Error unusable(const Skeleton& skeleton, const std::string& reason) {
  return {ErrorCode::usage, fmt::format("skeleton {}: {}", skeleton.name, reason),
          "correct its required and available techniques"};
}

Result<void> mark(const ConstraintGraph& graph, const Skeleton& skeleton,
                  const std::vector<std::string>& names, std::vector<char>& marks) {
  for (const std::string& name : names) {
    const int technique = graph.index(name);
    if (technique < 0)
      return unusable(skeleton, fmt::format("'{}' is not a technique of this space", name));
    marks[static_cast<std::size_t>(technique)] = 1;
  }
  return {};
}

// A technique counts as available only with everything it cannot do without, and beside what is
// required.
void prune_available(const ConstraintGraph& graph, SkeletonPlan& plan) {
  std::vector<char> kept = plan.available;
  for (int t = 0; t < graph.size(); ++t) {
    for (const int needed : graph.closure(t)) {
      if (!plan.available[static_cast<std::size_t>(needed)]) kept[static_cast<std::size_t>(t)] = 0;
      for (int r = 0; r < graph.size(); ++r) {
        if (plan.required[static_cast<std::size_t>(r)] && graph.conflict(needed, r))
          kept[static_cast<std::size_t>(t)] = 0;
      }
    }
  }
  plan.available = std::move(kept);
}

Result<void> require_closures(const ConstraintGraph& graph, const Skeleton& skeleton,
                              SkeletonPlan& plan) {
  for (int t = 0; t < graph.size(); ++t) {
    if (!plan.required[static_cast<std::size_t>(t)]) continue;
    for (const int needed : graph.closure(t)) {
      plan.required[static_cast<std::size_t>(needed)] = 1;
      plan.available[static_cast<std::size_t>(needed)] = 1;
    }
  }
  for (int a = 0; a < graph.size(); ++a) {
    for (int b = 0; b < a; ++b) {
      if (!plan.required[static_cast<std::size_t>(a)] ||
          !plan.required[static_cast<std::size_t>(b)] || !graph.conflict(a, b))
        continue;
      return unusable(skeleton, fmt::format("it requires {} and {}, which exclude one another",
                                            graph.name(b), graph.name(a)));
    }
  }
  return {};
}

Result<void> add_slots(const SpaceModel& model, const ConstraintGraph& graph,
                       const Skeleton& skeleton, SkeletonPlan& plan) {
  plan.slots_of.resize(model.techniques.size());
  std::vector<Knob> knobs = skeleton.knobs;
  for (int t = 0; t < graph.size(); ++t) {
    if (skeleton.only_these_knobs || !plan.available[static_cast<std::size_t>(t)]) continue;
    for (const TechniqueParameter& parameter :
         model.techniques[static_cast<std::size_t>(t)].parameters) {
      const bool named = std::any_of(knobs.begin(), knobs.end(), [&](const Knob& knob) {
        return knob.technique == graph.name(t) && knob.parameter == parameter.name;
      });
      if (!named)
        knobs.push_back({graph.name(t), parameter.name, parameter.domain, parameter.fallback});
    }
  }
  for (Knob& knob : knobs) {
    const int technique = graph.index(knob.technique);
    if (technique < 0)
      return unusable(skeleton, fmt::format("knob {}.{} belongs to no technique", knob.technique,
                                            knob.parameter));
    if (knob.domain.empty() || knob.domain.size() > 10000) {
      return unusable(skeleton, fmt::format("knob {}.{} has {} values", knob.technique,
                                            knob.parameter, knob.domain.size()));
    }
    plan.slots_of[static_cast<std::size_t>(technique)].push_back(
        static_cast<int>(plan.slots.size()));
    const std::int16_t fallback = nearest(knob.domain, knob.fallback);
    knob.fallback = knob.domain[static_cast<std::size_t>(fallback)];
    plan.slots.push_back({technique, std::move(knob), fallback});
  }
  return {};
}

void read_all(const SkeletonPlan& plan, const ConstraintGraph& graph, PlannedRestriction& planned) {
  for (int t = 0; t < graph.size(); ++t) {
    if (plan.available[static_cast<std::size_t>(t)]) planned.techniques.push_back(t);
  }
  for (std::size_t k = 0; k < plan.slots.size(); ++k) planned.knobs.push_back(static_cast<int>(k));
}

// Techniques that are always or never in use and knobs of one value tell nothing apart.
void number_combinations(const SkeletonPlan& plan, PlannedRestriction& planned) {
  std::uint64_t combinations = 1;
  const auto digit = [&](std::vector<PlannedRestriction::Digit>& digits, int at,
                         std::uint64_t values) {
    digits.push_back({at, combinations});
    combinations =
        values > RestrictionMemo::most_combinations / combinations ? 0 : combinations * values;
    return combinations != 0;
  };
  for (const int t : planned.restriction.fixed ? std::vector<int>() : planned.techniques) {
    const auto i = static_cast<std::size_t>(t);
    if (plan.available[i] && !plan.required[i] && !digit(planned.technique_digits, t, 2)) return;
  }
  const std::set<int> knobs(planned.knobs.begin(), planned.knobs.end());
  for (const int k : planned.restriction.fixed ? std::set<int>() : knobs) {
    const std::size_t values = plan.slots[static_cast<std::size_t>(k)].knob.domain.size();
    if (values > 1 && !digit(planned.knob_digits, k, values)) return;
  }
  planned.memo = std::make_shared<RestrictionMemo>(combinations);
}

Result<void> add_restrictions(const ConstraintGraph& graph, const Skeleton& skeleton,
                              SkeletonPlan& plan) {
  for (const Restriction& restriction : skeleton.restrictions) {
    PlannedRestriction planned{restriction, {}, {}};
    if (restriction.reads.empty()) read_all(plan, graph, planned);
    for (const std::string& name : restriction.reads) {
      const int technique = graph.index(name.substr(0, name.rfind('.')));
      const int whole = graph.index(name);
      if (whole < 0 && technique < 0)
        return unusable(skeleton,
                        fmt::format("restriction '{}' reads unknown '{}'", restriction.text, name));
      planned.techniques.push_back(whole >= 0 ? whole : technique);
      if (whole >= 0) continue;
      for (const int k : plan.slots_of[static_cast<std::size_t>(technique)]) {
        if (plan.slots[static_cast<std::size_t>(k)].knob.parameter ==
            name.substr(name.rfind('.') + 1))
          planned.knobs.push_back(k);
      }
    }
    std::sort(planned.techniques.begin(), planned.techniques.end());
    planned.techniques.erase(std::unique(planned.techniques.begin(), planned.techniques.end()),
                             planned.techniques.end());
    number_combinations(plan, planned);
    plan.restrictions.push_back(std::move(planned));
  }
  return {};
}

bool present(const Choice& choice, int technique) {
  return choice.present[static_cast<std::size_t>(technique)] != 0;
}

bool satisfied(const Need& need, const Choice& choice) {
  if (need.when >= 0 && !present(choice, need.when)) return true;
  return std::any_of(need.any_of.begin(), need.any_of.end(),
                     [&](int t) { return present(choice, t); });
}

void reset_slots(const SkeletonPlan& plan, int technique, Choice& choice) {
  for (const int k : plan.slots_of[static_cast<std::size_t>(technique)]) {
    choice.at[static_cast<std::size_t>(k)] = plan.slots[static_cast<std::size_t>(k)].fallback;
  }
}

// The first unsatisfied need of a technique in use; nullptr: none.
const Need* unsatisfied(const ConstraintGraph& graph, const Choice& choice, int technique) {
  for (const Need& need : graph.needs(technique)) {
    if (!satisfied(need, choice)) return &need;
  }
  return nullptr;
}

bool add_any(const SkeletonPlan& plan, const ConstraintGraph& graph,
             const std::vector<int>& candidates, std::span<const char> banned, Choice& choice) {
  return std::any_of(candidates.begin(), candidates.end(), [&](int t) {
    return (banned.empty() || !banned[static_cast<std::size_t>(t)]) &&
           !add_closure(plan, graph, t, choice);
  });
}

}  // namespace

std::int16_t nearest(const std::vector<std::int64_t>& domain, std::int64_t value) {
  if (const auto same = std::find(domain.begin(), domain.end(), value); same != domain.end()) {
    return static_cast<std::int16_t>(same - domain.begin());
  }
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    const auto a = static_cast<double>(domain[i]);
    const auto b = static_cast<double>(value);
    const double gap = a > 0 && b > 0 ? std::abs(std::log(a / b)) : std::abs(a - b);
    if (gap < least) {
      least = gap;
      best = i;
    }
  }
  return static_cast<std::int16_t>(best);
}

Choice bare_choice(const SkeletonPlan& plan) {
  Choice choice{plan.required, {}};
  choice.at.reserve(plan.slots.size());
  for (const KnobSlot& slot : plan.slots) choice.at.push_back(slot.fallback);
  return choice;
}

bool holds(const SkeletonPlan& plan, std::size_t restriction, const Choice& choice) {
  const PlannedRestriction& planned = plan.restrictions[restriction];
  if (!planned.memo) return holds_when_asked(plan, restriction, choice);
  std::uint64_t key = 0;
  for (const auto& [k, weight] : planned.knob_digits) {
    key += weight * static_cast<std::uint64_t>(choice.at[static_cast<std::size_t>(k)]);
  }
  for (const auto& [t, weight] : planned.technique_digits)
    key += choice.present[static_cast<std::size_t>(t)] != 0 ? weight : 0;
  if (const std::optional<bool> known = planned.memo->find(key)) return *known;
  const bool answer = holds_when_asked(plan, restriction, choice);
  planned.memo->keep(key, answer);
  return answer;
}

bool holds_when_asked(const SkeletonPlan& plan, std::size_t restriction, const Choice& choice) {
  thread_local std::vector<std::int64_t> values;
  values.resize(plan.slots.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = plan.slots[k].knob.domain[static_cast<std::size_t>(choice.at[k])];
  }
  return plan.restrictions[restriction].restriction.holds({choice.present, values});
}

int first_broken(const SkeletonPlan& plan, const Choice& choice, int first) {
  if (first >= 0 && !holds(plan, static_cast<std::size_t>(first), choice)) return first;
  for (std::size_t i = 0; i < plan.restrictions.size(); ++i) {
    if (static_cast<int>(i) != first && !holds(plan, i, choice)) return static_cast<int>(i);
  }
  return -1;
}

bool well_formed(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& choice) {
  for (int t = 0; t < graph.size(); ++t) {
    const auto i = static_cast<std::size_t>(t);
    if (plan.required[i] && !present(choice, t)) return false;
    if (!present(choice, t)) continue;
    if (!plan.available[i] || unsatisfied(graph, choice, t) != nullptr) return false;
    for (const int other : graph.conflicts_of(t)) {
      if (present(choice, other)) return false;
    }
  }
  for (const std::vector<int>& group : graph.groups()) {
    bool offered = false;
    bool held = false;
    for (const int t : group) {
      offered = offered || plan.available[static_cast<std::size_t>(t)];
      held = held || present(choice, t);
    }
    if (offered && !held) return false;
  }
  return true;
}

std::string words_of(const SkeletonPlan& plan, const ConstraintGraph& graph,
                     const Obstacle& obstacle) {
  return obstacle.beside < 0
             ? fmt::format("{} is not offered by {}", graph.name(obstacle.technique), plan.name)
             : fmt::format("{} cannot stand beside {}", graph.name(obstacle.technique),
                           graph.name(obstacle.beside));
}

std::optional<Obstacle> add_closure(const SkeletonPlan& plan, const ConstraintGraph& graph,
                                    int technique, Choice& choice) {
  for (const int added : graph.closure(technique)) {
    if (present(choice, added)) continue;
    if (!plan.available[static_cast<std::size_t>(added)]) return Obstacle{added, -1};
    for (const int other : graph.conflicts_of(added)) {
      if (present(choice, other)) return Obstacle{added, other};
    }
  }
  for (const int added : graph.closure(technique))
    choice.present[static_cast<std::size_t>(added)] = 1;
  return std::nullopt;
}

bool remove_with_dependents(const SkeletonPlan& plan, const ConstraintGraph& graph, int technique,
                            Choice& choice) {
  std::vector<int> pending = {technique};
  while (!pending.empty()) {
    const int gone = pending.back();
    pending.pop_back();
    if (!present(choice, gone)) continue;
    if (plan.required[static_cast<std::size_t>(gone)]) return false;
    choice.present[static_cast<std::size_t>(gone)] = 0;
    reset_slots(plan, gone, choice);
    for (int t = 0; t < graph.size(); ++t) {
      if (present(choice, t) && unsatisfied(graph, choice, t) != nullptr) pending.push_back(t);
    }
  }
  return true;
}

bool settle(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice& choice,
            std::vector<std::string>* dropped) {
  // A technique that was taken away may not come back, so every round removes one or only adds: it
  // ends.
  std::vector<char> banned(static_cast<std::size_t>(graph.size()), 0);
  bool kept_all = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int t = 0; t < graph.size(); ++t) {
      if (!present(choice, t)) continue;
      const Need* need = unsatisfied(graph, choice, t);
      if (need == nullptr) continue;
      changed = true;
      if (add_any(plan, graph, need->any_of, banned, choice)) continue;
      kept_all = false;
      if (!remove_with_dependents(plan, graph, t, choice)) return false;
      banned[static_cast<std::size_t>(t)] = 1;
      if (dropped == nullptr) continue;
      dropped->push_back(fmt::format("{}: it needs {}, which cannot hold here", graph.name(t),
                                     graph.name(need->any_of[0])));
    }
    for (const std::vector<int>& group : graph.groups()) {
      if (std::any_of(group.begin(), group.end(), [&](int t) { return present(choice, t); }))
        continue;
      changed = add_any(plan, graph, group, {}, choice) || changed;
    }
  }
  return kept_all;
}

Result<SkeletonPlan> plan_skeleton(const SpaceModel& model, const ConstraintGraph& graph,
                                   const Skeleton& skeleton) {
  SkeletonPlan plan;
  plan.name = skeleton.name;
  plan.required.assign(model.techniques.size(), 0);
  plan.available.assign(model.techniques.size(), skeleton.available.empty() ? 1 : 0);
  for (const auto& [names, marks] : {std::pair{&skeleton.required, &plan.required},
                                     {&skeleton.required, &plan.available},
                                     {&skeleton.available, &plan.available}}) {
    if (Result<void> known = mark(graph, skeleton, *names, *marks); !known) return known.error();
  }
  if (Result<void> closed = require_closures(graph, skeleton, plan); !closed) return closed.error();
  prune_available(graph, plan);
  if (Result<void> slots = add_slots(model, graph, skeleton, plan); !slots) return slots.error();
  if (Result<void> restrictions = add_restrictions(graph, skeleton, plan); !restrictions)
    return restrictions.error();
  plan.anchor = bare_choice(plan);
  return plan;
}

}  // namespace cupilot
