// The program from outside: every bad input gets a clear message, the documented exit code, and
// loses nothing.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"
#include "support/sanitized.hpp"

namespace fs = std::filesystem;

namespace {

using cupilot::testing::sanitized;
using support::fake;
using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

const std::string softmax = std::string(CUPILOT_SOURCE_DIR) + "/tests/data/softmax";

}  // namespace

TEST_CASE("a wrong word is answered with its name, a reason and exit 2", "[cli]") {
  struct Case {
    const char* arguments;
    const char* want;  // in the message
  };
  const Case cases[] = {
      {"", "subcommand"},
      {"evolv gemm", "evolve"},
      {"evolve gemm --sed 3", "--seed"},
      {"evolve", "no task"},
      {"evolve gem m=4", "gemm"},
      {"evolve gemm m=0", "m"},
      {"evolve gemm m=-1", "m"},
      {"evolve gemm m=1e12", "m"},
      {"evolve gemm m=1000000000000 n=1000000000000", "bytes"},
      {"evolve gemm m=", "m"},
      {"evolve gemm dtype=fp7", "fp7"},
      {"evolve gemm layout=xy", "layout"},
      {"evolve gemm kk=4", "kk"},
      {"evolve gemm dtype=bf16 precision=int9", "precision"},
      {"evolve gemm act=swish9", "act"},
      {"evolve missing.json", "missing.json"},
      {"frobnicate", "'frobnicate' is no command"},
      {"task chek gemm", "'chek' is no command of 'cupilot task'"},
      {"task chek gemm", "chek: did you mean check?"},
      {"task nww", "nww: did you mean new?"},
      {"task check gemm --famly f", "--famly: did you mean --family?"},
      {"verify a.cu --task gemm --tunable b.cu", "--tunable is no option of 'cupilot verify'"},
      {"evolve gemm --evaluations 0",
       "--evaluations: '0' is no whole number from 1 to 9223372036854775807"},
      {"evolve gemm --evaluations many", "--evaluations: 'many' is no whole number"},
      {"evolve gemm --evaluations 0x10", "'0x10' is no whole number"},
      {"evolve gemm --evaluations 99999999999999999999",
       "'99999999999999999999' is no whole number"},
      {"evolve gemm --seed -1", "--seed: '-1' is no whole number from 0 to 18446744073709551615"},
      {"evolve gemm --seed 18446744073709551616", "--seed"},
      {"evolve gemm --generations 4294967297",
       "--generations: '4294967297' is no whole number from 0 to 2147483647"},
      {"evolve gemm --seconds x", "--seconds: 'x' is no number from 0 on"},
      {"verify k.cu --seed -5", "--seed"},
      {"replay run --seed -1", "--seed"},
      {"evolve gemm --device toaster", "toaster"},
      {"evolve gemm --device fake:missing.json", "missing.json"},
      {"evolve gemm --device virtual:nosuchchip", "nosuchchip"},
      {"evolve gemm --model-share 0.5", "--model-share requires --models or --tape"},
      {"evolve gemm --repairs 1", "--repairs requires --models or --tape"},
      {"evolve gemm --statement /dev/null", "--statement requires --models or --tape"},
      {"evolve gemm --no-prose", "--no-prose requires --models or --tape"},
      {"evolve gemm --no-alignment", "--no-alignment requires --models or --tape"},
      {"evolve gemm --code-crossover", "--code-crossover requires --models or --tape"},
      {"peaks --device virtual:h200 --out p.json", "p.json: nothing was measured on virtual:h200"},
      {"wisdom /dev/null --name x", "--dispatcher"},
      {"verify missing.cu", "missing.cu"},
      {"resume nowhere", "nowhere"},
      {"report nowhere", "nowhere"},
      {"show nowhere", "nowhere"},
      {"evolve gemm --keep 2", "--shapes"},
      {"evolve gemm --regret 2", "--shapes"},
      {"evolve gemm --wisdom w.json", "--shapes"},
      {"evolve gemm --shapes /dev/null --regret -1", "--regret"},
      {"evolve gemm --shapes /dev/null --tape /dev/null", "--tape"},
  };
  const Scratch scratch;
  for (const Case& c : cases) {
    const Ran ran = run(c.arguments, scratch);
    INFO(c.arguments << "\n" << ran.err);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find(c.want) != std::string::npos);
    CHECK(ran.err.find("terminate") == std::string::npos);
  }
}

