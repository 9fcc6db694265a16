#include <cassert>
#include <unordered_map>

#include <cupilot/parts/technique.hpp>

#include "base/embedded.hpp"
#include "strategy/technique_rows.hpp"

namespace cupilot {
namespace {

// kernels/techniques.json, then those of each family in order of name.
Result<std::vector<Technique>> embedded_techniques() {
  std::vector<Technique> all;
  const auto add = [&](const EmbeddedFile& file) -> Result<void> {
    auto rows = technique_rows(file.text, "kernels/" + std::string(file.name));
    if (!rows) return rows.error();
    return add_rows(std::move(*rows), "kernels/" + std::string(file.name), all);
  };
  for (const EmbeddedFile& file : kernel_files()) {
    if (file.name != "techniques.json") continue;
    if (auto added = add(file); !added) return added.error();
  }
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.starts_with("families/") || !file.name.ends_with("/techniques.json")) continue;
    if (auto added = add(file); !added) return added.error();
  }
  return all;
}

const std::vector<Technique>& table() {
  static const std::vector<Technique> techniques = [] {
    auto read = embedded_techniques();
    assert(read && "the built-in techniques do not parse");
    return read ? std::move(*read) : std::vector<Technique>{};
  }();
  return techniques;
}

}  // namespace

std::span<const Technique> catalogue() { return table(); }

const Technique* find_technique(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Technique*> index;
    for (const Technique& technique : table()) index.emplace(technique.name, &technique);
    return index;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace cupilot
