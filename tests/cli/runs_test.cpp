// Run directories from outside: made, gone on with, reported, cut off, taken for another's.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"

using support::fake;
using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

TEST_CASE("a search on a landscape runs, reports, shows and refuses to run twice", "[cli]") {
  const Scratch scratch;
  const Ran evolved =
      run("evolve --device fake:'" + fake + "' --evaluations 60 --run r --json", scratch);
  INFO(evolved.err);
  REQUIRE(evolved.exit == 0);
  for (const char* key :
       {"\"best\"", "\"evaluations\"", "\"proposed\"", "\"rejected\"", "\"wall_s\"", "\"seed\"",
        "\"device\"", "\"baselines\"", "\"provenance\"", "\"time_us\"", "\"precision\"", "\"path\"",
        "\"strategy\"", "\"roofline\""}) {
    INFO(key);
    CHECK(evolved.out.find(key) != std::string::npos);
  }
  // A model's times have no noise that a gain could be held against.
  CHECK(nlohmann::json::parse(evolved.out)["best"]["gain_noise"].is_null());
  CHECK(run("report r", scratch).exit == 0);
  CHECK(run("show r", scratch).exit == 0);
  CHECK(run("show r 1 --json", scratch).exit == 0);
  CHECK(run("show r 999999", scratch).exit == 2);
  CHECK(run("report r", scratch).out.find("roofline") == std::string::npos);
  CHECK(run("resume r", scratch).exit == 0);
  const Ran again = run("evolve --device fake:'" + fake + "' --run r", scratch);
  CHECK(again.exit == 2);
  CHECK(again.err.find("resume") != std::string::npos);
}

TEST_CASE("a run that was resumed says so beside its seconds", "[cli]") {
  const Scratch scratch;
  const Ran whole = run("evolve --device fake:'" + fake + "' --evaluations 30 --run r", scratch);
  CHECK(whole.out.find("since it was resumed") == std::string::npos);
  for (const char* verb : {"resume r --evaluations 40", "report r"}) {
    const Ran ran = run(verb, scratch);
    INFO(ran.out << ran.err);
    CHECK(ran.out.find(" s since it was resumed; stopped: ") != std::string::npos);
  }
  CHECK(slurp(scratch.path / "r/report.html").find(" s since it was resumed, ") !=
        std::string::npos);
  const Ran replayed = run("replay r", scratch);
  INFO(replayed.out);
  CHECK(replayed.out.find(" us modelled of the search, ") != std::string::npos);
}

TEST_CASE("the directory of a portfolio is told from a run's", "[cli]") {
  const Scratch scratch;
  REQUIRE(
      run("evolve --device fake:'" + fake + "' --evaluations 10 --run p/shape-1", scratch).exit ==
      0);
  for (const char* verb : {"resume p", "report p", "show p", "replay p", "explain p"}) {
    const Ran ran = run(verb, scratch);
    INFO(verb << "\n" << ran.err);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find("p is the directory of a portfolio") != std::string::npos);
    CHECK(ran.err.find("p/shape-1") != std::string::npos);
  }
}

TEST_CASE("the directory of a suite is told from a run's", "[cli]") {
  const Scratch scratch;
  REQUIRE(std::filesystem::create_directory(scratch.path / "s"));
  scratch.file("s/suite.json", "{}\n");
  const Ran ran = run("report s", scratch);
  INFO(ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("s is the directory of a suite") != std::string::npos);
  CHECK(ran.err.find("cupilot suite --run s") != std::string::npos);
}

TEST_CASE("a resume says that fewer evaluations than the run's limit change nothing", "[cli]") {
  const Scratch scratch;
  REQUIRE(run("evolve --device fake:'" + fake + "' --evaluations 30 --run r", scratch).exit == 0);
  const std::string notice = "the run's limit of 30 evaluations stays: 20 does not raise it";
  const Ran fewer = run("resume r --evaluations 20", scratch);
  INFO(fewer.out << fewer.err);
  CHECK(fewer.exit == 0);
  CHECK((fewer.out + fewer.err).find(notice) != std::string::npos);
  const Ran same = run("resume r --evaluations 30", scratch);
  CHECK((same.out + same.err).find("stays") == std::string::npos);
}

