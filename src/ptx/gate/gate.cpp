#include "ptx/gate/gate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include <cupilot/parts/rejection.hpp>

#include "ptx/gate/facts.hpp"
#include "ptx/syntax/system_call.hpp"

namespace cupilot::ptx {
namespace {

using Refusal = std::optional<Rejected>;

std::string at_line(std::uint32_t line) { return fmt::format("ptx line {}", line); }

std::uint64_t add_capped(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

// "k is not in the launch plan", "k, l, m, … are not in the launch plan"
std::string extra_entries(const std::vector<std::string_view>& extra) {
  constexpr std::size_t shown = 12;
  const std::size_t count = std::min(extra.size(), shown);
  return fmt::format(
      "kernel{} {}{} {} not in the launch plan", extra.size() == 1 ? "" : "s",
      fmt::join(extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(count), ", "),
      extra.size() > shown ? ", …" : "", extra.size() == 1 ? "is" : "are");
}

Refusal check_entries(const Module& module, std::span<const ExpectedEntry> expected, Whose whose) {
  std::vector<std::string_view> extra;
  std::uint32_t extra_line = 0;
  for (const Function& function : module.functions) {
    const bool declared = std::any_of(expected.begin(), expected.end(),
                                      [&](const auto& e) { return e.name == function.name; });
    if (!function.is_entry || declared) continue;
    if (extra.empty()) extra_line = function.line;
    extra.push_back(function.name);
  }
  if (!extra.empty()) {
    const char* next =
        whose == Whose::own ? "; --entry NAME proves one and leaves the others out" : "";
    return reject("gate.extra_entry", extra_entries(extra) + next, at_line(extra_line));
  }
  for (const Function& function : module.functions) {
    if (!function.is_entry && function.has_body && (function.is_visible || function.is_weak)) {
      return reject("gate.extra_entry",
                    fmt::format("function {} is visible outside the module", function.name),
                    at_line(function.line));
    }
  }
  for (const ExpectedEntry& entry : expected) {
    const Function* function = module.entry(entry.name);
    if (function == nullptr || !function->has_body) {
      return reject("gate.missing_entry",
                    fmt::format("the launch plan names kernel {} but the source defines none; is "
                                "it `extern \"C\" __global__`?",
                                entry.source_name));
    }
  }
  return std::nullopt;
}

// True if some code names a function.
bool is_named(const Module& module, std::size_t index) {
  return std::any_of(module.functions.begin(), module.functions.end(), [&](const Function& f) {
    return std::any_of(f.operands.begin(), f.operands.end(), [&](const Operand& o) {
      return o.kind == OperandKind::function && o.index == index;
    });
  });
}

Refusal check_externs(const Module& module, Whose whose) {
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    const bool said = whose == Whose::own && !function.has_body &&
                      (system_call_of(function) != SystemCall::none || !is_named(module, i));
    if (said) continue;
    if (function.is_extern || !function.has_body) {
      return reject(
          "gate.extern",
          fmt::format(
              "function {} is not defined here (device printf, assert, malloc are not allowed)",
              function.name),
          at_line(function.line));
    }
  }
  for (const Variable& variable : module.variables) {
    if (variable.is_extern && variable.space != Space::shared) {
      return reject("gate.extern", fmt::format("variable {} is not defined here", variable.name),
                    at_line(variable.line));
    }
  }
  return std::nullopt;
}

Refusal check_parameters(const Function& function, const ExpectedEntry& entry) {
  const auto refuse = [&](std::string message) {
    return reject("gate.parameters", fmt::format("kernel {}: {}", entry.source_name, message),
                  at_line(function.line));
  };
  if (function.parameter_count != entry.parameters.size()) {
    return refuse(fmt::format("{} parameters, but the plan passes {} arguments",
                              function.parameter_count, entry.parameters.size()));
  }
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    const Variable& parameter = function.parameter(i);
    const ExpectedParameter& want = entry.parameters[i];
    const bool fits = want.bytes == 0 ? parameter.bytes >= 1 && parameter.bytes <= 8
                                      : parameter.bytes == want.bytes;
    if (!fits) {
      return refuse(fmt::format("parameter {} has {} bytes, the plan's argument has {}", i,
                                parameter.bytes,
                                want.bytes == 0 ? "1 to 8" : std::to_string(want.bytes)));
    }
    const std::uint64_t align = want.bytes == 0 ? parameter.bytes : want.align;
    if (align == 0) continue;
    if (parameter.bytes <= 8 ? parameter.align != align : parameter.align < align) {
      return refuse(fmt::format("parameter {} is aligned to {} bytes, the plan's argument to {}", i,
                                parameter.align, align));
    }
  }
  return std::nullopt;
}

// Bytes that an instruction moves for each thread.
std::uint64_t moved_bytes(const Form& form) {
  return form.types.empty() ? 0 : std::uint64_t{bytes_of(form.types.back())} * form.vector;
}

// Refuses reads behind the parameters of a kernel: that memory belongs to the driver.
Refusal check_parameter_reads(const Module& module, const Function& function) {
  for (const Instruction& instruction : function.instructions) {
    for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
      const Operand& operand = function.operands[instruction.first_operand + i];
      if (operand.kind != OperandKind::address || operand.base != OperandKind::formal ||
          !function.is_entry)
        continue;
      const Variable& variable = function.variables[operand.index];
      const std::uint64_t bytes = moved_bytes(module.form(instruction));
      const auto offset = static_cast<std::uint64_t>(operand.offset);
      if (variable.space != Space::param ||
          (offset <= variable.bytes && bytes <= variable.bytes - offset))
        continue;
      return reject(
          "gate.parameters",
          fmt::format("{} at {}{:+} leaves the parameter, which has {} bytes",
                      module.form(instruction).text, variable.name, operand.offset, variable.bytes),
          at_line(instruction.line));
    }
  }
  return std::nullopt;
}