TEST_CASE("an error under --json is one object on standard output, with the exit's code", "[cli]") {
  const Scratch scratch;
  scratch.file("shapes", "m=64 n=64 k=64\n");
  scratch.file("kernel.cu", "// cupilot: task gemm m=64\n");
  for (const char* arguments : {
           "evolve gem",
           "evolve gemm --sed 3",
           "evolve gemm m=64 --device virtual:h201",
           "evolve gemm m=0 --shapes shapes",
           "evolve gemm --shapes shapes --device virtual:h201",
           "wisdom shapes",
           "wisdom nowhere",
           "resume nowhere",
           "report nowhere",
           "show nowhere",
           "verify missing.cu",
           "verify kernel.cu --device virtual:h201",
           "profile missing.cu",
           "bench missing.cu",
           "bench kernel.cu --device virtual:h201",
           "record gem --out r",
           "record gemm --out r --device virtual:h201",
           "task check gem",
           "task check gemm --device virtual:h201",
       }) {
    const Ran ran = run(std::string(arguments) + " --json", scratch);
    INFO(arguments << "\n" << ran.out << ran.err);
    CHECK(ran.exit != 0);
    const auto object = nlohmann::json::parse(ran.out, nullptr, false);
    REQUIRE(object.is_object());
    REQUIRE(object.contains("error"));
    CHECK(object["error"]["code"] == ran.exit);
    CHECK(ran.err.find(object["error"]["message"].get<std::string>()) != std::string::npos);
    CHECK_FALSE(object["error"]["next"].get<std::string>().empty());
  }
}

