#include "strategy/repair.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <queue>

#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

constexpr double technique_cost = 4.0;
// Expected further cost of a restriction that still fails; it steers, legality alone decides.
constexpr double broken_cost = 1.0;
constexpr double tie_breadth = 0.01;
constexpr std::size_t levels = 64;
constexpr std::size_t usual_nodes = 256;

// Hashes a choice: adds the keys of what is in use, in any order, then FNV-1a of positions. Rows of
// the catalogue that the skeleton lacks change nothing.
constexpr std::uint64_t hash_seed = 0xCBF29CE484222325ull;
std::uint64_t mixed(std::uint64_t hash, std::int16_t at) {
  return (hash ^ static_cast<std::uint16_t>(at)) * 0x100000001B3ull;
}
std::uint64_t hash_of(const ConstraintGraph& graph, const std::vector<char>& present) {
  std::uint64_t hash = hash_seed;
  for (int t = 0; t < graph.size(); ++t) {
    if (present[static_cast<std::size_t>(t)]) hash += graph.key(t);
  }
  return hash;
}
std::uint64_t hash_of(const ConstraintGraph& graph, const Choice& choice) {
  std::uint64_t hash = hash_of(graph, choice.present);
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

// A set of techniques in use, and the sets that it becomes by taking one away or adding one;
// neither depends on parameters.
struct Setting {
  Choice choice;           // parameters at their fallbacks until a choice is looked at
  std::uint64_t hash = 0;  // hash of choice.present
  struct Toggled {
    int setting = unknown;
    double cost = 0;
  };
  static constexpr int unknown = -1, impossible = -2;
  std::vector<Toggled> toggled{};  // by technique
};

// A choice that may be looked at: a setting, and the positions that Repair keeps beside the node.
struct Node {
  double cost = 0;
  int broken = -1;  // a restriction that failed for its parent, to look at first
  int setting = 0;
};
struct Open {
  double order = 0;
  std::uint32_t node = 0;
};
struct Later {
  bool operator()(const Open& a, const Open& b) const { return a.order > b.order; }
};

class Repair {
 public:
  Repair(const SkeletonPlan& plan, const ConstraintGraph& graph, const Choice& wish,
         const Prices& prices)
      : plan_(plan),
        graph_(graph),
        wish_(wish),
        prices_(prices),
        salt_(hash_of(graph, wish)),
        hashes_(wish.at.size()) {
    nodes_.reserve(usual_nodes);
    positions_.reserve(usual_nodes * wish.at.size());
    setting_of(wish);
    push(salt_, {0.0, -1, 0});
  }

  std::optional<Choice> run(int budget) {
    for (; !open_.empty() && budget > 0; --budget) {
      const Open next = open_.top();
      const Node node = nodes_[next.node];
      open_.pop();
      --open_at_[level_of(next.order)];
      set_bar(budget - 1);
      Choice& choice = settings_[static_cast<std::size_t>(node.setting)].choice;
      const auto kept =
          positions_.begin() + static_cast<std::ptrdiff_t>(next.node * choice.at.size());
      std::copy_n(kept, choice.at.size(), choice.at.begin());
      const int broken = first_broken(plan_, choice, node.broken);
      if (broken < 0) return std::move(choice);
      expand(node, broken);
    }
    return std::nullopt;
  }

 private:
  static double price_of(const std::vector<double>& prices, std::size_t i) {
    return prices.empty() ? 1.0 : prices[i];
  }
  static std::size_t level_of(double order) {
    return std::min(static_cast<std::size_t>(order), levels - 1);
  }

  // Sets the cost from which nothing can be looked at any more, since enough that is open comes
  // before it. It never rises.
  void set_bar(int left) {
    std::size_t level = 0;
    for (; level < levels && left > 0; ++level) left -= open_at_[level];
    bar_ = level < levels ? static_cast<double>(level) : HUGE_VAL;
  }

  // Any legal choice differs from an illegal one in something the failing restriction reads.
  void expand(const Node& node, int broken) {
    const Setting& setting = settings_[static_cast<std::size_t>(node.setting)];
    std::uint64_t hash = setting.hash;
    for (std::size_t k = 0; k < hashes_.size(); ++k) {
      hashes_[k] = hash;
      hash = mixed(hash, setting.choice.at[k]);
    }
    const PlannedRestriction& restriction = plan_.restrictions[static_cast<std::size_t>(broken)];
    for (const int k : restriction.knobs) step_knob(node, k, broken);
    if (node.cost + technique_cost >= bar_) return;
    for (const int t : restriction.techniques) toggle(node, t, broken);
  }

  void step_knob(const Node& node, int k, int broken) {
    const auto i = static_cast<std::size_t>(k);
    const KnobSlot& slot = plan_.slots[i];
    Choice& choice = settings_[static_cast<std::size_t>(node.setting)].choice;
    const std::int16_t wished = wish_.at[i];
    if (!choice.present[static_cast<std::size_t>(slot.technique)] || choice.at[i] != wished) return;
    const double price = price_of(prices_.knobs, i);
    for (std::size_t value = 0; value < slot.knob.domain.size(); ++value) {
      const auto at = static_cast<std::int16_t>(value);
      const double cost = node.cost + price * std::abs(at - wished);
      if (at == wished || cost >= bar_) continue;
      choice.at[i] = at;
      std::uint64_t hash = mixed(hashes_[i], at);
      for (std::size_t j = i + 1; j < choice.at.size(); ++j) hash = mixed(hash, choice.at[j]);
      push(hash, {cost, broken, node.setting});
    }
    choice.at[i] = wished;
  }

  void toggle(const Node& node, int technique, int broken) {
    const auto i = static_cast<std::size_t>(technique);
    const Choice& choice = settings_[static_cast<std::size_t>(node.setting)].choice;
    if (choice.present[i] != wish_.present[i] || plan_.required[i] || !plan_.available[i]) return;
    const Setting::Toggled toggled = toggled_by(node.setting, technique);
    // One that a group asks for again changes nothing.
    if (toggled.setting < 0 || toggled.setting == node.setting || node.cost + toggled.cost >= bar_)
      return;
    Setting& other = settings_[static_cast<std::size_t>(toggled.setting)];
    std::uint64_t hash = other.hash;
    for (std::size_t k = 0; k < choice.at.size(); ++k) {
      const KnobSlot& slot = plan_.slots[k];
      const auto owner = static_cast<std::size_t>(slot.technique);
      other.choice.at[k] =
          other.choice.present[owner] && choice.present[owner] ? choice.at[k] : slot.fallback;
      hash = mixed(hash, other.choice.at[k]);
    }
    push(hash, {node.cost + toggled.cost, broken, toggled.setting});
  }

  Setting::Toggled toggled_by(int setting, int technique) {
    const auto i = static_cast<std::size_t>(technique);
    Setting& from = settings_[static_cast<std::size_t>(setting)];
    Setting::Toggled& toggled = from.toggled[i];
    if (toggled.setting != Setting::unknown) return toggled;
    toggled.setting = Setting::impossible;
    Choice next = bare_choice(plan_);
    next.present = from.choice.present;
    const bool done = next.present[i] ? remove_with_dependents(plan_, graph_, technique, next)
                                      : !add_closure(plan_, graph_, technique, next).has_value();
    if (!done) return toggled;
    if (!settle(plan_, graph_, next, nullptr) || !well_formed(plan_, graph_, next)) return toggled;
    for (std::size_t t = 0; t < next.present.size(); ++t)
      toggled.cost += next.present[t] != from.choice.present[t]
                          ? technique_cost * price_of(prices_.techniques, t)
                          : 0.0;
    toggled.setting = setting_of(std::move(next));
    return toggled;
  }

  int setting_of(Choice choice) {
    const std::uint64_t hash = hash_of(graph_, choice.present);
    const auto same = std::find_if(settings_.begin(), settings_.end(),
                                   [&](const Setting& s) { return s.hash == hash; });
    if (same == settings_.end()) {
      std::vector<Setting::Toggled> toggled(choice.present.size());
      settings_.push_back({std::move(choice), hash, std::move(toggled)});
      return static_cast<int>(settings_.size()) - 1;
    }
    return static_cast<int>(same - settings_.begin());
  }

  // The choice that lies in the node's setting, unless it was met before.
  void push(std::uint64_t hash, const Node& node) {
    if (!seen_.insert(hash)) return;
    const Choice& choice = settings_[static_cast<std::size_t>(node.setting)].choice;
    const bool still =
        node.broken >= 0 && !holds(plan_, static_cast<std::size_t>(node.broken), choice);
    const double least = node.cost + (still ? broken_cost : 0.0);
    if (least >= bar_) return;
    const double order = least + tie_breadth * Rng(hash ^ salt_).unit();
    open_.push({order, static_cast<std::uint32_t>(nodes_.size())});
    ++open_at_[level_of(order)];
    nodes_.push_back(node);
    positions_.insert(positions_.end(), choice.at.begin(), choice.at.end());
  }

  const SkeletonPlan& plan_;
  const ConstraintGraph& graph_;
  const Choice& wish_;
  const Prices& prices_;
  std::uint64_t salt_;
  std::priority_queue<Open, std::vector<Open>, Later> open_;
  std::array<int, levels> open_at_{};  // counts, by the whole part of their order
  double bar_ = HUGE_VAL;
  std::vector<Node> nodes_;
  std::vector<std::int16_t> positions_;  // positions of each node
  std::deque<Setting> settings_;
  std::vector<std::uint64_t>
      hashes_;  // hashes of the choice that is looked at, before each position
  HashSet seen_;
};

bool keep_if_legal(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice next,
                   Choice& from) {
  if (next == from || !well_formed(plan, graph, next) || first_broken(plan, next) >= 0)
    return false;
  from = std::move(next);
  return true;
}

bool approach_technique(const SkeletonPlan& plan, const ConstraintGraph& graph, int t,
                        const Choice& wish, Choice& from) {
  const auto i = static_cast<std::size_t>(t);
  if (wish.present[i] == from.present[i]) return false;
  Choice next = from;
  if (!wish.present[i])
    return remove_with_dependents(plan, graph, t, next) &&
           keep_if_legal(plan, graph, std::move(next), from);
  if (add_closure(plan, graph, t, next)) return false;
  for (const int k : plan.slots_of[i])
    next.at[static_cast<std::size_t>(k)] = wish.at[static_cast<std::size_t>(k)];
  return keep_if_legal(plan, graph, std::move(next), from);
}

bool approach_knob(const SkeletonPlan& plan, const ConstraintGraph& graph, std::size_t k,
                   const Choice& wish, Choice& from) {
  const auto technique = static_cast<std::size_t>(plan.slots[k].technique);
  if (!from.present[technique] || !wish.present[technique]) return false;
  for (std::int16_t at = wish.at[k]; at != from.at[k];
       at = static_cast<std::int16_t>(at + (at < from.at[k] ? 1 : -1))) {
    Choice next = from;
    next.at[k] = at;
    if (keep_if_legal(plan, graph, std::move(next), from)) return true;
  }
  return false;
}

}  // namespace

std::optional<Choice> repair(const SkeletonPlan& plan, const ConstraintGraph& graph,
                             const Choice& wish, const Prices& prices, int budget) {
  return Repair(plan, graph, wish, prices).run(budget);
}

Choice approach(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice from,
                const Choice& wish) {
  // Knobs move only towards the wish and techniques only to its side, so a few rounds reach a fixed
  // point.
  constexpr int rounds = 4;
  bool moved = true;
  for (int round = 0; round < rounds && moved; ++round) {
    moved = false;
    for (int t = 0; t < graph.size(); ++t)
      moved = approach_technique(plan, graph, t, wish, from) || moved;
    for (std::size_t k = 0; k < plan.slots.size(); ++k)
      moved = approach_knob(plan, graph, k, wish, from) || moved;
  }
  return from;
}

}  // namespace cupilot
