#include "agents/propose/technique_weights.hpp"

#include <algorithm>
#include <cmath>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

// Observations of a technique after which its mean counts half.
constexpr double prior_count = 2.0;
// Even what relieves nothing known keeps a share: pressures are estimates.
constexpr double base = 0.6;
constexpr double strongest = 4.0;

bool targets(const Technique& technique, Resource resource) {
  return std::find(technique.targets.begin(), technique.targets.end(), resource) !=
         technique.targets.end();
}

}  // namespace

double part_relieved(const Technique& technique, Resource resource) {
  const auto place = std::find(technique.targets.begin(), technique.targets.end(), resource);
  if (place == technique.targets.end()) return 0;
  return 1 / (1 + 0.5 * static_cast<double>(place - technique.targets.begin()));
}

const std::vector<Resource>& resources_of(Zone zone) {
  static const std::vector<Resource> memory = {Resource::dram,    Resource::l2,
                                               Resource::latency, Resource::occupancy,
                                               Resource::launch,  Resource::tail};
  static const std::vector<Resource> compute = {
      Resource::fp_pipe, Resource::tensor_pipe, Resource::shared, Resource::issue,
      Resource::latency, Resource::occupancy,   Resource::tail};
  static const std::vector<Resource> both = {
      Resource::dram,        Resource::l2,        Resource::fp_pipe,
      Resource::tensor_pipe, Resource::shared,    Resource::issue,
      Resource::latency,     Resource::occupancy, Resource::tail};
  return zone == Zone::memory ? memory : zone == Zone::compute ? compute : both;
}

double learnt_gain(const StrategyBrief& brief, const std::string& technique) {
  for (const StrategyBrief::Effect& effect : brief.effects) {
    if (effect.technique == technique)
      return effect.gain * effect.count / (effect.count + prior_count);
  }
  return 0;
}

double relief(const StrategyBrief& brief, const Technique& technique, const Verdict& verdict) {
  if (!brief.roofline) return 0;
  const std::vector<Resource>& zone_resources = resources_of(brief.zone);
  if (verdict.bottlenecks.empty()) {
    return std::any_of(zone_resources.begin(), zone_resources.end(),
                       [&](Resource r) { return targets(technique, r); })
               ? 0.5
               : 0.0;
  }
  double relieved = 0;
  for (const Bottleneck& pressure : verdict.bottlenecks) {
    relieved = std::max(relieved, pressure.share * part_relieved(technique, pressure.resource));
  }
  return std::clamp(relieved, 0.0, 1.0);
}

std::map<std::string, double> change_weights(const StrategyBrief& brief, const Individual& parent) {
  std::map<std::string, double> weights;
  for (const Technique& technique : brief.space->techniques()) {
    const bool held = find_use(parent.strategy, technique.name) != nullptr;
    const double gain = learnt_gain(brief, technique.name);
    // A technique that helps is added, one that harms is removed; one that helps is worth tuning
    // too.
    const double learnt = std::exp2(std::clamp(held ? std::abs(gain) * 0.5 : gain, -2.0, 2.0));
    double knobs = 0;
    for (const Knob* knob : knobs_of(*brief.space, technique.name))
      knobs += knob->domain.size() > 1 ? 1.0 : 0.0;
    const double breadth = held ? std::max(knobs, 0.5) : 1.0;
    weights[technique.name] =
        (base + strongest * relief(brief, technique, parent.verdict)) * learnt * breadth;
  }
  return weights;
}

}  // namespace cupilot
