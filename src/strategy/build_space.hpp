// A feasible space from plain data: techniques, skeletons and restrictions. Templates, files and
// tests all build theirs here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/space.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// A complete choice, by position.
struct Assignment {
  std::span<const char> present;  // one a technique of the model: 1 in use
  std::span<const std::int64_t>
      values;  // one a knob of the skeleton; its fallback where the technique is not in use
};

// A condition besides the constraint graph: shared memory, registers, divisibility …
struct Restriction {
  std::string text;  // for a person: "block_m*block_n/thread_m/thread_n<=1024"
  std::vector<std::string>
      reads;  // "technique" or "technique.parameter" that decide it; empty: any
  std::function<bool(const Assignment&)> holds;
  bool fixed = false;   // no choice changes it: it speaks of the device or the task alone
  bool advice = false;  // left out where no legal choice is found with it
};

// One way to realise strategies, such as a template.
struct Skeleton {
  std::string name;
  std::vector<std::string> required;  // techniques that always hold
  std::vector<std::string>
      available;            // techniques that may hold beside them; empty: all of the model
  std::vector<Knob> knobs;  // parameters of those
  std::vector<Restriction> restrictions;
  bool only_these_knobs =
      false;  // else a parameter without a knob takes domain and fallback of its technique
};

struct SpaceModel {
  std::vector<Technique> techniques;
  std::vector<Skeleton> skeletons;  // none: one that allows every technique
};

// Error{usage} when the constraint graph contradicts itself, a name is unknown, or no skeleton has
// a legal strategy.
Result<std::unique_ptr<Space>> build_space(SpaceModel model);

}  // namespace cupilot
