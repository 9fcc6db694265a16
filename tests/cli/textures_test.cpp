// Kernel files with textures, surfaces and edited tensor maps, verified on the virtual device.
#include <filesystem>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;

namespace {

std::string file(const std::string& name) {
  return std::string(CUPILOT_SOURCE_DIR) + "/tests/data/textures/" + name;
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

void expect(const Ran& ran, int exit, const std::string& words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  CHECK((ran.out + ran.err).find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a product through textures and a surface is proved", "[cli]") {
  const Scratch scratch;
  expect(run("verify " + file("gemm.cu") + " --device virtual:h200", scratch), 0, "PROVED");
}

TEST_CASE("filters, addressing and formats are what a kernel works out", "[cli]") {
  const Scratch scratch;
  const std::string task = std::string(CUPILOT_SOURCE_DIR) + "/tests/hostile/tasks/copy.json";
  scratch.file("filters.cu",
               replaced(text_of("filters.cu"), "tests/hostile/tasks/copy.json", task));
  expect(run("verify filters.cu --device virtual:h200", scratch), 0, "PROVED");
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
      {"k; ++i)", "k; ++i) if (i != 3)", "verify.bound"},
  };
  for (const Row& row : rows) {
    INFO(row.to);
    const Scratch scratch;
    scratch.file("wrong.cu", replaced(text_of("gemm.cu"), row.from, row.to));
    expect(run("verify wrong.cu --device virtual:h200", scratch), 8, row.says);
  }
}
