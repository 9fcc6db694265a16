// A typed, ordered list of techniques with a reason. The search varies these, never program text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One technique in use. `values`: parameter name -> value; a default is omitted from the canonical
// form.
struct Use {
  std::string technique{};
  std::map<std::string, std::int64_t> values{};
  std::string text{};             // free-form techniques that only a model can write
  std::vector<std::string> on{};  // operations it applies to; empty: all
  bool operator==(const Use&) const = default;
};

struct Strategy {
  std::vector<Use> uses{};
  std::string rationale{};             // prose; not part of the identity
  std::vector<std::string> parents{};  // strategy ids
  std::string origin{};                // "seed", "cross", "mutate", "explore", "tune", "user" …
};

// SHA-256 of canonical JSON: techniques sorted, without default parameters and prose.
std::string strategy_id(const Strategy& strategy);

// Strategy JSON (docs/formats/strategy.md). Reading tolerates unknown techniques and keeps them.
std::string strategy_to_json(const Strategy& strategy);
Result<Strategy> strategy_from_json(std::string_view json);

// One line for a screen: "simt block 128x128x16 thread 8x8 stages 3".
std::string describe(const Strategy& strategy);

}  // namespace cupilot
CUPILOT_EXPORTS_END
