// Rules of sums of products.
#include "task/rules/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cupilot::rules {

// Products summed over letters that the output lacks: "bij,jk->bik". Texts name the inputs' values.
Result<RuleResult> einsum(const RuleCall& call) {
  const std::string equation = word(call, "equation");
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
  if (parts.size() != call.inputs.size())
    return unfit(fmt::format("the equation has {} inputs", parts.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const RuleInput& input = call.inputs[i];
    out.term += (i == 0 ? "" : " * ") + input.name;
    if (parts[i].size() != input.shape.size())
      return unfit(fmt::format("'{}' for {} dimensions", parts[i], input.shape.size()));
    for (std::size_t d = 0; d < parts[i].size(); ++d) {
      const char letter = parts[i][d];
      const auto known = extents.find(letter);
      if (known != extents.end() && !alike(call, known->second, input.shape[d]))
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
  if (out.output.empty()) out.output.push_back(1);
  return out;
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
  if (!alike(call, k, column ? b[b.size() - 2] : b.back()))
    return unfit(fmt::format("inner extents {} and {} differ", k.text,
                             (column ? b[b.size() - 2] : b.back()).text));
  const auto batch = broadcast(call, {ExprShape(a.begin(), a.end() - (row ? 2 : 1)),
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
  for (std::size_t i = 2; i < call.inputs.size(); ++i) {
    if (auto fits = note_broadcast(call, call.inputs[i], out.output); !fits) return fits.error();
    out.valued[call.inputs[i].name] = broadcast_at(call.inputs[i].shape, out.free);
  }
  out.sizes = {{"size_k", k}};
  if (!row) out.constants.emplace_back("m", "0ll");
  if (!column) out.constants.emplace_back("n", "0ll");
  return out;
}

// x by rows r and k, weight n by k, bias n.
Result<RuleResult> linear(const RuleCall& call) {
  if (call.inputs.size() < 2 || call.inputs[0].shape.empty() || call.inputs[1].shape.size() != 2)
    return unfit("linear takes x and a matrix");
  const ExprShape &x = call.inputs[0].shape, &weight = call.inputs[1].shape;
  if (!alike(call, x.back(), weight[1]))
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
  if (call.inputs.size() > 2) {
    out.called[call.inputs[2].name] = {weight[0]};
    must_agree(out, call.inputs[2], weight[0]);
  }
  return out;
}

// Queries m and keys n of d numbers, values of e numbers, batches before them: q(b…, m, d),
// k(b…, n, d), v(b…, n, e); further inputs are broadcast to b…, m, n.
Result<RuleResult> queried(const RuleCall& call) {
  if (call.inputs.size() < 3) return unfit("the inputs are queries, keys and values");
  std::vector<ExprShape> batches;
  for (std::size_t i = 0; i < 3; ++i) {
    const ExprShape& shape = call.inputs[i].shape;
    if (shape.size() < 2) return unfit("an input has fewer than two dimensions");
    batches.emplace_back(shape.begin(), shape.end() - 2);
  }
  const ExprShape &q = call.inputs[0].shape, &k = call.inputs[1].shape, &v = call.inputs[2].shape;
  if (!alike(call, q.back(), k.back()) || !alike(call, k[k.size() - 2], v[v.size() - 2]))
    return unfit("queries, keys and values do not fit");
  const auto batch = broadcast(call, batches);
  if (!batch) return batch.error();
  RuleResult out;
  out.axes = numbered(*batch, "b");
  const auto names = out.groups["b"] = all_names(out.axes);
  out.output = *batch;
  out.output.push_back(q[q.size() - 2]);
  out.output.push_back(v.back());
  const Expr keys = v[v.size() - 2];
  for (const StageAxis& axis : {StageAxis{"m", q[q.size() - 2]}, StageAxis{"e", v.back()},
                                StageAxis{"n", keys}, StageAxis{"d", q.back()}})
    out.axes.push_back(axis);
  const auto with = [&](std::size_t input, const char* a, const char* b) {
    auto at = input < 3 ? broadcast_at(batches[input], names) : names;
    at.insert(at.end(), {a, b});
    return at;
  };
  out.free = out.whole = with(3, "m", "e");
  out.over = {"n"};
  out.valued[call.inputs[0].name] = with(0, "m", "d");
  out.valued[call.inputs[1].name] = with(1, "n", "d");
  out.valued[call.inputs[2].name] = with(2, "n", "e");
  ExprShape scores = *batch;
  scores.insert(scores.end(), {q[q.size() - 2], keys});
  for (std::size_t i = 3; i < call.inputs.size(); ++i) {
    if (auto fits = note_broadcast(call, call.inputs[i], scores); !fits) return fits.error();
    out.valued[call.inputs[i].name] = broadcast_at(call.inputs[i].shape, with(3, "m", "n"));
  }
  out.sizes = {{"size_d", q.back()}, {"size_m", q[q.size() - 2]}, {"size_n", keys}};
  return out;
}

}  // namespace cupilot::rules
