// Texts that are sums of coordinates times what does not depend on them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupilot {

// Factors of the coordinates, and the rest; no number: it is known to be free of coordinates alone.
struct Affine {
  using Number = std::optional<std::int64_t>;
  std::map<std::string, Number> factors{};
  Number rest = 0;

  bool is_known() const;
  friend bool operator==(const Affine&, const Affine&) = default;
};

// A quotient `of / by` that has no remainder.
struct ExactQuotient {
  Affine of{};
  std::int64_t by = 1;
};

struct AffineNames {
  std::function<bool(const std::string&)> is_coordinate{};
  // Text of a constant; empty: a number that only the kernel knows.
  std::function<std::string(const std::string&)> constant{};
  std::vector<ExactQuotient> exact{};
};

// Empty where the text is not of that form, or cannot be told to be.
std::optional<Affine> affine_of(const std::string& text, const AffineNames& names);

}  // namespace cupilot
