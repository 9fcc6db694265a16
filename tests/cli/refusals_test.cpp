// What a user is told of a kernel of his own that is refused, and a setting of a tunable tried
// alone.
#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

namespace {

void expect(const Ran& ran, int exit, std::initializer_list<const char*> words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  for (const char* word : words) {
    INFO(word);
    CHECK((ran.out + ran.err).find(word) != std::string::npos);
  }
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

// A small task of one's own.
void make_task(const Scratch& scratch) {
  REQUIRE(run("task new weighed", scratch).exit == 0);
  scratch.file("weighed/task.json",
               with(slurp(scratch.path / "weighed/task.json"), "\"rows\": 1024, \"cols\": 1024",
                    "\"rows\": 64, \"cols\": 128"));
}

int line_with(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  REQUIRE(at != std::string::npos);
  return static_cast<int>(
             std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         1;
}

}  // namespace

TEST_CASE("a plain setting that is wrong ends the run before its first candidate", "[cli]") {
  const Scratch scratch;
  make_task(scratch);
  const std::string good = slurp(scratch.path / "weighed/tunable.cu");
  const std::string words =
      "evolve weighed/task.json --tunable bad.cu --device virtual:h200 --evaluations 6 ";
  struct Row {
    const char *from, *to, *code;
    bool line;
  };
  const Row rows[] = {
      {"* weight)", "* weight * 2)", "verify.", false},
      {"long long r = first + j;", "long long r = frist + j;", "compile.error", true}};
  for (const Row& row : rows) {
    INFO(row.code);
    const std::string bad = with(good, row.from, row.to);
    scratch.file("bad.cu", bad);
    const std::string dir = std::string("run-") + row.code;
    const std::string place = "bad.cu:" + std::to_string(line_with(bad, "r = f")) + ": const long";
    const Ran ran = run(words + "--run " + dir, scratch);
    expect(ran, 7,
           {"the plain setting of weighed_rows", row.code, "no search was begun",
            "next: ", "; then begin again in another --run directory"});
    CHECK((ran.err.find(place) != std::string::npos) == row.line);
    CHECK((ran.out.find(place) != std::string::npos) == row.line);
    expect(run("report " + dir, scratch), 0,
           {"0 evaluations of 0 proposed", "first met by the plain setting", row.code});
    expect(run("report " + dir + " --json", scratch), 0, {"\"refusals\"", "\"setting\"", row.code});
    CHECK(slurp(scratch.path / dir / "report.html").find("first met by") != std::string::npos);
    expect(run("resume " + dir, scratch), 7, {"no search was begun", row.code});
  }
  const Ran json = run(words + "--json --run json", scratch);
  CHECK(json.exit == 7);
  CHECK(json.out.find("\"code\": 7") != std::string::npos);
  CHECK(json.out.find("compile.error") != std::string::npos);
}

TEST_CASE("verify takes a template of graphs, and names the form that it serves", "[cli]") {
  const Scratch scratch;
  scratch.file("graph.json", R"({"cupilot_task": 2, "name": "halved",
    "axes": [{"name": "rows", "kind": "free"}, {"name": "cols", "kind": "free"}],
    "tensors": [{"name": "x", "role": "in", "shape": ["rows", "cols"]},
                {"name": "y", "role": "out", "shape": ["rows", "cols"]}],
    "operations": [{"name": "act", "op": "relu", "in": ["x"], "out": ["h"]},
                   {"name": "halve", "op": "div", "in": ["h"], "out": ["y"], "attrs": {"other": 2}}],
    "precision": "fp32-strict", "time_shapes": [{"sizes": {"rows": 32, "cols": 64}}]})");
  const std::string verify = "verify " CUPILOT_SOURCE_DIR "/kernels/families/";
  const std::string task = " --task graph.json --device virtual:h200";
  expect(run(verify + "pointwise/templates/pointwise.cu --set VECTOR=4" + task, scratch), 0,
         {"PROVED", "halved"});
  expect(run(verify + "rowwise/templates/rowwise.cu" + task, scratch), 2,
         {"graphs of anchor 'row_reduction'", "Hooks, lists the forms"});
}

TEST_CASE("verify and profile take a tunable at a setting", "[cli]") {
  const Scratch scratch;
  make_task(scratch);
  const std::string device = " --task weighed/task.json --device virtual:h200 ";
  const std::string verify = "verify weighed/tunable.cu" + device;
  expect(run(verify, scratch), 0, {"PROVED", "weighed"});
  expect(run(verify + "--set ROWS=4 --set COLS=2", scratch), 0, {"PROVED"});
  expect(run("profile weighed/tunable.cu --set ROWS=4" + device, scratch), 0, {"weigh_columns"});
  struct Row {
    const char *set, *words, *next;
  };
  for (const Row& row :
       {Row{"--set ROW=4", "it has no parameter 'ROW'",
            "nearest: ROWS; known: THREADS, ROWS, COLS"},
        Row{"--set ROWS=3", "ROWS=3 is outside its domain", "give one of 1, 2, 4, 8, 16, 32"},
        Row{"--set ROWS=32 --set COLS=4", "breaks the restriction ROWS * COLS <= 64", ""},
        Row{"--set ROWS", "is not NAME=VALUE", "such as"},
        Row{"--set =4", "is not NAME=VALUE", "such as"},
        Row{"--set ROWS=4x", "is not NAME=VALUE", "such as"},
        Row{"--set ROWS=4 --set ROWS=8", "set twice", "keep one"}}) {
    INFO(row.set);
    for (const std::string& verb : {"verify", "profile"})
      expect(run(verb + " weighed/tunable.cu" + device + row.set, scratch), 2,
             {row.words, row.next});
  }
  expect(run("verify weighed/tunable.cu --device virtual:h200", scratch), 2, {"--task"});
  expect(run("verify weighed/tunable.cu --task gemm --task m=8 --device virtual:h200", scratch), 2,
         {"serves family"});
  scratch.file("kernel.cu", "extern \"C\" __global__ void f() {}\n");
  expect(run("verify kernel.cu --set A=1 --device virtual:h200", scratch), 2, {"no parameters"});
  const std::string good = slurp(scratch.path / "weighed/tunable.cu");
  const std::string bad = with(good, "long long r = first", "long long r = frist");
  scratch.file("bad.cu", bad);
  expect(run("verify bad.cu" + device, scratch), 8,
         {("bad.cu:" + std::to_string(line_with(bad, "r = frist"))).c_str()});
}

TEST_CASE("profile takes a strategy, and tells lines that were written for the task as such",
          "[cli]") {
  const Scratch scratch;
  scratch.file("strategy.json",
               R"({"format": "cupilot strategy 1", "techniques": [{"name": "block_rows"}]})");
  scratch.file("other.json", R"({"format": "cupilot strategy 9", "techniques": []})");
  const std::string task = " --task softmax --task rows=64 --task cols=300 --device virtual:h200 ";
  expect(run("profile strategy.json" + task, scratch), 0,
         {"PROFILE on virtual:h200", "kernel.cu:"});
  expect(run("profile strategy.json --device virtual:h200", scratch), 2, {"--task"});
  expect(run("profile strategy.json --set A=1" + task, scratch), 2, {"no tunable"});
  expect(run("profile other.json --no-counters" + task, scratch), 2, {"other.json", "next"});
  // A library's step stays one.
  scratch.file("step.json",
               R"({"format": "cupilot strategy 1", "techniques": [{"name": "cublaslt"}]})");
  expect(run("profile step.json --task gemm --task m=64 --device virtual:h200", scratch), 0,
         {"library_product"});
  // The graph's text stands above the template's own.
  const auto product =
      run("profile gemm_simt --task gemm --task m=64 --device virtual:h200", scratch);
  expect(product, 0, {"kernel.cu:"});
  CHECK(product.out.find(":-") == std::string::npos);
}

TEST_CASE("a run without a plain baseline names none", "[cli]") {
  const Scratch scratch;
  make_task(scratch);
  const Ran ran = run(
      "evolve weighed/task.json --tunable weighed/tunable.cu --device virtual:h200 --evaluations 3 "
      "--no-plain --run r",
      scratch);
  expect(ran, 0, {"best (#", "time: ", "search"});
  CHECK(ran.out.find("\nplain ") == std::string::npos);
  CHECK(ran.out.find("x plain") == std::string::npos);
}
