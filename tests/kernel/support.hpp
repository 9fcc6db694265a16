// Tasks and plans that the kernel tests share.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/task.hpp>

namespace cupilot::test {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string data(const std::string& name) {
  return std::string(CUPILOT_SOURCE_DIR) + "/tests/kernel/data/" + name;
}

// A task of named tensors and scalars; nothing here evaluates its reference.
inline Task plain_task(const std::vector<std::pair<std::string, Role>>& tensors,
                       const std::vector<std::string>& scalars = {}, DType type = DType::f32) {
  Task task;
  task.name = task.family = "gemm";
  for (const auto& [name, role] : tensors) {
    Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.type = type;
    task.tensors.push_back(tensor);
  }
  for (const std::string& name : scalars) task.scalars.push_back({name, DType::f32, 0.5});
  return task;
}

inline Task matmul_task(DType type = DType::f32) {
  return plain_task({{"A", Role::in}, {"B", Role::in}, {"D", Role::out}}, {"alpha", "beta"}, type);
}

inline Workload at(Sizes sizes) { return {std::move(sizes), 1.0}; }

inline CompiledKernel compiled(const KernelSource& source, std::vector<EntryFacts> entries) {
  CompiledKernel kernel;
  kernel.source = source;
  kernel.entries = std::move(entries);
  return kernel;
}

inline EntryFacts entry(const std::string& name, int registers, std::vector<int> bytes) {
  EntryFacts facts;
  facts.name = facts.source_name = name;
  facts.registers = registers;
  facts.parameter_alignment = bytes;
  for (int& alignment : facts.parameter_alignment) {
    if (alignment > 64) alignment = 64;
  }
  facts.parameter_bytes = std::move(bytes);
  return facts;
}

}  // namespace cupilot::test
