// The hash that tells whether two modules are the same program under other names.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "ptx/gate/facts.hpp"

namespace cupilot::ptx {
namespace {

class Canonical {
 public:
  explicit Canonical(const Module& module) : module_(module) {}

  void write() {
    put("target {} {}\n", module_.target, module_.address_bits);
    for (const Function& function : module_.functions) add(function);
  }
  std::string_view text() const {
    return {out_.data(), static_cast<std::size_t>(at_ - out_.data())};
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

  // Makes room for `bytes` more, and for what one operand is told in: marks, numbers and the name
  // of a type, which go there without a format or a look at the room.
  void make_room(std::size_t bytes) {
    constexpr std::size_t operand_bytes = 128;
    const std::size_t written = text().size();
    if (out_.size() - written >= bytes + operand_bytes) return;
    out_.resize(2 * out_.size() + bytes + operand_bytes);
    at_ = out_.data() + written;
  }
  void put_text(std::string_view text) {
    make_room(text.size());
    at_ = std::copy(text.begin(), text.end(), at_);
  }
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    put_text(fmt::format(format, std::forward<T>(values)...));
  }
  void put_mark(char mark) { *at_++ = mark; }
  template <class T>
  void put_number(T value, int base = 10) {
    at_ = std::to_chars(at_, at_ + 24, value, base).ptr;
  }
  void put_register(std::uint32_t index) {
    put_mark('r');
    put_number(registers_(index));
  }

  void add_variable(const Variable& variable) {
    put("<{} {} {} {} {}", name_of(variable.space), name_of(variable.type), variable.bytes,
        variable.align, variable.is_extern);
    if (!variable.initial.empty()) {
      const std::string_view bytes(reinterpret_cast<const char*>(variable.initial.data()),
                                   variable.initial.size());
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
        put_register(operand.index);
        put_mark(':');
        for (const char c : name_of(operand.type)) put_mark(c);
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
    make_room(0);
    put_mark(' ');
    if (operand.negated) put_mark('!');
    if (operand.kind == OperandKind::vector) {
      if (operand.pair) put_mark('|');
      put_mark('{');
      for (std::uint32_t i = 0; i < operand.count; ++i)
        add_operand(function, function.operands[operand.index + i]);
      put_text("}");
    } else if (operand.kind == OperandKind::address) {
      put_mark('[');
      add_base(operand.base, operand);
      put_mark('+');
      put_number(operand.offset);
      for (std::uint32_t i = 0; i < operand.count; ++i)
        add_operand(function, function.operands[operand.coordinates + i]);
      put_text("]");
    } else {
      add_base(operand.kind, operand);
    }
  }

  void add(const Function& function) {
    registers_ = {};
    put("{} {} {}\n", function.is_entry ? "entry" : "func", function.result_count,
        function.parameter_count);
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
      if (instruction.guard != none_index) {
        put_mark('@');
        if (instruction.guard_negated) put_mark('!');
        put_register(instruction.guard);
        put_mark(' ');
      }
      put_text(module_.form(instruction).text);
      for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
        add_operand(function, function.operands[instruction.first_operand + i]);
      }
      put_text("\n");
    }
  }

  const Module& module_;
  std::string out_;  // room for more than is written
  char* at_ = out_.data();
  Numbers variables_, registers_;
};

}  // namespace

std::string normalized_hash(const Module& module) {
  Canonical canonical(module);
  canonical.write();
  return sha256_hex(canonical.text());
}

}  // namespace cupilot::ptx
