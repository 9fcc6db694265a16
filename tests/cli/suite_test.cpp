// `cupilot suite`: killed at any time and gone on with, packed, and refused.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"

using namespace support;

namespace {

const std::string small = std::string(CUPILOT_SOURCE_DIR) + "/tests/data/suites/small.json";
// Without a limit of seconds a search depends on no clock.
const std::string settings = "suite " + small + " --seconds-per-task 0 ";
const std::string landscape = "--evaluations 60 --device fake:" + fake;

// Reads what a run found, without what the clock decides.
nlohmann::json results(const fs::path& run_dir) {
  auto json = nlohmann::json::parse(slurp(run_dir / "results.json"));
  for (auto& row : json.at("rows")) {
    row.erase("seconds");
    row.erase("contestant_seconds");
    auto& notices = row.at("notices");
    notices.erase(std::remove_if(notices.begin(), notices.end(),
                                 [](const nlohmann::json& one) {
                                   return one.get<std::string>().find("journal") !=
                                          std::string::npos;
                                 }),
                  notices.end());
  }
  return json;
}

// Starts the program, and kills it once `path` is there and `milliseconds` have passed. False: it
// had ended before.
bool killed_after(const std::vector<std::string>& words, const fs::path& path, int milliseconds) {
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    dup2(nothing, 2);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(CUPILOT_PROGRAM, arguments.data());
    _exit(127);
  }
  int status = 0;
  while (!fs::exists(path) && waitpid(child, &status, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const bool alive = waitpid(child, &status, WNOHANG) == 0;
  kill(child, SIGKILL);
  if (alive) waitpid(child, &status, 0);
  return alive;
}

std::vector<std::string> words_of(const std::string& device, int evaluations, const fs::path& dir) {
  return {"cupilot",
          "suite",
          small,
          "--seconds-per-task",
          "0",
          "--evaluations",
          std::to_string(evaluations),
          "--device",
          device,
          "--run",
          dir.string()};
}

}  // namespace

TEST_CASE("a suite that is killed and gone on with finds what an uninterrupted one does", "[cli]") {
  const Scratch scratch;
  REQUIRE(run(settings + landscape + " --run whole", scratch).exit == 0);
  const auto whole = results(scratch.path / "whole");
  CHECK(whole.at("solved") == 3);
  int number = 0, kills = 0;
  for (const char* after : {"suite.json", "tasks/a/journal", "outcomes/a.json", "tasks/b/journal",
                            "outcomes/b.json", "tasks/c/journal"}) {
    CAPTURE(after);
    const fs::path dir = scratch.path / ("killed" + std::to_string(number++));
    kills += killed_after(words_of("fake:" + fake, 60, dir), dir / after, number % 3) ? 1 : 0;
    const Ran again = run(settings + landscape + " --run " + dir.string(), scratch);
    INFO(again.err);
    REQUIRE(again.exit == 0);
    CHECK(results(dir) == whole);
  }
  CHECK(kills > 2);
}

TEST_CASE("a suite on the virtual device survives kill -9", "[cli][search]") {
  const Scratch scratch;
  const std::string device = "--evaluations 5 --device virtual:h200";
  REQUIRE(run(settings + device + " --run whole", scratch).exit == 0);
  const auto whole = results(scratch.path / "whole");
  CHECK(whole.at("solved") == 3);
  const fs::path dir = scratch.path / "killed";
  CHECK(killed_after(words_of("virtual:h200", 5, dir), dir / "tasks/c/journal", 300));
  REQUIRE(run(settings + device + " --run killed", scratch).exit == 0);
  CHECK(results(dir) == whole);
}

TEST_CASE("a finished task is not repeated", "[cli]") {
  const Scratch scratch;
  REQUIRE(run(settings + landscape + " --only a --run r", scratch).exit == 0);
  const auto written = fs::last_write_time(scratch.path / "r/outcomes/a.json");
  const Ran all = run(settings + landscape + " --run r", scratch);
  CHECK(all.exit == 0);
  CHECK(fs::last_write_time(scratch.path / "r/outcomes/a.json") == written);
  CHECK(all.out.find("small:1: 3 of 3 tasks solved") != std::string::npos);
  const std::string csv = slurp(scratch.path / "r/results.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(slurp(scratch.path / "r/index.html").find("Tasks apart") != std::string::npos);
}

TEST_CASE("a run of a suite is packed, and goes on elsewhere", "[cli]") {
  const Scratch scratch;
  REQUIRE(run(settings + landscape + " --only a,b --run here --pack here.tar.xz", scratch).exit ==
          0);
  const Ran there = run(settings + landscape + " --run there --unpack here.tar.xz", scratch);
  INFO(there.err);
  CHECK(there.exit == 0);
  CHECK(there.out.find("3 of 3 tasks solved") != std::string::npos);
  CHECK(slurp(scratch.path / "there/outcomes/a.json") ==
        slurp(scratch.path / "here/outcomes/a.json"));
  const Ran again = run(settings + landscape + " --run there --unpack here.tar.xz", scratch);
  CHECK(again.exit == 2);
  CHECK(again.err.find("holds a run already") != std::string::npos);
}

TEST_CASE("a suite has a pool of its own, which goes along in archives", "[cli][search]") {
  const Scratch scratch;
  unsetenv("CUPILOT_POOL");
  const std::string task_a = settings + "--evaluations 3 --device virtual:h200 --only a --run ";
  REQUIRE(run(task_a + "here --pack here.tar.xz", scratch).exit == 0);
  CHECK(fs::exists(scratch.path / "here/pool.sqlite"));
  REQUIRE(run("suite --run there --unpack here.tar.xz", scratch).exit == 0);
  CHECK(fs::exists(scratch.path / "there/pool.sqlite"));
  REQUIRE(run(task_a + "none --pool off", scratch).exit == 0);
  CHECK_FALSE(fs::exists(scratch.path / "none/pool.sqlite"));
  CHECK_FALSE(fs::exists(scratch.path / "off"));
}

TEST_CASE("a task that fails leaves its error and does not end the suite", "[cli]") {
  const Scratch scratch;
  REQUIRE(run(settings + landscape + " --only a --run r", scratch).exit == 0);
  scratch.file("r/tasks/b", "no folder\n");
  const Ran ran = run(settings + landscape + " --run r", scratch);
  INFO(ran.out + ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("2 of 3 tasks solved, 3 ended") != std::string::npos);
  CHECK(slurp(scratch.path / "r/results.csv").find("r/tasks/b") != std::string::npos);
  const auto row = nlohmann::json::parse(slurp(scratch.path / "r/outcomes/b.json"));
  CHECK_FALSE(row.at("error").get<std::string>().empty());
  CHECK(row.at("seconds").get<double>() > 0);
}

TEST_CASE("settings of a run in which nothing was searched bind nobody", "[cli]") {
  const Scratch scratch;
  CHECK(run(settings + "--device virtual:h200 --against torch --run r", scratch).exit == 3);
  CHECK(run(settings + landscape + " --only a --run r", scratch).exit == 0);
}

TEST_CASE("a directory holds a suite or a run", "[cli]") {
  const Scratch scratch;
  REQUIRE(run(settings + landscape + " --only a --run suite", scratch).exit == 0);
  REQUIRE(run("evolve --device fake:" + fake + " --evaluations 10 --run one", scratch).exit == 0);
  const Ran into_suite =
      run("evolve --device fake:" + fake + " --evaluations 10 --run suite", scratch);
  CHECK(into_suite.exit == 2);
  CHECK(into_suite.err.find("suite is the directory of a suite") != std::string::npos);
  CHECK(into_suite.err.find("choose another --run directory") != std::string::npos);
  const Ran into_run = run(settings + landscape + " --only a --run one", scratch);
  CHECK(into_run.exit == 2);
  CHECK(into_run.err.find("one holds a run of one task") != std::string::npos);
}

TEST_CASE("wrong words are refused before anything is searched", "[cli]") {
  const Scratch scratch;
  struct Row {
    std::string words, says;
  };
  REQUIRE(run(settings + landscape + " --only a --run begun", scratch).exit == 0);
  for (const Row& row : std::vector<Row>{
           {"suite nothing:1 --run r", "unknown suite 'nothing:1'"},
           {"suite nothing.json --run r", "nothing.json"},
           {settings + "--only z --run r", "small:1 has no task 'z'"},
           {settings + "--against torhc --run r", "unknown contestant 'torhc'"},
           {settings + "--device virtual:h200 --against torch --only a --run r",
            "torch is timed on a real device"},
           {"suite --run nowhere", "nowhere is no run of a suite"},
           {settings + landscape + " --seed 2 --run begun", "was begun with seed 1, not 2"}}) {
    const Ran ran = run(row.words, scratch);
    CAPTURE(row.words, ran.err);
    CHECK(ran.exit != 0);
    CHECK(ran.err.find(row.says) != std::string::npos);
  }
}
