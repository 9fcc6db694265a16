// index.json: which kernel stands for which entry of KernelBench level 1 and for which feature of the machine.
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot::coverage {

// An entry of level 1, at a small shape with its strides, paddings and groups.
struct Entry {
  int id = 0;
  std::string name{}, family{};  // as level 1 has them
  std::string kernel{};          // under the folder kernels
  Sizes sizes{};                 // in place of the kernel's own
};

struct Feature {
  std::string name{};
  std::string kernel{};
  std::vector<std::string> ptx{};   // beginnings of opcodes that the kernel's PTX must hold
  std::vector<std::string> text{};  // what its source must say: a header, a type
};

struct CorpusIndex {
  std::vector<Entry> level1{};
  std::vector<Feature> features{};
};

// Error: unreadable or not of the form.
Result<CorpusIndex> read_index(const std::string& path);

}  // namespace cupilot::coverage