TEST_CASE("a search without a kernel yet tells no time, gain or share", "[cli]") {
  const Scratch scratch;
  const Ran ran = run(
      "evolve gemm m=20000000000 n=1 k=1 dtype=bf16 --device virtual:h200 --evaluations 1 --run r",
      scratch);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 6);
  CHECK(ran.out.find("0 verified  no kernel yet  ") != std::string::npos);
  CHECK(ran.out.find("0.00x plain") == std::string::npos);
}

TEST_CASE("a champion of one technique has none that can be removed alone", "[cli]") {
  const Scratch scratch;
  REQUIRE(run("task new mine", scratch).exit == 0);
  const Ran ran =
      run("evolve mine/task.json --tunable mine/tunable.cu --device virtual:h200 --evaluations 1 "
          "--run r",
          scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  const Ran explained = run("explain r", scratch);
  INFO(explained.out);
  CHECK(explained.out.find("no technique can be removed alone\n") != std::string::npos);
}

TEST_CASE("a run directory of another version, or none, is refused by name", "[cli]") {
  const Scratch scratch;
  REQUIRE(run("evolve --device fake:'" + fake + "' --evaluations 10 --run r", scratch).exit == 0);
  std::string journal = slurp(scratch.path / "r" / "journal");
  journal[0] = static_cast<char>(journal[0] ^ 0x55);
  scratch.file("r/journal", journal);
  const Ran ran = run("resume r", scratch);
  INFO(ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("journal") != std::string::npos);
}

TEST_CASE("a place that cannot be written is named", "[cli]") {
  const Scratch scratch;
  const Ran ran = run("evolve --device fake:'" + fake + "' --run /proc/cupilot-run", scratch);
  INFO(ran.err);
  CHECK(ran.exit != 0);
  CHECK(ran.err.find("/proc/cupilot-run") != std::string::npos);
}

TEST_CASE("a full disk ends the run cleanly and loses nothing", "[cli]") {
  const Scratch scratch;
  // The file-size limit answers like a full disk: a short write, then an error.
  const Ran ran = run("evolve --device fake:'" + fake + "' --evaluations 400 --run r", scratch,
                      "ulimit -f 24;");
  INFO(ran.err);
  CHECK(ran.exit == 1);
  CHECK(ran.err.find("r/") != std::string::npos);
  const Ran resumed = run("resume r", scratch);
  INFO(resumed.err);
  CHECK(resumed.exit == 0);
}

TEST_CASE("ten with a zero before it is ten", "[cli]") {
  const Scratch scratch;
  const Ran ran =
      run("evolve --device fake:" + fake + " --evaluations 010 --seed 010 --run r --json", scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  const auto report = nlohmann::json::parse(ran.out);
  CHECK(report["evaluations"] == 10);
  CHECK(report["seed"] == 10);
}

TEST_CASE("a run that was cut off is reported as not finished, its time as unknown", "[cli]") {
  const Scratch scratch;
  REQUIRE(run("evolve --device fake:" + fake + " --evaluations 60 --run r", scratch).exit == 0);
  const std::string journal = slurp(scratch.path / "r/journal");
  scratch.file("r/journal", journal.substr(0, journal.size() - 40));  // into the end record
  const Ran said = run("report r", scratch);
  INFO(said.out);
  CHECK(said.out.find("; not finished") != std::string::npos);
  CHECK(said.out.find(" in 0.0 s") == std::string::npos);
  CHECK(said.out.find(" us modelled: ") != std::string::npos);
  const auto report = nlohmann::json::parse(run("report r --json", scratch).out);
  CHECK(report["wall_s"].is_null());
  const std::string page = slurp(scratch.path / "r/report.html");
  CHECK(page.find("not finished") != std::string::npos);
  CHECK(page.find("proposals, 0.0 s") == std::string::npos);
}
