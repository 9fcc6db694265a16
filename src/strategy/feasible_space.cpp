#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "strategy/build_space.hpp"
#include "strategy/constraint_graph.hpp"
#include "strategy/genome.hpp"
#include "strategy/recent.hpp"
#include "strategy/repair.hpp"
#include "strategy/skeleton_plan.hpp"

namespace cupilot {
namespace {

// Choices looked at before the nearest legal one is given up; the walk from the anchor takes over
// then.
constexpr int repair_budget = 100;
constexpr int anchor_budget = 20000;
constexpr int anchor_attempts = 64;
constexpr std::size_t projections_kept = 4096;
constexpr double largest_size = 1e300;
// A pinned thing moves only when many others would have to.
constexpr double pin_price = 16.0;
constexpr double named_core = 1000.0;  // more than there are techniques

struct Completed {
  const SkeletonPlan* plan = nullptr;
  Choice choice;
};

class FeasibleSpace final : public GenomeSpace {
 public:
  FeasibleSpace(std::vector<Technique> all, ConstraintGraph graph, std::vector<SkeletonPlan> plans)
      : all_(std::move(all)), graph_(std::move(graph)), plans_(std::move(plans)) {
    list_techniques();
    list_knobs();
    alphabet_ = Alphabet(all_, techniques_, knobs_);
    for (std::vector<int>& members : alphabet_.groups) {
      if (may_lack(members)) members.push_back(Genome::unknown);
    }
  }

  const std::vector<Technique>& techniques() const override { return techniques_; }
  const std::vector<Knob>& knobs() const override { return knobs_; }
  const Alphabet& alphabet() const override { return alphabet_; }

  bool feasible(const Strategy& strategy) const override { return legal(alphabet_.read(strategy)); }
  bool legal(const Genome& genome) const override {
    return std::any_of(plans_.begin(), plans_.end(),
                       [&](const SkeletonPlan& plan) { return exact(plan, genome).has_value(); });
  }

  using Space::complete;
  Result<Completion> complete(const Strategy& wish,
                              const std::vector<std::string>& pinned) const override {
    std::vector<std::string> dropped;
    const Completed done = completed(alphabet_.read(wish), pins_of(pinned), {&wish, &dropped});
    return Completion{spelled(alphabet_, genome_of(done), wish), std::move(dropped)};
  }
  std::optional<Genome> completed(const Genome& wish, const Pins& pinned) const override {
    return genome_of(completed(wish, pinned, {}));
  }

  double size() const override {
    double total = 0;
    for (const SkeletonPlan& plan : plans_) total += size_of(plan);
    return std::min(total, largest_size);
  }

 private:
  void list_techniques() {
    for (std::size_t t = 0; t < all_.size(); ++t) {
      const bool offered = std::any_of(plans_.begin(), plans_.end(), [&](const SkeletonPlan& plan) {
        return plan.available[t] != 0;
      });
      if (offered) techniques_.push_back(all_[t]);
    }
  }

  // True if some skeleton offers none of a group's alternatives.
  bool may_lack(const std::vector<int>& members) const {
    return std::any_of(plans_.begin(), plans_.end(), [&](const SkeletonPlan& plan) {
      return std::none_of(members.begin(), members.end(),
                          [&](int t) { return plan.available[static_cast<std::size_t>(t)] != 0; });
    });
  }

  // The union over skeletons, by technique.
  void list_knobs() {
    for (std::size_t t = 0; t < all_.size(); ++t) {
      for (SkeletonPlan& plan : plans_) {
        if (!plan.available[t]) continue;
        for (const int k : plan.slots_of[t]) {
          KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
          slot.gene = merged(slot.knob);
          slot.left_out = left_out(slot.knob, all_[t]);
        }
      }
    }
  }

  // Value that a strategy's identity assumes where it states none: the technique's own default.
  static std::int64_t left_out(const Knob& knob, const Technique& technique) {
    for (const TechniqueParameter& parameter : technique.parameters) {
      if (parameter.name == knob.parameter) return parameter.fallback;
    }
    return knob.fallback;
  }

