#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "strategy/build_space.hpp"
#include "strategy/constraint_graph.hpp"
#include "strategy/repair.hpp"
#include "strategy/skeleton_plan.hpp"

namespace cupilot {
namespace {

// Choices looked at before the nearest legal one is given up; the walk from the anchor takes over then.
constexpr int repair_budget = 100;
constexpr int anchor_budget = 20000;
constexpr int anchor_attempts = 64;
constexpr std::size_t projections_kept = 4096;
constexpr double largest_size = 1e300;
// A pinned thing moves only when many others would have to.
constexpr double pin_price = 16.0;
constexpr double named_core = 1000.0;  // more than there are techniques

struct WishInSkeleton {
  Choice choice;
  std::vector<std::string> dropped;
};

// The latest values by key, at most twice `most`; any thread.
template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}
  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = latest_.find(key); found != latest_.end()) return found->second;
    const auto found = before_.find(key);
    if (found == before_.end()) return std::nullopt;
    Value value = found->second;
    put(key, value);
    return value;
  }
  void keep(std::string key, Value value) {
    const std::lock_guard lock(mutex_);
    put(std::move(key), std::move(value));
  }

 private:
  void put(std::string key, Value value) {
    if (latest_.size() >= most_) before_ = std::exchange(latest_, {});
    latest_.insert_or_assign(std::move(key), std::move(value));
  }
  std::size_t most_;
  std::mutex mutex_;
  std::unordered_map<std::string, Value> latest_, before_;
};

class FeasibleSpace final : public Space {
 public:
  FeasibleSpace(std::vector<Technique> all, ConstraintGraph graph, std::vector<SkeletonPlan> plans)
      : all_(std::move(all)), graph_(std::move(graph)), plans_(std::move(plans)) {
    list_techniques();
    list_knobs();
  }

  const std::vector<Technique>& techniques() const override { return techniques_; }
  const std::vector<Knob>& knobs() const override { return knobs_; }

  bool feasible(const Strategy& strategy) const override {
    const std::vector<int> located = locate(strategy);
    return std::any_of(plans_.begin(), plans_.end(),
                       [&](const SkeletonPlan& plan) { return exact(plan, strategy, located).has_value(); });
  }

  using Space::complete;
  Result<Completion> complete(const Strategy& wish, const std::vector<std::string>& pinned) const override {
    const std::vector<int> located = locate(wish);
    for (const SkeletonPlan& plan : plans_) {
      if (const std::optional<Choice> choice = exact(plan, wish, located)) return finish(plan, *choice, wish, {});
    }
    const SkeletonPlan& plan = *best_skeleton(wish);
    WishInSkeleton placed = place(plan, wish);
    const Choice choice = projected(plan, placed.choice, prices_of(plan, pinned));
    explain_moves(plan, placed.choice, choice, placed.dropped);
    return finish(plan, choice, wish, std::move(placed.dropped));
  }

  double size() const override {
    double total = 0;
    for (const SkeletonPlan& plan : plans_) total += size_of(plan);
    return std::min(total, largest_size);
  }

 private:
  void list_techniques() {
    for (std::size_t t = 0; t < all_.size(); ++t) {
      const bool offered =
          std::any_of(plans_.begin(), plans_.end(), [&](const SkeletonPlan& plan) { return plan.available[t] != 0; });
      if (offered) techniques_.push_back(all_[t]);
    }
  }

  // The union over skeletons, by technique.
  void list_knobs() {
    for (std::size_t t = 0; t < all_.size(); ++t) {
      for (const SkeletonPlan& plan : plans_) {
        if (!plan.available[t]) continue;
        for (const int k : plan.slots_of[t]) merge_knob(plan.slots[static_cast<std::size_t>(k)].knob);
      }
    }
  }

  void merge_knob(const Knob& knob) {
    const auto same = std::find_if(knobs_.begin(), knobs_.end(),
                                   [&](const Knob& k) { return k.technique == knob.technique && k.parameter == knob.parameter; });
    if (same == knobs_.end()) {
      knobs_.push_back(knob);
      return;
    }
    for (const std::int64_t value : knob.domain) {
      if (std::find(same->domain.begin(), same->domain.end(), value) == same->domain.end()) same->domain.push_back(value);
    }
    std::sort(same->domain.begin(), same->domain.end());
  }

