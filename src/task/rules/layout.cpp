// Rules of operators that move elements of one input.
#include "task/rules/attributes.hpp"
#include "task/rules/common.hpp"
#include "task/rules/tidy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

namespace cupilot::rules {

ExprShape told_shape(const RuleCall& call) {
  ExprShape out = extents_in(word(call, "shape"));
  if (out.empty())
    for (const std::int64_t extent : integers(call, "shape")) out.emplace_back(extent);
  return out;
}

namespace {

// Gives the elements another shape, in row-major order.
RuleResult reshaped(const RuleInput& input, ExprShape output) {
  RuleResult out;
  out.output = std::move(output);
  if (out.output.empty()) out.output.push_back(1);
  const Expr count = product_of(out.output);
  out.axes = {{"e", count}};
  out.whole = out.free = {"e"};
  out.called[input.name] = {count};
  out.term = input.name + "(e)";
  return out;
}

// An output whose coordinate d is read by `at(d)` of the input.
template <class At>
Result<RuleResult> moved(const RuleCall& call, ExprShape output, At at) {
  RuleResult out;
  out.axes = numbered(output, "c");
  out.whole = out.free = all_names(out.axes);
  out.output = std::move(output);
  const RuleInput& input = call.inputs[0];
  for (std::size_t d = 0; d < input.shape.size(); ++d) out.valued[input.name].push_back(at(out, d));
  out.term = input.name;
  return out;
}

// True where two products have the same factors, in any order.
bool same_product(const Expr& a, const Expr& b) {
  const auto sorted = [](const Expr& product) {
    std::vector<std::string> texts;
    for (const Expr& factor : factors_in(product)) texts.push_back(factor.text);
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  return sorted(a) == sorted(b);
}

// Asks a condition over sizes at every shape that is run; at those of the task, `is` equals
// `wanted` where it holds.
void needs(RuleResult& out, const RuleCall& call, const Expr& is, const Expr& wanted,
           Agreement words) {
  out.sizes.push_back({fmt::format("{}{}", room_prefix, out.sizes.size()),
                       Expr(fmt::format("{} == {}", bracketed(is), bracketed(wanted)))});
  words.is = is;
  words.wanted = wanted;
  if (call.equal == nullptr) out.agreements.push_back(std::move(words));
}

Result<RuleResult> permuted(const RuleCall& call, const std::vector<std::size_t>& from) {
  const ExprShape& x = call.inputs[0].shape;
  auto sorted = from;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (sorted.size() != x.size() || sorted[d] != d) return unfit("`dims` is no permutation");
  }
  ExprShape output;
  for (const std::size_t d : from) output.push_back(x[d]);
  return moved(call, output, [&](const RuleResult& out, std::size_t d) {
    const auto place = std::find(from.begin(), from.end(), d) - from.begin();
    return out.axes[static_cast<std::size_t>(place)].name;
  });
}

}  // namespace

// `shape`, of which one extent may be -1: what is left.
Result<RuleResult> reshape(const RuleCall& call) {
  ExprShape output = told_shape(call);
  if (output.empty()) return unfit("`shape` is missing");
  const Expr count = product_of(call.inputs[0].shape);
  Expr others = 1;
  Expr* left = nullptr;
  for (Expr& extent : output) {
    if (extent.text != "-1")
      others = product_of({others, extent});
    else if (left != nullptr)
      return unfit("two extents are -1");
    else
      left = &extent;
  }
  if (call.equal != nullptr && left == nullptr)
    call.equal->products.push_back({call.inputs[0].shape, output});
  const auto all = number_in(count), known = number_in(others);
  if (all && known && (*known < 1 || (left != nullptr ? *all % *known != 0 : *all != *known)))
    return unfit(fmt::format("{} elements do not make this shape", *all));
  if (left != nullptr)
    *left = known ? divided(count, *known)
                  : Expr(fmt::format("{}/{}", bracketed(count), bracketed(others)));
  RuleResult out = reshaped(call.inputs[0], output);
  if (left == nullptr && !(all && known) && !same_product(others, count))
    needs(out, call, product_of(output), count, {.what = "the shape takes", .of = "elements"});
  return out;
}

// Dimensions start_dim to end_dim become one.
Result<RuleResult> flatten(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto first = dimension(integer(call, "start_dim"), x.size()),
             last = dimension(integer(call, "end_dim"), x.size());
  if (!first) return first.error();
  if (!last) return last.error();
  if (*first > *last) return unfit("start_dim is behind end_dim");
  ExprShape output(x.begin(), x.begin() + static_cast<long>(*first));
  output.push_back(product_of_range(x, *first, *last + 1));
  output.insert(output.end(), x.begin() + static_cast<long>(*last) + 1, x.end());
  return reshaped(call.inputs[0], output);
}

// Dimension `dim` becomes those of `shape`, of which one may be -1.
Result<RuleResult> unflatten(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  RuleCall part = call;
  part.inputs[0].shape = {x[*dim]};
  auto inner = reshape(part);
  if (!inner) return inner;
  ExprShape output = x;
  const auto at = output.erase(output.begin() + static_cast<long>(*dim));
  output.insert(at, inner->output.begin(), inner->output.end());
  RuleResult out = reshaped(call.inputs[0], output);
  out.sizes = inner->sizes;
  out.agreements = inner->agreements;
  return out;
}

// Dimensions `dim` go where they are 1; without one, all that are.
Result<RuleResult> squeeze(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dims = integers(call, "dim");
  std::vector<bool> goes(x.size(), dims.empty());
  for (const std::int64_t dim : dims) {
    const auto d = dimension(dim, x.size());
    if (!d) return d.error();
    goes[*d] = true;
  }
  ExprShape output;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!goes[d] || !is_one(x[d])) output.push_back(x[d]);
  }
  return reshaped(call.inputs[0], output);
}