bool starts_with_any(std::string_view text, std::span<const std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](std::string_view head) { return text.substr(0, head.size()) == head; });
}

// Directives of functions and of module scope: what is not known may change what the checks below
// take for granted.
Refusal check_directives_known(std::span<const Directive> directives, const std::string& where) {
  static constexpr std::array<std::string_view, 4> pragmas = {"nounroll", "used_bytes_mask",
                                                              "enable_smem_spilling", "frequency"};
  static constexpr std::array<std::string_view, 11> known = {
      "maxntid",        "reqntid",      "minnctapersm",        "maxnctapersm",
      "maxnreg",        "noreturn",     "explicitcluster",     "reqnctapercluster",
      "maxclusterrank", "abi_preserve", "abi_preserve_control"};
  for (const Directive& directive : directives) {
    if (directive.name == "pragma") {
      if (!starts_with_any(directive.text, pragmas)) {
        return reject("gate.forbidden", fmt::format("unknown pragma \"{}\"", directive.text),
                      where);
      }
    } else if (std::find(known.begin(), known.end(), directive.name) == known.end()) {
      return reject(
          "gate.forbidden",
          fmt::format("the directive .{} is not one a launch plan can answer for", directive.name),
          where);
    }
  }
  return std::nullopt;
}

// The most an entry can need: its own and that of every function it might call.
std::uint64_t worst_shared(const Module& module) {
  std::uint64_t entries = 0, called = 0, largest = 0;
  for (const Function& function : module.functions) {
    const std::uint64_t bytes = static_shared_bytes(module, function);
    if (function.is_entry) {
      entries = std::max(entries, bytes);
    } else {
      called = add_capped(called, bytes);
    }
  }
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared) largest = std::max(largest, variable.bytes);
  }
  return std::max(add_capped(entries, called), largest);
}

// Variables that code names; all where some initialiser holds addresses, which may lead anywhere.
std::vector<bool> named_variables(const Module& module) {
  std::vector<bool> named(module.variables.size(), false);
  for (const Variable& variable : module.variables) {
    if (variable.symbolic_initial) return std::vector<bool>(module.variables.size(), true);
  }
  for (const Function& function : module.functions) {
    for (const Operand& operand : function.operands) {
      const OperandKind kind = operand.kind == OperandKind::address ? operand.base : operand.kind;
      if (kind == OperandKind::variable) named[operand.index] = true;
    }
  }
  return named;
}

Refusal check_sizes(const Module& module, const GateCaps& caps) {
  std::uint64_t global = 0, table = 0, local = 0;
  const std::vector<bool> named = named_variables(module);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Variable& variable = module.variables[i];
    if (variable.space == Space::global) global = add_capped(global, variable.bytes);
    if (variable.space == Space::constant || (named[i] && !variable.initial.empty()))
      table = add_capped(table, variable.bytes);
  }
  for (const Function& function : module.functions) {
    const std::size_t own = function.result_count + function.parameter_count;
    for (std::size_t i = 0; i < function.variables.size(); ++i) {
      const bool call_space =
          function.variables[i].space == Space::param && (i >= own || !function.is_entry);
      if (call_space || function.variables[i].space == Space::local)
        local = add_capped(local, function.variables[i].bytes);
    }
  }
  struct Row {
    const char* what;
    std::uint64_t bytes, cap;
  };
  const Row rows[] = {{"static shared memory", worst_shared(module), caps.shared_bytes},
                      {"local memory", local, caps.local_bytes},
                      {"constant data", table, caps.table_bytes},
                      {"module variables", global, caps.global_bytes}};
  for (const Row& row : rows) {
    if (row.bytes > row.cap) {
      return reject("gate.size", fmt::format("{}: {} bytes, at most {} are allowed", row.what,
                                             row.bytes, row.cap));
    }
  }
  return std::nullopt;
}

