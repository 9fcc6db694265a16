#include "program/hooks/affine.hpp"

#include <map>

namespace cupilot {
namespace {

// p, q and k are coordinates; s is 2, at0 a constant of them, size a number of the kernel's own.
AffineNames names(std::vector<ExactQuotient> exact = {}) {
  AffineNames out;
  out.is_coordinate = [](const std::string& name) {
    return name == "p" || name == "q" || name == "k";
  };
  out.constant = [](const std::string& name) -> std::string {
    const std::map<std::string, std::string> all = {
        {"s", "2ll"}, {"at0", "p * s - 1ll + k"}, {"round", "round"}};
    const auto found = all.find(name);
    return found == all.end() ? "" : found->second;
  };
  out.exact = std::move(exact);
  return out;
}

TEST_CASE("sums of coordinates times numbers are affine", "[affine]") {
  struct Row {
    const char* text;
    Affine affine;
  };
  const Affine::Number unknown = std::nullopt;
  const std::vector<Row> rows = {
      {"3", {{}, 3}},
      {"p", {{{"p", 1}}, 0}},
      {"(p + 2 - k * 3) / 1", {{{"p", 1}, {"k", -3}}, 2}},
      {"at0", {{{"p", 2}, {"k", 1}}, -1}},
      {"2 * (at0 - p) - k", {{{"p", 2}, {"k", 1}}, -2}},
      {"p * size + q", {{{"p", unknown}, {"q", 1}}, 0}},
      {"size / 2 + k", {{{"k", 1}}, unknown}},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto found = affine_of(row.text, names());
    REQUIRE(found);
    CHECK(*found == row.affine);
  }
  CHECK(affine_of("p + 2 * k", names())->is_known());
  CHECK_FALSE(affine_of("p * size", names())->is_known());
}

TEST_CASE("what is not affine, or not known to be, is none", "[affine]") {
  for (const char* text : {"", "p * k", "p / 2", "p / size", "p % 2", "min(p, 3)", "p < 3", "p +",
                           "(p", "p q", "-p", "round", "p ? 1 : 2"}) {
    INFO(text);
    CHECK_FALSE(affine_of(text, names()));
  }
}

TEST_CASE("a quotient that has no remainder is affine", "[affine]") {
  const AffineNames exact = names({{{{{"p", 1}, {"k", -1}}, 1}, 2}});
  const auto found = affine_of("(p + 1 - k) / s", exact);
  REQUIRE(found);
  CHECK(found->factors.size() == 2);
  CHECK_FALSE(found->is_known());
  // Another sum or another divisor may have one.
  CHECK_FALSE(affine_of("(p + 2 - k) / s", exact));
  CHECK_FALSE(affine_of("(p + 1 - k) / 3", exact));
}

}  // namespace
}  // namespace cupilot
