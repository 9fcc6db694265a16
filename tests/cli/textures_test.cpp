// Kernel files with textures, surfaces and edited tensor maps, verified on the virtual device.
#include <filesystem>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;

namespace {

std::string file(const std::string& name) {
  return std::string(CUPILOT_SOURCE_DIR) + "/tests/data/" + name;
}

std::string text_of(const std::string& name) {
  std::ifstream in(file(name));
  return {(std::istreambuf_iterator<char>(in)), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A kernel file of the copy task, which a scratch folder cannot name by a relative path.
std::string of_copy(const std::string& name) {
  const std::string task = "tests/hostile/tasks/copy.json";
  return replaced(text_of(name), task, std::string(CUPILOT_SOURCE_DIR) + "/" + task);
}

void expect(const Ran& ran, int exit, const std::string& words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  CHECK((ran.out + ran.err).find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a product through textures and a surface is proved", "[cli]") {
  const Scratch scratch;
  const Ran ran = run("verify " + file("textures/gemm.cu") + " --device virtual:h200", scratch);
  expect(ran, 0, "PROVED");
  expect(ran, 0, "arrays of textures and surfaces are copies");
}

TEST_CASE("filters, addressing and formats are what a kernel works out", "[cli]") {
  const Scratch scratch;
  for (const char* name : {"filters.cu", "fractions.cu"}) {
    INFO(name);
    scratch.file(name, of_copy(std::string("textures/") + name));
    expect(run(std::string("verify ") + name + " --device virtual:h200", scratch), 0, "PROVED");
  }
}

TEST_CASE("a kernel that edits tensor maps is proved, and refused without its fences", "[cli]") {
  const Scratch scratch;
  const std::string text = of_copy("maps/edited.cu");
  scratch.file("edited.cu", text);
  expect(run("verify edited.cu --device virtual:h200", scratch), 0, "PROVED");
  scratch.file("open.cu", replaced(text, "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;",
                                   "prefetch.tensormap [%0];"));
  expect(run("verify open.cu --device virtual:h200", scratch), 8, "release the edited map");
  scratch.file("long.cu", replaced(text, "min(32, n - first)", "32"));
  expect(run("verify long.cu --device virtual:h200", scratch), 8, "run.out_of_bounds");
}

TEST_CASE("groups of several warps are proved", "[cli]") {
  const Scratch scratch;
  scratch.file("groups.cu", of_copy("maps/groups.cu"));
  expect(run("verify groups.cu --device virtual:h200", scratch), 0,
         "order within the shared memory that the system reserves");
}

TEST_CASE("wrong twins of kernels with textures are refused by name", "[cli]") {
  struct Row {
    const char *from, *to, *says;
  };
  const Row rows[] = {
      {"\"dims\": [\"k * n\"]", "\"dims\": [\"max(k * n - 1, 1)\"]", "verify.bound"},
      {"\"dims\": [\"k * n\"]", "\"dims\": [\"k * n + 1\"]", "texture b spans"},
      {"\"of\": \"A\",", "\"of\": \"A\", \"type\": \"s32\",", "takes f32 from texture A"},
      {"4 * x, y)", "4 * x + 4, y)", "of surface D, which has"},
      {"4 * x, y)", "x, y)", "no multiple of 4"},
      {"\"args\": [\"a\",", "\"args\": [\"A\",", "is the handle of no texture"},
      {"4 * x, y)", "4 * x + 4, y)", "keep coordinates within the surface"},
      {"\"args\": [\"a\",", "\"args\": [\"A\",", "bind it by the plan's textures"},
      {"\"of\": \"A\",", "\"of\": \"A\", \"type\": \"s32\",", "give the plan's texture the type"},
      {"k; ++i)", "k; ++i) if (i != 3)", "verify.bound"},
  };
  for (const Row& row : rows) {
    INFO(row.to);
    const Scratch scratch;
    scratch.file("wrong.cu", replaced(text_of("textures/gemm.cu"), row.from, row.to));
    expect(run("verify wrong.cu --device virtual:h200", scratch), 8, row.says);
  }
}
