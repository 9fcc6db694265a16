#include "agents/models/prompt_parts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "agents/models/untrusted.hpp"
#include "agents/propose/relief.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_reference = 6000, longest_text = 400, longest_sentence = 240;
constexpr std::size_t effects_told = 12, remembered_told = 4;
constexpr std::size_t population_told = 12, reliefs_told = 6;

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string shape_text(const Workload& workload) {
  std::vector<std::string> sizes;
  for (const auto& [axis, extent] : workload.sizes)
    sizes.push_back(fmt::format("{}={}", axis, extent));
  return joined(sizes, " ");
}

std::string_view role_text(Role role) {
  switch (role) {
    case Role::in:
      return "in";
    case Role::out:
      return "out";
    case Role::in_out:
      return "in and out";
    case Role::constant:
      break;
  }
  return "in, constant";
}

std::string tensor_line(const Tensor& tensor) {
  std::vector<std::string> shape, strides;
  for (const Expr& extent : tensor.shape) shape.push_back(extent.text);
  for (const Expr& stride : tensor.strides) strides.push_back(stride.text);
  std::string line = fmt::format("- tensor {} ({}): {} [{}]", tensor.name, role_text(tensor.role),
                                 name_of(tensor.type), joined(shape, ", "));
  line += strides.empty() ? ", dense, last index fastest"
                          : fmt::format(", strides [{}] elements", joined(strides, ", "));
  return tamed_line(line + fmt::format(", base aligned to {} bytes", tensor.alignment),
                    longest_text) +
         "\n";
}

std::string domain_text(const Knob& knob) {
  std::vector<std::string> values;
  for (const std::int64_t value : knob.domain) values.push_back(std::to_string(value));
  return fmt::format("{} in {{{}}}", knob.parameter, joined(values, ", "));
}

// Between quotation marks that the text cannot close.
std::string quoted(const std::string& text) {
  std::string line = tamed_line(text, longest_text);
  std::replace(line.begin(), line.end(), '"', '\'');
  return '"' + line + '"';
}

std::string one_line(const Strategy& strategy) {
  return tamed_line(describe(strategy), longest_text);
}

std::string relief_text(const std::vector<Relief>& all) {
  std::string text;
  for (const Relief& relief : all) {
    text += fmt::format("- {}: relieves {}, at most {:.0f} % of the time",
                        tamed_line(relief.technique->name, 64), name_of(relief.resource),
                        100 * relief.share);
    if (relief.log2_gain)
      text += fmt::format("; a forecast changes the speed by {:+.0f} %",
                          100 * (std::exp2(*relief.log2_gain) - 1));
    text += "\n";
  }
  return text.empty() ? text
                      : "It does not use these, which relieve what holds it back, the most "
                        "promising first:\n" +
                            text;
}

}  // namespace

std::string_view meaning_of(const std::string& code) {
  for (const RejectionCode& row : rejection_codes()) {
    if (row.code == code) return row.meaning;
  }
  return "refused";
}

std::string task_text(const Task& task) {
  std::string text =
      tamed_line(
          fmt::format("{}, family {}, class {}{}", task.name, task.family, name_of(task.precision),
                      task.deterministic ? ", equal runs give equal bits" : ""),
          longest_text) +
      "\n";
  for (const Tensor& tensor : task.tensors) text += tensor_line(tensor);
  for (const Scalar& scalar : task.scalars)
    text += tamed_line(fmt::format("- scalar {}: {}", scalar.name, name_of(scalar.type)),
                       longest_text) +
            "\n";
  for (const auto& [name, value] : task.constants)
    text += tamed_line(fmt::format("- {} is {}", name, value), longest_text) + "\n";
  for (const Workload& workload : task.time_shapes)
    text +=
        tamed_line(fmt::format("- timed at {}, weight {:g}", shape_text(workload), workload.weight),
                   longest_text) +
        "\n";
  for (const Workload& workload : task.check_shapes)
    text += tamed_line("- also proved at " + shape_text(workload), longest_text) + "\n";
  return text + "\nThe reference, one element of an output:\n\n" +
         fenced("reference", task.reference.text, longest_reference);
}

