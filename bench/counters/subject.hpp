// Launches whose work is counted on the interpreter and on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/result.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/memory.hpp"
#include "backend/virtual/counts.hpp"
#include "ptx/machine/execute.hpp"

namespace counters {

using namespace cupilot;

struct Order {
  std::string label, entry;  // entry as in the PTX
  ptx::Launch launch;
};

// A module, its memory before the first launch, and the launches in order. Pointers in the
// parameters are the interpreter's.
struct BenchSubject {
  std::string name;
  std::string ptx;
  std::vector<std::uint8_t> cubin;
  std::shared_ptr<const ptx::Module> module;
  std::shared_ptr<void> owner;  // of the memory
  ptx::DeviceMemory* memory = nullptr;
  std::vector<Order> orders;
  // Counts of each launch as the virtual device has them at full size: from samples or smaller
  // runs. Not of probes.
  std::function<Attempt<std::vector<ModelInput>>()> at_full_size;
  bool probe = false;  // counts a single instruction; sectors and passes alone mean anything
};

// Kernels of the repository at moderate sizes; `big`: at sizes where only traffic is compared.
std::vector<std::function<Result<BenchSubject>()>> works(CompilePool& pool, bool big);
// One instruction by many patterns of addresses, or by itself.
std::vector<std::function<Result<BenchSubject>()>> probes(CompilePool& pool);
// wgmma of several widths and swizzles.
std::vector<std::function<Result<BenchSubject>()>> product_probes(CompilePool& pool);

}  // namespace counters
