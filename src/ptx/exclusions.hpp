// What the interpreter does not run.
#pragma once

#include <span>
#include <string>

namespace cupilot::ptx {

// A family of instructions and one of them, as PTX, over the registers %r1, %rd1, %f1 and %p1.
struct Exclusion {
  const char* what;
  const char* example;
};
std::span<const Exclusion> exclusions();
// "textures and surfaces; multimem; …"
std::string exclusions_text();

}  // namespace cupilot::ptx