Refusal check_state(const Module& module) {
  const auto written = written_variable(module);
  if (!written) return std::nullopt;
  if (*written == grid_barrier) {
    return reject("gate.state",
                  "code does more with the grid's barrier than arrive there and look at it, which "
                  "would survive the "
                  "launch; use cooperative_groups::this_grid().sync()");
  }
  const Variable& variable = module.variables[*written];
  return reject("gate.state",
                fmt::format("code may write the module variable {} (or uses its address as data), "
                            "which would survive the launch; "
                            "use a buffer of the plan",
                            variable.name),
                at_line(variable.line));
}

std::int64_t product(const std::array<std::int64_t, 3>& extents) {
  return extents[0] * extents[1] * extents[2];
}

std::array<std::int64_t, 3> extents_of(const std::vector<std::uint64_t>& values) {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  for (std::size_t i = 0; i < std::min<std::size_t>(3, values.size()); ++i) {
    extents[i] = static_cast<std::int64_t>(std::min<std::uint64_t>(values[i], 1u << 20));
  }
  return extents;
}

std::string text_of(const std::array<std::int64_t, 3>& e) {
  return fmt::format("{}x{}x{}", e[0], e[1], e[2]);
}

}  // namespace

std::uint64_t static_shared_bytes(const Module& module, const Function& function) {
  std::vector<bool> seen(module.variables.size(), false);
  std::uint64_t bytes = 0;
  for (const Operand& operand : function.operands) {
    const OperandKind kind = operand.kind == OperandKind::address ? operand.base : operand.kind;
    if (kind != OperandKind::variable || seen[operand.index]) continue;
    seen[operand.index] = true;
    if (module.variables[operand.index].space == Space::shared)
      bytes = add_capped(bytes, module.variables[operand.index].bytes);
  }
  return bytes;
}

std::optional<Rejected> check_directives(const Function& entry,
                                         const std::array<std::int64_t, 3>& block,
                                         const std::array<std::int64_t, 3>& cluster) {
  const auto refuse = [&](std::string message) {
    return reject("gate.launch_bounds", fmt::format("kernel {}: {}", entry.name, message),
                  at_line(entry.line));
  };
  if (product(block) > 0) {
    const auto most = entry.directive("maxntid"), exact = entry.directive("reqntid");
    if (!most.empty() && product(block) > product(extents_of(most))) {
      return refuse(fmt::format("launched with {} threads, compiled for at most {}", product(block),
                                product(extents_of(most))));
    }
    if (!exact.empty() && block != extents_of(exact)) {
      return refuse(fmt::format("launched with blocks of {}, compiled for exactly {}",
                                text_of(block), text_of(extents_of(exact))));
    }
  }
  if (product(cluster) > 0) {
    const auto exact = entry.directive("reqnctapercluster"),
               most = entry.directive("maxclusterrank");
    if (!exact.empty() && cluster != extents_of(exact)) {
      return refuse(fmt::format("launched in clusters of {}, compiled for {}", text_of(cluster),
                                text_of(extents_of(exact))));
    }
    if (!most.empty() && product(cluster) > product(extents_of(most))) {
      return refuse(fmt::format("launched in clusters of {} blocks, compiled for at most {}",
                                product(cluster), product(extents_of(most))));
    }
  }
  return std::nullopt;
}

std::optional<Rejected> gate(const Module& module, std::span<const ExpectedEntry> expected,
                             const GateCaps& caps, Whose whose) {
  const bool cooperative = std::any_of(expected.begin(), expected.end(),
                                       [](const ExpectedEntry& e) { return e.cooperative; });
  const bool textures = std::any_of(expected.begin(), expected.end(),
                                    [](const ExpectedEntry& e) { return e.textures; });
  if (Refusal refusal = check_entries(module, expected, whose)) return refusal;
  if (Refusal refusal = check_externs(module, whose)) return refusal;
  for (const ExpectedEntry& entry : expected) {
    const Function& function = *module.entry(entry.name);
    if (Refusal refusal = check_parameters(function, entry)) return refusal;
    if (Refusal refusal = check_parameter_reads(module, function)) return refusal;
    if (Refusal refusal = check_directives(function, entry.block, entry.cluster)) return refusal;
  }
  if (Refusal refusal = check_directives_known(module.directives, "")) return refusal;
  for (const Function& function : module.functions) {
    if (Refusal refusal = check_directives_known(function.directives, at_line(function.line)))
      return refusal;
  }
  if (Refusal refusal = check_sizes(module, caps)) return refusal;
  if (Refusal refusal = check_instructions(module, cooperative, whose, textures)) return refusal;
  return check_state(module);
}

}  // namespace cupilot::ptx
