// Holds the facts of one tunable for one task and device, for making its skeleton and for its
// predicates.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "kernel/expr_names.hpp"
#include "strategy/build_space.hpp"

namespace cupilot {

// Derives a constant from an assignment.
struct Source {
  std::size_t technique = 0;  // position in the model
  int knob = -1;              // position in the skeleton; -1: a switch
  std::int64_t on = 0;        // a switch's value in use
  std::int64_t plain = 0;     // the value when the technique is not in use
  std::string read;           // for Restriction::reads
};

// Everything the predicates of one tunable share. They may run on any thread: nothing here changes.
struct TunableContext {
  Tunable tunable;
  Tunable limits;  // the same without restrictions: what the device's limits alone say
  TaskRef task;
  DeviceSpec device;
  std::vector<Source> sources;                // by parameter
  std::map<std::string, ExprValue> fixed;     // names that no assignment changes
  std::map<std::string, std::size_t> moving;  // constants, by position of their parameter

  std::int64_t value(std::size_t parameter, const Assignment& assignment) const {
    const Source& source = sources[parameter];
    if (!assignment.present[source.technique]) return source.plain;
    return source.knob < 0 ? source.on : assignment.values[static_cast<std::size_t>(source.knob)];
  }

  // One a parameter.
  std::vector<std::int64_t> values(const Assignment& assignment) const {
    std::vector<std::int64_t> all(sources.size());
    for (std::size_t p = 0; p < all.size(); ++p) all[p] = value(p, assignment);
    return all;
  }

  Constants constants(const Assignment& assignment) const {
    Constants all;
    for (std::size_t p = 0; p < sources.size(); ++p)
      all[tunable.parameters[p].constant] = value(p, assignment);
    return all;
  }

  // `constant`: the value of the parameter at a position.
  template <class Constant>
  ExprValue evaluated(const Expr& expr, const Constant& constant) const {
    const ExprScope scope = [&](std::string_view name) -> ExprValue {
      const std::string key(name);
      if (const auto at = moving.find(key); at != moving.end()) return constant(at->second);
      if (const auto at = fixed.find(key); at != fixed.end()) return at->second;
      for (const auto& [let, definition] : tunable.let) {
        if (let == name) return evaluated(definition, constant);
      }
      return ExprFault{ExprFault::Kind::unknown_name, 0, ""};
    };
    return evaluate(expr, scope);
  }

  bool holds(const Expr& restriction, const Assignment& assignment) const {
    const ExprValue result =
        evaluated(restriction, [&](std::size_t parameter) { return value(parameter, assignment); });
    const auto* number = std::get_if<std::int64_t>(&result);
    return number != nullptr && *number != 0;
  }
};

// Names that the texts use, through definitions.
std::set<std::string> names_through_lets(const NamedExprs& lets,
                                         const std::vector<const Expr*>& texts);

// Parameters whose constants stand among the names.
std::vector<std::size_t> parameters_in(const TunableContext& context,
                                       const std::set<std::string>& names);

}  // namespace cupilot
