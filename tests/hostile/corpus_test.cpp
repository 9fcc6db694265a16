// What the manifests must hold; the program `hostile` and run_test.cpp run them.
#include <algorithm>
#include <cupilot/parts/rejection.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "corpus.hpp"

namespace cupilot::hostile {
namespace {

const std::string folder = CUPILOT_SOURCE_DIR "/tests/hostile";

Corpus corpus() {
  auto read = read_corpus(folder);
  if (!read) FAIL(read.error().message);
  return std::move(*read);
}

bool is_code(const std::string& word) {
  const auto codes = rejection_codes();
  return std::any_of(codes.begin(), codes.end(),
                     [&](const RejectionCode& row) { return row.code == word; });
}

}  // namespace

TEST_CASE("every row has its file and every file its row") {
  std::set<std::string> rows;
  for (const Row& row : corpus().rows) rows.insert(row.file);
  std::set<std::string> files;
  for (const std::string& file : kernel_files(folder)) files.insert(file);
  for (const std::string& row : rows) {
    CAPTURE(row);
    CHECK(files.count(row) == 1);
  }
  std::ostringstream listed;
  listed << std::ifstream(folder + "/open/README.md").rdbuf();
  for (const std::string& file : files) {
    CAPTURE(file);
    const bool open = file.starts_with("open/");  // no row: its verdict is not right yet
    CHECK(rows.count(file) == (open ? 0 : 1));
    if (open) CHECK(listed.str().find("`" + file.substr(5) + "`") != std::string::npos);
  }
}

TEST_CASE("rows name codes of the table") {
  for (const Row& row : corpus().rows) {
    CAPTURE(row.file, row.manifest);
    for (const std::string& code : row.expect) CHECK((code == "accepted" || is_code(code)));
    for (const std::string& code : row.device)
      CHECK((code == "accepted" || code == "undetected" || is_code(code)));
    if (row.expect.size() > 1) CHECK(!is_allowed(row.expect, "accepted"));
  }
}

TEST_CASE("a part that a file lacks cannot be swapped") {
  const Corpus read = corpus();
  Row row = read.rows.front();
  row.swap = {{"__global__", "static __global__"}};
  const auto swapped = kernel_of(read, row);
  REQUIRE(swapped);
  CHECK(swapped->source.text.find("static __global__") != std::string::npos);
  row.swap = {{"no such text", ""}};
  CHECK(kernel_of(read, row).error().message.find("lacks `no such text`") != std::string::npos);
}

TEST_CASE("no two kernels are the same text") {
  std::map<std::string, std::string> seen;
  const Corpus read = corpus();
  for (const Row& row : read.rows) {
    if (!row.task.empty()) continue;
    const auto kernel = kernel_of(read, row);
    CAPTURE(row.name());
    REQUIRE(kernel);
    const auto [at, fresh] = seen.emplace(kernel_id(kernel->source), row.name());
    CAPTURE(at->second);
    CHECK(fresh);
  }
}

}  // namespace cupilot::hostile
