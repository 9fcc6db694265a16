// Which reads of a scan's graph are neighbours of a row, and which outputs lie beside the scan.
#include "program/hooks/row_reads.hpp"

#include <algorithm>

#include "catch.hpp"
#include "program/hooks/graph_site.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;
using namespace support::rows;

Operation roll(const char* from, const char* to) {
  return {"roll", "roll", {from}, {to}, {{"dims", Integers{last}}, {"shifts", Integers{1}}}};
}
Operation pad(const char* from, const char* to, std::int64_t before, std::int64_t after) {
  return {"pad", "pad", {from}, {to}, {{"padding", Integers{before, after}}}};
}

// So many columns of zeros before `from`.
std::vector<Operation> late(const char* from, std::int64_t columns, std::vector<Operation> before) {
  before.push_back(cut("x", "f", "end", columns));
  before.push_back({"zero", "full_like", {"f"}, {"z"}, {{"value", 0.0}}});
  before.push_back({"join", "cat", {"z", from}, {"y"}, {{"dim", last}}});
  return before;
}

// A read of x by a run: its place is `moved_by` plus the reader's own, back: minus it.
struct Run {
  std::string moved_by{}, pitch{};
  bool back = false;
  bool operator==(const Run&) const = default;
};

struct Row {
  const char* what;
  std::vector<Operation> operations;
  Expr columns = "cols";  // of y
  std::vector<Run> runs{};
  bool near = true, back = false;
};

TEST_CASE("rows that a scan reads moved or turned are runs, outputs beside it are near") {
  const std::vector<Row> rows = {
      {"plain", {cumsum("x", "y")}},
      {"flip before", {flip("x", "t"), cumsum("t", "y")}, "cols", {{"-1 + cols", "cols", true}}},
      {"flip after", {cumsum("x", "c"), flip("c", "y")}, "cols", {}, true, true},
      {"flip of a flip",
       {flip("x", "t"), flip("t", "u"), cumsum("u", "y")},
       "cols",
       {{"-1 + cols", "cols", true}, {"0", "cols"}}},
      {"cut before", {cut("x", "t", "start", 3), cumsum("t", "y")}, "cols - 3", {{"3", "cols"}}},
      {"cut of a cut",
       {cut("x", "t", "start", 3), cut("t", "u", "start", 2), cumsum("u", "y")},
       "cols - 5",
       {{"5", "cols"}}},
      {"turned cut",
       {cut("x", "t", "end", -1), flip("t", "u"), cumsum("u", "y")},
       "cols - 1",
       {{"0", "cols"}, {"-2 + cols", "cols", true}}},
      {"cut after", {cumsum("x", "c"), cut("c", "y", "end", -1)}, "cols - 1", {{"0", "cols"}}},
      {"one place late", late("c", 1, {cumsum("x", "c")}), "cols + 1", {{"0", "cols"}}},
      {"two places late", late("c", 2, {cumsum("x", "c")}), "cols + 2", {{"0", "cols"}}, false},
      {"exclusive",
       late("c", 1, {cut("x", "t", "end", -1), cumsum("t", "c")}),
       "cols",
       {{"0", "cols"}}},
      {"one place early",
       {cumsum("x", "c"), cut("c", "y", "start", 1)},
       "cols - 1",
       {{"0", "cols"}},
       false},
      {"turned one place early",
       {cumsum("x", "c"), cut("c", "d", "end", -1), flip("d", "y")},
       "cols - 1",
       {{"0", "cols"}},
       true,
       true},
      {"rolled after", {cumsum("x", "c"), roll("c", "y")}, "cols", {}, false},
      {"rolled before", {roll("x", "t"), cumsum("t", "y")}},
      {"padded before", {pad("x", "t", 1, 0), cumsum("t", "y")}, "cols + 1"},
      {"both ways",
       {cumsum("x", "c"), flip("c", "d"), {"sum", "add", {"c", "d"}, {"y"}}},
       "cols",
       {},
       false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto task = graph_task({input("x", {"rows", "cols"}), output("y", {"rows", row.columns})},
                                 row.operations, {{"rows", 3}, {"cols", 20}});
    REQUIRE(task);
    const auto site = graph_site(*task);
    REQUIRE(site);
    std::vector<Run> runs;
    for (const SiteStage& stage : site->stages) {
      for (const SiteRead& read : stage.reads) {
        if (read.kind != SiteRead::Kind::run) continue;
        CHECK(read.source == "x");
        const Run run{read.moved_by.text, read.pitch.text, read.back};
        if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
      }
    }
    CHECK(runs == row.runs);
    CHECK(site->scan_near == row.near);
    CHECK(site->scan_back == row.back);
  }
}

TEST_CASE("graphs without a scan have no runs") {
  const auto task =
      graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                 {flip("x", "t"), {"act", "relu", {"t"}, {"y"}}}, {{"rows", 3}, {"cols", 20}});
  REQUIRE(task);
  const auto site = graph_site(*task);
  REQUIRE(site);
  for (const SiteStage& stage : site->stages) {
    for (const SiteRead& read : stage.reads) CHECK(read.kind != SiteRead::Kind::run);
  }
  CHECK_FALSE(site->scan_near);
}

}  // namespace
}  // namespace cupilot
