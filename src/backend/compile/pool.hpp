// Compiling untrusted CUDA text and assembling PTX: NVRTC and nvJitLink run only in sandboxed
// throw-away processes of cupilot-worker.
//
// Each job slot holds one warmed server that has NVRTC loaded and forks a confined child per
// compile (limits of memory, time, file size; no new privileges, empty environment, Landlock
// read-only allow-list, seccomp). A crash, a hang or a malformed answer costs that child or server,
// never the controller; it is a rejection once a fresh server has met it too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// Caps on what goes in and comes out, by who wrote the text and how many kernels it has.
struct CompileCaps {
  std::size_t source = 256u << 10, ptx = 4u << 20, cubin = 8u << 20;
  int deadlines = 1;  // of BackendOptions::compile_seconds
};
// Holds for what the project writes itself, references and measuring kernels; none is larger.
inline constexpr CompileCaps own_caps = {4u << 20, 24u << 20, 32u << 20, 4};
// Returns the caps of a candidate whose plan launches `kernels` different kernels: those of one for
// each, up to own_caps.
CompileCaps candidate_caps(std::size_t kernels);

struct CompileRequest {
  std::string text;
  std::string arch;                  // "sm_90a"
  std::vector<std::string> options;  // beyond the standard ones; see standard_compile_options
  std::vector<std::string> name_expressions;  // "stencil7<32,8>"
  bool ptx_only = false;                      // no assembling: arch becomes its compute_ form
  bool is_ptx = false;                        // `text` is PTX, and is assembled alone
  bool anew = false;                          // not from BackendOptions::compile_cache
  CompileCaps caps{};
};

// The parts of the machine's sandbox, as a compile server found them.
struct SandboxState {
  int landlock = 0;  // ABI version, 0: not there
  bool seccomp = false, limits = false;
  std::string compiler;       // "nvrtc 13.0", empty: not found
  std::string compiler_path;  // or why it was not found
  // Digest of all inputs of a compile beside the request: the library, the toolkit's headers, those
  // of this project.
  std::string compiler_digest;
};

// "landlock 4, seccomp, rlimits"; what is lacking is said: "NO landlock, seccomp, rlimits".
std::string describe(const SandboxState& state);
// A sentence with its cost for each protection that is lacking.
std::vector<std::string> lacks_of(const SandboxState& state);

struct CompileOutput {
  std::string ptx;
  std::vector<std::uint8_t> cubin;
  std::string log;  // ptxas's resource lines included; control characters stripped, at most 64 KiB
  std::map<std::string, std::string> lowered_names;
  double seconds = 0;
  std::string compiler;     // "nvrtc 13.0"
  std::string confinement;  // confinement of this very compile: "landlock 4, seccomp, rlimits"
};

inline constexpr std::size_t log_cap = 64u << 10;

// Returns the options of every compile, besides request.options.
std::vector<std::string> standard_compile_options(const CompileRequest& request);

// The error for a reference that `why` kept from being compiled: its author is blamed for what the
// text says, not for a compiler that died or was late. `of_graph`: operators compose it.
Error reference_not_compiled(const std::string& reference, const Rejected& why,
                             bool of_graph = false);

class CompilePool {
 public:
  // Error{toolchain} when NVRTC cannot be opened, Error{failure} when the worker program is
  // missing.
  static Result<std::unique_ptr<CompilePool>> open(const BackendOptions& options);
  ~CompilePool();

  // Any thread. compile.error carries the first errors, `where` is "kernel.cu:LINE". What is
  // assembled alone is not kept. Error{toolchain}: nvJitLink cannot be opened.
  Attempt<CompileOutput> compile(CompileRequest request);
  int jobs() const;
  const SandboxState& sandbox() const;
  // Returns the reason for which BackendOptions::compile_cache is not used; empty: it is, or none
  // was named.
  const std::string& cache_unused() const;

 private:
  struct State;
  explicit CompilePool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