  double size_of(const SkeletonPlan& plan) const {
    double product = 1;
    for (std::size_t t = 0; t < all_.size(); ++t) {
      if (!plan.available[t]) continue;
      double settings = 1;
      for (const int k : plan.slots_of[t])
        settings *= static_cast<double>(plan.slots[static_cast<std::size_t>(k)].knob.domain.size());
      product = std::min(product * (plan.required[t] ? settings : settings + 1), largest_size);
    }
    return product;
  }

  std::int64_t wished(const KnobSlot& slot, const Use& use) const {
    const auto found = use.values.find(slot.knob.parameter);
    return found == use.values.end() ? slot.knob.fallback : found->second;
  }

  // What a strategy's identity takes the value to be: its technique's own default where it is left out.
  std::int64_t stated(const KnobSlot& slot, const Use& use) const {
    const auto found = use.values.find(slot.knob.parameter);
    if (found != use.values.end()) return found->second;
    for (const TechniqueParameter& parameter : all_[static_cast<std::size_t>(slot.technique)].parameters) {
      if (parameter.name == slot.knob.parameter) return parameter.fallback;
    }
    return slot.knob.fallback;
  }

  // Positions of the techniques that a strategy uses.
  std::vector<int> locate(const Strategy& strategy) const {
    std::vector<int> located;
    for (const Use& use : strategy.uses) located.push_back(graph_.index(use.technique));
    return located;
  }

  // The choice a strategy spells out, when it is feasible under this skeleton.
  std::optional<Choice> exact(const SkeletonPlan& plan, const Strategy& strategy, const std::vector<int>& located) const {
    const auto offered = [&](int t) { return t >= 0 && plan.available[static_cast<std::size_t>(t)]; };
    if (!std::all_of(located.begin(), located.end(), offered)) return std::nullopt;
    Choice choice = bare_choice(plan);
    std::fill(choice.present.begin(), choice.present.end(), char{0});
    for (std::size_t u = 0; u < strategy.uses.size(); ++u) {
      const Use& use = strategy.uses[u];
      const int t = located[u];
      if (choice.present[static_cast<std::size_t>(t)] || !use.text.empty() || !use.on.empty()) return std::nullopt;
      choice.present[static_cast<std::size_t>(t)] = 1;
      std::size_t named = 0;
      for (const int k : plan.slots_of[static_cast<std::size_t>(t)]) {
        const KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
        const std::int64_t value = stated(slot, use);
        const std::int16_t at = nearest(slot.knob.domain, value);
        if (slot.knob.domain[static_cast<std::size_t>(at)] != value) return std::nullopt;
        choice.at[static_cast<std::size_t>(k)] = at;
        named += use.values.count(slot.knob.parameter);
      }
      if (named != use.values.size()) return std::nullopt;
    }
    if (!well_formed(plan, graph_, choice) || first_broken(plan, choice) >= 0) return std::nullopt;
    return choice;
  }

  // A skeleton built on an alternative that the wish names goes before all others, however many techniques those could keep.
  // Then the techniques it can keep count for it, and what it would have to add against it.
  const SkeletonPlan* best_skeleton(const Strategy& wish) const {
    const SkeletonPlan* best = &plans_.front();
    double most = -INFINITY;
    for (const SkeletonPlan& plan : plans_) {
      double score = -0.5 * static_cast<double>(std::count(plan.required.begin(), plan.required.end(), char{1}));
      for (const Use& use : wish.uses) {
        const int t = graph_.index(use.technique);
        if (t < 0 || !plan.available[static_cast<std::size_t>(t)]) continue;
        const bool alternative = plan.required[static_cast<std::size_t>(t)] && !all_[static_cast<std::size_t>(t)].group.empty();
        score += alternative ? named_core : 1.0;
      }
      if (score > most) {
        most = score;
        best = &plan;
      }
    }
    return best;
  }