// A dimension of 1 before `dim`.
Result<RuleResult> unsqueeze(const RuleCall& call) {
  ExprShape output = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), output.size() + 1);
  if (!dim) return dim.error();
  output.insert(output.begin() + static_cast<long>(*dim), 1);
  return reshaped(call.inputs[0], output);
}

// Dimension d of the output is dimension dims[d] of x.
Result<RuleResult> permute(const RuleCall& call) {
  std::vector<std::size_t> from;
  for (const std::int64_t dim : integers(call, "dims")) {
    const auto d = dimension(dim, call.inputs[0].shape.size());
    if (!d) return d.error();
    from.push_back(*d);
  }
  return permuted(call, from);
}

// Dimensions dim0 and dim1 change places.
Result<RuleResult> transpose(const RuleCall& call) {
  std::vector<std::size_t> from(call.inputs[0].shape.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  const auto a = dimension(integer(call, "dim0"), from.size()),
             b = dimension(integer(call, "dim1"), from.size());
  if (!a) return a.error();
  if (!b) return b.error();
  std::swap(from[*a], from[*b]);
  return permuted(call, from);
}

// To `shape`, in which -1 keeps an extent, or to the shape of a second input.
Result<RuleResult> expand(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  ExprShape output = call.inputs.size() > 1 ? call.inputs[1].shape : told_shape(call);
  if (output.size() < x.size()) return unfit("`shape` has fewer dimensions than x");
  for (std::size_t d = 0; d < output.size(); ++d) {
    if (output[d].text != "-1") continue;
    if (d + x.size() < output.size()) return unfit("-1 is for a dimension that x has");
    output[d] = x[d + x.size() - output.size()];
  }
  auto fits = broadcast(call, {output, x});
  if (!fits) return fits.error();
  if (*fits != output) return unfit("x does not expand to `shape`");
  return moved(call, output, [&](const RuleResult& out, std::size_t d) {
    return is_one(x[d]) ? std::string("0") : out.axes[output.size() - x.size() + d].name;
  });
}

// x `repeats` times along each dimension; more of them than dimensions stand before.
Result<RuleResult> repeat(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  auto repeats = integers(call, "repeats");
  if (repeats.size() < x.size()) return unfit("`repeats` names a number for each dimension");
  ExprShape output;
  const std::size_t more = repeats.size() - x.size();
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 1) return unfit("repeats are at least 1");
    output.push_back(d < more ? Expr(repeats[d]) : times(x[d - more], repeats[d]));
  }
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    return fmt::format("{} % size_x{}", result.axes[d + more].name, d);
  });
  for (std::size_t d = 0; d < x.size(); ++d)
    out->sizes.push_back({fmt::format("size_x{}", d), x[d]});
  return out;
}

