#include "strategy/repair.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <queue>
#include <unordered_map>

#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

constexpr double technique_cost = 4.0;
// What a restriction that still fails is expected to cost more; it steers, legality alone decides.
constexpr double broken_cost = 1.0;
constexpr double tie_breadth = 0.01;
constexpr std::size_t levels = 64;

// FNV-1a of a choice: of what is in use, then of positions.
constexpr std::uint64_t hash_seed = 0xCBF29CE484222325ull;
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x100000001B3ull; }
std::uint64_t mixed(std::uint64_t hash, std::int16_t at) { return mixed(hash, std::uint64_t{static_cast<std::uint16_t>(at)}); }
std::uint64_t hash_of(const std::vector<char>& present) {
  std::uint64_t hash = hash_seed;
  for (const char c : present) hash = mixed(hash, std::uint64_t{static_cast<unsigned char>(c)});
  return hash;
}
std::uint64_t hash_of(const Choice& choice) {
  std::uint64_t hash = hash_of(choice.present);
  for (const std::int16_t at : choice.at) hash = mixed(hash, at);
  return hash;
}

// Hashes that were met. 0 is none of them.
class HashSet {
 public:
  HashSet() : places_(1024, 0) {}
  // False: it was met before.
  bool insert(std::uint64_t hash) {
    if (2 * ++count_ > places_.size()) grow();
    return put(hash == 0 ? 1 : hash);
  }

 private:
  bool put(std::uint64_t hash) {
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
      if (places_[at] == hash) return false;
    }
    places_[at] = hash;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> before(2 * places_.size(), 0);
    before.swap(places_);
    for (const std::uint64_t hash : before) {
      if (hash != 0) put(hash);
    }
  }
  std::vector<std::uint64_t> places_;
  std::size_t count_ = 0;
};

// A choice that may be looked at: most never are, so that it is kept as what it differs in from one that was.
struct Node {
  double cost = 0;
  int broken = -1;  // a restriction that failed for its parent, to look at first
  int base = 0;     // position in Repair::bases_
  int knob = -1;    // that is moved to `at`; -1: none
  std::int16_t at = 0;
};
struct Open {
  double order = 0;
  std::uint32_t node = 0;
};
struct Later {
  bool operator()(const Open& a, const Open& b) const { return a.order > b.order; }
};

// What techniques are in use when one of them is taken away or added; it does not depend on parameters.
struct Toggled {
  std::optional<Choice> choice{};  // nullopt: it cannot be; parameters at their fallbacks
  std::uint64_t hash = 0;          // of choice->present
  double cost = 0;
};

class Repair {
 public:
  Repair(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& wish, const Prices& prices)
      : plan_(plan),
        graph_(graph),
        wish_(wish),
        prices_(prices),
        wish_present_(hash_of(wish.present)),
        salt_(hash_of(wish)),
        hashes_(wish.at.size()) {
    bases_.push_back({wish, wish_present_});
    push(wish, salt_, {0.0, -1, 0, -1, 0});
  }

  std::optional<Choice> run(int budget) {
    for (; !open_.empty() && budget > 0; --budget) {
      const Open next = open_.top();
      const Node node = nodes_[next.node];
      open_.pop();
      --open_at_[level_of(next.order)];
      set_bar(budget - 1);
      choice_ = bases_[static_cast<std::size_t>(node.base)].choice;
      if (node.knob >= 0) choice_.at[static_cast<std::size_t>(node.knob)] = node.at;
      const int broken = first_broken(plan_, choice_, node.broken);
      if (broken < 0) return std::move(choice_);
      expand(node, broken);
    }
    return std::nullopt;
  }

 private:
  struct Base {
    Choice choice;
    std::uint64_t present = 0;  // its hash
  };

  static std::size_t level_of(double order) { return std::min(static_cast<std::size_t>(order), levels - 1); }

  // What costs as much as this cannot be looked at any more: enough that is open comes before it.
  void set_bar(int left) {
    std::size_t level = 0;
    for (; level < levels && left > 0; ++level) left -= open_at_[level];
    bar_ = level < levels ? static_cast<double>(level) : HUGE_VAL;
  }

  // Any legal choice differs from an illegal one in something the failing restriction reads.
  void expand(const Node& node, int broken) {
    int base = node.base;
    present_ = bases_[static_cast<std::size_t>(base)].present;
    if (node.knob >= 0) {
      base = static_cast<int>(bases_.size());
      bases_.push_back({choice_, present_});
    }
    std::uint64_t hash = present_;
    for (std::size_t k = 0; k < choice_.at.size(); ++k) {
      hashes_[k] = hash;
      hash = mixed(hash, choice_.at[k]);
    }
    const PlannedRestriction& restriction = plan_.restrictions[static_cast<std::size_t>(broken)];
    for (const int k : restriction.knobs) step_knob(node, base, k, broken);
    for (const int t : restriction.techniques) toggle(node, t, broken);
  }

