// Every kernel of the corpus through the whole pipe, on the virtual device.
#include <algorithm>
#include <thread>

#include "catch.hpp"
#include "corpus.hpp"
#include "support/reached.hpp"
#include "support/sample.hpp"

namespace cupilot::hostile {

TEST_CASE("every kernel of the corpus ends as its manifest says") {
  const auto corpus = read_corpus(CUPILOT_SOURCE_DIR "/tests/hostile");
  REQUIRE(corpus);
  // Compile bombs end there.
  BackendOptions limits;
  limits.compile_seconds = 9;
  const auto backend = open_backend("virtual:h200", limits);
  REQUIRE(backend);
  RunOptions options;
  options.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto rows = corpus->rows;
  std::erase_if(rows, [](const auto& row) { return !testing::is_drawn(row.name()); });
  const std::vector<Outcome> outcomes = evaluate_rows(*corpus, rows, **backend, options);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CAPTURE(rows[i].name(), rows[i].expect, outcomes[i].code, outcomes[i].message);
    CHECK(is_allowed(rows[i].expect, outcomes[i].code));
    CHECK(says_why(rows[i], outcomes[i]));
    if (is_allowed(rows[i].expect, outcomes[i].code)) testing::note_reached(outcomes[i].code);
  }
}

}  // namespace cupilot::hostile
