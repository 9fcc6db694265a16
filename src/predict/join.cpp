#include "predict/join.hpp"

#include <algorithm>
#include <cmath>

#include "base/norm.hpp"
#include "kernel/plan_scope.hpp"

namespace cupilot {
namespace {

// Factor of coordinates that grow with the problem: outcomes at one shape should tell of another.
constexpr double of_size = 0.3;

double log2_of(double value) { return std::log2(std::max(value, 1e-3)); }

// Cycles of a round of `active` blocks side by side on an SM.
double round_cycles(const ModelTerms& t, const JoinWeights& join, double active) {
  using enum ModelTerm;
  double one = joined({t[math], t[issue], t[shared], t[fill]}, join.pipes);
  if (join.slack > 0) one *= 1 + join.slack / std::max(0.25, active * t[threads] / 128);
  if (join.ring > 0) {
    const double around = (t[latency] + join.own * one) / std::max(1.0, t[ahead]);
    return joined({active * one, around, t[pace], t[chain]}, join.waits);
  }
  const double waits = t[chain] + std::max(0.0, t[latency] - t[ahead] * active * one);
  return join.alone * one + joined({(active - join.alone) * one, waits, t[pace]}, join.waits);
}

// Cycles of the rounds of the busiest SM. Blocks come in groups of what fits; the last, smaller
// group is priced half as its own, half as its share of a full one.
double busiest_cycles(const ModelTerms& t, const JoinWeights& join) {
  using enum ModelTerm;
  const double full = std::floor(t[items] / t[resident]), rest = t[items] - full * t[resident];
  const double group = full > 0 ? round_cycles(t, join, t[resident]) : 0;
  const double last = rest > 0 ? round_cycles(t, join, rest) : 0;
  if (full == 0) return last * t[rounds];
  return (full * group + (last + rest / t[resident] * group) / 2 * (rest > 0)) * t[rounds];
}

}  // namespace

ForecastTerms join_terms(const ModelTerms& t, const JoinWeights& join, const DeviceSpec& device) {
  using enum ModelTerm;
  const double cycles = busiest_cycles(t, join) + t[ends] + t[start];
  const double busy = cycles > 0 ? std::min(1.0, t[items] * t[rounds] * t[math] / cycles) : 0.0;
  const double us = 1e6 / (sustained_clock(device) * (1 - join.clock * busy));
  const double l2_us = t[l2] / (device.l2_bytes_per_s * join.l2) * 1e6;
  const double dram_us = t[dram] / (device.dram_sustained * join.dram) * 1e6;
  const double first = device.launch_seconds * 1e6;
  ForecastTerms joint;
  joint.us = joined({cycles * us, l2_us, dram_us}, join.memory) +
             first * (1 + join.further * std::max(0.0, t[launches] - 1));
  const double a_sm = std::max(1.0, t[blocks] / device.sms);
  const double active = std::min(t[resident], a_sm);
  const double share = a_sm * t[rounds] * us / joint.us;
  joint.resources = {of_size * log2_of(joint.us),
                     log2_of(share * t[math]),
                     log2_of(share * t[issue]),
                     log2_of(share * t[shared]),
                     log2_of(share * t[fill]),
                     log2_of(share * t[chain] / active),
                     log2_of(share * t[latency] / (std::max(1.0, t[ahead]) * active)),
                     log2_of(share * t[pace]),
                     log2_of(l2_us / joint.us),
                     log2_of(dram_us / joint.us),
                     log2_of(t[ends] * us / joint.us),
                     log2_of(cycles * us / joint.us),
                     log2_of(t[resident]),
                     log2_of(t[threads] / 32 * active),
                     log2_of(std::max(1.0, t[registers])),
                     of_size * log2_of(t[items]),
                     of_size * log2_of(t[rounds]),
                     log2_of(t[items] / a_sm),
                     join.clock > 0 ? busy : 0};
  joint.resources.insert(joint.resources.end(), t.traits.begin(), t.traits.end());
  return joint;
}

}  // namespace cupilot
