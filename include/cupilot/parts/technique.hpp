// The catalogue: rows of optimization knowledge.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// A hardware resource that can bind a kernel; the verdict names bottlenecks among these, techniques
// target them.
enum class Resource {
  dram,
  l2,
  shared,
  fp_pipe,
  tensor_pipe,
  issue,
  latency,
  occupancy,
  launch,
  tail
};
std::string_view name_of(Resource resource);

struct TechniqueParameter {
  std::string name{};                  // one vocabulary across families: block_m, stages, split …
  std::vector<std::int64_t> domain{};  // ascending or in order of preference; enumerations by label
  std::vector<std::string> labels{};   // empty, or one per domain value
  std::int64_t fallback = 0;           // the default: omitted from the canonical form
};

struct Technique {
  std::string name{};      // "block_tile"
  std::string summary{};   // one line for a person
  std::string sentence{};  // text for prompts
  std::vector<TechniqueParameter> parameters{};
  std::vector<Resource> targets{};
  std::vector<std::string> needs{};  // techniques that must be present
  std::vector<std::string> excludes{};
  // Trace that it must leave in PTX: opcode prefixes ("cp.async", "mma.sync"); empty: unproved.
  std::vector<std::string> must{};
  std::string group{};  // alternatives of which exactly one holds: "core" (simt | mma), …
  // Tasks that it is for: "products" (sums of products), "reductions" (a fold or scan along an
  // axis), "softmax" (a fold of exponentials), "exponentials", "windows" (convolutions and pools);
  // default: any.
  std::string of{};
};

// The built-in catalogue, in a fixed order. Append-only.
std::span<const Technique> catalogue();
const Technique* find_technique(std::string_view name);

}  // namespace cupilot
CUPILOT_EXPORTS_END
