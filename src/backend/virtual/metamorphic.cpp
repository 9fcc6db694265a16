#include "backend/virtual/metamorphic.hpp"

#include <cmath>
#include <functional>
#include <optional>

#include "task/content.hpp"
#include "task/host_judge.hpp"

namespace cupilot {
namespace {

// Storage bits of an output's elements, in linear order.
using Bits = std::vector<std::uint64_t>;

Result<std::vector<Bits>> outputs_of(const Task& task, const Workload& workload,
                                     VirtualMemory& memory) {
  std::vector<Bits> out;
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].role != Role::out && task.tensors[t].role != Role::in_out) continue;
    // The layout alone matters here.
    Result<FillParams> layout = fill_params(task, t, workload, {});
    if (!layout) return layout.error();
    Bits& bits = out.emplace_back(static_cast<std::size_t>(layout->elements));
    if (memory.tensor(t) == no_buffer) continue;
    const std::uint8_t* data = memory.device().data(memory.tensor(t)).data();
    for (std::int64_t i = 0; i < layout->elements; ++i) {
      bits[static_cast<std::size_t>(i)] = load_bits(data, storage_offset(*layout, i), layout->type);
    }
  }
  return out;
}

// Derives element `index` of an output from the plain run.
struct Follows {
  std::vector<std::size_t> from;  // empty: the same element
  double factor = 1;
  std::size_t source(std::size_t index) const { return from.empty() ? index : from[index]; }
};

// The one factor that takes every value of the plain reference to the varied one; nullopt: there is
// none.
std::optional<double> common_factor(const std::vector<double>& plain,
                                    const std::vector<double>& varied) {
  const auto takes = [&](double factor) {
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (!(std::isfinite(plain[i]) && varied[i] == factor * plain[i])) return false;
    }
    return true;
  };
  for (const double factor : {scaled_by, 1.0, scaled_by * scaled_by}) {
    if (takes(factor)) return factor;
  }
  return std::nullopt;
}

std::optional<Follows> rule_of(const Task& task, std::size_t tensor, const Case& what,
                               const OracleValues& plain, const OracleValues& varied) {
  Follows rule;
  if (what.content.variation == Variation::scaled) {
    const auto factor = common_factor(plain.values, varied.values);
    if (!factor) return std::nullopt;
    rule.factor = *factor;
    return rule;
  }
  const auto layout = fill_params(task, tensor, what.workload, what.content);
  if (!layout || layout->swap_extent == 0) return std::nullopt;
  rule.from.resize(plain.values.size());
  for (std::size_t i = 0; i < rule.from.size(); ++i) {
    rule.from[i] = static_cast<std::size_t>(swapped_index(*layout, static_cast<long long>(i)));
    if (!(varied.values[i] == plain.values[rule.from[i]])) return std::nullopt;
  }
  return rule;
}

// Twice the least normal number: what is rounded above it has all bits of the type.
double least_of(int type) {
  switch (static_cast<DType>(type)) {
    case DType::f64:
      return 0x1p-1021;
    case DType::f16:
    case DType::e5m2:
      return 0x1p-13;
    case DType::e4m3:
      return 0x1p-5;
    default:
      return 0x1p-125;
  }
}

// True if both values are small enough to be rounded as denormals, or the first may overflow.
bool rounds_at_an_end(double value, double followed, int type) {
  const double least = least_of(type);
  return (magnitude(value) < least && magnitude(followed) < 4 * least) ||
         !(magnitude(value) < overflow_of(type) / 16);
}

std::int64_t count_strays(const Bits& plain, const Bits& varied, const Follows& rule, int type) {
  std::int64_t strays = 0;
  for (std::size_t i = 0; i < varied.size(); ++i) {
    const std::uint64_t from = plain[rule.source(i)];
    if (rule.factor == 1) {
      strays += varied[i] != from ? 1 : 0;
      continue;
    }
    const double value = decode(from, type);
    const bool follows = varied[i] == encode(rule.factor * value, type) ||
                         rounds_at_an_end(value, decode(varied[i], type), type);
    strays += follows ? 0 : 1;
  }
  return strays;
}

}  // namespace

bool is_relation(Variation variation) {
  return variation == Variation::scaled || variation == Variation::swapped;
}

Result<void> repeat(const PlanRun& run, VirtualMemory& memory, const Case& what,
                    CaseReport& report) {
  Result<std::vector<Bits>> first = outputs_of(run.task, what.workload, memory);
  if (!first) return first.error();
  std::vector<std::vector<bool>> differs;
  for (const Bits& bits : *first) differs.emplace_back(bits.size());
  for (int r = 1; r <= what.repeats; ++r) {
    Result<bool> ran = run.once(memory, what, r, report);
    if (!ran) return ran.error();
    if (!*ran || !report.faults.empty()) return {};
    Result<std::vector<Bits>> again = outputs_of(run.task, what.workload, memory);
    if (!again) return again.error();
    for (std::size_t o = 0; o < again->size(); ++o) {
      for (std::size_t i = 0; i < (*again)[o].size(); ++i) {
        if ((*again)[o][i] != (*first)[o][i]) differs[o][i] = true;
      }
    }
    ++report.repeats_done;
  }
  for (std::size_t o = 0; o < differs.size() && o < report.outputs.size(); ++o) {
    report.outputs[o].repeat_differs = std::count(differs[o].begin(), differs[o].end(), true);
  }
  return {};
}

Result<void> relate(const PlanRun& run, VirtualMemory& memory, const Case& what,
                    CaseReport& report) {
  const Task& task = run.task;
  Case plain = what;
  plain.content.variation = Variation::none;
  std::vector<Follows> rules;
  std::vector<int> types;
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].role != Role::out && task.tensors[t].role != Role::in_out) continue;
    if (is_judged_by_host(task.tensors[t])) return {};
    auto before = run.context.oracle.values(run.task, t, what.workload, plain.content, 0);
    auto after = run.context.oracle.values(run.task, t, what.workload, what.content, 0);
    if (!before) return before.error();
    if (!after) return after.error();
    const auto rule = rule_of(task, t, what, **before, **after);
    if (!rule) return {};
    rules.push_back(*rule);
    types.push_back(static_cast<int>(task.tensors[t].type));
  }
  Result<std::vector<Bits>> varied = outputs_of(task, what.workload, memory);
  if (!varied) return varied.error();
  auto other = VirtualMemory::make(run.task, plain, run.plan, run.context.inputs);
  if (!other) return other.error();
  Result<bool> ran = run.set_up(*other, plain, report);
  if (ran && *ran) ran = run.once(*other, plain, 0, report);
  if (!ran) return ran.error();
  if (!*ran || !report.faults.empty()) return {};
  Result<std::vector<Bits>> base = outputs_of(task, what.workload, *other);
  if (!base) return base.error();
  for (std::size_t o = 0; o < rules.size() && o < report.outputs.size(); ++o) {
    report.outputs[o].relation_differs = count_strays((*base)[o], (*varied)[o], rules[o], types[o]);
  }
  report.related = true;
  return {};
}

}  // namespace cupilot