TEST_CASE("a folder with a quotation mark in its name is recorded into, and said as JSON",
          "[cli]") {
  const Scratch scratch;
  const Ran ran = run(
      "record gemm m=16 n=16 k=16 --device virtual:h200 --count 1 --out 'a\\\"b' --json", scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  CHECK(nlohmann::json::parse(ran.out)["dir"] == "a\"b");
}

TEST_CASE("a device that is not there is exit 3", "[cli]") {
  const Scratch scratch;
  const Ran ran = run("evolve gemm --device cuda:63", scratch);
  INFO(ran.err);
  CHECK(ran.exit == 3);
  CHECK_FALSE(ran.err.empty());
}

TEST_CASE("chips are listed where a device is asked for, and a search runs on each architecture",
          "[cli]") {
  const Scratch scratch;
  const Ran help = run("verify --help", scratch), doctor = run("doctor", scratch);
  const fs::path argmax = fs::path(CUPILOT_SOURCE_DIR) / "tests/hostile/honest/argmax_shared.cu";
  const Ran unknown =
      support::run_at_root("verify " + argmax.string() + " --device virtual:h201", scratch);
  for (const char* chip : {"h200", "h100", "a100", "rtx4090", "l4"}) {
    CAPTURE(chip, help.out, doctor.out, unknown.err);
    CHECK(help.out.find(chip) != std::string::npos);
    CHECK(doctor.out.find(std::string("virtual:") + chip) != std::string::npos);
    CHECK(unknown.err.find(chip) != std::string::npos);
  }
  if (sanitized()) return;  // virtual_chips_test has a kernel for each chip
  for (const char* chip : {"a100", "l4"}) {
    const Ran ran =
        run(std::string("evolve gemm m=32 n=32 k=32 --evaluations 2 --device virtual:") + chip,
            scratch);
    INFO(chip << "\n" << ran.out << ran.err);
    CHECK(ran.exit == 0);
    CHECK(ran.out.find("best (#") != std::string::npos);
  }
}

TEST_CASE("task files: truncated, wrong and naming a reference that is not there", "[cli]") {
  const Scratch scratch;
  const std::string whole = slurp(softmax + "/task.json");
  REQUIRE_FALSE(whole.empty());
  scratch.file("truncated.json", whole.substr(0, whole.size() / 2));
  scratch.file("list.json", "[1, 2]");
  scratch.file("empty.json", "");
  scratch.file("alone.json", whole);  // its reference stays behind
  for (const char* name : {"truncated.json", "list.json", "empty.json", "alone.json"}) {
    const Ran ran = run(std::string("evolve ") + name + " --device virtual:h200", scratch);
    INFO(name << "\n" << ran.err);
    CHECK(ran.exit == 2);
    CHECK_FALSE(ran.err.empty());
  }
}

TEST_CASE("a reference that does not compile is the user's error and shows the compiler's line",
          "[cli]") {
  const Scratch scratch;
  fs::copy(softmax, scratch.path / "softmax", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(scratch.path / "softmax")) {
    if (entry.path().filename().string().find("reference") != std::string::npos) {
      std::ofstream(entry.path(), std::ios::app) << "\nthis is not CUDA;\n";
    }
  }
  const Ran ran =
      run("evolve softmax/task.json --tunable softmax/softmax_tunable.cu --device virtual:h200 "
          "--evaluations 4",
          scratch);
  INFO(ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("reference") != std::string::npos);
}

TEST_CASE("a user's own task and tunable evolve by the same path as ours", "[cli][search]") {
  const Scratch scratch;
  fs::copy(softmax, scratch.path / "softmax", fs::copy_options::recursive);
  std::string task = slurp(scratch.path / "softmax" / "task.json");
  const std::string sizes = "\"rows\": 512, \"cols\": 1024";
  REQUIRE(task.find(sizes) != std::string::npos);
  scratch.file("softmax/task.json",
               task.replace(task.find(sizes), sizes.size(), "\"rows\": 16, \"cols\": 96"));
  const std::string device = " --device virtual:h200";
  const Ran ran =
      run("evolve softmax/task.json --tunable softmax/softmax_tunable.cu --evaluations 3 --run r" +
              device,
          scratch);
  INFO(ran.err << ran.out);
  REQUIRE(ran.exit == 0);
  CHECK(ran.out.find(" us  modelled") != std::string::npos);
  CHECK(ran.out.find(" us  measured") == std::string::npos);

  // The champion stands alone and is refused when a block does nothing.
  std::string wrong = slurp(scratch.path / "r" / "best" / "kernel.cu");
  const std::size_t brace = wrong.rfind("__global__");
  REQUIRE(brace != std::string::npos);
  wrong.insert(wrong.find('{', brace) + 1, "\n  if (blockIdx.x == 0) return;\n");
  scratch.file("wrong.cu", wrong);
  const Ran refused = run("verify wrong.cu --task softmax/task.json" + device, scratch);
  INFO(refused.out << refused.err);
  CHECK(refused.exit == 8);
  CHECK(refused.out.find("verify.never_written") != std::string::npos);
}

// The labels of a screen in order, and its lines at most 24 of at most 100 columns.
std::vector<std::string> labels_of(const std::string& screen) {
  std::vector<std::string> labels;
  std::istringstream lines(screen);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(line.size() <= 100);
    const std::string label = count == 0 ? line.substr(0, line.find(' '))
                                         : line.substr(0, std::min<std::size_t>(line.size(), 13));
    const std::size_t begin = label.find_first_not_of(' ');
    if (begin != std::string::npos)
      labels.push_back(label.substr(begin, label.find_last_not_of(' ') + 1 - begin));
  }
  CHECK(count <= 24);
  return labels;
}