  // Its position in the union.
  std::size_t merged(const Knob& knob) {
    const auto same = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) {
      return k.technique == knob.technique && k.parameter == knob.parameter;
    });
    if (same == knobs_.end()) {
      knobs_.push_back(knob);
      return knobs_.size() - 1;
    }
    for (const std::int64_t value : knob.domain) {
      if (std::find(same->domain.begin(), same->domain.end(), value) == same->domain.end())
        same->domain.push_back(value);
    }
    std::sort(same->domain.begin(), same->domain.end());
    return static_cast<std::size_t>(same - knobs_.begin());
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

  // Receives what of a wish is dropped, and why.
  struct TellStatus {
    const Strategy* wish = nullptr;
    std::vector<std::string>* dropped = nullptr;
  };

  // The legal choice that is nearest to a wish.
  Completed completed(const Genome& wish, const Pins& pinned, const TellStatus& told) const {
    for (const SkeletonPlan& plan : plans_) {
      if (std::optional<Choice> choice = exact(plan, wish)) return {&plan, std::move(*choice)};
    }
    const SkeletonPlan& plan = *best_skeleton(wish);
    const Choice placed = place(plan, wish, told);
    Completed done{&plan, projected(plan, placed, prices_of(plan, pinned))};
    if (told.dropped != nullptr) explain_moves(plan, placed, done.choice, *told.dropped);
    return done;
  }

  // The choice a strategy spells out, when it is feasible under this skeleton.
  std::optional<Choice> exact(const SkeletonPlan& plan, const Genome& genome) const {
    const auto offered = [&](int t) {
      return t >= 0 && plan.available[static_cast<std::size_t>(t)];
    };
    if (genome.more || !std::all_of(genome.uses.begin(), genome.uses.end(), offered))
      return std::nullopt;
    Choice choice = bare_choice(plan);
    std::fill(choice.present.begin(), choice.present.end(), char{0});
    for (const int used : genome.uses) {
      const auto t = static_cast<std::size_t>(used);
      if (choice.present[t]) return std::nullopt;
      choice.present[t] = 1;
      std::size_t named = 0;
      for (const int k : plan.slots_of[t]) {
        const KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
        const bool stated = genome.values[slot.gene] != Genome::unset;
        const std::vector<std::int64_t>& domain = slot.knob.domain;
        const auto at = std::find(domain.begin(), domain.end(),
                                  stated ? genome.values[slot.gene] : slot.left_out);
        if (at == domain.end()) return std::nullopt;
        choice.at[static_cast<std::size_t>(k)] = static_cast<std::int16_t>(at - domain.begin());
        named += stated ? 1 : 0;
      }
      const std::vector<int>& genes = alphabet_.knobs_of[t];
      const auto stated = [&](int k) {
        return genome.values[static_cast<std::size_t>(k)] != Genome::unset;
      };
      if (named != static_cast<std::size_t>(std::count_if(genes.begin(), genes.end(), stated)))
        return std::nullopt;
    }
    if (!well_formed(plan, graph_, choice) || first_broken(plan, choice) >= 0) return std::nullopt;
    return choice;
  }

  // A skeleton built on an alternative that the wish names goes before all others, however many
  // techniques those could keep. Then the techniques it can keep count for it, and what it would
  // have to add against it.
  const SkeletonPlan* best_skeleton(const Genome& wish) const {
    const SkeletonPlan* best = &plans_.front();
    double most = -INFINITY;
    for (const SkeletonPlan& plan : plans_) {
      double score = -0.5 * static_cast<double>(
                                std::count(plan.required.begin(), plan.required.end(), char{1}));
      for (const int used : wish.uses) {
        const auto t = static_cast<std::size_t>(used);
        if (used < 0 || !plan.available[t]) continue;
        const bool alternative = plan.required[t] && !all_[t].group.empty();
        score += alternative ? named_core : 1.0;
      }
      if (score > most) {
        most = score;
        best = &plan;
      }
    }
    return best;
  }

