// Rules of element by element operators, of reductions and of normalisations.
#include "task/rules/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cupilot::rules {

Result<RuleResult> elementwise(const RuleCall& call) {
  std::vector<ExprShape> shapes;
  for (const RuleInput& input : call.inputs) shapes.push_back(input.shape);
  auto shape = broadcast(call, shapes);
  if (!shape) return shape.error();
  RuleResult out;
  out.axes = numbered(*shape, "c");
  out.whole = out.free = out.groups["whole"] = all_names(out.axes);
  for (const StageAxis& axis : out.axes) out.sizes.push_back({"size_" + axis.name, axis.extent});
  for (const RuleInput& input : call.inputs)
    out.valued[input.name] = broadcast_at(input.shape, out.whole);
  out.output = std::move(*shape);
  return out;
}

// An output of no input: its shape is told.
Result<RuleResult> filled(const RuleCall& call) {
  RuleResult out;
  out.output = told_shape(call);
  if (out.output.empty()) return unfit("`shape` is missing");
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  return out;
}

// Folds over dimensions `dim` (absent: all), kept as 1 with `keepdim`.
Result<RuleResult> reduce(const RuleCall& call) {
  auto out = elementwise(call);
  if (!out) return out;
  const std::size_t rank = out->axes.size();
  std::vector<bool> reduced(rank,
                            call.attributes.count("dim") == 0 || integers(call, "dim").empty());
  for (const std::int64_t dim : integers(call, "dim")) {
    const auto d = dimension(dim, rank);
    if (!d) return d.error();
    reduced[*d] = true;
  }
  const ExprShape all = std::move(out->output);
  out->output.clear();
  out->free.clear();
  ExprShape over;
  std::string place;  // row-major among what is reduced
  for (std::size_t d = 0; d < rank; ++d) {
    const std::string& name = out->axes[d].name;
    if (reduced[d])
      place = place.empty() ? name : fmt::format("({}) * size_{} + {}", place, name, name);
    (reduced[d] ? out->over : out->free).push_back(out->axes[d].name);
    if (reduced[d]) over.push_back(all[d]);
    if (!reduced[d] || integer(call, "keepdim") != 0)
      out->output.push_back(reduced[d] ? Expr(1) : all[d]);
  }
  if (out->output.empty()) out->output.push_back(1);
  if (out->over.empty()) return unfit("no dimension is reduced");
  out->whole = out->groups["kept"] = out->free;
  out->constants.emplace_back("place", place);
  out->sizes.push_back({"count", product_of(over)});
  return out;
}

// x as outer, dim, inner: coordinates o, n, i.
Result<RuleResult> lines(const RuleCall& call) {
  if (call.inputs.empty()) return unfit("there is no input");
  const ExprShape& x = call.inputs[0].shape;
  const auto d = dimension(integer(call, "dim"), x.size());
  if (!d) return d.error();
  RuleResult out;
  out.output = x;
  const ExprShape extents = {product_of_range(x, 0, *d), x[*d],
                             product_of_range(x, *d + 1, x.size())};
  out.axes = {{"o", extents[0]}, {"n", extents[1]}, {"i", extents[2]}};
  out.free = {"o", "i"};
  out.over = {"n"};
  out.whole = {"o", "n", "i"};
  const auto middle = x.begin() + static_cast<long>(*d);
  out.parts = {{"o", ExprShape(x.begin(), middle)}, {"i", ExprShape(middle + 1, x.end())}};
  for (const RuleInput& input : call.inputs) {
    if (alike(call, input.shape, x))
      out.called[input.name] = extents;
    else if (input.shape.size() == 1)
      out.called[input.name] = {extents[1]}, must_agree(out, input, extents[1]);
    else
      return unfit("input " + input.name + " has another shape than " + call.inputs[0].name);
  }
  out.sizes = {{"size_n", extents[1]}};
  return out;
}

