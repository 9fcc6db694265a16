// The space that landscapes are drawn from: what a template's model holds for hopeless is not
// asked, so slow kernels are in.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/tunable.hpp>

inline cupilot::Tunable unpriced(cupilot::Tunable tunable) {
  tunable.model.reset();
  return tunable;
}

inline std::vector<cupilot::Tunable> unpriced(std::vector<cupilot::Tunable> tunables) {
  for (cupilot::Tunable& tunable : tunables) tunable = unpriced(std::move(tunable));
  return tunables;
}
