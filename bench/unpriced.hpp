// The space that landscapes are drawn from: a template's own estimate of what is hopeless is not
// asked, so slow kernels are in.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/tunable.hpp>

inline cupilot::Tunable unpriced(cupilot::Tunable tunable) {
  std::erase_if(tunable.plan.let, [](const auto& let) { return let.first == "cost"; });
  return tunable;
}

inline std::vector<cupilot::Tunable> unpriced(std::vector<cupilot::Tunable> tunables) {
  for (cupilot::Tunable& tunable : tunables) tunable = unpriced(std::move(tunable));
  return tunables;
}
