// A skeleton with names resolved to positions, and the moves on complete choices inside it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "strategy/build_space.hpp"
#include "strategy/constraint_graph.hpp"
#include "strategy/restriction_memo.hpp"

namespace cupilot {

// A point of a skeleton: which techniques are in use, and the position in each knob's domain
// (fallback where not in use).
struct Choice {
  std::vector<char> present;
  std::vector<std::int16_t> at;
  bool operator==(const Choice&) const = default;
};

struct KnobSlot {
  int technique = 0;
  Knob knob;
  std::int16_t fallback = 0;  // position in the domain
  std::size_t gene = 0;       // position among the space's knobs, where the technique is available
  std::int64_t left_out = 0;  // the value of a strategy that states none
};

struct PlannedRestriction {
  Restriction restriction;
  std::vector<int> techniques;  // whose presence it reads
  std::vector<int> knobs;
  // A combination of what it reads, as a number: its digits, in mixed radix.
  struct Digit {
    int at = 0;  // position of the knob or technique
    std::uint64_t weight = 0;
  };
  std::vector<Digit> knob_digits{}, technique_digits{};
  std::shared_ptr<RestrictionMemo> memo{};  // null: too many combinations
};

struct SkeletonPlan {
  std::string name;
  std::vector<char> required, available;  // by technique
  std::vector<KnobSlot> slots;
  std::vector<std::vector<int>> slots_of;  // by technique
  std::vector<PlannedRestriction> restrictions;
  Choice anchor;  // a legal choice
};

// Error{usage} names an unknown technique, an empty domain, or requirements that exclude one
// another.
Result<SkeletonPlan> plan_skeleton(const SpaceModel& model, const ConstraintGraph& graph,
                                   const Skeleton& skeleton);

// All required techniques at their fallbacks.
Choice bare_choice(const SkeletonPlan& plan);
bool holds(const SkeletonPlan& plan, std::size_t restriction, const Choice& choice);
// Asks the restriction itself.
bool holds_when_asked(const SkeletonPlan& plan, std::size_t restriction, const Choice& choice);
// Position of the first restriction that fails, looking at `first` before the others; -1: legal.
int first_broken(const SkeletonPlan& plan, const Choice& choice, int first = -1);
// The constraint graph's part of feasibility.
bool well_formed(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& choice);

// Reason that a technique cannot be added: one that comes with it is not offered, or cannot stand
// beside another.
struct Obstacle {
  int technique = 0, beside = -1;
};
std::string words_of(const SkeletonPlan& plan, const ConstraintGraph& graph,
                     const Obstacle& obstacle);
// Adds a technique with everything it needs, or changes nothing and gives the reason.
std::optional<Obstacle> add_closure(const SkeletonPlan& plan, const ConstraintGraph& graph,
                                    int technique, Choice& choice);
// Takes a technique away with all that cannot hold without it. False when a required one would go.
bool remove_with_dependents(const SkeletonPlan& plan, const ConstraintGraph& graph, int technique,
                            Choice& choice);
// Fills groups and conditional needs; what cannot be satisfied is taken away and explained in
// `dropped`, where there is one. False: something was taken away.
bool settle(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice& choice,
            std::vector<std::string>* dropped);

// Position of the domain value nearest to `value`, by ratio where both are positive.
std::int16_t nearest(const std::vector<std::int64_t>& domain, std::int64_t value);

}  // namespace cupilot
