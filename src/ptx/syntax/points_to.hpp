// Which variable an address is made from. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// A variable in memory, by a number of its own in a function; any: it cannot be told, or several.
using Place = std::uint32_t;
inline constexpr Place any_place = 0;

// Finds the places that a function's registers point to, by the values they were computed from. An
// index that leads out of its variable is not seen: that is a fault of its own where kernels are
// run with every access checked.
class Places {
 public:
  Places(const Module& module, const Function& function);
  Place of(const Operand& address) const;
  std::size_t count() const {
    return first_variable + module_.variables.size() + function_.variables.size();
  }

 private:
  static constexpr Place first_variable =
      4;  // below: any_place, and what place.cpp tells apart besides

  Place of_operand(OperandKind kind, std::uint32_t index) const;
  Place result_of(const Instruction& instruction) const;

  const Module& module_;
  const Function& function_;
  std::vector<Place> of_register_;
};

}  // namespace cupilot::ptx