std::string device_text(const DeviceSpec& device, Precision precision) {
  const double flops = device.sustained_flops[static_cast<std::size_t>(precision)];
  std::string text = fmt::format(
      "{}, {}: {} SMs at {:.2f} GHz; {:.1f} TB/s of DRAM sustained; {} MiB of L2; {} KiB of shared "
      "memory and {} registers an "
      "SM; "
      "at most {} KiB of shared memory and {} threads a block, {} threads an SM.\n",
      device.label, device.arch, device.sms, device.clock_hz / 1e9, device.dram_sustained / 1e12,
      device.l2_bytes >> 20, device.shared_per_sm >> 10, device.registers_per_sm,
      device.shared_per_block >> 10, device.threads_per_block, device.threads_per_sm);
  if (flops > 0)
    text +=
        fmt::format("{:.1f} TFLOP/s of class {} sustained.\n", flops / 1e12, name_of(precision));
  return text;
}

std::string techniques_text(const Space& space) {
  std::string text;
  for (const Technique& technique : space.techniques()) {
    text += fmt::format("- {}{}: {}", technique.name,
                        technique.group.empty() ? "" : " (group " + technique.group + ")",
                        tamed_line(technique.sentence, longest_sentence));
    std::vector<std::string> knobs;
    for (const Knob& knob : space.knobs()) {
      if (knob.technique == technique.name) knobs.push_back(domain_text(knob));
    }
    if (!knobs.empty()) text += " " + joined(knobs, "; ") + ".";
    if (!technique.needs.empty()) text += " Needs " + joined(technique.needs, ", ") + ".";
    if (!technique.excludes.empty()) text += " Excludes " + joined(technique.excludes, ", ") + ".";
    text += "\n";
  }
  return text;
}

std::string strategy_text(const Strategy& strategy) {
  std::string text;
  for (const Use& use : strategy.uses) {
    text += "- " + tamed_line(use.technique, 64);
    for (const auto& [name, value] : use.values)
      text += fmt::format(" {}={}", tamed_line(name, 64), value);
    const Technique* row = find_technique(use.technique);
    if (row != nullptr) text += ": " + row->sentence;
    if (!use.text.empty()) text += ": " + quoted(use.text);
    text += "\n";
  }
  if (!strategy.rationale.empty()) text += "Reason: " + quoted(strategy.rationale) + "\n";
  return text;
}

std::string digest_text(const std::vector<std::string>& digest) {
  std::string text;
  for (const std::string& sentence : digest) text += tamed_line(sentence, longest_sentence) + "\n";
  return text.empty() ? text : "What the roofline says of the kernel below:\n" + text;
}

std::string individual_text(const StrategyBrief& brief, const Individual& individual,
                            double best_us) {
  std::string text = strategy_text(individual.strategy);
  text += fmt::format("Time {:.4g} us", individual.time_us);
  if (best_us > 0 && best_us < individual.time_us)
    text += fmt::format(", {:.3g} times the better one's", individual.time_us / best_us);
  text += ".\n";
  for (const std::string& sentence : individual.verdict.digest)
    text += tamed_line(sentence, longest_sentence) + "\n";
  return text + relief_text(reliefs(brief, individual, reliefs_told)) + "\n";
}

std::string known_text(const StrategyBrief& brief) {
  std::string text;
  std::vector<StrategyBrief::Effect> effects = brief.effects;
  std::stable_sort(effects.begin(), effects.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  if (effects.size() > effects_told) effects.resize(effects_told);
  if (!effects.empty())
    text += "What techniques did so far, as mean change of speed when they were added:\n";
  for (const auto& effect : effects)
    text += fmt::format("- {}: {:+.0f} % ({} times)\n", tamed_line(effect.technique, 64),
                        100 * (std::exp2(effect.gain) - 1), effect.count);
  if (!brief.remembered.empty()) text += "Fast for like tasks in earlier runs:\n";
  for (std::size_t i = 0; i < std::min(remembered_told, brief.remembered.size()); ++i)
    text += "- " + one_line(brief.remembered[i]) + "\n";
  if (!brief.failures.empty()) text += "Refused lately:\n";
  for (const auto& failure : brief.failures)
    text += fmt::format("- {}: {} ({})\n", one_line(failure.strategy), meaning_of(failure.code),
                        failure.code);
  return text.empty() ? text : text + "\n";
}

std::string population_text(const std::vector<Strategy>& population) {
  std::string text;
  const std::size_t first = population.size() - std::min(population.size(), population_told);
  for (std::size_t i = first; i < population.size(); ++i)
    text += "- " + one_line(population[i]) + "\n";
  return text.empty() ? "- none yet\n" : text;
}

}  // namespace cupilot