// x as rows of its last `dims` dimensions: coordinates r, n; smaller inputs have those dimensions.
Result<RuleResult> last(const RuleCall& call) {
  if (call.inputs.empty()) return unfit("there is no input");
  const ExprShape& x = call.inputs[0].shape;
  const std::int64_t dims = std::max<std::int64_t>(integer(call, "dims"), 1);
  if (dims > static_cast<std::int64_t>(x.size()))
    return unfit(fmt::format("{} dimensions of {}", dims, x.size()));
  const std::size_t first = x.size() - static_cast<std::size_t>(dims);
  RuleResult out;
  out.output = x;
  const Expr rows = product_of_range(x, 0, first), row = product_of_range(x, first, x.size());
  out.axes = {{"r", rows}, {"n", row}};
  out.free = {"r"};
  out.over = {"n"};
  out.whole = {"r", "n"};
  out.parts["r"] = ExprShape(x.begin(), x.begin() + static_cast<long>(first));
  for (const RuleInput& input : call.inputs) {
    // A weight has no coordinate r, even beside a single row.
    const bool whole = !(first == 0 && input.optional) && alike(call, input.shape, x);
    out.called[input.name] = whole ? ExprShape{rows, row} : ExprShape{row};
    if (!whole) must_agree(out, input, row);
  }
  out.sizes = {{"size_n", row}};
  return out;
}

namespace {

// x as samples, channels, places: coordinates n, c, s; a vector has an element a channel or, with
// `one`, one number for all.
Result<RuleResult> by_channels(const RuleCall& call, bool one) {
  if (call.inputs.empty() || call.inputs[0].shape.size() < 2) return unfit("x has no channels");
  const ExprShape& x = call.inputs[0].shape;
  RuleResult out;
  out.output = x;
  const ExprShape extents = {x[0], x[1], product_of_range(x, 2, x.size())};
  out.axes = {{"n", extents[0]}, {"c", extents[1]}, {"s", extents[2]}};
  out.free = {"c"};
  out.over = {"n", "s"};
  out.whole = {"n", "c", "s"};
  out.parts["s"] = ExprShape(x.begin() + 2, x.end());
  for (const RuleInput& input : call.inputs) {
    if (alike(call, input.shape, x))
      out.called[input.name] = extents;
    else if (input.shape.size() == 1)
      out.called[input.name] = input.shape;
    else
      return unfit("input " + input.name + " is no vector of channels");
    const bool for_all = one && input.shape.size() == 1 && is_one(input.shape[0]);
    if (input.shape.size() == 1 && !for_all) must_agree(out, input, extents[1]);
  }
  out.sizes = {{"size_n", extents[0]},
               {"size_c", extents[1]},
               {"size_s", extents[2]},
               {"count", times(extents[0], extents[2])}};
  return out;
}

}  // namespace

Result<RuleResult> channels(const RuleCall& call) { return by_channels(call, false); }
Result<RuleResult> channels_or_one(const RuleCall& call) { return by_channels(call, true); }

// Works as `channels`; the second input tells the class of a place, or a number for each class.
Result<RuleResult> classes(const RuleCall& call) {
  if (call.inputs.size() < 2) return unfit("there is no target");
  RuleCall without = call;
  without.inputs.erase(without.inputs.begin() + 1);
  auto out = channels(without);
  if (!out) return out;
  const ExprShape& x = call.inputs[0].shape;
  ExprShape places = x;
  places.erase(places.begin() + 1);
  const RuleInput& target = call.inputs[1];
  const bool weighted = alike(call, target.shape, x);
  if (!weighted && !alike(call, target.shape, places))
    return unfit("input " + target.name + " has another shape than x without its classes");
  if (!weighted) note_places(call, target, x[1]);
  const ExprShape extents = out->called[call.inputs[0].name];
  out->called[target.name] = weighted ? extents : ExprShape{extents[0], extents[2]};
  out->free = {"n", "s"};
  out->over = {"c"};
  return out;
}

// x as samples, groups of channels, places within: coordinates n, g, k.
Result<RuleResult> groups(const RuleCall& call) {
  if (call.inputs.empty() || call.inputs[0].shape.size() < 2) return unfit("x has no channels");
  const ExprShape& x = call.inputs[0].shape;
  const Expr count = told_number(call, "groups");
  RuleResult out;
  out.output = x;
  const auto channels = part_of(call, out, x[1], count, "channels");
  if (!channels) return channels.error();
  const Expr places = product_of_range(x, 2, x.size());
  const Expr each = times(*channels, places);
  out.axes = {{"n", x[0]}, {"g", count}, {"k", each}};
  out.free = {"n", "g"};
  out.over = {"k"};
  out.whole = {"n", "g", "k"};
  for (const RuleInput& input : call.inputs) {
    const bool whole = alike(call, input.shape, x);
    out.called[input.name] = whole ? ExprShape{x[0], count, each} : ExprShape{x[1]};
    if (!whole) must_agree(out, input, x[1]);
  }
  out.sizes = {{"size_k", each}, {"size_s", places}, {"channels", *channels}};
  return out;
}

}  // namespace cupilot::rules
