// Files of an earlier program (tests/data/earlier): each is read, or refused by name with a next
// step and the exit code of docs/formats/exit-codes.md.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

namespace {

namespace fs = std::filesystem;

// A fresh folder with a copy of the earlier files, and the program run in it.
struct Earlier {
  Scratch scratch;
  Earlier() {
    fs::copy(CUPILOT_SOURCE_DIR "/tests/data/earlier", scratch.path, fs::copy_options::recursive);
  }
  Ran operator()(const std::string& arguments) const { return run(arguments, scratch); }
  std::string text(const char* name) const { return slurp(scratch.path / name); }
};

void expect(const Ran& ran, int exit, std::initializer_list<const char*> words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  for (const char* word : words) {
    INFO(word);
    CHECK((ran.out + ran.err).find(word) != std::string::npos);
  }
}

const std::string search =
    "evolve scale/task.json --tunable scale/tunable.cu --device virtual:h200 --threads 1 ";

}  // namespace

TEST_CASE("an earlier task, tunable and kernel file are read", "[cli]") {
  const Earlier earlier;
  expect(earlier("task check scale/task.json"), 0, {"FIT to be searched"});
  expect(earlier("verify scale/tunable.cu --task scale/task.json --set ROWS=4 "
                 "--device virtual:h200"),
         0, {"PROVED"});
  expect(earlier("verify run/best/kernel.cu --task run/best/task.json --device virtual:h200"), 0,
         {"PROVED"});
}

TEST_CASE("an earlier strategy of the user's own tunable is refused with a next step", "[cli]") {
  const Earlier earlier;
  for (const char* verb : {"verify", "profile"}) {
    INFO(verb);
    expect(earlier(std::string(verb) + " run/best/strategy.json --task scale/task.json "
                                       "--device virtual:h200"),
           2, {"run/best/strategy.json: no template serves task scale", "next: ", "--set"});
    expect(earlier(std::string(verb) + " run/best/strategy.json --task gemm m=64 n=64 k=64 "
                                       "--device virtual:h200"),
           2, {"run/best/strategy.json: none of its techniques", "scale_rows", "next: "});
  }
}

TEST_CASE("an earlier run is reported, continued, and replayed without its models", "[cli]") {
  const Earlier earlier;
  expect(earlier("report run"), 0, {"2 evaluations of 2", "6.40 us"});
  expect(earlier("show run"), 0, {"candidate #1", "few rows a thread"});
  expect(earlier("explain run"), 0, {"scale_rows"});
  expect(earlier("replay run"), 2, {"another version of the prompts", "--policy rules"});
  expect(earlier("replay run --policy rules"), 0, {"replayed run"});
  const std::string before = earlier.text("run/journal");
  expect(earlier("resume run --evaluations 4 --pool off"), 0,
         {"no model answers", "another question", "4 evaluations of 4"});
  const bool kept = earlier.text("run/journal").starts_with(before);
  CHECK(kept);
}

TEST_CASE("an earlier tape answers nobody's other question, and the search says so", "[cli]") {
  const Earlier earlier;
  expect(earlier(search + "--evaluations 2 --run taped --tape run/tape.jsonl --pool off"), 0,
         {"no model answers", "another question", "2 evaluations of 2"});
}

TEST_CASE("an earlier recording is continued by the same words and answers a search", "[cli]") {
  const Earlier earlier;
  const std::string table = earlier.text("record/table.csv");
  const std::string words =
      "record scale/task.json --tunable scale/tunable.cu --device virtual:h200 --count 2 --out ";
  expect(earlier(words + "record"), 0, {"recorded 2 strategies"});
  CHECK(earlier.text("record/table.csv") == table);
  expect(
      earlier("evolve scale/task.json --tunable scale/tunable.cu --device recorded:record "
              "--evaluations 200 --run replayed --pool off"),
      0,
      {"modelled on virtual:h200", "rejected: measure.failed", "record more with `cupilot record"});
}

