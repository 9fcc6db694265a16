#include "agents/models/prompt_parts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/verdict.hpp>

#include "agents/models/reference_text.hpp"
#include "agents/models/untrusted.hpp"
#include "agents/propose/relief.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_reference = 6000, longest_text = 400, longest_sentence = 320;
constexpr std::size_t effects_told = 12, remembered_told = 4;
constexpr std::size_t fastest_told = 16, refused_told = 8, under_way_told = 12;
constexpr std::size_t longest_idea = 120;  // bytes of a free technique in a list
constexpr std::size_t uses_by_name = 8;
constexpr double harmful = -0.03;  // log2 of a speed change below which a technique harmed
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

// A name, or "free: TEXT" with the text between quotation marks.
std::string idea_text(const std::string& idea) {
  constexpr std::string_view free_begin = "free: ";
  return idea.starts_with(free_begin)
             ? "free: " + quoted(idea.substr(free_begin.size(), longest_idea))
             : tamed_line(idea, 64);
}

std::string settings_text(const Use& use) {
  std::string text = tamed_line(use.technique, 64);
  for (const auto& [name, value] : use.values)
    text += fmt::format(" {}={}", tamed_line(name, 64), value);
  return use.text.empty() ? text : text + ": " + quoted(use.text);
}

// "block_tile 128x64": the values in the order of the list of techniques, without their names.
std::string values_text(const Use& use) {
  const Technique* row = find_technique(use.technique);
  const bool listed =
      row != nullptr && std::all_of(use.values.begin(), use.values.end(), [&](const auto& value) {
        return std::any_of(row->parameters.begin(), row->parameters.end(),
                           [&](const auto& parameter) { return parameter.name == value.first; });
      });
  if (!listed || !use.text.empty()) return settings_text(use);
  std::vector<std::string> values;
  for (const auto& parameter : row->parameters) {
    const auto found = use.values.find(parameter.name);
    if (found != use.values.end()) values.push_back(std::to_string(found->second));
  }
  return use.technique + (values.empty() ? "" : " " + joined(values, "x"));
}

// Techniques by the names that the list of techniques holds; many of them with their values alone.
std::string one_line(const Strategy& strategy) {
  const bool many = strategy.uses.size() > uses_by_name;
  std::vector<std::string> parts;
  for (const Use& use : strategy.uses) {
    Use shown = use;
    if (shown.text.size() > longest_idea) shown.text = shown.text.substr(0, longest_idea) + "…";
    parts.push_back(many ? values_text(shown) : settings_text(shown));
  }
  return joined(parts, ", ");
}

// `name`: the kernel that is spoken of.
std::string relief_text(const std::vector<Relief>& all, const std::string& name) {
  std::string text;
  for (const Relief& relief : all) {
    text += fmt::format("- {}: relieves {}, saves at most {:.0f} % of the time",
                        tamed_line(relief.technique->name, 64), name_of(relief.resource),
                        100 * relief.share);
    if (relief.log2_gain)
      text += fmt::format("; a forecast changes the speed by {:+.0f} %",
                          100 * (std::exp2(*relief.log2_gain) - 1));
    text += "\n";
  }
  return text.empty() ? text
                      : "Techniques that " + name +
                            " does not use and that relieve what binds it, the most promising "
                            "first:\n" +
                            text;
}

double mean_gain(const StrategyBrief& brief, const std::string& technique) {
  for (const auto& effect : brief.effects)
    if (effect.technique == technique) return effect.gain;
  return 0;
}

// A technique of the space can stand beside what the strategy holds already.
bool fits(const Space& space, const Strategy& strategy, const Technique& technique) {
  Strategy wish;
  for (const Use& use : strategy.uses)
    if (use.text.empty()) wish.uses.push_back(use);
  const auto holds = [](const Strategy& one, const std::string& name) {
    return std::any_of(one.uses.begin(), one.uses.end(),
                       [&](const Use& use) { return use.technique == name; });
  };
  const std::vector<Use> before = wish.uses;
  wish.uses.push_back({technique.name, {}, "", {}});
  const auto whole = space.complete(wish, {technique.name});
  return whole && holds(whole->strategy, technique.name) &&
         std::all_of(before.begin(), before.end(),
                     [&](const Use& use) { return holds(whole->strategy, use.technique); });
}

