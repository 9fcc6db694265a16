// The hash that tells whether two modules are the same program under other names.
#include <fmt/format.h>

#include <iterator>
#include <map>

#include "base/hash.hpp"
#include "ptx/facts.hpp"

namespace cupilot::ptx {
namespace {

class Canonical {
 public:
  explicit Canonical(const Module& module) : module_(module) {}

  std::string text() {
    out_ = fmt::format("target {} {}\n", module_.target, module_.address_bits);
    for (const Function& function : module_.functions) add(function);
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }

  static std::uint32_t number(std::map<std::uint32_t, std::uint32_t>& numbers, std::uint32_t index) {
    return numbers.try_emplace(index, static_cast<std::uint32_t>(numbers.size())).first->second;
  }

  void add_variable(const Variable& variable) {
    put("<{} {} {} {} {}", name_of(variable.space), name_of(variable.type), variable.bytes, variable.align, variable.is_extern);
    if (!variable.initial.empty()) {
      const std::string_view bytes(reinterpret_cast<const char*>(variable.initial.data()), variable.initial.size());
      put(" {}", sha256_hex(bytes));
    }
    put(">");
  }

  // A module variable is told in full where it is first used.
  void add_reference(std::uint32_t index) {
    const std::size_t known = variables_.size();
    put("v{}", number(variables_, index));
    if (variables_.size() != known) add_variable(module_.variables[index]);
  }

  void add_base(OperandKind kind, const Operand& operand) {
    switch (kind) {
      case OperandKind::reg:
        put("r{}:{}", number(registers_, operand.index), name_of(operand.type));
        break;
      case OperandKind::variable:
        add_reference(operand.index);
        break;
      case OperandKind::immediate:
        put("{:x}", operand.bits);
        break;
      default:
        put("{}:{}", static_cast<int>(kind), operand.index);
    }
  }

  void add_operand(const Function& function, const Operand& operand) {
    put("{}", operand.negated ? " !" : " ");
    if (operand.kind == OperandKind::vector) {
      put("{}{{", operand.pair ? "|" : "");
      for (std::uint32_t i = 0; i < operand.count; ++i) add_operand(function, function.operands[operand.index + i]);
      put("}}");
    } else if (operand.kind == OperandKind::address) {
      put("[");
      add_base(operand.base, operand);
      put("+{}", operand.offset);
      for (std::uint32_t i = 0; i < operand.count; ++i) add_operand(function, function.operands[operand.coordinates + i]);
      put("]");
    } else {
      add_base(operand.kind, operand);
    }
  }

  void add(const Function& function) {
    registers_.clear();
    put("{} {} {}\n", function.is_entry ? "entry" : "func", function.result_count, function.parameter_count);
    for (const Variable& variable : function.variables) add_variable(variable);
    for (const Directive& directive : function.directives) {
      put(" .{}{}", directive.name, directive.text);
      for (const std::uint64_t value : directive.values) put(" {}", value);
    }
    put("\n");
    for (const Table& table : function.tables) {
      put("table {}", table.is_branch);
      for (const std::uint32_t target : table.targets) put(" {}", target);
      put("\n");
    }
    for (const Instruction& instruction : function.instructions) {
      if (instruction.guard != none_index)
        put("@{}r{} ", instruction.guard_negated ? "!" : "", number(registers_, instruction.guard));
      put("{}", module_.form(instruction).text);
      for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
        add_operand(function, function.operands[instruction.first_operand + i]);
      }
      put("\n");
    }
  }

  const Module& module_;
  std::string out_;
  std::map<std::uint32_t, std::uint32_t> variables_, registers_;
};

}  // namespace

std::string normalized_hash(const Module& module) { return sha256_hex(Canonical(module).text()); }

}  // namespace cupilot::ptx
