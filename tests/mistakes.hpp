// Files with one mistake each, and all answers in one golden text: what is wrong, where, and what
// to do.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "catch.hpp"

namespace support {

// A good text in which `from`, its first occurrence, becomes `to`.
struct Mistake {
  std::string from, to;
};

inline std::string spoilt(std::string good, const Mistake& mistake) {
  const std::size_t at = good.find(mistake.from);
  INFO(mistake.from);
  REQUIRE(at != std::string::npos);
  return good.replace(at, mistake.from.size(), mistake.to);
}

// The mistake and its answer, as they stand in a golden file.
inline std::string answer_text(const Mistake& mistake, const cupilot::Error& error) {
  return mistake.from + "\n=> " + (mistake.to.empty() ? "(nothing)" : mistake.to) + "\n   " +
         error.message + "\n   next: " + error.hint + "\n\n";
}

// Whole answers are compared; what is new is left beside the tests to be read and, where it is
// right, copied.
inline void check_golden(const std::string& answers, const std::string& name) {
  std::ostringstream golden;
  golden << std::ifstream(std::string(CUPILOT_SOURCE_DIR) + "/tests/data/mistakes/" + name,
                          std::ios::binary)
                .rdbuf();
  const std::string fresh = std::string(CUPILOT_BINARY_DIR) + "/" + name;
  std::ofstream(fresh, std::ios::binary) << answers;
  const bool same = answers == golden.str();
  INFO("diff tests/data/mistakes/" << name << " " << fresh);
  CHECK(same);
}

}  // namespace support
