// Rules of convolutions and pools.
#include "task/rules/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cupilot::rules {
namespace {

// Three spatial dimensions, absent ones 1 in front.
ExprShape in_space(const ExprShape& shape, std::size_t first) {
  ExprShape out(3 - (shape.size() - first), 1);
  out.insert(out.end(), shape.begin() + static_cast<long>(first), shape.end());
  return out;
}
std::vector<std::int64_t> in_space(std::vector<std::int64_t> values, std::size_t rank,
                                   std::int64_t otherwise) {
  values = spread(std::move(values), rank, otherwise);
  values.insert(values.begin(), 3 - rank, otherwise);
  return values;
}

// All windows have coordinates p0..p2 of the output's places, k0..k2 within a window, at0..2
// of the input's place, `inside` where there is one.
struct Window {
  std::vector<std::int64_t> stride, padding, dilation;
  ExprShape places, kernel;
};

constexpr const char* window_place = "p{0} * stride{0} - padding{0} + k{0} * dilation{0}";
constexpr const char* window_inside = "at{0} >= 0 && at{0} < size{0}";
// A transposed window reaches p with tap k from this place, where a whole step does.
constexpr const char* reached_place = "(p{0} + padding{0} - k{0} * dilation{0}) / stride{0}";
constexpr const char* reached_inside =
    "p{0} + padding{0} >= k{0} * dilation{0} && at{0} < size{0} && "
    "(p{0} + padding{0} - k{0} * dilation{0}) % stride{0} == 0";

void add_places(RuleResult& out, const char* place, const char* inside) {
  std::string all;
  for (int d = 0; d < 3; ++d) {
    out.constants.emplace_back(fmt::format("at{}", d), fmt::format(fmt::runtime(place), d));
    all += (d == 0 ? "" : " && ") + fmt::format(fmt::runtime(inside), d);
  }
  out.constants.emplace_back("inside", all);
}

void add_window(RuleResult& out, const Window& window, const ExprShape& results) {
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<std::size_t>(d);
    out.axes.push_back({fmt::format("p{}", d), results[i]});
    out.whole.push_back(fmt::format("p{}", d));
    out.constants.emplace_back(fmt::format("stride{}", d), fmt::format("{}ll", window.stride[i]));
    out.constants.emplace_back(fmt::format("padding{}", d), fmt::format("{}ll", window.padding[i]));
    out.constants.emplace_back(fmt::format("dilation{}", d),
                               fmt::format("{}ll", window.dilation[i]));
    out.sizes.push_back({fmt::format("size{}", d), window.places[i]});
    out.sizes.push_back({fmt::format("window{}", d), window.kernel[i]});
  }
  for (int d = 0; d < 3; ++d) {
    out.axes.push_back({fmt::format("k{}", d), window.kernel[static_cast<std::size_t>(d)]});
    out.over.push_back(fmt::format("k{}", d));
  }
}

// Places of a window's first element that lie within padded extents.
Result<Expr> window_count(const Expr& extent, const Expr& kernel, std::int64_t stride,
                          std::int64_t padding, std::int64_t dilation, bool ceil) {
  const auto k = number_in(kernel);
  if (!k) {
    if (dilation != 1 || ceil) return unfit("a window of symbolic size takes no dilation");
    return Expr(fmt::format("({} + {} - {})/{} + 1", bracketed(extent), 2 * padding,
                            bracketed(kernel), stride));
  }
  const std::int64_t reach = dilation * (*k - 1) + 1;
  const Expr first = plus(extent, 2 * padding - reach + (ceil ? stride - 1 : 0));
  if (const auto n = number_in(first); n && *n < 0)
    return unfit("a window is larger than its input");
  const Expr count = plus(divided(first, stride), 1);
  if (!ceil) return count;
  // The last window begins within the input or its left padding.
  const Expr most = plus(divided(plus(extent, padding - 1), stride), 1);
  const auto a = number_in(count), b = number_in(most);
  if (a && b) return Expr(std::min(*a, *b));
  return Expr(fmt::format("min({}, {})", count.text, most.text));
}

