// `cupilot profile`: the screen, the object, the example of docs/formats/profile.md, and what it
// refuses.
#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"

namespace {

using Json = nlohmann::json;
using support::run_at_root;
using support::Scratch;

Json profiled(const std::string& arguments, const Scratch& scratch) {
  const auto ran = run_at_root("profile " + arguments + " --json", scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  return Json::parse(ran.out);
}

double counter(const Json& launch, const char* name) { return launch["counts"][name]["value"]; }

// The line with most of `what`.
Json most(const Json& launch, const char* what) {
  const Json& lines = launch["lines"];
  return *std::max_element(lines.begin(), lines.end(),
                           [&](const Json& a, const Json& b) { return a[what] < b[what]; });
}

}  // namespace

TEST_CASE("a screen of profile says what it rests on, in few lines", "[cli][profile]") {
  const Scratch scratch;
  const auto ran =
      run_at_root("profile examples/profile/transpose_conflicts.cu --line-count 4", scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  for (const char* word :
       {"modelled", "nothing was measured", "terms", "occupancy", "limited by", "sectors each",
        "wavefronts", "bank conflicts", "DRAM read", "transpose_conflicts.cu:15", "tile[i]"}) {
    CAPTURE(word);
    CHECK(ran.out.find(word) != std::string::npos);
  }
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') <= 36);
  CHECK(std::count(ran.out.begin() + static_cast<std::ptrdiff_t>(ran.out.find("hottest lines")),
                   ran.out.end(), '\n') == 5);
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 110);
  }
}

TEST_CASE("the example: a column of padding frees a transpose of its bank conflicts",
          "[cli][profile]") {
  const Scratch scratch;
  const Json before = profiled("examples/profile/transpose_conflicts.cu", scratch);
  const Json after = profiled("examples/profile/transpose_padded.cu", scratch);
  const Json &slow = before["launches"][0], &fast = after["launches"][0];
  // Each of the 64 x 64 tiles is read by 32 warps whose lanes share a bank: 32 passes where one
  // would do.
  CHECK(counter(slow, "shared_conflicts") == 64 * 64 * 32 * 31);
  CHECK(counter(fast, "shared_conflicts") == 0);
  CHECK(counter(slow, "global_load_sectors") == counter(fast, "global_load_sectors"));
  const Json line = most(slow, "conflicts");
  CHECK(line["line"] == 15);
  CHECK(line["file"] == "transpose_conflicts.cu");
  CHECK(line["text"].get<std::string>().find("tile[threadIdx.x][i]") != std::string::npos);
  CHECK(line["wavefronts"] == 64 * 64 * 32 * 32);
  CHECK(slow["model"]["binding"] == "shared");
  CHECK(fast["model"]["binding"] == "dram");
  CHECK(before["model"]["time_us"].get<double>() > 1.5 * after["model"]["time_us"].get<double>());
}

TEST_CASE("kinds and lines of a profile add up to its counts", "[cli][profile]") {
  const Scratch scratch;
  const Json all = profiled("tests/hostile/honest/argmax_shared.cu --device virtual:a100", scratch);
  CHECK(all["device"] == "virtual:a100");
  CHECK(all["model"]["provenance"] == "modelled");
  const Json& launch = all["launches"][0];
  for (const char* parts : {"mix", "lines"}) {
    double warps = 0, conflicts = 0;
    for (const Json& one : launch[parts]) {
      warps += one["warp_instructions"].get<double>();
      conflicts += one["conflicts"].get<double>();
    }
    CAPTURE(parts);
    CHECK(warps == Approx(counter(launch, "warp_instructions")));
    CHECK(conflicts == Approx(launch["total"]["conflicts"].get<double>()));
  }
}

TEST_CASE("one launch of several is chosen by name, else the longest is shown", "[cli][profile]") {
  const Scratch scratch;
  const std::string plan =
      R"({"buffers": [{"name": "t", "bytes": "4096"}], "launches": [)"
      R"({"entry": "fill", "grid": [1], "block": [128], "args": ["t", {"i32": "1"}]},)"
      R"({"entry": "many", "grid": [8], "block": [128], "args": ["t", {"i32": "2000"}]}]})";
  const auto file = scratch.file("two.cu", "// cupilot: {\"plan\": " + plan + "}\n" + R"(
extern "C" __global__ void fill(float* t, int n) { t[threadIdx.x] = (float)n; }
extern "C" __global__ void many(float* t, int n) {
  float sum = 1.0f;
  for (int i = 0; i < n; ++i) sum = sum * 0.5f + 1.0f;
  t[blockIdx.x * 128 + threadIdx.x] = sum;
}
)");
  const auto longest = run_at_root("profile " + file.string(), scratch);
  INFO(longest.out << longest.err);
  REQUIRE(longest.exit == 0);
  CHECK(longest.out.find("* many") != std::string::npos);
  CHECK(longest.out.find("fp32 fma") != std::string::npos);
  const auto chosen = run_at_root("profile --only fill " + file.string(), scratch);
  CHECK(chosen.exit == 0);
  CHECK(chosen.out.find("* fill") != std::string::npos);
  const auto none = run_at_root("profile --only nothing " + file.string(), scratch);
  CHECK(none.exit == 2);
  CHECK(none.err.find("fill, many") != std::string::npos);
}