TEST_CASE("verify says on one screen what was proved, what was not, and how fast it is", "[cli]") {
  const Scratch scratch;
  const std::string root = CUPILOT_SOURCE_DIR;
  const std::string kernel = slurp(root + "/tests/hostile/honest/argmax_shared.cu");
  REQUIRE_FALSE(kernel.empty());
  fs::create_directories(scratch.path / "tests/hostile");
  fs::copy(root + "/tests/hostile/tasks", scratch.path / "tests/hostile/tasks",
           fs::copy_options::recursive);
  scratch.file("right.cu", kernel);
  const Ran proved = run("verify right.cu --device virtual:h200", scratch);
  INFO(proved.out << proved.err);
  REQUIRE(proved.exit == 0);
  CHECK(labels_of(proved.out) == std::vector<std::string>{"PROVED", "cases", "gate", "shown",
                                                          "NOT PROVED", "time", "bound by",
                                                          "held by", "kernel"});
  for (const char* part :
       {"PROVED on virtual:h200: right.cu is right for task argmax, class fp32-strict",
        "within their bound", " us modelled, cold L2", "; floor ", " % of the roofline",
        "the gate had nothing to remark", "interpreted"}) {
    INFO(part);
    CHECK(proved.out.find(part) != std::string::npos);
  }
  const Ran whole = run("verify right.cu --device virtual:h200 --json", scratch);
  CHECK(whole.exit == 0);
  for (const char* key :
       {"\"runs\"", "\"seed\"", "\"proved_by\"", "\"unproved\"", "\"conditions\"", "\"ran_under\"",
        "\"compiled_under\"", "\"floor_us\"", "\"battery\"", "\"deterministic\""}) {
    INFO(key);
    CHECK(whole.out.find(key) != std::string::npos);
  }
}

TEST_CASE("a device that answers from a file proves nothing, and says so", "[cli]") {
  const Scratch scratch;
  scratch.file("no.cu",
               "// cupilot: {\"task\":[\"gemm\",\"m=64\"]}\n"
               "// cupilot: "
               "{\"plan\":{\"launches\":[{\"entry\":\"no\",\"grid\":[\"1\"],\"block\":[32],"
               "\"args\":[\"D\"]}]}}\n"
               "this is no C++\n");
  REQUIRE(run("record gemm m=64 --count 1 --out recorded --device fake:" + fake, scratch).exit ==
          0);
  for (const std::string& device : {"fake:" + fake, std::string("recorded:recorded")}) {
    for (const char* verb :
         {"verify no.cu", "bench no.cu --against plain", "task check gemm m=64"}) {
      const Ran refused = run(std::string(verb) + " --device " + device, scratch);
      INFO(verb << " on " << device << ": " << refused.out << refused.err);
      CHECK(refused.exit == 2);
      CHECK(refused.out.empty());
      CHECK(refused.err.find("proves nothing") != std::string::npos);
      CHECK(refused.err.find("next: use cuda:0, or virtual:h200") != std::string::npos);
    }
  }
}

TEST_CASE("a kernel without a launch plan is a usage error that says how to give one", "[cli]") {
  const Scratch scratch;
  scratch.file("bare.cu", "extern \"C\" __global__ void k() {}\n");
  scratch.file("empty.cu", "");
  for (const char* verb : {"verify bare.cu", "verify empty.cu", "bench bare.cu --task gemm m=64",
                           "profile bare.cu --task gemm m=64"}) {
    const Ran refused = run(std::string(verb) + " --device virtual:h200", scratch);
    INFO(verb << ": " << refused.out << refused.err);
    CHECK(refused.exit == 2);
    CHECK(refused.err.find(": no launch plan") != std::string::npos);
    CHECK(refused.err.find("--launch FILE") != std::string::npos);
  }
}