// Elements start, start + step … before `end` of dimension `dim`; `length` of them where it is not
// 0. A negative start or end counts from the dimension's end; start and length may be texts.
Result<RuleResult> slice(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  const std::int64_t step = std::max<std::int64_t>(integer(call, "step"), 1);
  const Expr& size = x[*dim];
  const auto known = number_in(size);
  const auto place = [&](std::int64_t at) {
    Expr out = at < 0 ? plus(size, at) : Expr(at);
    if (const auto n = number_in(out); n && known) out = std::clamp<std::int64_t>(*n, 0, *known);
    return out;
  };
  const std::string from = word(call, "start"), many = word(call, "length");
  const Expr start = from.empty() ? place(integer(call, "start")) : Expr(from);
  const std::int64_t length = integer(call, "length"), end = integer(call, "end");
  const bool told = length > 0 || !many.empty();
  const auto all = call.equal == nullptr ? known : call.equal->number(size);
  const bool to_end = !told && (end == INT64_MAX || (all && end >= *all));
  ExprShape output = x;
  if (told) {
    output[*dim] = many.empty() ? Expr(length) : Expr(many);
  } else {
    const Expr count = difference(to_end ? size : place(end), start);
    output[*dim] = step == 1 ? count : divided(plus(count, step - 1), step);
  }
  if (const auto n = number_in(output[*dim]); n && *n < 1) return unfit("nothing is left");
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    if (d != *dim) return result.axes[d].name;
    return fmt::format("{} * {}ll + first", result.axes[d].name, step);
  });
  out->sizes.push_back({"first", start});
  const auto parts = call.equal == nullptr ? std::nullopt : call.equal->number(output[*dim]);
  if (!many.empty() && call.equal == nullptr) {
    const std::string last = fmt::format("{} + {}", bracketed(start), bracketed(many));
    out->agreements.push_back({"the slice ends within",
                               Expr(fmt::format("max({}, {})", last, bracketed(size))), size,
                               "elements"});
  } else if (!many.empty() && all && parts && *parts > 0) {
    call.equal->products.push_back({{size}, {*all / *parts, many}});
  } else if (integer(call, "start") < 0 || told || (!to_end && end >= 0)) {
    keep(call, size);
  }
  if (many.empty() && !known && (told || end >= 0) && !to_end) {
    const Expr last = told ? plus(start, (length - 1) * step + 1) : Expr(end);
    needs(*out, call, Expr(fmt::format("max({}, {})", last.text, size.text)), size,
          {.what = "the slice ends within", .of = "elements"});
  }
  return out;
}

// Windows of `size` places each `step` along `dim`; their places are a last dimension.
Result<RuleResult> unfold(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  const std::int64_t size = integer(call, "size"), step = integer(call, "step");
  if (size < 1 || step < 1) return unfit("size and step are at least 1");
  ExprShape output = x;
  output[*dim] = plus(divided(plus(x[*dim], -size), step), 1);
  output.emplace_back(size);
  return moved(call, output, [&](const RuleResult& out, std::size_t d) {
    if (d != *dim) return out.axes[d].name;
    return fmt::format("{} * {}ll + {}", out.axes[d].name, step, out.axes[x.size()].name);
  });
}

// One place of dimension `dim`, which goes.
Result<RuleResult> select(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  const std::int64_t index = integer(call, "index");
  if (index != 0 && index != -1) keep(call, x[*dim]);
  ExprShape output = x;
  output.erase(output.begin() + static_cast<long>(*dim));
  if (output.empty()) output.push_back(1);
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    if (d != *dim) return result.axes[d < *dim ? d : d - 1].name;
    return index < 0 ? fmt::format("size_d - {}ll", -index) : fmt::format("{}ll", index);
  });
  if (!out) return out;
  out->sizes.push_back({"size_d", x[*dim]});
  const std::int64_t least = index < 0 ? -index : index + 1;
  if (const auto known = number_in(x[*dim]); known && *known < least)
    return unfit(fmt::format("place {} of {}", index, *known));
  if (least > 1 && !number_in(x[*dim]))
    needs(*out, call, Expr(fmt::format("max({}, {})", least, x[*dim].text)), x[*dim],
          {.what = fmt::format("index {} asks for a dimension of", index), .of = "elements"});
  return out;
}

