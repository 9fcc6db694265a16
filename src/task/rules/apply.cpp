#include "task/rules/apply.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "task/rules/common.hpp"

namespace cupilot {
namespace {

using namespace rules;

struct Rule {
  std::string_view name;
  Result<RuleResult> (*apply)(const RuleCall&);
};
constexpr Rule table[] = {
    {"elementwise", elementwise},
    {"filled", filled},
    {"reduce", reduce},
    {"lines", lines},
    {"last", last},
    {"channels", channels},
    {"channels_or_one", channels_or_one},
    {"classes", classes},
    {"groups", groups},
    {"einsum", einsum},
    {"matmul", matmul},
    {"linear", linear},
    {"queried", queried},
    {"window", window},
    {"transposed_window", transposed_window},
    {"pool", pool},
    {"adaptive_pool", adaptive_pool},
    {"reshape", reshape},
    {"flatten", flatten},
    {"unflatten", unflatten},
    {"squeeze", squeeze},
    {"unsqueeze", unsqueeze},
    {"permute", permute},
    {"transpose", transpose},
    {"expand", expand},
    {"repeat", repeat},
    {"slice", slice},
    {"select", select},
    {"unfold", unfold},
    {"turned", turned},
    {"pad", pad},
    {"cat", cat},
    {"stack", stack},
    {"gather", gather},
    {"index_select", index_select},
    {"embedding", embedding},
    {"triangle", triangle},
};

}  // namespace

Expr product_of(const ExprShape& extents) { return product_of_range(extents, 0, extents.size()); }

bool is_rule(std::string_view name) {
  return std::any_of(std::begin(table), std::end(table),
                     [&](const Rule& rule) { return rule.name == name; });
}

Result<RuleResult> apply_rule(std::string_view name, const RuleCall& call) {
  if (call.inputs.empty() && name != "filled") return unfit("there is no input");
  for (const Rule& rule : table) {
    if (rule.name == name) return rule.apply(call);
  }
  return unfit(fmt::format("no rule is named '{}'", name));
}

}  // namespace cupilot