TEST_CASE("a kernel in PTX is told by its own lines", "[cli][profile]") {
  const Scratch scratch;
  const auto text = [](const char* offset) {
    std::string out =
        "// cupilot: {\"plan\": {\"buffers\": [{\"name\": \"t\", \"bytes\": 256}], \"launches\": ["
        "{\"entry\": \"k\", \"grid\": [1], \"block\": [64], \"args\": [\"t\"]}]}}\n.version "
        "8.0\n.target sm_80\n"
        ".address_size 64\n.visible .entry k(.param .u64 t) {\n.reg .b64 %l<4>;\n.reg .b32 "
        "%r<2>;\nld.param.u64 %l1, [t];\n"
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %l2, %r1, 4;\nadd.s64 %l3, %l1, %l2;\nst.global.u32 "
        "[%l3+";
    out += offset;
    out += "], %r1;\nret;\n}\n";
    return out;
  };
  const auto good = scratch.file("good.ptx", text("0")), bad = scratch.file("bad.ptx", text("4"));
  const auto ran = run_at_root("profile " + good.string(), scratch);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("good.ptx:12  st.global.u32") != std::string::npos);
  for (const char* verb : {"profile ", "verify --device virtual:a100 "}) {
    const auto refused = run_at_root(verb + bad.string(), scratch);
    INFO(refused.out << refused.err);
    CHECK(refused.exit == 8);
    CHECK(refused.out.find("bad.ptx:12 (st.global.u32)") != std::string::npos);
    CHECK(refused.out.find("st.global.u32 [%l3+4], %r1;") != std::string::npos);
  }
}

TEST_CASE("peaks of a device that is only modelled are its datasheet's row, said so and not kept",
          "[cli][peaks]") {
  const Scratch scratch;
  const std::string file = (scratch.path / "peaks.json").string();
  const auto shown = run_at_root("peaks --device virtual:a100", scratch);
  CHECK(shown.exit == 0);
  CHECK(shown.out.find("not measured: a row of a datasheet") != std::string::npos);
  CHECK(shown.out.find("source: ") != std::string::npos);
  CHECK(shown.out.find("kept in") == std::string::npos);
  CHECK(run_at_root("peaks --device virtual:a100 --out " + file, scratch).exit == 2);
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(
      run_at_root("peaks --device virtual:a100 --json", scratch).out.find("\"measured\": false") !=
      std::string::npos);
  CHECK(run_at_root("peaks --device cuda:99", scratch).exit == 3);
}

TEST_CASE("what cannot be profiled is answered with the reason and the next step",
          "[cli][profile]") {
  const Scratch scratch;
  scratch.file("bare.cu", "extern \"C\" __global__ void k() {}\n");
  struct Row {
    const char* arguments;
    int exit;
    const char* want;
  };
  const std::string example = "examples/profile/transpose_padded.cu ";
  const std::string bare = (scratch.path / "bare.cu").string() + " ";
  const Row rows[] = {{"--device cuda:99", 3, "cuda:99"},
                      {"--device virtual:h201", 2, "rtx4090"},
                      {"--line-count 0", 2, "line-count"},
                      {"--task nothing.json", 2, "nothing.json"}};
  for (const Row& row : rows) {
    const auto ran = run_at_root("profile " + example + row.arguments, scratch);
    INFO(row.arguments << "\n" << ran.out << ran.err);
    CHECK(ran.exit == row.exit);
    CHECK(ran.err.find(row.want) != std::string::npos);
  }
  // More scratch memory than a host lends is no fault of the machine's.
  CHECK(run_at_root("profile tests/hostile/hostile/c08_buffer_of_most_memory.cu", scratch).exit ==
        9);  // not done: the buffers are larger than what a plan is lent
  CHECK(run_at_root("profile " + bare, scratch).err.find("no launch plan") != std::string::npos);
  CHECK(run_at_root("profile missing.cu", scratch).exit == 2);
  const auto object = run_at_root("profile " + bare + " --json", scratch);
  CHECK(object.exit == 2);
  CHECK(Json::parse(object.out)["error"]["next"].get<std::string>().find("--launch") !=
        std::string::npos);
}
