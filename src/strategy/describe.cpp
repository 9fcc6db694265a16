#include <algorithm>

#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {
namespace {

// A free-form technique shows this much of its text.
constexpr std::size_t shown_text = 40;

std::string without(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

std::int64_t value_of(const Use& use, const TechniqueParameter& parameter) {
  const auto found = use.values.find(parameter.name);
  return found == use.values.end() ? parameter.fallback : found->second;
}

std::string spelled(const TechniqueParameter& parameter, std::int64_t value) {
  const auto at = std::find(parameter.domain.begin(), parameter.domain.end(), value);
  const auto position = static_cast<std::size_t>(at - parameter.domain.begin());
  return position < parameter.labels.size() ? parameter.labels[position] : std::to_string(value);
}

std::string values_of(const Use& use, const Technique* technique) {
  std::string out;
  if (technique != nullptr) {
    for (const TechniqueParameter& parameter : technique->parameters) {
      out += (out.empty() ? "" : "x") + spelled(parameter, value_of(use, parameter));
    }
    return out;
  }
  for (const auto& [name, value] : use.values)
    out += (out.empty() ? "" : "x") + std::to_string(value);
  return out;
}

// One parameter speaks for its technique: "stages 3"; several share the technique's name: "thread
// 8x8".
std::string words_of(const Use& use, const Technique* technique) {
  const std::string values = values_of(use, technique);
  std::string out = without(without(use.technique, "_core"), "_tile");
  if (technique != nullptr && technique->parameters.size() == 1)
    out = technique->parameters[0].name;
  if (!values.empty()) out += ' ' + values;
  if (!use.text.empty()) {
    out += " \"" + use.text.substr(0, shown_text) + (use.text.size() > shown_text ? "…" : "") + '"';
  }
  return out;
}

std::string describe_one(const Strategy& strategy) {
  const Use* slab = nullptr;
  bool tiled = false;
  std::vector<const Use*> uses;
  for (const Use& use : strategy.uses) {
    tiled = tiled || use.technique == "block_tile";
    if (use.technique == "k_slab") slab = &use;
    uses.push_back(&use);
  }
  const auto rank = [](const Use* use) {
    const Technique* technique = find_technique(use->technique);
    return technique == nullptr ? catalogue().size()
                                : static_cast<std::size_t>(technique - catalogue().data());
  };
  std::stable_sort(uses.begin(), uses.end(), [&](const Use* a, const Use* b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a->technique < b->technique;
  });
  std::string out;
  for (const Use* use : uses) {
    if (tiled && use == slab) continue;
    out += (out.empty() ? "" : " ") + words_of(*use, find_technique(use->technique));
    if (use->technique == "block_tile" && slab != nullptr)
      out += 'x' + values_of(*slab, find_technique("k_slab"));
  }
  return out;
}

}  // namespace

// "product: simt block 64x64; norm, act: rows 256"
std::string describe(const Strategy& strategy) {
  const ProgramStrategy program = parts_of(strategy);
  if (program.parts.size() == 1) return describe_one(strategy);
  std::string out;
  for (const PartStrategy& part : program.parts) {
    std::string names;
    for (const std::string& name : part.on) names += (names.empty() ? "" : ", ") + name;
    const std::string how = describe_one(part.strategy);
    out += (out.empty() ? "" : "; ") + names + ": " + (how.empty() ? "plain" : how);
  }
  return out;
}

}  // namespace cupilot
