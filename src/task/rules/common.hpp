// Shared by shape rules: attributes of a call, arithmetic of extents, coordinates; and all rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/rules/apply.hpp"

namespace cupilot::rules {

Error unfit(const std::string& reason);

std::optional<std::int64_t> number_in(const Expr& expr);
inline bool is_one(const Expr& expr) { return expr.text == "1"; }
std::string bracketed(const Expr& expr);
Expr times(const Expr& a, const Expr& b);
Expr plus(const Expr& a, std::int64_t b);
Expr sum(const Expr& a, const Expr& b);
Expr difference(const Expr& a, const Expr& b);
Expr divided(const Expr& a, std::int64_t b);
Expr product_of_range(const ExprShape& shape, std::size_t begin, std::size_t end);

// Attributes of a call: 0, none or "" where there is none of the kind.
std::int64_t integer(const RuleCall& call, const char* name);
std::vector<std::int64_t> integers(const RuleCall& call, const char* name);
std::string word(const RuleCall& call, const char* name);
// A number of at least 1, or the text of an expression.
Expr told_number(const RuleCall& call, const char* name);
bool has(const RuleCall& call, const char* name);

// One for each of `rank` dimensions: as given, or the one repeated.
std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t rank,
                                 std::int64_t otherwise);
// Index of a dimension that may be counted from the end.
Result<std::size_t> dimension(std::int64_t dim, std::size_t rank);

std::vector<std::string> all_names(const std::vector<StageAxis>& axes);
std::vector<StageAxis> numbered(const ExprShape& shape, const char* letter);
// True where extents are the same: their texts are, or the call's equalities take them.
bool alike(const RuleCall& call, const Expr& a, const Expr& b);
bool alike(const RuleCall& call, const ExprShape& a, const ExprShape& b);
// Notes an extent that must stay a number.
void keep(const RuleCall& call, const Expr& extent);
// Notes that values of `index` are places along an extent.
void note_places(const RuleCall& call, const RuleInput& index, const Expr& extent);

// Broadcast of shapes as NumPy has it.
Result<ExprShape> broadcast(const RuleCall& call, const std::vector<ExprShape>& shapes);
// Notes that an input that is read at coordinates of a larger shape has its extents, or 1.
Result<void> note_broadcast(const RuleCall& call, const RuleInput& input, const ExprShape& into);
// Coordinates of a broadcast input within those of the output.
std::vector<std::string> broadcast_at(const ExprShape& shape, const std::vector<std::string>& at);

// Shape that an operator is told: `shape` as numbers or as a text of expressions.
ExprShape told_shape(const RuleCall& call);

// The extent of each of `count` equal parts of `whole`, which is asked to be a multiple of it at
// all sizes where `count` is no number.
Result<Expr> part_of(const RuleCall& call, RuleResult& out, const Expr& whole, const Expr& count,
                     const char* elements);

// An input that is read as a vector must have so many elements.
void must_agree(RuleResult& out, const RuleInput& input, const Expr& elements);

Result<RuleResult> elementwise(const RuleCall& call);
Result<RuleResult> filled(const RuleCall& call);
Result<RuleResult> reduce(const RuleCall& call);
Result<RuleResult> lines(const RuleCall& call);
Result<RuleResult> last(const RuleCall& call);
Result<RuleResult> channels(const RuleCall& call);
Result<RuleResult> channels_or_one(const RuleCall& call);
Result<RuleResult> classes(const RuleCall& call);
Result<RuleResult> groups(const RuleCall& call);
Result<RuleResult> einsum(const RuleCall& call);
Result<RuleResult> matmul(const RuleCall& call);
Result<RuleResult> linear(const RuleCall& call);
Result<RuleResult> queried(const RuleCall& call);
Result<RuleResult> window(const RuleCall& call);
Result<RuleResult> transposed_window(const RuleCall& call);
Result<RuleResult> pool(const RuleCall& call);
Result<RuleResult> adaptive_pool(const RuleCall& call);
Result<RuleResult> reshape(const RuleCall& call);
Result<RuleResult> flatten(const RuleCall& call);
Result<RuleResult> unflatten(const RuleCall& call);
Result<RuleResult> squeeze(const RuleCall& call);
Result<RuleResult> unsqueeze(const RuleCall& call);
Result<RuleResult> permute(const RuleCall& call);
Result<RuleResult> transpose(const RuleCall& call);
Result<RuleResult> expand(const RuleCall& call);
Result<RuleResult> repeat(const RuleCall& call);
Result<RuleResult> slice(const RuleCall& call);
Result<RuleResult> select(const RuleCall& call);
Result<RuleResult> unfold(const RuleCall& call);
Result<RuleResult> turned(const RuleCall& call);
Result<RuleResult> pad(const RuleCall& call);
Result<RuleResult> triangle(const RuleCall& call);
Result<RuleResult> cat(const RuleCall& call);
Result<RuleResult> stack(const RuleCall& call);
Result<RuleResult> gather(const RuleCall& call);
Result<RuleResult> index_select(const RuleCall& call);
Result<RuleResult> embedding(const RuleCall& call);

}  // namespace cupilot::rules