// Convolution: x n, channels, places; weight out, channels of a group, window; bias out.
// Coordinates n, g, o (out channel within the group), p0..p2; over c and k0..k2.
Result<RuleResult> convolution(const RuleCall& call, bool transposed) {
  if (call.inputs.size() < 2) return unfit("a convolution takes x and a weight");
  const ExprShape &x = call.inputs[0].shape, &weight = call.inputs[1].shape;
  if (x.size() < 3 || x.size() > 5 || weight.size() != x.size())
    return unfit("x and the weight have 3 to 5 dimensions");
  const std::size_t rank = x.size() - 2;
  for (std::size_t d = 2; d < weight.size(); ++d) keep(call, weight[d]);
  const Expr group = told_number(call, "groups");
  Window window{in_space(integers(call, "stride"), rank, 1),
                in_space(integers(call, "padding"), rank, 0),
                in_space(integers(call, "dilation"), rank, 1), in_space(x, 2), in_space(weight, 2)};
  const auto extra = in_space(integers(call, "output_padding"), rank, 0);
  const bool same = integer(call, "same") != 0;
  RuleResult out;
  out.agreements.push_back({is_one(group) ? std::string("the weight takes")
                                          : fmt::format("{} groups of the weight take", group.text),
                            transposed ? weight[0] : times(group, weight[1]), x[1],
                            "channels of x"});
  const auto part = part_of(call, out, transposed ? x[1] : weight[0], group,
                            transposed ? "channels of x" : "outputs of the weight");
  if (!part) return part.error();
  const Expr &outs = transposed ? weight[1] : *part, &ins = transposed ? *part : weight[1];
  ExprShape results;
  out.output = {x[0], transposed ? times(group, outs) : weight[0]};
  for (std::size_t d = 0; d < 3; ++d) {
    std::optional<Result<Expr>> count;
    const auto k = number_in(window.kernel[d]);
    if (same && (!k || transposed || window.stride[d] != 1))
      return unfit("`same` is for windows of known size and stride 1");
    if (same) {
      window.padding[d] = window.dilation[d] * (*k - 1) / 2;
      count.emplace(window.places[d]);
    } else if (!transposed) {
      count.emplace(window_count(window.places[d], window.kernel[d], window.stride[d],
                                 window.padding[d], window.dilation[d], false));
    } else if (k) {
      count.emplace(plus(times(plus(window.places[d], -1), window.stride[d]),
                         window.dilation[d] * (*k - 1) + 1 + extra[d] - 2 * window.padding[d]));
    } else {
      return unfit("a transposed window of symbolic size");
    }
    if (!*count) return count->error();
    results.push_back(**count);
    if (d + rank >= 3) out.output.push_back(**count);
  }
  out.axes = {{"n", x[0]}, {"g", group}, {"o", outs}};
  out.whole = {"n", "g", "o"};
  out.over = {"c"};
  add_window(out, window, results);
  if (transposed)
    add_places(out, reached_place, reached_inside);
  else
    add_places(out, window_place, window_inside);
  out.axes.push_back({"c", ins});
  out.free = out.whole;
  out.called[call.inputs[0].name] = {x[0], x[1], window.places[0], window.places[1],
                                     window.places[2]};
  out.called[call.inputs[1].name] = {weight[0], weight[1], window.kernel[0], window.kernel[1],
                                     window.kernel[2]};
  if (call.inputs.size() > 2) {
    out.called[call.inputs[2].name] = {out.output[1]};
    must_agree(out, call.inputs[2], out.output[1]);
  }
  out.sizes.push_back({"size_c", ins});
  out.sizes.push_back({"size_o", outs});
  return out;
}

// x's last `rank` dimensions as places, all others as m.
struct Planes {
  std::size_t rank = 1, first = 0;
  Expr others = 1;
};
Result<Planes> planes(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  Planes out;
  out.rank = static_cast<std::size_t>(std::clamp<std::int64_t>(integer(call, "rank"), 1, 3));
  if (x.size() < out.rank) return unfit(fmt::format("x has fewer than {} dimensions", out.rank));
  out.first = x.size() - out.rank;
  out.others = product_of_range(x, 0, out.first);
  return out;
}

// Adds the divisors of averages: places of a window within the padded input, and within the input.
// A window ends beyond the padded input only where extents are rounded up.
void add_counts(RuleResult& out, bool ceil) {
  std::string padded, clipped;
  for (int d = 0; d < 3; ++d) {
    out.constants.emplace_back(fmt::format("begin{}", d),
                               fmt::format("p{0} * stride{0} - padding{0}", d));
    out.constants.emplace_back(
        fmt::format("end{}", d),
        ceil ? fmt::format("min(begin{0} + window{0}, size{0} + padding{0})", d)
             : fmt::format("begin{0} + window{0}", d));
    padded += fmt::format("{0}(end{1} - begin{1})", d == 0 ? "" : " * ", d);
    clipped +=
        fmt::format("{0}(min(end{1}, size{1}) - max(begin{1}, 0ll))", d == 0 ? "" : " * ", d);
  }
  out.constants.emplace_back("padded", padded);
  out.constants.emplace_back("clipped", clipped);
}

}  // namespace

