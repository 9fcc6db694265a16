// Facts read off a module without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cupilot/parts/compiled_kernel.hpp>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// Static opcode counts, ceiling of the numeric class, oddities, and the hash of the text without
// names, comments and lines.
PtxFacts facts_of(const Module& module);

// The best class the arithmetic could satisfy, proof may lower it: the weakest of what its
// instructions compute in. Products on tf32 tensor cores, and on bf16 ones fed by conversions from
// fp32, may be terms of an emulation (tf32x3, bf16x6), so they cap at fp32_emulated. Moves,
// conversions and comparisons cap nothing.
Precision precision_ceiling(const Module& module);

// SHA-256 over structure alone: entries in order, registers and variables renumbered by first use.
std::string normalized_hash(const Module& module);

// A .global or .const variable of the module that some code may write, nullopt when there is none:
// one whose address reaches a store, an atomic, a copy's destination, a call, a branch, a guard, or
// data of any kind. Sound: what addresses are laundered through (tables, predicates, registers
// returned) counts. A table that is only read through its address is none. The grid's barrier
// counts too (as grid_barrier) once code does more than add to it and read it.
std::optional<std::uint32_t> written_variable(const Module& module);
inline constexpr std::uint32_t grid_barrier = none_index - 1;

}  // namespace cupilot::ptx
