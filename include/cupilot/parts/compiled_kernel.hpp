// A compiled source and the facts that are read off it without running it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/kernel_source.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct EntryFacts {
  std::string name{};         // as in the PTX
  std::string source_name{};  // as the plan spells it ("gemm", "stencil7<32,8>")
  int registers = 0;          // 0: not assembled
  int static_shared = 0;      // bytes
  int stack_bytes = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int max_threads = 0;  // launch bound, 0: none
  std::vector<int> parameter_bytes{};
  std::vector<int> parameter_alignment{};
};

struct PtxFacts {
  std::map<std::string, int> opcodes{};  // full form -> static count
  // The best class that its arithmetic can satisfy; the proof may lower it.
  Precision ceiling = Precision::fp32_strict;
  bool writes_global_state = false;  // code stores to a module variable
  // Remarkable instructions: "%clock", "atom.f32", "nanosleep" …
  std::vector<std::string> flags{};
  std::string normalized_hash{};  // hash of the PTX without names, comments and line info
};

struct CompiledKernel {
  KernelSource source{};
  std::string id{};        // kernel_id(source)
  std::string arch{};      // "sm_90a"
  std::string compiler{};  // "nvrtc 13.0"
  std::string options{};
  std::string ptx{};
  std::vector<std::uint8_t> cubin{};  // empty: PTX only
  std::string log{};                  // control characters stripped, capped
  std::vector<EntryFacts> entries{};
  PtxFacts facts{};
  double compile_seconds = 0;
  // Confinement of the compiler while it read the source, and the parts that this machine lacks:
  // "landlock 4, seccomp, rlimits". Empty: the source was PTX, or the kernel comes from a record.
  std::string confinement{};
};

const EntryFacts* find_entry(const CompiledKernel& kernel, const std::string& source_name);

}  // namespace cupilot
CUPILOT_EXPORTS_END