  Choice place(const SkeletonPlan& plan, const Genome& wish, const TellStatus& told) const {
    Choice placed = bare_choice(plan);
    for (std::size_t u = 0; u < wish.uses.size(); ++u) {
      const std::optional<Obstacle> obstacle =
          wish.uses[u] < 0 ? std::nullopt : add_closure(plan, graph_, wish.uses[u], placed);
      if (told.dropped == nullptr || (wish.uses[u] >= 0 && !obstacle)) continue;
      const std::string& name = told.wish->uses[u].technique;
      told.dropped->push_back(obstacle
                                  ? fmt::format("{}: {}", name, words_of(plan, graph_, *obstacle))
                                  : fmt::format("{}: nothing here realises it", name));
    }
    settle(plan, graph_, placed, told.dropped);
    for (const int used : wish.uses) {
      if (used < 0 || !placed.present[static_cast<std::size_t>(used)]) continue;
      for (const int k : plan.slots_of[static_cast<std::size_t>(used)]) {
        const KnobSlot& slot = plan.slots[static_cast<std::size_t>(k)];
        const std::int64_t value = wish.values[slot.gene];
        placed.at[static_cast<std::size_t>(k)] =
            value == Genome::unset ? slot.fallback : nearest(slot.knob.domain, value);
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
    key += prices.knobs.empty() ? ' ' : '.';
    add(prices.techniques);
    if (std::optional<Choice> known = projections_->find(key)) return std::move(*known);
    std::optional<Choice> choice = repair(plan, graph_, wish, prices, repair_budget);
    if (!choice) choice = approach(plan, graph_, plan.anchor, wish);
    projections_->keep(std::move(key), *choice);
    return std::move(*choice);
  }

  // "technique.parameter"
  static bool names(const std::string& name, const Knob& knob) {
    return name.size() == knob.technique.size() + 1 + knob.parameter.size() &&
           name.starts_with(knob.technique) && name[knob.technique.size()] == '.' &&
           name.ends_with(knob.parameter);
  }

  Pins pins_of(const std::vector<std::string>& pinned) const {
    Pins pins;
    for (const std::string& name : pinned) {
      for (std::size_t t = 0; t < all_.size(); ++t) {
        if (all_[t].name == name) pins.techniques.push_back(static_cast<int>(t));
      }
      for (std::size_t k = 0; k < knobs_.size(); ++k) {
        if (names(name, knobs_[k])) pins.knobs.push_back(static_cast<int>(k));
      }
    }
    return pins;
  }

  static Prices prices_of(const SkeletonPlan& plan, const Pins& pinned) {
    Prices prices;
    if (!pinned.techniques.empty()) prices.techniques.resize(plan.available.size(), 1.0);
    for (const int t : pinned.techniques)
      prices.techniques[static_cast<std::size_t>(t)] = pin_price;
    for (std::size_t k = 0; k < plan.slots.size(); ++k) {
      if (std::find(pinned.knobs.begin(), pinned.knobs.end(),
                    static_cast<int>(plan.slots[k].gene)) == pinned.knobs.end())
        continue;
      prices.knobs.resize(plan.slots.size(), 1.0);
      prices.knobs[k] = pin_price;
    }
    return prices;
  }

  void explain_moves(const SkeletonPlan& plan, const Choice& wish, const Choice& got,
                     std::vector<std::string>& dropped) const {
    const int broken = first_broken(plan, wish);
    if (broken < 0) return;
    const std::string& reason =
        plan.restrictions[static_cast<std::size_t>(broken)].restriction.text;
    for (std::size_t t = 0; t < all_.size(); ++t) {
      if (wish.present[t] && !got.present[t])
        dropped.push_back(fmt::format("{}: breaks {}", all_[t].name, reason));
    }
    for (std::size_t k = 0; k < plan.slots.size(); ++k) {
      const KnobSlot& slot = plan.slots[k];
      if (!got.present[static_cast<std::size_t>(slot.technique)] || wish.at[k] == got.at[k])
        continue;
      dropped.push_back(fmt::format("{}.{}={}: breaks {}; now {}", slot.knob.technique,
                                    slot.knob.parameter,
                                    slot.knob.domain[static_cast<std::size_t>(wish.at[k])], reason,
                                    slot.knob.domain[static_cast<std::size_t>(got.at[k])]));
    }
  }

  Genome genome_of(const Completed& done) const {
    Genome genome{{}, std::vector<std::int64_t>(knobs_.size(), Genome::unset), false};
    for (std::size_t t = 0; t < all_.size(); ++t) {
      if (!done.choice.present[t]) continue;
      genome.uses.push_back(static_cast<int>(t));
      for (const int k : done.plan->slots_of[t]) {
        const KnobSlot& slot = done.plan->slots[static_cast<std::size_t>(k)];
        const std::int16_t at = done.choice.at[static_cast<std::size_t>(k)];
        genome.values[slot.gene] = slot.knob.domain[static_cast<std::size_t>(at)];
      }
    }
    return genome;
  }

  std::vector<Technique> all_;
  ConstraintGraph graph_;
  std::vector<SkeletonPlan> plans_;
  std::vector<Technique> techniques_;
  std::vector<Knob> knobs_;
  Alphabet alphabet_;
  std::unique_ptr<Recent<Choice>> projections_ = std::make_unique<Recent<Choice>>(projections_kept);
};

// A random well-formed choice to start a search for legality from.
Choice scattered(const SkeletonPlan& plan, const ConstraintGraph& graph, Rng rng) {
  Choice choice = bare_choice(plan);
  const double density = rng.unit();
  for (int t = 0; t < graph.size(); ++t) {
    if (rng.fork(graph.key(t)).chance(density)) (void)add_closure(plan, graph, t, choice);
  }
  settle(plan, graph, choice, nullptr);
  for (std::size_t k = 0; k < plan.slots.size(); ++k) {
    if (!choice.present[static_cast<std::size_t>(plan.slots[k].technique)]) continue;
    choice.at[k] = static_cast<std::int16_t>(
        rng.below(static_cast<std::int64_t>(plan.slots[k].knob.domain.size())));
  }
  return choice;
}

// A legal choice, as close to the fallbacks as one is found.
bool find_anchor(SkeletonPlan& plan, const ConstraintGraph& graph) {
  Choice bare = bare_choice(plan);
  for (std::size_t i = 0; i < plan.restrictions.size(); ++i) {
    if (plan.restrictions[i].restriction.fixed && !holds(plan, i, bare)) return false;
  }
  settle(plan, graph, bare, nullptr);
  for (int attempt = 0; attempt < anchor_attempts; ++attempt) {
    const Choice start =
        attempt == 0
            ? bare
            : scattered(plan, graph, Rng::of(0, "anchor", static_cast<std::uint64_t>(attempt)));
    if (!well_formed(plan, graph, start)) continue;
    if (std::optional<Choice> found =
            repair(plan, graph, start, {},
                   attempt == 0 ? anchor_budget / 10 : anchor_budget / anchor_attempts)) {
      plan.anchor = std::move(*found);
      return true;
    }
  }
  return false;
}

std::string why_not(const SkeletonPlan& plan, const ConstraintGraph& graph) {
  const Choice bare = bare_choice(plan);
  if (!well_formed(plan, graph, bare))
    return fmt::format("{} lacks a technique that its group or its needs ask for", plan.name);
  const int broken = first_broken(plan, bare);
  return fmt::format("{} breaks '{}' wherever it was tried", plan.name,
                     broken < 0
                         ? std::string("a need")
                         : plan.restrictions[static_cast<std::size_t>(broken)].restriction.text);
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
    bool found = find_anchor(*plan, *graph);
    Skeleton firm = skeleton;
    if (!found &&
        std::erase_if(firm.restrictions, [](const auto& one) { return one.advice; }) > 0) {
      plan = plan_skeleton(model, *graph, firm);
      if (!plan) return plan.error();
      found = find_anchor(*plan, *graph);
    }
    if (found) {
      plans.push_back(std::move(*plan));
    } else {
      reasons += (reasons.empty() ? "" : "; ") + why_not(*plan, *graph);
    }
  }
  if (plans.empty()) {
    return Error{ErrorCode::usage, "no strategy is legal here: " + reasons,
                 "widen a domain or lift a restriction of the template"};
  }
  return std::unique_ptr<Space>(std::make_unique<FeasibleSpace>(
      std::move(model.techniques), std::move(*graph), std::move(plans)));
}

}  // namespace cupilot
