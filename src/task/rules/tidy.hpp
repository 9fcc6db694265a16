// Writes extents that say the same in one way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/expr.hpp>

namespace cupilot {

// Returns the expression as a sum of products of names and quotients, like terms joined: "(h - 3) +
// 1" is "h - 2". Sizes are taken to be at least 0. What has no such form stays as it is.
Expr tidied(const Expr& expr);

// Factors of a product in order, each tidied: "(2*h)*((w - 3) + 1)" is 2, h and "w - 2". Ones are
// left out.
std::vector<Expr> factors_in(const Expr& expr);
Expr product_text(const std::vector<Expr>& factors);
// The product of the factors that `by` leaves: of "2*g*w" by "g" it is "2*w". None: `by` is no
// product of factors.
std::optional<Expr> quotient_of(const Expr& product, const Expr& by);

// The texts that a graph writes its extents in.
class KnownExtents {
 public:
  // The first of those texts that say the same; a long one's shortest form.
  Expr text_of(const Expr& extent);

 private:
  // Chains of windows would write extents of windows of windows.
  static constexpr std::size_t longest = 96;
  std::map<std::string, Expr> texts_;  // by their shortest form
};

}  // namespace cupilot