Result<RuleResult> window(const RuleCall& call) { return convolution(call, false); }
Result<RuleResult> transposed_window(const RuleCall& call) { return convolution(call, true); }

// Windows of `kernel_size` over the last `rank` dimensions: coordinates m (all others), p0..p2,
// over k0..k2.
Result<RuleResult> pool(const RuleCall& call) {
  const auto of = planes(call);
  if (!of) return of.error();
  const ExprShape& x = call.inputs[0].shape;
  const auto [rank, first, others] = *of;
  auto kernel = in_space(integers(call, "kernel_size"), rank, 1);
  auto strides = integers(call, "stride");
  if (strides.empty()) strides = integers(call, "kernel_size");
  Window window{in_space(strides, rank, 1),
                in_space(integers(call, "padding"), rank, 0),
                in_space(integers(call, "dilation"), rank, 1),
                in_space(x, first),
                {}};
  for (const std::int64_t k : kernel) window.kernel.push_back(k);
  RuleResult out;
  out.output.assign(x.begin(), x.begin() + static_cast<long>(first));
  out.axes = {{"m", others}};
  out.whole = {"m"};
  ExprShape results;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto count =
        window_count(window.places[d], window.kernel[d], window.stride[d], window.padding[d],
                     window.dilation[d], integer(call, "ceil_mode") != 0 && d + rank >= 3);
    if (!count) return count.error();
    results.push_back(*count);
    if (d + rank >= 3) out.output.push_back(*count);
  }
  add_window(out, window, results);
  add_places(out, window_place, window_inside);
  add_counts(out, integer(call, "ceil_mode") != 0);
  out.free = out.whole;
  out.called[call.inputs[0].name] = {others, window.places[0], window.places[1], window.places[2]};
  return out;
}

// `output_size` windows that cover x's last `rank` dimensions; `count` places in each.
Result<RuleResult> adaptive_pool(const RuleCall& call) {
  const auto of = planes(call);
  if (!of) return of.error();
  const ExprShape& x = call.inputs[0].shape;
  const auto sizes = in_space(integers(call, "output_size"), of->rank, 1);
  const ExprShape places = in_space(x, of->first);
  RuleResult out;
  out.output.assign(x.begin(), x.begin() + static_cast<long>(of->first));
  out.axes = {{"m", of->others}};
  out.whole = {"m"};
  std::string inside, count;
  for (std::size_t d = 0; d < 3; ++d) {
    const Expr result = sizes[d] > 0 ? Expr(sizes[d]) : places[d];  // 0: as many as x has
    if (sizes[d] > 1) keep(call, places[d]);  // windows of known places are told by less
    if (d + of->rank >= 3) out.output.push_back(result);
    out.axes.push_back({fmt::format("p{}", d), result});
    out.whole.push_back(fmt::format("p{}", d));
    out.sizes.push_back({fmt::format("size{}", d), places[d]});
    out.sizes.push_back({fmt::format("result{}", d), result});
    for (const auto& [name, text] : {std::pair("begin{}", "p{0} * size{0} / result{0}"),
                                     {"end{}", "((p{0} + 1) * size{0} - 1) / result{0} + 1"},
                                     {"at{}", "begin{0} + k{0}"}})
      out.constants.emplace_back(fmt::format(fmt::runtime(name), d),
                                 fmt::format(fmt::runtime(text), d));
    inside += fmt::format("{0}at{1} < end{1}", d == 0 ? "" : " && ", d);
    count += fmt::format("{0}(end{1} - begin{1})", d == 0 ? "" : " * ", d);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    const auto whole = number_in(places[d]), results = number_in(out.axes[d + 1].extent);
    const bool even = whole && results && *results > 0 && *whole % *results == 0;
    const Expr most = even            ? Expr(*whole / *results)
                      : sizes[d] == 0 ? Expr(1)
                      : sizes[d] == 1 ? places[d]
                                      : plus(divided(plus(places[d], sizes[d] - 1), sizes[d]), 1);
    out.axes.push_back({fmt::format("k{}", d), most});
    out.over.push_back(fmt::format("k{}", d));
  }
  out.constants.emplace_back("inside", inside);
  out.constants.emplace_back("count", count);
  out.free = out.whole;
  out.called[call.inputs[0].name] = {of->others, places[0], places[1], places[2]};
  return out;
}

}  // namespace cupilot::rules
