#include "task/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace cupilot {
namespace {

Error unfit(const std::string& reason) {
  return {ErrorCode::usage, reason, "docs/formats/operators.md lists the rules"};
}

std::optional<std::int64_t> number_in(const Expr& expr) {
  std::int64_t value = 0;
  const char* const end = expr.text.data() + expr.text.size();
  const auto [stop, code] = std::from_chars(expr.text.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_one(const Expr& expr) { return expr.text == "1"; }

std::string bracketed(const Expr& expr) {
  const bool plain = std::all_of(expr.text.begin(), expr.text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  return plain ? expr.text : "(" + expr.text + ")";
}

Expr times(const Expr& a, const Expr& b) {
  const auto x = number_in(a), y = number_in(b);
  if (x && y) return *x * *y;
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  return bracketed(a) + "*" + bracketed(b);
}

Expr plus(const Expr& a, std::int64_t b) {
  if (const auto x = number_in(a)) return *x + b;
  if (b == 0) return a;
  return bracketed(a) + (b < 0 ? fmt::format(" - {}", -b) : fmt::format(" + {}", b));
}

Expr divided(const Expr& a, std::int64_t b) {
  if (b == 1) return a;
  if (const auto x = number_in(a); x && *x >= 0) return *x / b;
  return fmt::format("{}/{}", bracketed(a), b);
}

std::int64_t integer(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  if (found == call.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? 0 : *value;
}

std::vector<std::int64_t> integers(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  if (found == call.attributes.end()) return {};
  if (const auto* one = std::get_if<std::int64_t>(&found->second)) return {*one};
  const auto* values = std::get_if<std::vector<std::int64_t>>(&found->second);
  return values == nullptr ? std::vector<std::int64_t>() : *values;
}

std::string word(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  const auto* value =
      found == call.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return value == nullptr ? std::string() : *value;
}

// One for each of `rank` dimensions: as given, or the one repeated.
std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t rank,
                                 std::int64_t otherwise) {
  if (values.empty()) values.push_back(otherwise);
  if (values.size() == 1) values.resize(rank, values[0]);
  return values;
}

Result<std::size_t> dimension(std::int64_t dim, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (dim < -signed_rank || dim >= signed_rank)
    return unfit(fmt::format("dimension {} of {}", dim, rank));
  return static_cast<std::size_t>(dim < 0 ? dim + signed_rank : dim);
}

Expr product_of_range(const ExprShape& shape, std::size_t begin, std::size_t end) {
  Expr all = 1;
  for (std::size_t d = begin; d < end; ++d) all = times(all, shape[d]);
  return all;
}

std::vector<std::string> all_names(const std::vector<StageAxis>& axes) {
  std::vector<std::string> names;
  for (const StageAxis& axis : axes) names.push_back(axis.name);
  return names;
}

std::vector<StageAxis> numbered(const ExprShape& shape, const char* letter) {
  std::vector<StageAxis> axes;
  for (const Expr& extent : shape)
    axes.push_back({fmt::format("{}{}", letter, axes.size()), extent});
  return axes;
}

// Broadcast of shapes as NumPy has it; extents are alike when their texts are.
Result<ExprShape> broadcast(const std::vector<ExprShape>& shapes) {
  std::size_t rank = 0;
  for (const ExprShape& shape : shapes) rank = std::max(rank, shape.size());
  ExprShape out(rank, 1);
  for (const ExprShape& shape : shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Expr& extent = out[rank - shape.size() + d];
      if (is_one(extent)) extent = shape[d];
      if (!is_one(shape[d]) && extent != shape[d])
        return unfit(fmt::format("extents {} and {} differ", extent.text, shape[d].text));
    }
  }
  return out;
}

// Coordinates of a broadcast input within those of the output.
std::vector<std::string> broadcast_at(const ExprShape& shape, const std::vector<std::string>& at) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.push_back(is_one(shape[d]) ? "0" : at[at.size() - shape.size() + d]);
  return out;
}

Result<RuleResult> elementwise(const RuleCall& call) {
  std::vector<ExprShape> shapes;
  for (const RuleInput& input : call.inputs) shapes.push_back(input.shape);
  auto shape = broadcast(shapes);
  if (!shape) return shape.error();
  RuleResult out;
  out.axes = numbered(*shape, "c");
  out.whole = out.free = all_names(out.axes);
  for (const RuleInput& input : call.inputs)
    out.valued[input.name] = broadcast_at(input.shape, out.whole);
  out.output = std::move(*shape);
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
  for (std::size_t d = 0; d < rank; ++d) {
    (reduced[d] ? out->over : out->free).push_back(out->axes[d].name);
    if (reduced[d]) over.push_back(all[d]);
    if (!reduced[d] || integer(call, "keepdim") != 0)
      out->output.push_back(reduced[d] ? Expr(1) : all[d]);
  }
  if (out->output.empty()) out->output.push_back(1);
  if (out->over.empty()) return unfit("no dimension is reduced");
  out->whole = out->free;
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
  for (const RuleInput& input : call.inputs) {
    if (input.shape == x)
      out.called[input.name] = extents;
    else if (input.shape.size() == 1)
      out.called[input.name] = {extents[1]};
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
  for (const RuleInput& input : call.inputs)
    out.called[input.name] = input.shape == x ? ExprShape{rows, row} : ExprShape{row};
  out.sizes = {{"size_n", row}};
  return out;
}

// x as samples, channels, places: coordinates n, c, s; a vector has an element a channel.
Result<RuleResult> channels(const RuleCall& call) {
  if (call.inputs.empty() || call.inputs[0].shape.size() < 2) return unfit("x has no channels");
  const ExprShape& x = call.inputs[0].shape;
  RuleResult out;
  out.output = x;
  const ExprShape extents = {x[0], x[1], product_of_range(x, 2, x.size())};
  out.axes = {{"n", extents[0]}, {"c", extents[1]}, {"s", extents[2]}};
  out.free = {"c"};
  out.over = {"n", "s"};
  out.whole = {"n", "c", "s"};
  for (const RuleInput& input : call.inputs) {
    if (input.shape == x)
      out.called[input.name] = extents;
    else if (input.shape.size() == 1)
      out.called[input.name] = {extents[1]};
    else  // targets: no channels
      out.called[input.name] = {extents[0], extents[2]};
  }
  out.sizes = {{"size_n", extents[0]},
               {"size_c", extents[1]},
               {"size_s", extents[2]},
               {"count", times(extents[0], extents[2])}};
  return out;
}

// x as samples, groups of channels, places within: coordinates n, g, k.
Result<RuleResult> groups(const RuleCall& call) {
  if (call.inputs.empty() || call.inputs[0].shape.size() < 2) return unfit("x has no channels");
  const ExprShape& x = call.inputs[0].shape;
  const std::int64_t count = std::max<std::int64_t>(integer(call, "groups"), 1);
  RuleResult out;
  out.output = x;
  const Expr places = product_of_range(x, 2, x.size());
  const Expr each = times(divided(x[1], count), places);
  out.axes = {{"n", x[0]}, {"g", count}, {"k", each}};
  out.free = {"n", "g"};
  out.over = {"k"};
  out.whole = {"n", "g", "k"};
  for (const RuleInput& input : call.inputs)
    out.called[input.name] = input.shape == x ? ExprShape{x[0], count, each} : ExprShape{x[1]};
  out.sizes = {{"size_k", each}, {"size_s", places}, {"channels", divided(x[1], count)}};
  return out;
}

// Products summed over letters that the output lacks: "bij,jk->bik". Texts name the inputs' values.
Result<RuleResult> contraction(const RuleCall& call, const std::string& equation) {
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return unfit("the equation '" + equation + "' has no ->");
  std::vector<std::string> parts(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  }
  RuleResult out;
  std::map<char, Expr> extents;
  if (parts.size() > call.inputs.size())
    return unfit(fmt::format("the equation has {} inputs", parts.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const RuleInput& input = call.inputs[i];
    if (parts[i].size() != input.shape.size())
      return unfit(fmt::format("'{}' for {} dimensions", parts[i], input.shape.size()));
    for (std::size_t d = 0; d < parts[i].size(); ++d) {
      const char letter = parts[i][d];
      const auto known = extents.find(letter);
      if (known != extents.end() && known->second != input.shape[d])
        return unfit(
            fmt::format("'{}' is {} and {}", letter, known->second.text, input.shape[d].text));
      if (known == extents.end()) {
        extents[letter] = input.shape[d];
        out.axes.push_back({std::string("c_") + letter, input.shape[d]});
      }
      out.valued[input.name].push_back(std::string("c_") + letter);
    }
  }
  for (const char letter : equation.substr(arrow + 2)) {
    if (letter == ' ') continue;
    if (extents.count(letter) == 0) return unfit(fmt::format("'{}' is no input's", letter));
    out.free.push_back(std::string("c_") + letter);
    out.output.push_back(extents[letter]);
  }
  for (const StageAxis& axis : out.axes) {
    if (std::find(out.free.begin(), out.free.end(), axis.name) == out.free.end())
      out.over.push_back(axis.name);
  }
  out.whole = out.free;
  return out;
}

Result<RuleResult> einsum(const RuleCall& call) {
  return contraction(call, word(call, "equation"));
}

// torch.matmul: vectors, matrices, batches that are broadcast; `transpose_a`, `transpose_b` swap
// the last two dimensions first.
Result<RuleResult> matmul(const RuleCall& call) {
  if (call.inputs.size() < 2) return unfit("there are fewer than two inputs");
  ExprShape a = call.inputs[0].shape, b = call.inputs[1].shape;
  if (a.empty() || b.empty()) return unfit("an input has no dimension");
  const bool turned_a = integer(call, "transpose_a") != 0,
             turned_b = integer(call, "transpose_b") != 0;
  if (turned_a && a.size() > 1) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (turned_b && b.size() > 1) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const bool row = a.size() > 1, column = b.size() > 1;
  const Expr k = a.back();
  if (k != (column ? b[b.size() - 2] : b.back()))
    return unfit(fmt::format("inner extents {} and {} differ", k.text,
                             (column ? b[b.size() - 2] : b.back()).text));
  const auto batch = broadcast({ExprShape(a.begin(), a.end() - (row ? 2 : 1)),
                                ExprShape(b.begin(), b.end() - (column ? 2 : 1))});
  if (!batch) return batch.error();
  RuleResult out;
  out.axes = numbered(*batch, "b");
  const auto batch_names = all_names(out.axes);
  out.output = *batch;
  if (row) out.axes.push_back({"m", a[a.size() - 2]}), out.output.push_back(a[a.size() - 2]);
  if (column) out.axes.push_back({"n", b.back()}), out.output.push_back(b.back());
  out.free = out.whole = all_names(out.axes);
  out.axes.push_back({"k", k});
  out.over = {"k"};
  if (out.output.empty()) out.output.push_back(1);
  const auto place = [&](const ExprShape& shape, std::size_t inner, std::vector<std::string> rest,
                         bool turned) {
    auto at =
        broadcast_at(ExprShape(shape.begin(), shape.end() - static_cast<long>(inner)), batch_names);
    if (turned && rest.size() == 2) std::swap(rest[0], rest[1]);
    at.insert(at.end(), rest.begin(), rest.end());
    return at;
  };
  using Names = std::vector<std::string>;
  out.valued[call.inputs[0].name] =
      place(a, row ? 2 : 1, row ? Names{"m", "k"} : Names{"k"}, turned_a);
  out.valued[call.inputs[1].name] =
      place(b, column ? 2 : 1, column ? Names{"k", "n"} : Names{"k"}, turned_b);
  for (std::size_t i = 2; i < call.inputs.size(); ++i)
    out.valued[call.inputs[i].name] = broadcast_at(call.inputs[i].shape, out.free);
  return out;
}

// x by rows r and k, weight n by k, bias n.
Result<RuleResult> linear(const RuleCall& call) {
  if (call.inputs.size() < 2 || call.inputs[0].shape.empty() || call.inputs[1].shape.size() != 2)
    return unfit("linear takes x and a matrix");
  const ExprShape &x = call.inputs[0].shape, &weight = call.inputs[1].shape;
  if (x.back() != weight[1])
    return unfit(fmt::format("inner extents {} and {} differ", x.back().text, weight[1].text));
  RuleResult out;
  const Expr rows = product_of_range(x, 0, x.size() - 1);
  out.axes = {{"r", rows}, {"n", weight[0]}, {"k", weight[1]}};
  out.free = out.whole = {"r", "n"};
  out.over = {"k"};
  out.output = x;
  out.output.back() = weight[0];
  out.called[call.inputs[0].name] = {rows, weight[1]};
  out.called[call.inputs[1].name] = weight;
  if (call.inputs.size() > 2) out.called[call.inputs[2].name] = {weight[0]};
  return out;
}

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

// Windows have coordinates p0..p2 of the output's places, k0..k2 within the window.
struct Window {
  std::vector<std::int64_t> stride, padding, dilation;
  ExprShape places, kernel;
};

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
  // The last window begins within the input or its left padding.
  if (!ceil) return count;
  return Expr(
      fmt::format("min({}, ({})/{} + 1)", count.text, plus(extent, padding - 1).text, stride));
}

// Convolution: x n, channels, places; weight out, channels of a group, window; bias out.
// Coordinates n, g, o (out channel within the group), p0..p2; over c and k0..k2.
Result<RuleResult> convolution(const RuleCall& call, bool transposed) {
  if (call.inputs.size() < 2) return unfit("a convolution takes x and a weight");
  const ExprShape &x = call.inputs[0].shape, &weight = call.inputs[1].shape;
  if (x.size() < 3 || x.size() > 5 || weight.size() != x.size())
    return unfit("x and the weight have 3 to 5 dimensions");
  const std::size_t rank = x.size() - 2;
  const std::int64_t group = std::max<std::int64_t>(integer(call, "groups"), 1);
  Window window{in_space(integers(call, "stride"), rank, 1),
                in_space(integers(call, "padding"), rank, 0),
                in_space(integers(call, "dilation"), rank, 1), in_space(x, 2), in_space(weight, 2)};
  const auto extra = in_space(integers(call, "output_padding"), rank, 0);
  RuleResult out;
  const Expr outs = transposed ? weight[1] : divided(weight[0], group);  // of a group
  const Expr ins = transposed ? divided(x[1], group) : weight[1];
  ExprShape results;
  out.output = {x[0], times(outs, group)};
  for (std::size_t d = 0; d < 3; ++d) {
    std::optional<Result<Expr>> count;
    if (!transposed) {
      count.emplace(window_count(window.places[d], window.kernel[d], window.stride[d],
                                 window.padding[d], window.dilation[d], false));
    } else if (const auto k = number_in(window.kernel[d])) {
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
  out.axes.push_back({"c", ins});
  out.free = out.whole;
  out.called[call.inputs[0].name] = {x[0], x[1], window.places[0], window.places[1],
                                     window.places[2]};
  out.called[call.inputs[1].name] = {weight[0], weight[1], window.kernel[0], window.kernel[1],
                                     window.kernel[2]};
  if (call.inputs.size() > 2) out.called[call.inputs[2].name] = {times(outs, group)};
  out.sizes.push_back({"size_c", ins});
  out.sizes.push_back({"size_o", outs});
  return out;
}
Result<RuleResult> window(const RuleCall& call) { return convolution(call, false); }
Result<RuleResult> transposed_window(const RuleCall& call) { return convolution(call, true); }

// Windows of `kernel_size` over the last `rank` dimensions: coordinates m (all others), p0..p2,
// over k0..k2.
Result<RuleResult> pool(const RuleCall& call) {
  if (call.inputs.empty()) return unfit("there is no input");
  const ExprShape& x = call.inputs[0].shape;
  const auto rank = static_cast<std::size_t>(std::clamp<std::int64_t>(integer(call, "rank"), 1, 3));
  if (x.size() < rank) return unfit(fmt::format("x has fewer than {} dimensions", rank));
  const std::size_t first = x.size() - rank;
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
  const Expr others = product_of_range(x, 0, first);
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
  out.free = out.whole;
  out.called[call.inputs[0].name] = {others, window.places[0], window.places[1], window.places[2]};
  return out;
}

// Texts of comma-separated expressions: "b, heads, t, d".
ExprShape shape_word(const std::string& text) {
  ExprShape out;
  int depth = 0;
  std::string one;
  for (const char c : text + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      const std::size_t begin = one.find_first_not_of(' '), end = one.find_last_not_of(' ');
      if (begin != std::string::npos) out.emplace_back(one.substr(begin, end - begin + 1));
      one.clear();
    } else {
      one += c;
    }
  }
  return out;
}

// The shape that a layout operator is told: `shape` as numbers or as a text of expressions.
ExprShape told_shape(const RuleCall& call) {
  ExprShape out = shape_word(word(call, "shape"));
  if (out.empty())
    for (const std::int64_t extent : integers(call, "shape")) out.emplace_back(extent);
  return out;
}

// The same elements in row-major order.
Result<RuleResult> reshape(const RuleCall& call) {
  if (call.inputs.empty()) return unfit("there is no input");
  RuleResult out;
  out.output = told_shape(call);
  if (out.output.empty()) return unfit("`shape` is missing");
  const Expr count = product_of(out.output);
  out.axes = {{"e", count}};
  out.whole = out.free = {"e"};
  out.called[call.inputs[0].name] = {count};
  out.term = call.inputs[0].name + "(e)";
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

Result<RuleResult> permute(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  std::vector<std::size_t> from;
  for (const std::int64_t dim : integers(call, "dims")) {
    const auto d = dimension(dim, x.size());
    if (!d) return d.error();
    from.push_back(*d);
  }
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

Result<RuleResult> expand(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const ExprShape output = told_shape(call);
  if (output.size() < x.size()) return unfit("`shape` has fewer dimensions than x");
  auto fits = broadcast({x, output});
  if (!fits) return fits.error();
  if (*fits != output) return unfit("x does not expand to `shape`");
  return moved(call, output, [&](const RuleResult& out, std::size_t d) {
    return is_one(x[d]) ? std::string("0") : out.axes[output.size() - x.size() + d].name;
  });
}

// Elements start, start + step … of dimension `dim`, `length` of them (0: to the end).
Result<RuleResult> slice(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  const std::int64_t start = integer(call, "start"),
                     step = std::max<std::int64_t>(integer(call, "step"), 1);
  ExprShape output = x;
  const std::int64_t length = integer(call, "length");
  output[*dim] = length > 0 ? Expr(length) : plus(divided(plus(x[*dim], -start - 1), step), 1);
  return moved(call, output, [&](const RuleResult& out, std::size_t d) {
    if (d != *dim) return out.axes[d].name;
    return fmt::format("{} * {}ll + {}ll", out.axes[d].name, step, start);
  });
}

// One place of dimension `dim`, which goes.
Result<RuleResult> select(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  ExprShape output = x;
  output.erase(output.begin() + static_cast<long>(*dim));
  if (output.empty()) output.push_back(1);
  const std::int64_t index = integer(call, "index");
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    if (d != *dim) return result.axes[d < *dim ? d : d - 1].name;
    return index < 0 ? fmt::format("size_d - {}ll", -index) : fmt::format("{}ll", index);
  });
  if (out) out->sizes.push_back({"size_d", x[*dim]});
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

// `padding`: before and after of the last dimension, then of the one before it …; `value`.
Result<RuleResult> pad(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto padding = integers(call, "padding");
  if (padding.size() % 2 != 0 || padding.size() / 2 > x.size())
    return unfit("`padding` names two numbers a dimension, from the last");
  ExprShape output = x;
  std::string inside = "true";
  std::vector<std::int64_t> before(x.size(), 0);
  for (std::size_t p = 0; p < padding.size() / 2; ++p) {
    const std::size_t d = x.size() - 1 - p;
    before[d] = padding[2 * p];
    output[d] = plus(x[d], padding[2 * p] + padding[2 * p + 1]);
    inside += fmt::format(" && c{0} >= {1}ll && c{0} < size_c{0} + {1}ll", d, before[d]);
  }
  auto out = moved(call, output, [&](const RuleResult& result, std::size_t d) {
    return fmt::format("inside ? {} - {}ll : 0", result.axes[d].name, before[d]);
  });
  if (!out) return out;
  for (std::size_t d = 0; d < x.size(); ++d)
    out->sizes.push_back({fmt::format("size_c{}", d), x[d]});
  out->constants.emplace_back("inside", inside);
  out->term = fmt::format("inside ? real({}) : real(value)", call.inputs[0].name);
  return out;
}

// Inputs one after another along `dim`.
Result<RuleResult> cat(const RuleCall& call) {
  const ExprShape& x = call.inputs[0].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  RuleResult out;
  out.output = x;
  std::string total, term;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const RuleInput& input = call.inputs[i];
    ExprShape rest = input.shape;
    if (rest.size() == x.size()) rest[*dim] = x[*dim];
    if (rest != x) return unfit("input " + input.name + " has another shape");
    out.sizes.push_back({fmt::format("begin{}", i), total.empty() ? Expr(0) : Expr(total)});
    total += (total.empty() ? "" : " + ") + bracketed(input.shape[*dim]);
  }
  Expr sum = 0;
  bool numeric = true;
  for (const RuleInput& input : call.inputs) {
    const auto n = number_in(input.shape[*dim]);
    numeric = numeric && n.has_value();
    if (n) sum = *number_in(sum) + *n;
  }
  out.output[*dim] = numeric ? sum : Expr(total);
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
    if (call.inputs[i].shape != x)
      return unfit("input " + call.inputs[i].name + " has another shape");
    out.valued[call.inputs[i].name] = at;
    out.term += i + 1 == call.inputs.size() ? fmt::format("real({})", call.inputs[i].name)
                                            : fmt::format("{} == {} ? real({}) : ", out.whole[*dim],
                                                          i, call.inputs[i].name);
  }
  return out;
}

// torch.gather: the index's shape; dimension `dim` of x is read where the index says.
Result<RuleResult> gather(const RuleCall& call) {
  if (call.inputs.size() != 2) return unfit("gather takes x and an index");
  const ExprShape &x = call.inputs[0].shape, &index = call.inputs[1].shape;
  const auto dim = dimension(integer(call, "dim"), x.size());
  if (!dim) return dim.error();
  if (index.size() != x.size()) return unfit("x and the index have different ranks");
  RuleResult out;
  out.output = index;
  out.axes = numbered(index, "c");
  out.whole = out.free = all_names(out.axes);
  out.called[call.inputs[0].name] = x;
  out.valued[call.inputs[1].name] = out.whole;
  std::string at;
  for (std::size_t d = 0; d < x.size(); ++d)
    at += (d == 0 ? "" : ", ") + (d == *dim ? call.inputs[1].name : out.axes[d].name);
  out.term = fmt::format("real({}({}))", call.inputs[0].name, at);
  return out;
}

// Rows of a table by an index of any shape.
Result<RuleResult> embedding(const RuleCall& call) {
  if (call.inputs.size() != 2 || call.inputs[0].shape.size() != 2)
    return unfit("embedding takes a table of two dimensions and an index");
  RuleResult out;
  out.output = call.inputs[1].shape;
  out.output.push_back(call.inputs[0].shape[1]);
  out.axes = numbered(out.output, "c");
  out.whole = out.free = all_names(out.axes);
  out.called[call.inputs[0].name] = call.inputs[0].shape;
  out.valued[call.inputs[1].name] = {out.whole.begin(), out.whole.end() - 1};
  out.term =
      fmt::format("real({}({}, {}))", call.inputs[0].name, call.inputs[1].name, out.whole.back());
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

struct Rule {
  std::string_view name;
  Result<RuleResult> (*apply)(const RuleCall&);
};
constexpr Rule rules[] = {
    {"elementwise", elementwise},
    {"reduce", reduce},
    {"lines", lines},
    {"last", last},
    {"channels", channels},
    {"groups", groups},
    {"einsum", einsum},
    {"matmul", matmul},
    {"linear", linear},
    {"window", window},
    {"pool", pool},
    {"transposed_window", transposed_window},
    {"reshape", reshape},
    {"permute", permute},
    {"expand", expand},
    {"slice", slice},
    {"select", select},
    {"turned", turned},
    {"pad", pad},
    {"cat", cat},
    {"stack", stack},
    {"gather", gather},
    {"embedding", embedding},
    {"triangle", triangle},
};

}  // namespace

Expr product_of(const ExprShape& extents) { return product_of_range(extents, 0, extents.size()); }

bool is_rule(std::string_view name) {
  return std::any_of(std::begin(rules), std::end(rules),
                     [&](const Rule& rule) { return rule.name == name; });
}

Result<RuleResult> apply_rule(std::string_view name, const RuleCall& call) {
  if (call.inputs.empty()) return unfit("there is no input");
  for (const Rule& rule : rules) {
    if (rule.name == name) return rule.apply(call);
  }
  return unfit(fmt::format("no rule is named '{}'", name));
}

}  // namespace cupilot
