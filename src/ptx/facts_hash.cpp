// The hash that tells whether two modules are the same program under other names.
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <vector>

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
  // Numbers by the order of first use.
  struct Numbers {
    std::vector<std::uint32_t> of{};  // 0: not used yet
    std::uint32_t used = 0;
    std::uint32_t operator()(std::uint32_t index) {
      if (index >= of.size()) of.resize(index + 1, 0);
      if (of[index] == 0) of[index] = ++used;
      return of[index] - 1;
    }
  };

  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }
  void put_text(std::string_view text) { out_ += text; }
  // The many numbers of a module are written without a format.
  template <class T>
  void put_number(T value, int base = 10) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value, base).ptr);
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
    const std::uint32_t known = variables_.used;
    put("v{}", variables_(index));
    if (variables_.used != known) add_variable(module_.variables[index]);
  }

  void add_base(OperandKind kind, const Operand& operand) {
    switch (kind) {
      case OperandKind::reg:
        put_text("r");
        put_number(registers_(operand.index));
        put_text(":");
        put_text(name_of(operand.type));
        break;
      case OperandKind::variable:
        add_reference(operand.index);
        break;
      case OperandKind::immediate:
        put_number(operand.bits, 16);
        break;
      default:
        put("{}:{}", static_cast<int>(kind), operand.index);
    }
  }

  void add_operand(const Function& function, const Operand& operand) {
    put_text(operand.negated ? " !" : " ");
    if (operand.kind == OperandKind::vector) {
      put_text(operand.pair ? "|{" : "{");
      for (std::uint32_t i = 0; i < operand.count; ++i) add_operand(function, function.operands[operand.index + i]);
      put_text("}");
    } else if (operand.kind == OperandKind::address) {
      put_text("[");
      add_base(operand.base, operand);
      put_text("+");
      put_number(operand.offset);
      for (std::uint32_t i = 0; i < operand.count; ++i) add_operand(function, function.operands[operand.coordinates + i]);
      put_text("]");
    } else {
      add_base(operand.kind, operand);
    }
  }

  void add(const Function& function) {
    registers_ = {};
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
      if (instruction.guard != none_index) put("@{}r{} ", instruction.guard_negated ? "!" : "", registers_(instruction.guard));
      put_text(module_.form(instruction).text);
      for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
        add_operand(function, function.operands[instruction.first_operand + i]);
      }
      put_text("\n");
    }
  }

  const Module& module_;
  std::string out_;
  Numbers variables_, registers_;
};

}  // namespace

std::string normalized_hash(const Module& module) { return sha256_hex(Canonical(module).text()); }

}  // namespace cupilot::ptx
