// Lists the forms that the interpreter does not run, with the reasons.
#pragma once

#include <span>
#include <string>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

struct Exclusion {
  const char* what;  // a family of instructions
  const char* why;
  bool (*covers)(const Form& form);  // null: told by operands
};
std::span<const Exclusion> exclusions();
// The row that a form falls under; null: the interpreter runs it, when its operands fit.
const Exclusion* exclusion_of(const Form& form);
// "textures and surfaces (no launch plan binds them); multimem (…); …"
std::string exclusions_text();

}  // namespace cupilot::ptx
