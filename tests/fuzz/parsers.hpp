// Everything that parses what this library did not just write itself, each with texts to begin from.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cupilot::fuzz {

struct Target {
  const char* name;
  std::vector<std::string> (*seeds)();
  // Whether the text was taken; it may do anything but crash, hang or throw.
  bool (*takes)(const std::string& text);
};

std::span<const Target> targets();

}  // namespace cupilot::fuzz
