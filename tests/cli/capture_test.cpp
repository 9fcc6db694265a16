// A program's launches, kept by the injected library and replayed. The driver is tests/inject's.
#include <chrono>
#include <csignal>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;

namespace {

const std::string guest =
    "-- '" CUPILOT_GUEST "' '" CUPILOT_SOURCE_DIR "/tests/data/capture/guest.ptx' ";
const std::string with_driver = "export LD_LIBRARY_PATH='" CUPILOT_FAKE_DRIVER "';";

bool has(const Ran& ran, const std::string& words) {
  UNSCOPED_INFO(ran.out << ran.err);
  return (ran.out + ran.err).find(words) != std::string::npos;
}

Ran capture(const Scratch& scratch, const std::string& launches, const std::string& flags = "") {
  return run("capture --out c " + flags + " " + guest + launches, scratch, with_driver);
}

}  // namespace

TEST_CASE("a program's launches are captured, and those that are not are counted", "[cli]") {
  const Scratch scratch;
  const Ran ran = capture(scratch, "twice twice through +twice graph wrong", "--launches 2");
  CHECK(ran.exit == 0);
  CHECK(has(ran, "y[3] = "));  // the program's own word
  CHECK(has(ran, "CAPTURED 2 distinct launches of 2 kernels in "));
  CHECK(has(ran, "launch 1 twice<<<(4,1,1), (32,1,1)>>>: 2 times, 2 buffers, 800 bytes"));
  CHECK(has(ran, "1 after 2 distinct ones were kept (--launches)"));
  CHECK(has(ran, "1 that were recorded into graphs"));
  CHECK(has(ran, "1 graph launches"));
  const Ran judged = run("verify c", scratch);
  CHECK(judged.exit == 0);
  CHECK(has(judged, "launch 1 twice<<<(4,1,1), (32,1,1)>>>: SAFE, and the device's bytes"));
  CHECK(has(judged, "2 launches: 2 safe, 2 of them as on the device"));
  const Ran one = run("sanitize c --entry through --json", scratch);
  CHECK(one.exit == 0);
  const auto json = nlohmann::json::parse(one.out);
  CHECK(json["outcome"] == "safe");
  REQUIRE(json["launches"].size() == 1);
  CHECK(json["launches"][0]["outcome"] == "same");
}

TEST_CASE("planted faults are found by capture alone, in a program that dies of them", "[cli]") {
  const Scratch scratch;
  const Ran ran = capture(scratch, "racing unwritten wrong past dies");
  CHECK(ran.exit == 0);
  CHECK(has(ran, "the program ended with exit code 9"));
  CHECK(has(ran, "the device reported CUDA_ERROR_ILLEGAL_ADDRESS"));
  const Ran judged = run("verify c", scratch);
  CHECK(judged.exit == 8);
  CHECK(has(judged, "REFUSED run.race"));
  CHECK(has(judged, "REFUSED run.uninitialised"));
  CHECK(has(judged, "WRONG: no fault, and other values than the device's"));
  CHECK(has(judged, "REFUSED run.out_of_bounds"));
  CHECK(has(judged, "0 bytes past the end of argument 1 (400 bytes)"));
  CHECK(has(judged, "4 launches: 0 safe, 0 of them as on the device; 1 wrong; 3 refused"));
}

TEST_CASE("a module that was loaded unseen is found in the program's file", "[cli]") {
  const Scratch scratch;
  CHECK(capture(scratch, "@twice").exit == 0);
  const Ran judged = run("verify c", scratch);
  CHECK(judged.exit == 0);
  CHECK(has(judged, "twice<<<(4,1,1), (32,1,1)>>>: SAFE, and the device's bytes"));
}

TEST_CASE("capture says why it kept nothing", "[cli]") {
  const Scratch scratch;
  const Ran none = run("capture --out a -- sh -c 'exit 5'", scratch);
  CHECK(none.exit == 3);
  CHECK(has(none, "sh: ended with exit code 5, and reached no CUDA driver"));
  const Ran absent = run("capture --out b -- ./absent", scratch);
  CHECK(absent.exit == 2);
  CHECK(has(absent, "./absent: No such file"));
  scratch.file("there", "");
  const Ran full = run("capture --out . -- true", scratch);
  CHECK(full.exit == 2);
  CHECK(has(full, "there is something in it"));
  CHECK(capture(scratch, "twice", "--entry other").exit == 0);
  const Ran empty = run("verify c", scratch);
  CHECK(empty.exit == 9);
  CHECK(has(empty, "c: holds no launch"));
  CHECK(run("verify c --task gemm m=4 n=4 k=4", scratch).exit == 2);
}

TEST_CASE("a capture that cannot be written leaves the program alone", "[cli]") {
  const Scratch scratch;
  const Ran ran = run("capture --out c -- sh -c 'rm -r c; exec " CUPILOT_GUEST
                      " " CUPILOT_SOURCE_DIR "/tests/data/capture/guest.ptx twice twice'",
                      scratch, with_driver);
  CHECK(has(ran, "y[3] = 3"));
  CHECK(has(ran, "nothing more is captured; the program goes on"));
}

TEST_CASE("a signal to capture ends its program too", "[cli]") {
  struct Row {
    const char *program, *ended;
    int exit;
    double seconds = 3;  // 1.4 s of patience and two starts
  };
  for (const Row& row :
       {Row{"kill -TERM $PPID; exec sleep 30", "signal 15", 143},
        Row{"kill -HUP $PPID; exec sleep 30", "signal 1", 129},
        // One that tidies up, one that will not hear, and one that is told twice.
        Row{"trap 'exit 7' TERM; kill -TERM $PPID; while :; do :; done", "exit code 7", 143},
        Row{"trap '' TERM; kill -TERM $PPID; exec sleep 30", "signal 9", 143},
        Row{"trap '' TERM HUP; kill -HUP $PPID; sleep 0.2; kill -TERM $PPID; exec sleep 30",
            "signal 9", 129, 1.3}}) {
    INFO(row.program);
    const Scratch scratch;
    scratch.file("program.sh", std::string("echo $$ >pid; ") + row.program);
    const auto began = std::chrono::steady_clock::now();
    const Ran ran = run("capture --out c -- sh program.sh", scratch);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    CHECK(ran.exit == row.exit);
    CHECK(has(ran, "stopped: sh ended with " + std::string(row.ended)));
    CHECK(took.count() < row.seconds);
    CHECK(kill(std::stoi(support::slurp(scratch.path / "pid")), 0) != 0);
  }
}
