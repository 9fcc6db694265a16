#include <algorithm>
#include <set>

#include <cupilot/parts/technique.hpp>

#include "catch.hpp"
#include "strategy/constraint_graph.hpp"

using namespace cupilot;

TEST_CASE("every row of the catalogue is complete and the table agrees with itself",
          "[catalogue]") {
  REQUIRE(catalogue().size() >= 30);
  std::set<std::string> names;
  for (const Technique& row : catalogue()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_technique(row.name) == &row);
    CHECK(!row.summary.empty());
    CHECK(row.summary.size() <= 80);
    CHECK(row.sentence.ends_with('.'));
    CHECK(!row.targets.empty());
    for (const TechniqueParameter& parameter : row.parameters) {
      INFO(parameter.name);
      CHECK(std::count(parameter.domain.begin(), parameter.domain.end(), parameter.fallback) == 1);
      CHECK(std::is_sorted(parameter.domain.begin(), parameter.domain.end()));
      CHECK((parameter.labels.empty() || parameter.labels.size() == parameter.domain.size()));
      // A prompt that asks for a technique must say what its numbers mean.
      CHECK(row.sentence.find(parameter.name) != std::string::npos);
    }
  }
  CHECK(find_technique("no_such_technique") == nullptr);
}

TEST_CASE("the catalogue's constraint graph has no contradiction", "[catalogue]") {
  const auto graph = ConstraintGraph::build(catalogue());
  INFO((graph ? std::string() : graph.error().message));
  REQUIRE(graph);
  CHECK(graph->size() == static_cast<int>(catalogue().size()));
}

TEST_CASE("resources have distinct names", "[catalogue]") {
  std::set<std::string_view> names;
  for (int r = 0; r <= static_cast<int>(Resource::tail); ++r)
    names.insert(name_of(static_cast<Resource>(r)));
  CHECK(names.size() == static_cast<std::size_t>(Resource::tail) + 1);
}