  void step_knob(const Node& node, int base, int k, int broken) {
    const auto i = static_cast<std::size_t>(k);
    const KnobSlot& slot = plan_.slots[i];
    const std::int16_t wished = wish_.at[i];
    if (!choice_.present[static_cast<std::size_t>(slot.technique)] || choice_.at[i] != wished) return;
    const double price = prices_.knobs.empty() ? 1.0 : prices_.knobs[i];
    for (std::size_t value = 0; value < slot.knob.domain.size(); ++value) {
      const auto at = static_cast<std::int16_t>(value);
      const double cost = node.cost + price * std::abs(at - wished);
      if (at == wished || cost >= bar_) continue;
      choice_.at[i] = at;
      std::uint64_t hash = mixed(hashes_[i], at);
      for (std::size_t j = i + 1; j < choice_.at.size(); ++j) hash = mixed(hash, choice_.at[j]);
      push(choice_, hash, {cost, broken, base, k, at});
    }
    choice_.at[i] = wished;
  }

  void toggle(const Node& node, int technique, int broken) {
    const auto i = static_cast<std::size_t>(technique);
    if (choice_.present[i] != wish_.present[i] || plan_.required[i] || !plan_.available[i]) return;
    const Toggled& toggled = toggled_by(technique);
    if (!toggled.choice || node.cost + toggled.cost >= bar_) return;
    Choice next = *toggled.choice;
    std::uint64_t hash = toggled.hash;
    for (std::size_t k = 0; k < next.at.size(); ++k) {
      const auto owner = static_cast<std::size_t>(plan_.slots[k].technique);
      if (next.present[owner] && choice_.present[owner]) next.at[k] = choice_.at[k];
      hash = mixed(hash, next.at[k]);
    }
    const Node child{node.cost + toggled.cost, broken, static_cast<int>(bases_.size()), -1, 0};
    if (push(next, hash, child)) bases_.push_back({std::move(next), toggled.hash});
  }

  const Toggled& toggled_by(int technique) {
    const auto [found, fresh] = toggles_.try_emplace(mixed(present_, static_cast<std::uint64_t>(technique)));
    Toggled& toggled = found->second;
    if (!fresh) return toggled;
    Choice next = bare_choice(plan_);
    next.present = choice_.present;
    const bool done = next.present[static_cast<std::size_t>(technique)]
                          ? remove_with_dependents(plan_, graph_, technique, next)
                          : !add_closure(plan_, graph_, technique, next).has_value();
    if (!done) return toggled;
    std::vector<std::string> dropped;
    settle(plan_, graph_, next, dropped);
    if (!dropped.empty() || !well_formed(plan_, graph_, next)) return toggled;
    for (std::size_t t = 0; t < next.present.size(); ++t)
      toggled.cost += next.present[t] != choice_.present[t] ? technique_cost : 0.0;
    toggled.hash = hash_of(next.present);
    toggled.choice = std::move(next);
    return toggled;
  }

  // False: it was met before.
  bool push(const Choice& choice, std::uint64_t hash, const Node& node) {
    if (!seen_.insert(hash)) return false;
    const bool still = node.broken >= 0 && !holds(plan_, static_cast<std::size_t>(node.broken), choice);
    const double order = node.cost + (still ? broken_cost : 0.0) + tie_breadth * Rng(hash ^ salt_).unit();
    open_.push({order, static_cast<std::uint32_t>(nodes_.size())});
    ++open_at_[level_of(order)];
    nodes_.push_back(node);
    return true;
  }

  const SkeletonPlan& plan_;
  const ConstraintGraph& graph_;
  const Choice& wish_;
  const Prices& prices_;
  std::uint64_t wish_present_, salt_;
  std::priority_queue<Open, std::vector<Open>, Later> open_;
  std::array<int, levels> open_at_{};  // how many, by the whole part of their order
  double bar_ = HUGE_VAL;
  std::vector<Node> nodes_;
  std::vector<Base> bases_;
  std::unordered_map<std::uint64_t, Toggled> toggles_;  // by what is in use and the technique
  Choice choice_;                                       // that is looked at
  std::uint64_t present_ = 0;                           // hash of what is in use in it
  std::vector<std::uint64_t> hashes_;                   // of it, before each position
  HashSet seen_;
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
