#include "kernel/builtin.hpp"

#include <cassert>

#include "kernel/kernel_files.hpp"

namespace cupilot {

Result<std::vector<Tunable>> parse_builtins() {
  std::vector<Tunable> all;
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.starts_with("templates/")) continue;
    auto tunable = parse_tunable(file.text, "builtin " + std::string(file.name));
    if (!tunable) return std::move(tunable.error());
    all.push_back(std::move(*tunable));
  }
  return all;
}

const std::vector<Tunable>& builtin_tunables() {
  static const std::vector<Tunable> all = [] {
    auto parsed = parse_builtins();
    assert(parsed && "a built-in template does not parse");
    return parsed ? std::move(*parsed) : std::vector<Tunable>{};
  }();
  return all;
}

}  // namespace cupilot
