// The parsed form of one PTX module: what the text says, resolved to indices, nothing interpreted
// yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/opcode.hpp"
#include "ptx/syntax/type.hpp"

namespace cupilot::ptx {

enum class Space : std::uint8_t { generic, reg, param, shared, global, local, constant };
std::string_view name_of(Space space);

std::string_view name_of(Type type);
std::optional<Type> type_named(std::string_view name);
// Size of one value in bytes; a predicate counts 0, a type below one byte 1.
std::uint32_t bytes_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);  // s8 .. s64, s4, s16x2

inline constexpr std::uint32_t none_index = 0xffffffffu;

// One distinct dotted spelling ("ld.global.nc.v4.f32"), shared by all instructions that have it.
struct Form {
  std::string text;
  Opcode opcode = Opcode::unknown;
  std::vector<std::string>
      modifiers;                 // "global", "nc", "v4", "f32"; "::" stays inside ("L2::128B")
  std::vector<Type> types;       // the modifiers that are types, in order
  Space space = Space::generic;  // the first state space among the modifiers (".shared::cta" counts
                                 // as shared)
  std::uint8_t vector = 1;       // 2, 4 or 8 for .v2 .v4 .v8

  bool has(std::string_view modifier) const;
};

enum class OperandKind : std::uint8_t {
  none,
  reg,        // index: Function::registers
  immediate,  // bits; type: s64, u64, f32 or f64 as the literal was written
  variable,   // the address of a variable: index in Module::variables
  formal,     // a parameter or a parameter-space variable of the function: index in
              // Function::variables
  function,   // index: Module::functions
  label,      // index: target instruction of the same function (its size: falls off the end)
  special,    // index: Special
  table,      // index: Function::tables (branch targets, call targets, prototypes)
  address,    // [base + offset]: `base` says what `index` is (reg, variable, formal, immediate);
              // offset
  vector,     // {a, b, c}: `index` is the first of `count` operands in Function::operands; also d|p
  sink,       // _
};

struct Operand {
  OperandKind kind = OperandKind::none;
  OperandKind base = OperandKind::none;  // of an address
  bool negated = false;                  // !p
  bool pair = false;                     // a vector that was written d|p
  Type type = Type::none;                // of a register or an immediate
  std::uint32_t index = 0;
  std::uint32_t count =
      0;  // of a vector; of an address: coordinates that follow the base ([map, {x, y}])
  std::uint32_t coordinates = 0;  // of an address with count > 0: first operand of the coordinates
  std::int64_t offset = 0;        // of an address
  std::uint64_t bits = 0;         // of an immediate
};

// Predefined read-only registers; the 3-vectors take three rows each (x, y, z).
// clang-format off
#define CUPILOT_PTX_SPECIALS(X) \
  X(tid_x) X(tid_y) X(tid_z) \
  X(ntid_x) X(ntid_y) X(ntid_z) \
  X(ctaid_x) X(ctaid_y) X(ctaid_z) \
  X(nctaid_x) X(nctaid_y) X(nctaid_z) \
  X(clusterid_x) X(clusterid_y) X(clusterid_z) \
  X(nclusterid_x) X(nclusterid_y) X(nclusterid_z) \
  X(cluster_ctaid_x) X(cluster_ctaid_y) X(cluster_ctaid_z) \
  X(cluster_nctaid_x) X(cluster_nctaid_y) X(cluster_nctaid_z) \
  X(cluster_ctarank) X(cluster_nctarank) X(is_explicit_cluster) \
  X(laneid) X(warpid) X(nwarpid) X(smid) X(nsmid) X(gridid) \
  X(lanemask_eq) X(lanemask_le) X(lanemask_lt) X(lanemask_ge) X(lanemask_gt) \
  X(clock) X(clock_hi) X(clock64) X(globaltimer) X(globaltimer_lo) X(globaltimer_hi) \
  X(total_smem_size) X(aggr_smem_size) X(dynamic_smem_size) X(current_graph_exec) X(envreg1) X(envreg2) \
  X(reserved_smem_offset_begin) X(reserved_smem_offset_end) X(reserved_smem_offset_cap) \
  X(reserved_smem_offset_0) X(reserved_smem_offset_1) X(other)
// clang-format on
enum class Special : std::uint8_t {
#define X(name) name,
  CUPILOT_PTX_SPECIALS(X)
#undef X
};

struct Instruction {
  std::uint32_t form = 0;            // Module::forms
  std::uint32_t guard = none_index;  // predicate register
  bool guard_negated = false;        // @!p
  std::uint32_t first_operand = 0;   // Function::operands[first_operand .. +operand_count)
  std::uint32_t operand_count = 0;
  std::uint32_t line = 0;         // of the PTX text, from 1
  std::uint32_t source_file = 0;  // number of a .file directive; 0: unknown
  std::uint32_t source_line = 0;  // 0: unknown
};

struct Register {
  std::string name;
  Type type = Type::none;
};

// A module variable, a formal parameter, or a variable declared in a body.
struct Variable {
  std::string name;
  Space space = Space::generic;
  Type type = Type::none;   // of one element
  std::uint64_t bytes = 0;  // in all, 2^62 when it is more; 0 for `.extern .shared x[]`
  std::uint32_t align = 0;  // as written, else the element's size
  bool is_extern = false;
  bool is_array = false;
  bool pointer = false;               // a parameter marked .ptr
  Space pointee = Space::generic;     // with .ptr
  std::vector<std::uint8_t> initial;  // empty: none given
  bool symbolic_initial = false;      // the initialiser holds addresses
  std::uint32_t line = 0;
};

// A list of branch targets (labels), call targets (function names) or a call prototype.
struct Table {
  std::string name;
  std::vector<std::uint32_t> targets;  // of .branchtargets: instruction indices
  bool is_branch = false;
};

struct Directive {
  std::string name;  // "maxntid", "noreturn", "pragma"
  std::vector<std::uint64_t> values;
  std::string text;  // of a pragma
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_visible = false, is_extern = false, is_weak = false;
  bool has_body = false;
  std::vector<Variable>
      variables;  // results, then parameters, then param-space and local variables of the body
  std::uint32_t result_count = 0;
  std::uint32_t parameter_count = 0;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Table> tables;
  std::vector<Directive> directives;  // performance directives and pragmas
  std::uint32_t line = 0;

  // Values of a directive ("maxntid" -> {256, 1, 1}); empty when it is absent.
  std::vector<std::uint64_t> directive(std::string_view directive_name) const;
  const Variable& parameter(std::size_t i) const { return variables[result_count + i]; }
};

struct SourceFile {
  std::uint32_t number = 0;
  std::string path;
};

struct Module {
  std::uint32_t version_major = 0, version_minor = 0;
  std::string target;  // "sm_90a"
  std::uint32_t address_bits = 64;
  std::vector<Form> forms;
  std::vector<Variable>
      variables;  // module scope, and .shared / .global / .const variables declared in bodies
  std::vector<Function>
      functions;  // entries and device functions; a declaration and its definition are one
  std::vector<SourceFile> files;
  std::vector<Directive> directives;  // pragmas and aliases of module scope

  const Function* entry(std::string_view name) const;  // nullptr: no such kernel
  const Form& form(const Instruction& i) const { return forms[i.form]; }
  std::string_view file(std::uint32_t number) const;  // "" when unknown
};

}  // namespace cupilot::ptx
