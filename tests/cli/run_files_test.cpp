// What the program does to the files of a run directory when it is started or continued in ways that are not foreseen.
#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

namespace {

const std::string on_landscape = "--device fake:'" CUPILOT_SOURCE_DIR "/tests/data/landscapes/small.json'";

}  // namespace

TEST_CASE("standard streams that are closed take no file's place", "[cli]") {
  const Scratch scratch;
  struct Row {
    std::string closed, run;
  };
  for (const Row& row : {Row{"<&- >&-", "a"}, Row{">&-", "b"}, Row{"<&- >&- 2>&-", "c"}}) {
    scratch.file("closed", "exec \"$@\" " + row.closed + "\n");
    INFO(row.closed);
    CHECK(run("evolve " + on_landscape + " --evaluations 20 --run " + row.run, scratch, "sh closed").exit == 0);
    const std::string lock = slurp(scratch.path / row.run / "lock");
    CHECK(lock.find_first_not_of("0123456789\n") == std::string::npos);
    const Ran report = run("report " + row.run, scratch);
    INFO(report.err);
    CHECK(report.exit == 0);
    CHECK(report.out.find("20 evaluations") != std::string::npos);
  }
}