// Dimensions `dims` read from the end, or moved round by `shifts`.
Result<RuleResult> turned(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dims = integers(call, "dims"), shifts = integers(call, "shifts");
  std::vector<int> place(x.size(), -1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto d = dimension(dims[i], x.size());
    if (!d) return d.error();
    place[*d] = static_cast<int>(i);
  }
  if (!shifts.empty() && shifts.size() != dims.size()) return unfit("one shift a dimension");
  auto out = moved(call, x, [&](const RuleResult& result, std::size_t d) {
    const std::string& c = result.axes[d].name;
    if (place[d] < 0) return c;
    if (shifts.empty()) return fmt::format("size_{0} - 1 - {0}", c);
    const std::int64_t shift = shifts[static_cast<std::size_t>(place[d])];
    return fmt::format("((({0} - {1}ll) % size_{0}) + size_{0}) % size_{0}", c, shift);
  });
  for (std::size_t d = 0; out && d < x.size(); ++d)
    out->sizes.push_back({"size_" + out->axes[d].name, x[d]});
  return out;
}

// `padding`: before and after of the last dimension, then of the one before it …; `mode` constant
// (of `value`), reflect, replicate or circular.
Result<RuleResult> pad(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto padding = integers(call, "padding");
  const std::string mode = word(call, "mode");
  if (padding.size() % 2 != 0 || padding.size() / 2 > x.size())
    return unfit("`padding` names two numbers a dimension, from the last");
  ExprShape output = x;
  std::string inside = "true";
  std::vector<std::int64_t> before(x.size(), 0);
  for (std::size_t p = 0; p < padding.size() / 2; ++p) {
    const std::size_t d = x.size() - 1 - p;
    before[d] = padding[2 * p];
    output[d] = plus(x[d], padding[2 * p] + padding[2 * p + 1]);
    const bool repeats = mode == "reflect" || mode == "circular";  // no more places than x has
    if (repeats || padding[2 * p] < 0 || padding[2 * p + 1] < 0) keep(call, x[d]);
    inside += fmt::format(" && c{0} >= {1}ll && c{0} < size_c{0} + {1}ll", d, before[d]);
  }
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    std::string at = fmt::format("({} - {}ll)", result.axes[d].name, before[d]);
    const std::string size = fmt::format("size_c{}", d);
    if (d + padding.size() / 2 < x.size()) return at;
    if (mode == "reflect") return fmt::format("min(max({0}, -{0}), 2 * ({1} - 1) - {0})", at, size);
    if (mode == "replicate") return fmt::format("min(max({}, 0ll), {} - 1)", at, size);
    if (mode == "circular") return fmt::format("({0} + {1}) % {1}", at, size);
    return fmt::format("inside ? {} : 0", at);
  });
  for (std::size_t d = 0; d < x.size(); ++d)
    out->sizes.push_back({fmt::format("size_c{}", d), x[d]});
  for (std::size_t p = 0; p < padding.size() / 2; ++p) {
    const Expr& size = x[x.size() - 1 - p];
    const std::int64_t most = std::max(padding[2 * p], padding[2 * p + 1]);
    const std::int64_t least = mode == "reflect" ? most + 1 : mode == "circular" ? most : 0;
    if (const auto known = number_in(size); known && *known < least)
      return unfit(fmt::format("mode {} pads {} elements by {}", mode, *known, most));
    if (least > 1 && !number_in(size))
      needs(*out, call, Expr(fmt::format("max({}, {})", least, size.text)), size,
            {.what = fmt::format("padding {} by mode {} asks for a dimension of", most, mode),
             .of = "elements"});
  }
  if (mode != "constant" && !mode.empty()) return out;
  out->constants.emplace_back("inside", inside);
  out->term = fmt::format("inside ? real({}) : real(value)", call.inputs[0].name);
  return out;
}

// x at the end's two coordinates i and j of a triangle: used by tril and triu.
Result<RuleResult> triangle(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  if (x.size() < 2) return unfit("x has fewer than two dimensions");
  auto out =
      moved(call, x, [](const RuleResult& result, std::size_t d) { return result.axes[d].name; });
  if (!out) return out;
  out->term.clear();
  out->constants.emplace_back("row", out->axes[x.size() - 2].name);
  out->constants.emplace_back("column", out->axes[x.size() - 1].name);
  return out;
}

}  // namespace cupilot::rules
