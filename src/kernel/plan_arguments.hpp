// Arguments of launch plans, by what they hold.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include <cupilot/parts/launch_plan.hpp>

namespace cupilot {

// The number types of arguments by the keys of the JSON form, and their bytes.
struct NumberType {
  PlanArgument::Kind kind;
  std::string_view key;
  int bytes;
};
inline constexpr std::array<NumberType, 6> number_types = {{
    {PlanArgument::Kind::i8, "i8", 1},
    {PlanArgument::Kind::i16, "i16", 2},
    {PlanArgument::Kind::i32, "i32", 4},
    {PlanArgument::Kind::i64, "i64", 8},
    {PlanArgument::Kind::f32, "f32", 4},
    {PlanArgument::Kind::f64, "f64", 8},
}};

// nullptr: a name or a record.
inline const NumberType* number_type(PlanArgument::Kind kind) {
  for (const NumberType& type : number_types) {
    if (type.kind == kind) return &type;
  }
  return nullptr;
}

inline bool is_integer(PlanArgument::Kind kind) {
  return kind >= PlanArgument::Kind::i8 && kind <= PlanArgument::Kind::i64;
}

// Calls `visit` for each argument, for the fields of a record instead of the record. `Arguments`
// holds PlanArguments or ResolvedArguments, const or not.
template <class Arguments, class Visit>
void each_value(Arguments&& arguments, Visit&& visit) {
  for (auto& argument : arguments) {
    if (argument.kind == std::remove_cvref_t<decltype(argument)>::Kind::record) {
      each_value(argument.fields, visit);
    } else {
      visit(argument);
    }
  }
}

}  // namespace cupilot