// Leaves out what no kernel can change, what does not fit the strategy and what lost before.
std::vector<Relief> useful_reliefs(const StrategyBrief& brief, const Individual& individual) {
  std::vector<Relief> all = reliefs(brief, individual, brief.space->techniques().size());
  std::erase_if(all, [&](const Relief& relief) {
    return relief.resource == Resource::launch ||
           mean_gain(brief, relief.technique->name) < harmful ||
           !fits(*brief.space, individual.strategy, *relief.technique);
  });
  if (all.size() > reliefs_told) all.resize(reliefs_told);
  return all;
}

// "#7" of the kernel with this strategy; "an earlier one" where it is not told of.
std::string number_of(const StrategyBrief& brief, const std::string& strategy) {
  for (auto one = brief.history.rbegin(); one != brief.history.rend(); ++one)
    if (one->time_us > 0 && strategy_id(one->strategy) == strategy)
      return fmt::format("#{}", one->id);
  return "an earlier one";
}

std::string tried_line(const StrategyBrief& brief, const StrategyBrief::Tried& tried) {
  std::vector<std::string> parents;
  for (const std::string& parent : tried.strategy.parents)
    parents.push_back(number_of(brief, parent));
  const std::string end = tried.under_way     ? "not timed yet"
                          : tried.time_us > 0 ? fmt::format("{:.4g} us", tried.time_us)
                          : tried.code.empty()
                              ? std::string("lost")
                              : fmt::format("refused: {} ({})", meaning_of(tried.code), tried.code);
  return fmt::format("- #{} {}: {}{}\n", tried.id, end, one_line(tried.strategy),
                     parents.empty() ? "" : " (from " + joined(parents, " and ") + ")");
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
    text += tamed_line("- timed at " + shape_text(workload) +
                           (task.time_shapes.size() > 1
                                ? fmt::format(", weight {:g} in the mean time", workload.weight)
                                : ""),
                       longest_text) +
            "\n";
  for (const Workload& workload : task.check_shapes)
    text += tamed_line("- also checked at " + shape_text(workload), longest_text) + "\n";
  text += task.reference.text.empty()
              ? "\nThe reference, in fp64, each operator as PyTorch defines it:\n\n"
              : "\nThe reference, which gives an output's element at a row-major index:\n\n";
  return text + fenced("reference", reference_text(task), longest_reference);
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

std::string digest_text(const std::vector<std::string>& digest, std::string_view kernel) {
  std::string text;
  for (const std::string& sentence : digest) text += tamed_line(sentence, longest_sentence) + "\n";
  return text.empty() ? text
                      : "The roofline's verdict on the " + std::string(kernel) + ":\n" + text;
}

// "4.10 MB of inputs and outputs and 12.3 million operations ", which every kernel has to do.
std::string work_text(const Task& task, const Workload& shape) {
  const auto bytes = compulsory_bytes(task, shape), flops = textbook_flops(task, shape);
  if (!bytes || !flops) return "Bytes and operations ";
  const double millions = static_cast<double>(*flops) / 1e6;
  const bool many = millions >= 1e4;
  return fmt::format("{:.4g} MB of inputs and outputs and {:.4g} {} operations ",
                     static_cast<double>(*bytes) / 1e6, many ? millions / 1e3 : millions,
                     many ? "billion" : "million");
}

std::string limits_text(const Task& task, const DeviceSpec& device) {
  constexpr std::string_view watch[] = {
      "watch the bytes that are moved, the width of accesses and the loads in flight",
      "watch the bytes that are moved and the use of the arithmetic pipes",
      "watch the use of the arithmetic pipes, the reuse of operands and what hides latency"};
  if (task.time_shapes.empty()) return "";
  const Workload& shape = task.time_shapes.front();
  const Zone zone = zone_of(task, shape, device);
  const double launch_us = device.launch_seconds * 1e6;
  const auto floor = floor_us(task, shape, device, task.precision);
  std::string text = fmt::format(
      "Each launch costs {:.1f} us, which every kernel pays and no technique changes.\n",
      launch_us);
  const auto bytes = executed_floor_us(task, shape, device, {});
  const bool may_do_less = floor && bytes && task.operations.size() > 1 && *floor > *bytes;
  if (may_do_less)
    text += fmt::format(
        "{}take at least {:.2f} us at the timed shape as the task writes them, the bytes alone "
        "{:.2f} us. A kernel that gets the same values with fewer operations is right too.\n",
        work_text(task, shape), *floor, *bytes);
  else if (floor)
    text += fmt::format(
        "{}take at least {:.2f} us at the timed shape, so no kernel of one launch is faster than "
        "{:.2f} us.\n",
        work_text(task, shape), *floor, *floor + launch_us);
  return text + fmt::format(
                    "The task lies in the {} zone of the roofline: {}.\nL2 holds nothing "
                    "of the inputs when a kernel is timed.",
                    name_of(zone), watch[static_cast<std::size_t>(zone)]);
}

// "0.39 % of", "5e-07 times".
std::string share_text(double share) {
  return share >= 1e-4 ? fmt::format("{:.2g} % of", 100 * share)
                       : fmt::format("{:.1e} times", share);
}

// By how much the most precise output may differ at the timed shape; "": its check is another.
std::string allowed_text(const Task& task) {
  std::string text;
  double least = 1;
  for (std::size_t i = 0; i < task.tensors.size() && !task.time_shapes.empty(); ++i) {
    const Tensor& tensor = task.tensors[i];
    const bool output = tensor.role == Role::out || tensor.role == Role::in_out;
    const auto bound = bound_params(task, i, task.time_shapes.front(), {});
    if (!output || tensor.check.kind != CheckKind::within || !bound || bound->per_value <= 0 ||
        bound->per_value >= least)
      continue;
    least = bound->per_value;
    text = fmt::format(
        " An output may differ by {} its value plus {} the summed magnitudes of its terms.",
        share_text(bound->per_value), share_text(bound->per_sum));
  }
  return text;
}

std::string precision_text(const Task& task) {
  const bool exact = task.precision == Precision::fp32_strict || task.precision == Precision::fp64;
  bool wide = false;
  for (const Tensor& tensor : task.tensors)
    wide = wide ||
           ((tensor.role == Role::out || tensor.role == Role::in_out) && size_of(tensor.type) >= 4);
  std::string text = fmt::format("Arithmetic is of class {}: ", name_of(task.precision));
  text += exact
              ? "no sum or product is rounded to a narrower type; additions may come in any order."
              : "operands of products may be rounded to it, sums are kept in fp32; additions may "
                "come in any order.";
  return text + allowed_text(task) +
         (wide ? " Outputs are held to some units of their last place: expf, sqrtf and / "
                 "are within that, "
                 "__expf, __fdividef and ex2.approx are not."
               : " Outputs have 16 bits or fewer, so that expf, __expf, rsqrtf and "
                 "ex2.approx are precise enough.");
}

std::string constants_text(const Task& task) {
  std::vector<std::string> all;
  for (const auto& [name, value] : task.constants)
    all.push_back(tamed_line(fmt::format("{} = {}", name, value), 96));
  if (all.empty()) return "";
  return " The task's constants, to copy: `constexpr long long " + joined(all, ", ") + ";`.";
}

std::string groups_text(const Space& space) {
  const auto& all = space.techniques();
  const bool any =
      std::any_of(all.begin(), all.end(), [](const Technique& row) { return !row.group.empty(); });
  return any ? "Of each group exactly one technique is used. " : "";
}

std::string individual_text(const StrategyBrief& brief, const Individual& individual,
                            const std::string& name, double best_us, double launch_us) {
  std::string text =
      fmt::format("Kernel {} (#{}): {:.4g} us", name, individual.id, individual.time_us);
  if (best_us > 0 && best_us < individual.time_us)
    text += fmt::format(", {:.3g} times the time of {}", individual.time_us / best_us,
                        name == "A" ? "B" : "A");
  const double own = individual.time_us - launch_us, floor = individual.verdict.floor_us;
  if (brief.roofline && own > 0) text += fmt::format("; {:.4g} us without its launch", own);
  if (brief.roofline && own > 0 && floor > 0)
    text += fmt::format(", of which bytes and operations need {:.3g} us", floor);
  text += ".\n" + strategy_text(individual.strategy);
  const auto& digest = individual.verdict.digest;
  // The first sentence is the time, which stands above.
  for (std::size_t i = digest.size() > 1 ? 1 : 0; i < digest.size(); ++i)
    text += tamed_line(digest[i], longest_sentence) + "\n";
  return text + relief_text(useful_reliefs(brief, individual), name) + "\n";
}

std::string history_text(const StrategyBrief& brief) {
  std::vector<const StrategyBrief::Tried*> fast, refused, under_way;
  for (const StrategyBrief::Tried& one : brief.history)
    (one.under_way ? under_way : one.time_us > 0 ? fast : refused).push_back(&one);
  std::stable_sort(fast.begin(), fast.end(),
                   [](const auto* a, const auto* b) { return a->time_us < b->time_us; });
  if (fast.size() > fastest_told) fast.resize(fastest_told);
  // A refused one that was mended stands among the others.
  std::erase_if(refused, [&](const auto* one) {
    return std::any_of(fast.begin(), fast.end(), [&](const auto* other) {
      return other->strategy.uses == one->strategy.uses;
    });
  });
  if (refused.size() > refused_told)
    refused.erase(refused.begin(), refused.end() - static_cast<std::ptrdiff_t>(refused_told));
  if (under_way.size() > under_way_told)
    under_way.erase(under_way.begin(),
                    under_way.end() - static_cast<std::ptrdiff_t>(under_way_told));
  if (fast.empty() && refused.empty() && under_way.empty()) return "";
  // In the order of the run, so that the next question begins like this one.
  fast.insert(fast.end(), refused.begin(), refused.end());
  fast.insert(fast.end(), under_way.begin(), under_way.end());
  std::sort(fast.begin(), fast.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  const bool short_ones = std::any_of(fast.begin(), fast.end(), [](const auto* one) {
    return one->strategy.uses.size() > uses_by_name;
  });
  std::string text =
      fmt::format("Tried so far, the oldest first{}:\n",
                  short_ones ? " (a technique's values in the order of its parameters)" : "");
  for (const auto* one : fast) text += tried_line(brief, *one);
  return text;
}

std::string children_text(const StrategyBrief& brief) {
  if (brief.parents.size() < 2) return "";
  const std::string a = strategy_id(brief.parents[0].strategy),
                    b = strategy_id(brief.parents[1].strategy);
  std::string text;
  for (const StrategyBrief::Tried& one : brief.history) {
    const auto& parents = one.strategy.parents;
    const auto has = [&](const std::string& id) {
      return std::find(parents.begin(), parents.end(), id) != parents.end();
    };
    if (has(a) && has(b)) text += tried_line(brief, one);
  }
  return text.empty() ? text : "Children of A and B so far:\n" + text;
}

std::vector<std::string> difference(const Strategy& from, const Strategy& to) {
  const auto same = [](const Strategy& in, const Use& use) {
    return std::find_if(in.uses.begin(), in.uses.end(), [&](const Use& other) {
      return other.technique == use.technique && other.text == use.text;
    });
  };
  std::vector<std::string> lines;
  for (const Use& use : to.uses) {
    const auto found = same(from, use);
    if (found == from.uses.end()) {
      lines.push_back("- add " + settings_text(use));
    } else if (found->values != use.values) {
      for (const auto& [name, value] : use.values) {
        const auto before = found->values.find(name);
        if (before == found->values.end())
          lines.push_back(fmt::format("- set {} of {} to {}", tamed_line(name, 64),
                                      tamed_line(use.technique, 64), value));
        else if (before->second != value)
          lines.push_back(fmt::format("- change {} of {} from {} to {}", tamed_line(name, 64),
                                      tamed_line(use.technique, 64), before->second, value));
      }
    }
  }
  for (const Use& use : from.uses)
    if (same(to, use) == to.uses.end()) lines.push_back("- drop " + settings_text(use));
  return lines;
}

std::string known_text(const StrategyBrief& brief) {
  std::string text;
  std::vector<StrategyBrief::Effect> effects = brief.effects;
  // Older runs counted free techniques together: a mean of ideas that share a name alone.
  std::erase_if(effects, [](const auto& effect) { return effect.technique == "free"; });
  std::stable_sort(effects.begin(), effects.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  if (effects.size() > effects_told) effects.resize(effects_told);
  if (!effects.empty())
    text += "Mean change of speed when a technique was added, in this run or for similar tasks:\n";
  for (const auto& effect : effects)
    text += fmt::format("- {}: {:+.0f} % ({} times)\n", idea_text(effect.technique),
                        100 * (std::exp2(effect.gain) - 1), effect.count);
  if (!brief.remembered.empty()) text += "Fast for similar tasks in earlier runs:\n";
  for (std::size_t i = 0; i < std::min(remembered_told, brief.remembered.size()); ++i)
    text += "- " + one_line(brief.remembered[i]) + "\n";
  return text.empty() ? text : text + "\n";
}

std::string population_text(const std::vector<Strategy>& population) {
  std::string text;
  const std::size_t first = population.size() - std::min(population.size(), population_told);
  for (std::size_t i = first; i < population.size(); ++i)
    text += "- " + one_line(population[i]) + "\n";
  return "Strategies of the population:\n" + (text.empty() ? std::string("- none yet\n") : text);
}

}  // namespace cupilot
