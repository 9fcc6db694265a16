// Refuses PTX that could do more than the launch plan says, before anything is loaded or run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// A kernel parameter as the plan's argument makes it. `bytes` 0: 1 to 8, a pointer or a scalar that
// only the task can tell. The parameter must be aligned to exactly `align`, a map of 128 bytes to
// at least that; 0 with `bytes`: to anything, as a record is.
struct ExpectedParameter {
  std::uint32_t bytes = 8;
  std::uint32_t align = 8;
};

// One launch of the plan. Zeros in block and cluster: not known before the shape is.
struct ExpectedEntry {
  std::string name;         // as in the PTX
  std::string source_name;  // as the plan spells it
  std::vector<ExpectedParameter> parameters;
  std::array<std::int64_t, 3> block{};
  std::array<std::int64_t, 3> cluster{};
  bool cooperative = false;
  bool textures = false;  // the plan binds some
};

struct GateCaps {
  std::uint64_t shared_bytes = 232448;    // static, an entry
  std::uint64_t local_bytes = 64u << 10;  // a thread: local variables and the parameters of calls
  std::uint64_t table_bytes =
      64u << 10;  // initialised data in all: kernels are not to carry answers
  std::uint64_t global_bytes = 1u << 20;  // module variables in all
};

// candidate: counts as hostile. own: its author checks it on an interpreter, where it may assert,
// print, trap and read clocks.
enum class Whose : std::uint8_t { candidate, own };

// nullopt, or the first refusal: entries, externs, parameters, directives, sizes, instructions,
// module state, in that order.
std::optional<Rejected> gate(const Module& module, std::span<const ExpectedEntry> expected,
                             const GateCaps& caps = {}, Whose whose = Whose::candidate);

// The launch directives of an entry against a launch of `block` threads in clusters of `cluster`
// blocks; zeros are skipped.
std::optional<Rejected> check_directives(const Function& entry,
                                         const std::array<std::int64_t, 3>& block,
                                         const std::array<std::int64_t, 3>& cluster);

// A part of gate(): gate.forbidden for an instruction that may not stand, or for an operand that
// leads where no plan leads. `cooperative`: some launch is, so code may ask for the grid's barrier,
// and trap where there is none. `textures`: the plan binds some, so code may fetch.
std::optional<Rejected> check_instructions(const Module& module, bool cooperative = false,
                                           Whose whose = Whose::candidate, bool textures = false);

// Static shared memory that a function names itself, in bytes.
std::uint64_t static_shared_bytes(const Module& module, const Function& function);

}  // namespace cupilot::ptx