TEST_CASE("an earlier pool is read, told of the champion, and read again", "[cli]") {
  const Earlier earlier;
  for (const char* name : {"first", "second"}) {
    INFO(name);
    const Ran ran =
        earlier(search + "--evaluations 2 --pool pool.sqlite --run " + std::string(name));
    expect(ran, 0, {"2 evaluations of 2"});
    CHECK(ran.err.find("strategy pool") == std::string::npos);
    const std::string journal = earlier.text((std::string(name) + "/journal").c_str());
    const std::size_t remembered = journal.find("\"remembered\":{");
    REQUIRE(remembered != std::string::npos);
    CHECK(journal.find("scale_rows", remembered) < journal.find("\"search\":{", remembered));
  }
}

TEST_CASE("a pool of a later version costs its advice and says so with a next step", "[cli]") {
  const Earlier earlier;
  std::string bytes = earlier.text("pool.sqlite");
  REQUIRE(bytes[63] == 1);  // PRAGMA user_version, big-endian at 60
  bytes[63] = 9;
  earlier.scratch.file("pool.sqlite", bytes);
  expect(
      earlier(search + "--evaluations 2 --pool pool.sqlite --run later"), 0,
      {"nothing was read from the pool: strategy pool ",
       "pool.sqlite has format 9; this program reads 1; next: ", "nothing was kept in the pool: "});
  CHECK(earlier.text("pool.sqlite") == bytes);
}

TEST_CASE("earlier wisdom is refused by version, and its run directory makes it anew", "[cli]") {
  const Earlier earlier;
  const std::string before = earlier.text("wisdom.json");
  earlier.scratch.file("shapes.txt", "rows=32 cols=64\n");
  const std::string portfolio =
      search + "--evaluations 1 --shapes shapes.txt --wisdom wisdom.json --no-pool --run portfolio";
  for (const std::string& words :
       {std::string("wisdom wisdom.json"), std::string("wisdom wisdom.json --dispatcher made"),
        portfolio}) {
    INFO(words);
    expect(earlier(words), 2, {"wisdom.json: version: is 1", "reads 2", "next: ", "move it away"});
    CHECK(earlier.text("wisdom.json") == before);
  }
  const Ran refused = earlier("wisdom wisdom.json --json");
  CHECK(nlohmann::json::parse(refused.out)["error"]["code"] == 2);
  fs::remove(earlier.scratch.path / "wisdom.json");
  expect(earlier(portfolio), 0, {"wisdom.json --dispatcher"});
  const Ran read = earlier("wisdom wisdom.json");
  expect(read, 0, {"rows=32 cols=64", "#1 "});
  CHECK(read.out.find("#2 ") == std::string::npos);  // the fallback is the kernel that was found
}

TEST_CASE("files of a later version are refused by name with a next step", "[cli]") {
  const Earlier earlier;
  struct Row {
    const char *file, *from, *to, *words, *told;
  };
  for (const Row& row :
       {Row{"scale/task.json", "cupilot_task\": 1", "cupilot_task\": 9",
            "task check scale/task.json", "scale/task.json: cupilot_task: is of another version"},
        Row{"scale/tunable.cu", "tunable 1", "tunable 9",
            "verify scale/tunable.cu --task run/best/task.json --device virtual:h200",
            "scale/tunable.cu: tunable version \"9\""},
        Row{"run/best/strategy.json", "strategy 1", "strategy 9",
            "verify run/best/strategy.json --task scale/task.json --device virtual:h200",
            "run/best/strategy.json: strategy: 'format' is 'cupilot strategy 9'"},
        Row{"run/tape.jsonl", "cupilot_tape\":1", "cupilot_tape\":9", "resume run --evaluations 3",
            "run/tape.jsonl: line 1: format 9, this program reads 1"}}) {
    INFO(row.file);
    std::string text = earlier.text(row.file);
    const std::size_t at = text.find(row.from);
    REQUIRE(at != std::string::npos);
    const std::string first = text;
    earlier.scratch.file(row.file, text.replace(at, std::string(row.from).size(), row.to));
    expect(earlier(row.words), 2, {row.told, "\n  next: "});
    earlier.scratch.file(row.file, first);
  }
}
