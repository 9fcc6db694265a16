// Rules of operators that join inputs, or read one where another says.
#include "task/rules/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cupilot::rules {

// Inputs one after another along `dim`.
Result<RuleResult> cat(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  RuleResult out;
  out.output = x;
  Expr total = 0;
  std::string term;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const RuleInput& input = call.inputs[i];
    ExprShape rest = input.shape;
    if (rest.size() == x.size()) rest[*dim] = x[*dim];
    if (!alike(call, rest, x)) return unfit("input " + input.name + " has another shape");
    out.sizes.push_back({fmt::format("begin{}", i), total});
    total = i == 0 ? input.shape[*dim] : sum(total, input.shape[*dim]);
  }
  out.output[*dim] = total;
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  const std::string along = out.axes[*dim].name;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    out.called[call.inputs[i].name] = call.inputs[i].shape;
    std::string at;
    for (std::size_t d = 0; d < x.size(); ++d)
      at += (d == 0 ? "" : ", ") +
            (d == *dim ? fmt::format("{} - begin{}", along, i) : out.axes[d].name);
    const std::string value = fmt::format("real({}({}))", call.inputs[i].name, at);
    term = i + 1 == call.inputs.size()
               ? term + value
               : term + fmt::format("{} < begin{} ? {} : ", along, i + 1, value);
  }
  out.term = term;
  return out;
}

// Inputs side by side along a new dimension `dim`.
Result<RuleResult> stack(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size() + 1);
  if (!dim) return dim.error();
  RuleResult out;
  out.output = x;
  out.output.insert(out.output.begin() + static_cast<long>(*dim),
                    Expr(static_cast<std::int64_t>(call.inputs.size())));
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  std::vector<std::string> at = out.whole;
  at.erase(at.begin() + static_cast<long>(*dim));
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!alike(call, call.inputs[i].shape, x))
      return unfit("input " + call.inputs[i].name + " has another shape");
    out.valued[call.inputs[i].name] = at;
    out.term += i + 1 == call.inputs.size() ? fmt::format("real({})", call.inputs[i].name)
                                            : fmt::format("{} == {} ? real({}) : ", out.whole[*dim],
                                                          i, call.inputs[i].name);
  }
  return out;
}

namespace {

std::string place_in(const RuleInput& index) { return "place_(" + index.name + ")"; }

}  // namespace

// torch.gather: the index's shape; dimension `dim` of x is read where the index says.
Result<RuleResult> gather(const RuleCall& call) {
  if (call.inputs.size() != 2) return unfit("gather takes x and an index");
  const ExprShape &x = call.inputs[0].shape, &index = call.inputs[1].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  if (index.size() != x.size()) return unfit("x and the index have different ranks");
  note_places(call, call.inputs[1], x[*dim]);
  for (std::size_t d = 0; d < x.size(); ++d) {
    // An index that has fewer places than x reads its first ones.
    if (d != *dim && !alike(call, x[d], index[d])) keep(call, x[d]), keep(call, index[d]);
  }
  RuleResult out;
  out.output = index;
  out.axes = numbered(index, "c");
  out.whole = out.free = all_names(out.axes);
  out.called[call.inputs[0].name] = x;
  out.valued[call.inputs[1].name] = out.whole;
  std::string at;
  for (std::size_t d = 0; d < x.size(); ++d)
    at += (d == 0 ? "" : ", ") + (d == *dim ? place_in(call.inputs[1]) : out.axes[d].name);
  out.term = fmt::format("real({}({}))", call.inputs[0].name, at);
  return out;
}

// torch.index_select: places of dimension `dim` by an index of one dimension.
Result<RuleResult> index_select(const RuleCall& call) {
  if (call.inputs.size() != 2 || call.inputs[1].shape.size() != 1)
    return unfit("index_select takes x and an index of one dimension");
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  note_places(call, call.inputs[1], x[*dim]);
  RuleResult out;
  out.output = x;
  out.output[*dim] = call.inputs[1].shape[0];
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  out.called[call.inputs[0].name] = x;
  out.valued[call.inputs[1].name] = {out.whole[*dim]};
  std::string at;
  for (std::size_t d = 0; d < x.size(); ++d)
    at += (d == 0 ? "" : ", ") + (d == *dim ? place_in(call.inputs[1]) : out.axes[d].name);
  out.term = fmt::format("real({}({}))", call.inputs[0].name, at);
  return out;
}

// Rows of a table by an index of any shape.
Result<RuleResult> embedding(const RuleCall& call) {
  if (call.inputs.size() != 2 || call.inputs[0].shape.size() != 2)
    return unfit("embedding takes a table of two dimensions and an index");
  note_places(call, call.inputs[1], call.inputs[0].shape[0]);
  RuleResult out;
  out.output = call.inputs[1].shape;
  out.output.push_back(call.inputs[0].shape[1]);
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  out.called[call.inputs[0].name] = call.inputs[0].shape;
  out.valued[call.inputs[1].name] = {out.whole.begin(), out.whole.end() - 1};
  out.term = fmt::format("real({}({}, {}))", call.inputs[0].name, place_in(call.inputs[1]),
                         out.whole.back());
  return out;
}

}  // namespace cupilot::rules
