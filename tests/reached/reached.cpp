// The last test: every rejection code of the table was met by a test of this run. Takes the file
// they noted codes in and the names of all tests; when one of those did not run, it is skipped
// (77).
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include <cupilot/parts/rejection.hpp>

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  std::set<std::string> noted;
  std::ifstream file(argc > 1 ? argv[1] : "");
  for (std::string line; std::getline(file, line);) noted.insert(line);
  for (int i = 2; i < argc; ++i) {
    if (noted.count("ran " + std::string(argv[i])) != 0) continue;
    std::printf("skipped: test %s did not run\n", argv[i]);
    return skipped;
  }
  int missing = 0;
  for (const cupilot::RejectionCode& row : cupilot::rejection_codes()) {
    if (noted.count(std::string(row.code)) != 0) continue;
    std::printf(
        "no test reached %s: let one expect it with expect_code of tests/support/reached.hpp\n",
        std::string(row.code).c_str());
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}
