// index.json: which kernel stands for which entry of KernelBench level 1 and for which feature of
// the machine; mutants.json: what is seen when a kernel lacks one of its orderings.
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

// A kernel without one wait, fence, arrival or barrier.
struct Mutant {
  std::string kernel{};
  std::string without{};             // this text of its source
  int nth = 1;                       // occurrence of it
  std::vector<std::string> codes{};  // of faults, one of which each run must end with
};

// Error: unreadable or not of the form.
Result<std::vector<Mutant>> read_mutants(const std::string& path);
// The source with its statement gone; empty when it has no such text.
std::string mutated(const std::string& source, const Mutant& mutant);

// Error: unreadable or not of the form.
Result<CorpusIndex> read_index(const std::string& path);

}  // namespace cupilot::coverage
