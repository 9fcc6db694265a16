// Which techniques may stand together: needs, exclusions and alternatives as a graph, folded into
// lookups.
//
// An entry of Technique::needs reads "a", "a|b" (any one; the first is preferred) or either with "
// when c".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// Positions in the span of techniques the graph was built from.
struct Need {
  std::vector<int> any_of;
  int when = -1;  // the condition, -1: always
};

class ConstraintGraph {
 public:
  // Error{usage} for an unknown or doubled name, a technique that needs or excludes itself, and one
  // whose needs exclude one another. Techniques that need each other are legal: they hold or fall
  // together.
  static Result<ConstraintGraph> build(std::span<const Technique> techniques);

  int index(std::string_view name) const;  // -1: unknown
  const std::string& name(int technique) const {
    return names_[static_cast<std::size_t>(technique)];
  }
  // A number that the name alone decides: what is drawn by it does not change with other rows.
  std::uint64_t key(int technique) const { return keys_[static_cast<std::size_t>(technique)]; }
  int size() const { return static_cast<int>(names_.size()); }
  // The technique and all it cannot do without, ascending.
  const std::vector<int>& closure(int technique) const {
    return closures_[static_cast<std::size_t>(technique)];
  }
  const std::vector<Need>& needs(int technique) const {
    return needs_[static_cast<std::size_t>(technique)];
  }
  bool conflict(int a, int b) const {
    return conflicts_[static_cast<std::size_t>(a) * names_.size() + static_cast<std::size_t>(b)] !=
           0;
  }
  // All techniques that one excludes or is excluded by, ascending.
  const std::vector<int>& conflicts_of(int technique) const {
    return conflicts_of_[static_cast<std::size_t>(technique)];
  }
  // Members of each group of alternatives: exactly one holds.
  const std::vector<std::vector<int>>& groups() const { return groups_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint64_t> keys_;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> index_;
  std::vector<std::vector<int>> closures_;
  std::vector<std::vector<Need>> needs_;
  std::vector<char> conflicts_;
  std::vector<std::vector<int>> conflicts_of_;
  std::vector<std::vector<int>> groups_;
};

}  // namespace cupilot
