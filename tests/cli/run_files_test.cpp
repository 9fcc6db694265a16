// What the program does to the files of a run directory when it is started or continued in ways
// that are not foreseen.
#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

namespace {

const std::string on_landscape =
    "--device fake:'" CUPILOT_SOURCE_DIR "/tests/data/landscapes/small.json'";

}  // namespace

TEST_CASE("standard streams that are closed take no file's place", "[cli]") {
  const Scratch scratch;
  struct Row {
    std::string closed, run;
  };
  for (const Row& row : {Row{"<&- >&-", "a"}, Row{">&-", "b"}, Row{"<&- >&- 2>&-", "c"}}) {
    scratch.file("closed", "exec \"$@\" " + row.closed + "\n");
    INFO(row.closed);
    CHECK(run("evolve " + on_landscape + " --evaluations 20 --run " + row.run, scratch, "sh closed")
              .exit == 0);
    const std::string lock = slurp(scratch.path / row.run / "lock");
    CHECK(lock.find_first_not_of("0123456789\n") == std::string::npos);
    const Ran report = run("report " + row.run, scratch);
    INFO(report.err);
    CHECK(report.exit == 0);
    CHECK(report.out.find("20 evaluations") != std::string::npos);
  }
}

TEST_CASE("a refused evolve with models leaves the run's tape alone", "[cli]") {
  const Scratch scratch;
  scratch.file("other.jsonl", "{\"cupilot_tape\": 1, \"note\": \"another\"}\n");
  scratch.file("models.json", R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1"}],
    "models": [{"name": "m", "endpoint": "e", "model": "large"}], "roles": {"*": "m"}})");
  for (const std::string& name : {std::string("taped"), std::string("bare")}) {
    REQUIRE(run("evolve " + on_landscape + " --evaluations 10 --run " + name, scratch).exit == 0);
    const std::string mine = "{\"cupilot_tape\": 1, \"note\": \"mine\"}\n";
    if (name == "taped") scratch.file("taped/tape.jsonl", mine);
    for (const std::string& models :
         {std::string("--tape other.jsonl"), std::string("--models models.json")}) {
      const Ran again = run("evolve " + on_landscape + " " + models + " --run " + name, scratch);
      INFO(again.err);
      CHECK(again.exit == 2);
      CHECK(again.err.find(name + " already holds a run") != std::string::npos);
      CHECK(slurp(scratch.path / name / "tape.jsonl") == (name == "taped" ? mine : ""));
      CHECK(std::filesystem::exists(scratch.path / name / "tape.jsonl") == (name == "taped"));
    }
  }
}

TEST_CASE("a tape answers the runs whose journal says that models took part, and no other",
          "[cli]") {
  const Scratch scratch;
  scratch.file("t.jsonl", "{\"cupilot_tape\": 1}\n");
  REQUIRE(run("evolve " + on_landscape + " --evaluations 20 --run without", scratch).exit == 0);
  REQUIRE(
      run("evolve " + on_landscape + " --evaluations 20 --tape t.jsonl --run with", scratch).exit ==
      0);
  scratch.file("without/tape.jsonl", "this is no tape\n");
  std::filesystem::remove(scratch.path / "with/tape.jsonl");
  for (const char* verb : {"resume without --evaluations 30", "report without", "replay without"}) {
    const Ran ran = run(verb, scratch);
    INFO(verb << "\n" << ran.err);
    CHECK(ran.exit == 0);
    CHECK(ran.out.find("models:") == std::string::npos);
  }
  const Ran lacks = run("resume with --evaluations 30", scratch);
  INFO(lacks.err);
  CHECK(lacks.exit == 2);
  CHECK(lacks.err.find("models took part in with, and its tape.jsonl is gone") !=
        std::string::npos);
  CHECK(lacks.err.find("--models") != std::string::npos);
  scratch.file("with/tape.jsonl", "{\"cupilot_tape\": 1}\n");
  CHECK(run("resume with --evaluations 30", scratch).exit == 0);
}

TEST_CASE("a resume tells the pool that it is told", "[cli][search]") {
  const Scratch scratch;
  const std::string go =
      "evolve gemm m=16 n=16 k=16 --device virtual:h200 --evaluations 3 --run r --pool "
      "first.sqlite";
  REQUIRE(run(go, scratch).exit == 0);
  REQUIRE(std::filesystem::exists(scratch.path / "first.sqlite"));
  REQUIRE(run("resume r --evaluations 4 --pool other.sqlite", scratch).exit == 0);
  CHECK(std::filesystem::exists(scratch.path / "other.sqlite"));
  std::filesystem::remove(scratch.path / "first.sqlite");
  REQUIRE(run("resume r --evaluations 5 --pool off", scratch).exit == 0);
  CHECK_FALSE(std::filesystem::exists(scratch.path / "first.sqlite"));
  CHECK_FALSE(std::filesystem::exists(scratch.path / "off"));
  REQUIRE(run("resume r --evaluations 6", scratch).exit == 0);
  CHECK(std::filesystem::exists(scratch.path / "first.sqlite"));
}

TEST_CASE("a run that is not over does not say that nothing is valid", "[cli]") {
  const Scratch scratch;
  REQUIRE(run("evolve " + on_landscape + " --evaluations 60 --run r", scratch).exit == 0);
  std::filesystem::resize_file(scratch.path / "r/journal",
                               std::filesystem::file_size(scratch.path / "r/journal") / 2);
  // best/ is there as in a finished run that is searched further.
  CHECK(run("report r", scratch).out.find("r/best/ holds the kernel that was confirmed before") !=
        std::string::npos);
  std::filesystem::remove_all(scratch.path / "r/best");
  const Ran report = run("report r", scratch);
  INFO(report.out << report.err);
  CHECK(report.exit == 0);
  CHECK(report.out.find("no kernel is confirmed yet; go on with `cupilot resume r`") !=
        std::string::npos);
  CHECK(report.out.find("no valid candidate") == std::string::npos);
  CHECK(report.out.find("note: r/journal ended in a torn record at byte") != std::string::npos);
}

TEST_CASE("numbers that are none are refused by their flag", "[cli]") {
  const Scratch scratch;
  for (const char* flag : {"--seconds nan", "--target nan", "--seconds inf"}) {
    const Ran ran = run("evolve " + on_landscape + " --run r " + flag, scratch);
    INFO(flag << "\n" << ran.err);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find(std::string(flag).substr(0, 8)) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch.path / "r"));
  }
}