TEST_CASE("verify names code, reason, place and next step of a refusal", "[cli]") {
  const Scratch scratch;
  const std::string root = CUPILOT_SOURCE_DIR;
  fs::create_directories(scratch.path / "tests/hostile");
  fs::copy(root + "/tests/hostile/tasks", scratch.path / "tests/hostile/tasks",
           fs::copy_options::recursive);
  std::string racy = slurp(root + "/tests/hostile/honest/argmax_shared.cu");
  const std::string barrier = "    __syncthreads();\n  }";
  REQUIRE(racy.rfind(barrier) != std::string::npos);
  racy.replace(racy.rfind(barrier), barrier.size(), "  }");
  scratch.file("racy.cu", racy);
  const Ran race = run("verify racy.cu --device virtual:h200", scratch);
  INFO(race.out << race.err);
  CHECK(race.exit == 8);
  CHECK(labels_of(race.out) ==
        std::vector<std::string>{"REFUSED", "meaning", "reason", "place", "ptx", "source", "next"});
  for (const char* part :
       {"REFUSED on virtual:h200 at run: run.race", "block (", "thread (", "ptx line ",
        "racy.cu:21", "ld.shared", "const int at = place[t + half];", "put a barrier"}) {
    INFO(part);
    CHECK(race.out.find(part) != std::string::npos);
  }
  const Ran json = run("verify racy.cu --device virtual:h200 --json", scratch);
  CHECK(json.exit == 8);
  for (const char* part : {"\"code\": \"run.race\"", "\"next\": ", "\"where\": "})
    CHECK(json.out.find(part) != std::string::npos);
}

TEST_CASE("a task whose check cannot tell right from wrong is refused before it is searched",
          "[cli]") {
  const Scratch scratch;
  const std::string device = " --device virtual:h200";
  const Ran fit = run("task check gemm m=64 n=64 k=64" + device, scratch);
  INFO(fit.err);
  CHECK(fit.exit == 0);
  CHECK(fit.out.find("FIT to be searched: gemm") != std::string::npos);
  CHECK(fit.out.find("fakes rejected") != std::string::npos);
  const Ran nothing = run("task check gemm alpha=0" + device, scratch);
  CHECK(nothing.exit == 2);
  CHECK(nothing.err.find("output D accepts zeros") != std::string::npos);

  // Within a half of it every probability is nearly right.
  fs::copy(softmax, scratch.path / "softmax", fs::copy_options::recursive);
  std::string task = slurp(scratch.path / "softmax" / "task.json");
  const std::string strict = "\"check\": {";
  REQUIRE(task.find(strict) != std::string::npos);
  const std::size_t begin = task.find(strict), end = task.find('}', begin) + 1;
  scratch.file(
      "softmax/task.json",
      task.replace(begin, end - begin, "\"check\": {\"kind\": \"close\", \"absolute\": 0.999}"));
  for (const char* verb :
       {"task check softmax/task.json",
        "evolve softmax/task.json --tunable softmax/softmax_tunable.cu --evaluations 3 --run r"}) {
    const Ran weak = run(verb + device, scratch);
    INFO(weak.err);
    CHECK(weak.exit == 2);
    CHECK(weak.err.find("output y accepts its mean") != std::string::npos);
    CHECK(weak.err.find("next: lower check.absolute") != std::string::npos);
  }
  CHECK_FALSE(fs::exists(scratch.path / "r"));
}

TEST_CASE("a task with neither tunable nor model is exit 2 and says so", "[cli]") {
  const Scratch scratch;
  const Ran ran = run("evolve '" + softmax + "/task.json' --device virtual:h200", scratch);
  INFO(ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("tunable") != std::string::npos);
}

TEST_CASE("output that finds no room is told and ends in exit 1", "[cli]") {
  const Scratch scratch;
  scratch.file("full.sh", "\"$@\" > /dev/full\n");
  for (const char* verb : {"techniques", "operators", "tasks --json", "doctor"}) {
    const Ran ran = run(verb, scratch, "bash full.sh");
    INFO(verb << ": " << ran.err);
    CHECK(ran.exit == 1);
    CHECK(ran.err.find("standard output: No space left on device") != std::string::npos);
  }
}

TEST_CASE("the lists and the doctor answer", "[cli]") {
  const Scratch scratch;
  for (const char* verb : {"tasks", "techniques", "doctor", "tasks --json", "techniques --json",
                           "tasks --suite kernelbench:1", "tasks --suite kernelbench:1 --json",
                           "doctor --json", "--version", "--help"}) {
    const Ran ran = run(verb, scratch);
    INFO(verb << ran.err);
    CHECK(ran.exit == 0);
    CHECK_FALSE(ran.out.empty());
  }
}
