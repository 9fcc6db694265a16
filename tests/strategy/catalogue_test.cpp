#include <algorithm>
#include <fstream>
#include <set>
#include <string>

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

// Pools, journals and wisdom name techniques; a drawn strategy depends on the order of rows.
TEST_CASE("no row was removed, renamed or moved against another", "[catalogue]") {
  std::ifstream file(CUPILOT_SOURCE_DIR "/tests/strategy/catalogue_names.txt");
  auto at = catalogue().begin();
  std::size_t rows = 0;
  for (std::string name; std::getline(file, name); ++rows) {
    at =
        std::find_if(at, catalogue().end(), [&](const Technique& row) { return row.name == name; });
    INFO(name);
    REQUIRE(at != catalogue().end());
  }
  CHECK(rows == 57);
}