  WishInSkeleton place(const SkeletonPlan& plan, const Strategy& wish) const {
    WishInSkeleton placed{bare_choice(plan), {}};
    for (const Use& use : wish.uses) {
      const int t = graph_.index(use.technique);
      if (t < 0) {
        placed.dropped.push_back(fmt::format("{}: nothing here realises it", use.technique));
      } else if (const auto reason = add_closure(plan, graph_, t, placed.choice)) {
        placed.dropped.push_back(fmt::format("{}: {}", use.technique, *reason));
      }
    }
    settle(plan, graph_, placed.choice, placed.dropped);
    for (const Use& use : wish.uses) {
      const int t = graph_.index(use.technique);
      if (t < 0 || !placed.choice.present[static_cast<std::size_t>(t)]) continue;
      for (const int k : plan.slots_of[static_cast<std::size_t>(t)]) {
        const KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
        placed.choice.at[static_cast<std::size_t>(k)] = nearest(slot.knob.domain, wished(slot, use));
      }
    }
    return placed;
  }

  // The nearest legal choice. A search wishes for the same ones again and again.
  Choice projected(const SkeletonPlan& plan, const Choice& wish, const Prices& prices) const {
    std::string key = std::to_string(&plan - plans_.data());
    const auto add = [&key](const auto& values) {
      key.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
    };
    add(wish.present);
    add(wish.at);
    add(prices.knobs);
    if (std::optional<Choice> known = projections_->find(key)) return std::move(*known);
    std::optional<Choice> choice = repair(plan, graph_, wish, prices, repair_budget);
    if (!choice) choice = approach(plan, graph_, plan.anchor, wish);
    projections_->keep(std::move(key), *choice);
    return std::move(*choice);
  }

  // "technique.parameter"
  static bool names(const std::string& name, const Knob& knob) {
    return name.size() == knob.technique.size() + 1 + knob.parameter.size() && name.starts_with(knob.technique) &&
           name[knob.technique.size()] == '.' && name.ends_with(knob.parameter);
  }

  Prices prices_of(const SkeletonPlan& plan, const std::vector<std::string>& pinned) const {
    Prices prices;
    if (pinned.empty()) return prices;
    prices.techniques.assign(all_.size(), 1.0);
    prices.knobs.assign(plan.slots.size(), 1.0);
    for (const std::string& name : pinned) {
      if (const int t = graph_.index(name); t >= 0) prices.techniques[static_cast<std::size_t>(t)] = pin_price;
      for (std::size_t k = 0; k < plan.slots.size(); ++k) {
        const Knob& knob = plan.slots[k].knob;
        if (names(name, knob)) prices.knobs[k] = pin_price;
      }
    }
    return prices;
  }

  void explain_moves(const SkeletonPlan& plan, const Choice& wish, const Choice& got, std::vector<std::string>& dropped) const {
    const int broken = first_broken(plan, wish);
    if (broken < 0) return;
    const std::string& reason = plan.restrictions[static_cast<std::size_t>(broken)].restriction.text;
    for (std::size_t t = 0; t < all_.size(); ++t) {
      if (wish.present[t] && !got.present[t]) dropped.push_back(fmt::format("{}: breaks {}", all_[t].name, reason));
    }
    for (std::size_t k = 0; k < plan.slots.size(); ++k) {
      const KnobSlot& slot = plan.slots[k];
      if (!got.present[static_cast<std::size_t>(slot.technique)] || wish.at[k] == got.at[k]) continue;
      dropped.push_back(fmt::format("{}.{}={}: breaks {}; now {}", slot.knob.technique, slot.knob.parameter,
                                    slot.knob.domain[static_cast<std::size_t>(wish.at[k])], reason,
                                    slot.knob.domain[static_cast<std::size_t>(got.at[k])]));
    }
  }

  Completion finish(const SkeletonPlan& plan, const Choice& choice, const Strategy& wish,
                    std::vector<std::string> dropped) const {
    Completion done;
    for (std::size_t t = 0; t < all_.size(); ++t) {
      if (!choice.present[t]) continue;
      Use use;
      use.technique = all_[t].name;
      for (const int k : plan.slots_of[t]) {
        const KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
        use.values[slot.knob.parameter] = slot.knob.domain[static_cast<std::size_t>(choice.at[static_cast<std::size_t>(k)])];
      }
      done.strategy.uses.push_back(std::move(use));
    }
    done.strategy.rationale = wish.rationale;
    done.strategy.parents = wish.parents;
    done.strategy.origin = wish.origin;
    done.dropped = std::move(dropped);
    return done;
  }

