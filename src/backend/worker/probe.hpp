// Which optional vendor libraries can be opened here, asked of a worker process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupilot {

struct ProbedLibrary {
  bool found = false;
  std::string detail;  // path, or why not
};
struct Probe {
  ProbedLibrary cublaslt, cudnn, cupti;
};

std::string pack(const Probe& probe);
std::optional<Probe> unpack_probe(std::string_view body);

}  // namespace cupilot
