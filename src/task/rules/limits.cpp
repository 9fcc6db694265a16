#include "task/rules/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>
#include <set>

#include "task/rules/common.hpp"
#include "trusted/storage.cuh"

namespace cupilot {
namespace {

// The least whole number that an attribute may be; nullopt: any.
std::optional<std::int64_t> least_of(const std::string& rule, const std::string& name) {
  const bool windows = rule == "window" || rule == "transposed_window" || rule == "pool";
  if (name == "groups" || name == "kernel_size" || name == "stride" || name == "dilation" ||
      name == "step" || name == "size")
    return 1;
  if (windows && (name == "padding" || name == "output_padding")) return 0;
  if (rule == "last" && name == "dims") return 1;
  return std::nullopt;
}

std::vector<std::int64_t> whole_numbers(const Attribute& value) {
  if (const auto* one = std::get_if<std::int64_t>(&value)) return {*one};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
  return {};
}

// The input that holds places, or "".
std::string index_input(const std::string& rule, const RuleCall& call) {
  if (rule == "gather" || rule == "index_select" || rule == "embedding") return "index";
  return call.attributes.contains("ignore_index") ? "target" : "";
}

}  // namespace

Result<void> check_attributes(const std::string& rule, const RuleCall& call) {
  for (const auto& [name, value] : call.attributes) {
    const auto least = least_of(rule, name);
    for (const std::int64_t one : whole_numbers(value)) {
      if (least && one < *least)
        return rules::unfit(fmt::format("attribute '{}' is {}, below {}", name, one, *least));
    }
    const bool list = std::holds_alternative<std::vector<std::int64_t>>(value);
    if (!list || call.inputs.empty() || (name != "dim" && name != "dims")) continue;
    std::set<std::int64_t> seen;
    const auto rank = static_cast<std::int64_t>(call.inputs[0].shape.size());
    for (const std::int64_t dim : whole_numbers(value)) {
      if (!seen.insert(dim < 0 ? dim + rank : dim).second)
        return rules::unfit(fmt::format("attribute '{}' names dimension {} twice", name, dim));
    }
  }
  const auto share = call.attributes.find("p");
  const bool drawn = std::any_of(call.inputs.begin(), call.inputs.end(),
                                 [](const RuleInput& one) { return one.name == "draw"; });
  const double* p =
      !drawn || share == call.attributes.end() ? nullptr : std::get_if<double>(&share->second);
  if (p != nullptr && !(*p >= 0.0 && *p <= 1.0))
    return rules::unfit(fmt::format("attribute 'p' is {}, no share between 0 and 1", *p));
  return {};
}

void bound_defaults(Attributes& attributes, const Attributes& given, DType type) {
  for (auto& [name, value] : attributes) {
    auto* number = std::get_if<double>(&value);
    if (number != nullptr && std::fabs(*number) == DBL_MAX && !given.contains(name))
      *number = std::copysign(largest_of(static_cast<int>(type)), *number);
  }
}

Result<void> check_index(const std::string& rule, const RuleCall& call, const std::string& name,
                         const Tensor& tensor) {
  if (index_input(rule, call) != name) return {};
  if (tensor.type < DType::i64) {
    return Error{ErrorCode::usage,
                 fmt::format("the index '{}' has the type {}, which counts no places", tensor.name,
                             name_of(tensor.type)),
                 "give it the type i32 or i64, and a fill of labels below the places there are"};
  }
  return {};
}

void keep_within(const std::string& rule, const RuleCall& call, RuleResult& out) {
  const std::string name = index_input(rule, call);
  const auto index = std::find_if(call.inputs.begin(), call.inputs.end(),
                                  [&](const RuleInput& one) { return one.name == name; });
  if (name.empty() || index == call.inputs.end() || index->below.text == "0" ||
      call.equal != nullptr)
    return;
  const ExprShape& x = call.inputs[0].shape;
  std::size_t looked_up = rule == "classes" && x.size() > 1 ? 1 : 0;
  if (rule == "gather" || rule == "index_select") {
    const auto dim = rules::dimension(rules::integer(call, "dim"), x.size());
    if (!dim) return;
    looked_up = *dim;
  }
  const Expr &extent = x[looked_up], &below = index->below;
  if (rules::alike(call, below, extent)) return;
  out.sizes.push_back(
      {std::string(room_prefix) + "places",
       Expr(fmt::format("{} <= {}", rules::bracketed(below), rules::bracketed(extent)))});
  out.agreements.push_back({fmt::format("'below' of {} is", name),
                            Expr(fmt::format("max({}, {})", below.text, extent.text)), extent,
                            "at most: so many places there are"});
}

}  // namespace cupilot
