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
  CHECK(run("verify c --bind x=arg0", scratch).exit == 2);
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

namespace {

// y = x + x, of so many elements.
std::string doubled(int n) {
  return R"({"cupilot_task": 2, "name": "doubled", "axes": [{"name": "n", "kind": "free"}],
 "tensors": [{"name": "x", "type": "fp32", "shape": ["n"], "role": "in"},
             {"name": "y", "type": "fp32", "shape": ["n"], "role": "out"}],
 "operations": [{"name": "a", "op": "add", "in": ["x", "x"], "out": ["y"]}],
 "precision": "fp32-strict", "time_shapes": [{"sizes": {"n": )" +
         std::to_string(n) + "}}]}";
}

Ran evolve(const Scratch& scratch, const std::string& words) {
  std::filesystem::remove_all(scratch.path / "r");
  return run("evolve " + words + " --device virtual:h200 --evaluations 1 --run r", scratch);
}

}  // namespace

TEST_CASE("a captured launch is timed beside the champion once it is proved", "[cli]") {
  const Scratch scratch;
  REQUIRE(capture(scratch, "twice through").exit == 0);
  scratch.file("task.json", doubled(100));
  const Ran told = evolve(scratch, "c --entry twice --task task.json");
  CHECK(told.exit == 0);
  CHECK(has(told, "note: baseline c: launch 1 twice<<<(4,1,1), (32,1,1)>>>; arg0 is x, arg1 is y"));
  CHECK(has(told, "\nc: launch 1 twice<<<(4,1,1), (32,1,1)>>> "));
  const Ran resumed = run("resume r --evaluations 2 --json", scratch);
  REQUIRE(resumed.exit == 0);
  const auto json = nlohmann::json::parse(resumed.out);
  const auto& baselines = json["baselines"];
  REQUIRE(baselines.size() == 2);
  CHECK(baselines[1]["name"] == "c: launch 1 twice<<<(4,1,1), (32,1,1)>>>");
  CHECK(baselines[1]["says"] == "arg0 is x, arg1 is y");
  CHECK(baselines[1]["ratio"].size() == 1);

  // The arguments exchanged compute nothing: the run goes on without, and says why.
  const Ran wrong =
      evolve(scratch, "c/launch-1 --task task.json --bind y=arg0 --bind x=arg1 --json");
  CHECK(wrong.exit == 0);
  CHECK(has(wrong, "(32,1,1)>>>: refused, run.uninitialised: "));
  CHECK(nlohmann::json::parse(wrong.out)["baselines"].size() == 1);
  // A kernel file goes the same way, and one launch of a capture is judged alone.
  scratch.file(
      "own.cu",
      R"own(// cupilot: {"plan": {"launches": [{"entry": "add", "grid": ["cdiv(n, 32)"],)own"
      R"own( "block": [32], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void add(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
)own");
  const Ran both = evolve(scratch, "task.json --against c/launch-1,own.cu");
  CHECK(both.exit == 0);
  CHECK(has(both, "\nown.cu "));
  CHECK(has(both, "\nc: launch 1 twice"));
  const Ran one = run("verify c/launch-1 --json", scratch);
  CHECK(one.exit == 0);
  CHECK(nlohmann::json::parse(one.out)["launches"].size() == 1);
}

TEST_CASE("a captured launch that fits no task is refused by name", "[cli]") {
  const Scratch scratch;
  REQUIRE(capture(scratch, "twice through").exit == 0);
  scratch.file("task.json", doubled(100));
  scratch.file("large.json", doubled(4096));
  struct Row {
    const char* words;
    int exit;
    const char *reason, *next;
  };
  for (const Row& row : {
           Row{"c --task task.json", 2, "c: 2 launches are meant, and a baseline is one:",
               "name one: c/launch-1, or --entry"},
           Row{"c/launch-7 --task task.json", 9, "c: holds no launch 7", "capture again"},
           Row{"c --entry twice", 2, "c: is a capture, and its launches do not say what",
               "state the task by --task"},
           Row{"task.json --task task.json", 2, "task.json: is no capture", "without --task"},
           Row{"task.json --entry twice", 2, "--entry: there is no capture", "leave --entry out"},
           Row{"c --task task.json --shapes task.json", 2, "--shapes: a portfolio takes no kernel",
               "evolve one shape"},
           Row{"task.json --bind x=arg0", 2, "--bind: there is no capture", "leave --bind out"},
           Row{"c --entry twice --task large.json", 2,
               "arg0 has 400 bytes, and tensor x of task doubled takes 16384 at n=4096",
               "state the task at the sizes that the program had"},
           Row{"c --entry through --task task.json", 2,
               "its pointers arg0 do not tell which are the tensors x, y of task doubled",
               "such as --bind x=arg0"},
           Row{"c --entry twice --task task.json --bind z=arg0", 2,
               "task doubled has no tensor and no scalar 'z'", "--bind x=arg0"},
           Row{"c --entry twice --task task.json --bind x=arg2", 2,
               "'arg2' is no pointer to memory that was met; the launch has arg0, arg1",
               "--bind x=arg0"},
           Row{"c --entry twice --task task.json --bind x=arg0 --bind y=arg0", 2,
               "arg0 is bound already", "--bind x=arg0"},
           Row{"c --entry twice --task task.json --bind arg0", 2, "is not NAME=ARGUMENT",
               "--bind x=arg0"},
       }) {
    INFO(row.words);
    const Ran ran = evolve(scratch, row.words);
    CHECK(ran.exit == row.exit);
    CHECK(has(ran, row.reason));
    CHECK(has(ran, row.next));
  }
}

TEST_CASE("the values that a captured launch left are judged by a task", "[cli]") {
  const Scratch scratch;
  REQUIRE(capture(scratch, "twice wrong").exit == 0);
  scratch.file("task.json", doubled(100));
  const Ran right = run("verify c/launch-1 --task task.json", scratch);
  CHECK(right.exit == 0);
  CHECK(has(right, "launch 1 twice<<<(4,1,1), (32,1,1)>>>: SAFE, and the device's bytes"));
  CHECK(
      has(right, "VALUES RIGHT by task doubled at n=100 in fp32-strict: 100 of 100 elements of y"));
  CHECK(has(right, "arg0 is x, arg1 is y"));
  CHECK(has(right, "NOT PROVED: other contents and sizes than this launch's"));
  const Ran wrong = run("verify c --entry wrong --task task.json --json", scratch);
  CHECK(wrong.exit == 8);
  const auto json = nlohmann::json::parse(wrong.out);
  CHECK(json["launches"][0]["values"]["outcome"] == "wrong");
  CHECK(json["launches"][0]["values"]["code"] == "verify.bound");
  const Ran two = run("verify c --task task.json", scratch);
  CHECK(two.exit == 2);
  CHECK(has(two, "c: 2 launches are meant, and a task is judged by one:"));
}

TEST_CASE("values of machine code are judged, and its safety is said to be open", "[cli]") {
  const Scratch scratch;
  REQUIRE(capture(scratch, "twice").exit == 0);
  scratch.file("task.json", doubled(100));
  std::string events = support::slurp(scratch.path / "c/capture.jsonl");
  const std::string kind = R"("kind": "ptx")";
  events.replace(events.find(kind), kind.size(), R"("kind": "cubin")");
  scratch.file("c/capture.jsonl", events);
  for (const auto& one : std::filesystem::directory_iterator(scratch.path / "c/modules"))
    scratch.file("c/modules/" + one.path().filename().string(), "machine code");
  const Ran right = run("verify c/launch-1 --task task.json", scratch);
  CHECK(right.exit == 9);
  CHECK(has(right, "NOT REPLAYED"));
  CHECK(has(right, "VALUES RIGHT by task doubled"));
  CHECK(has(right, "bounds, races and memory that nobody wrote: not replayed"));
  std::string after = support::slurp(scratch.path / "c/launch-1/buffer-1.after");
  after[4 * 7 + 3] ^= 1;
  scratch.file("c/launch-1/buffer-1.after", after);
  const Ran wrong = run("verify c/launch-1 --task task.json", scratch);
  CHECK(wrong.exit == 8);
  CHECK(has(wrong,
            "VALUES WRONG by task doubled at n=100 in fp32-strict: verify.bound: 1 of 100 "
            "compared elements of y are wrong; worst y[7]: got "));
}
