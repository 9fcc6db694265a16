#include "backend/replayed/landscape.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace cupilot;

namespace {

LandscapeSpec small(LandscapeKind kind) {
  LandscapeSpec spec;
  spec.kind = kind;
  spec.variables = kind == LandscapeKind::deceptive ? 2 : 5;
  spec.values = 3;
  spec.k = kind == LandscapeKind::nk ? 2 : 0;
  return spec;
}

// The fastest of all points, by enumeration.
double fastest(const Landscape& landscape) {
  std::vector<int> point(landscape.sites(), 0);
  double best = landscape.time_us(point);
  while (true) {
    std::size_t site = 0;
    while (site < point.size() && ++point[site] == landscape.states()) point[site++] = 0;
    if (site == point.size()) return best;
    best = std::min(best, landscape.time_us(point));
  }
}

}  // namespace

TEST_CASE("the stated optimum is the fastest point") {
  for (const LandscapeKind kind :
       {LandscapeKind::additive, LandscapeKind::nk, LandscapeKind::deceptive}) {
    const auto landscape = Landscape::make(small(kind));
    REQUIRE(landscape);
    CHECK(fastest(*landscape) == Approx(landscape->spec().best_us));
  }
}

TEST_CASE("a trap rewards every step away from its best") {
  auto landscape = Landscape::make(small(LandscapeKind::deceptive));
  REQUIRE(landscape);
  // From the best point each single change costs; from any other, a change towards it costs too,
  // but the last.
  std::vector<int> best, point(6, 0);
  for (int code = 0; code < 64 && best.empty(); ++code) {
    for (int bit = 0; bit < 6; ++bit) point[static_cast<std::size_t>(bit)] = code >> bit & 1;
    if (landscape->time_us(point) == Approx(landscape->spec().best_us)) best = point;
  }
  REQUIRE(best.size() == 6);
  point = best;
  point[0] ^= 1;
  const double one_wrong = landscape->time_us(point);
  point[1] ^= 1;
  const double two_wrong = landscape->time_us(point);
  CHECK(one_wrong > two_wrong);
  CHECK(two_wrong > landscape->spec().best_us);
}

TEST_CASE("points come from a kernel's constants; what is absent is state 0") {
  auto landscape = Landscape::make(small(LandscapeKind::additive));
  REQUIRE(landscape);
  CHECK(landscape->point_of({}) == std::vector<int>(5, 0));
  CHECK(landscape->point_of({{"v1", 1}, {"v1.value", 2}, {"v4", 1}}) ==
        std::vector<int>{0, 2, 0, 0, 1});
  CHECK(landscape->point_of({{"v1.value", 2}}) == std::vector<int>(5, 0));
  CHECK(landscape->techniques().size() == 5);
}

TEST_CASE("rejections are a function of the point and never hit an optimum") {
  LandscapeSpec spec = small(LandscapeKind::additive);
  spec.reject = 1;
  auto landscape = Landscape::make(spec);
  REQUIRE(landscape);
  int accepted = 0;
  std::vector<int> point(5, 0);
  for (int code = 0; code < 243; ++code) {
    for (int site = 0, rest = code; site < 5; ++site, rest /= 3)
      point[static_cast<std::size_t>(site)] = rest % 3;
    accepted += landscape->rejected(point) ? 0 : 1;
  }
  CHECK(accepted == 1);
}

TEST_CASE("landscape files are read strictly") {
  const auto reason = [](const std::string& text) {
    auto spec = landscape_from_json(text, "file.json");
    if (spec) {
      auto made = Landscape::make(*spec);
      return made ? std::string() : made.error().message;
    }
    CHECK(spec.error().code == ErrorCode::usage);
    CHECK(spec.error().message.find("file.json") == 0);
    return spec.error().message;
  };
  CHECK(reason(R"({"cupilot_landscape": 1, "kind": "additive"})").empty());
  const std::pair<const char*, const char*> bad[] = {
      {"", "JSON"},
      {"[]", "JSON"},
      {R"({"kind": "additive"})", "version"},
      {R"({"cupilot_landscape": 2, "kind": "additive"})", "version"},
      {R"({"cupilot_landscape": 1})", "kind"},
      {R"({"cupilot_landscape": 1, "kind": "flat"})", "kind"},
      {R"({"cupilot_landscape": 1, "kind": "additive", "colour": 1})", "colour"},
      {R"({"cupilot_landscape": 1, "kind": "additive", "variables": "many"})", "variables"},
      {R"({"cupilot_landscape": 1, "kind": "additive", "variables": 0})", "variables"},
      {R"({"cupilot_landscape": 1, "kind": "additive", "k": 1})", "k lies"},
      {R"({"cupilot_landscape": 1, "kind": "nk", "variables": 30, "k": 3})", "2^22"},
      {R"({"cupilot_landscape": 1, "kind": "additive", "reject": 2})", "reject"},
  };
  for (const auto& [text, expected] : bad) {
    INFO(text);
    CHECK(reason(text).find(expected) != std::string::npos);
  }
}