  std::vector<Technique> all_;
  ConstraintGraph graph_;
  std::vector<SkeletonPlan> plans_;
  std::vector<Technique> techniques_;
  std::vector<Knob> knobs_;
  std::unique_ptr<Recent<Choice>> projections_ = std::make_unique<Recent<Choice>>(projections_kept);
};

// A random well-formed choice to start a search for legality from.
Choice scattered(const SkeletonPlan& plan, const ConstraintGraph& graph, Rng rng) {
  Choice choice = bare_choice(plan);
  const double density = rng.unit();
  for (int t = 0; t < graph.size(); ++t) {
    if (rng.chance(density)) (void)add_closure(plan, graph, t, choice);
  }
  std::vector<std::string> dropped;
  settle(plan, graph, choice, dropped);
  for (std::size_t k = 0; k < plan.slots.size(); ++k) {
    if (!choice.present[static_cast<std::size_t>(plan.slots[k].technique)]) continue;
    choice.at[k] = static_cast<std::int16_t>(rng.below(static_cast<std::int64_t>(plan.slots[k].knob.domain.size())));
  }
  return choice;
}

// A legal choice, as close to the fallbacks as one is found.
bool find_anchor(SkeletonPlan& plan, const ConstraintGraph& graph) {
  Choice bare = bare_choice(plan);
  for (std::size_t i = 0; i < plan.restrictions.size(); ++i) {
    if (plan.restrictions[i].restriction.fixed && !holds(plan, i, bare)) return false;
  }
  std::vector<std::string> dropped;
  settle(plan, graph, bare, dropped);
  for (int attempt = 0; attempt < anchor_attempts; ++attempt) {
    const Choice start = attempt == 0 ? bare : scattered(plan, graph, Rng::of(0, "anchor", static_cast<std::uint64_t>(attempt)));
    if (!well_formed(plan, graph, start)) continue;
    if (std::optional<Choice> found =
            repair(plan, graph, start, {}, attempt == 0 ? anchor_budget / 10 : anchor_budget / anchor_attempts)) {
      plan.anchor = std::move(*found);
      return true;
    }
  }
  return false;
}

std::string why_not(const SkeletonPlan& plan, const ConstraintGraph& graph) {
  const Choice bare = bare_choice(plan);
  if (!well_formed(plan, graph, bare)) return fmt::format("{} lacks a technique that its group or its needs ask for", plan.name);
  const int broken = first_broken(plan, bare);
  return fmt::format("{} breaks '{}' wherever it was tried", plan.name,
                     broken < 0 ? std::string("a need") : plan.restrictions[static_cast<std::size_t>(broken)].restriction.text);
}

}  // namespace

Result<std::unique_ptr<Space>> build_space(SpaceModel model) {
  Result<ConstraintGraph> graph = ConstraintGraph::build(model.techniques);
  if (!graph) return graph.error();
  if (model.skeletons.empty()) model.skeletons.push_back({"all", {}, {}, {}, {}});
  std::vector<SkeletonPlan> plans;
  std::string reasons;
  for (const Skeleton& skeleton : model.skeletons) {
    Result<SkeletonPlan> plan = plan_skeleton(model, *graph, skeleton);
    if (!plan) return plan.error();
    if (find_anchor(*plan, *graph)) {
      plans.push_back(std::move(*plan));
    } else {
      reasons += (reasons.empty() ? "" : "; ") + why_not(*plan, *graph);
    }
  }
  if (plans.empty()) {
    return Error{ErrorCode::usage, "no strategy is legal here: " + reasons,
                 "widen a domain or lift a restriction of the template"};
  }
  return std::unique_ptr<Space>(
      std::make_unique<FeasibleSpace>(std::move(model.techniques), std::move(*graph), std::move(plans)));
}

}  // namespace cupilot
