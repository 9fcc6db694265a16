// Inside of the parser: what module level, bodies and operands share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/lexer.hpp"
#include "ptx/module.hpp"
#include "ptx/parser.hpp"

namespace cupilot::ptx {

// What a name stands for.
struct Symbol {
  enum class Kind : std::uint8_t { registers, variable, formal, function, table } kind = Kind::variable;
  std::uint32_t index = 0;  // of variable, formal, function, table; of registers: group
};

// `.reg .b32 %r<22>;`: names are given indices when first used.
struct RegisterGroup {
  Type type = Type::none;
  std::uint64_t count = 0;  // of %r<count>; 0: a single name
  std::unordered_map<std::uint64_t, std::uint32_t> used;
};

// Names of module scope, and the budget of the whole text.
struct ModuleScope {
  Module module;
  ParseLimits limits;
  std::unordered_map<std::string, Symbol> names;
  std::unordered_map<std::string, std::uint32_t> forms;
  std::size_t instructions = 0;
  std::size_t initial_bytes = 0;
  std::size_t variables = 0;
};

// `.align 4 .b8 name[16] = {...}` after its state space; the semicolon stays. `parameter` allows .ptr and no initialiser.
Variable parse_variable(Lexer& lexer, ModuleScope& scope, Space space, bool parameter);
std::uint32_t form_index(ModuleScope& scope, std::string_view spelling, std::uint32_t line);

// Parses the body of one function, its opening brace being next.
class BodyParser {
 public:
  BodyParser(Lexer& lexer, ModuleScope& scope, Function& function) : lexer_(lexer), scope_(scope), function_(function) {}
  void parse();

 private:
  struct Scope {
    std::unordered_map<std::string, Symbol> names;
    std::unordered_map<std::string, std::uint32_t> labels;
    std::size_t parent = 0;
  };
  struct LabelUse {
    std::size_t scope = 0;
    std::string name;
    std::uint32_t line = 0;
    bool in_table = false;
    std::size_t table = 0;
    std::size_t slot = 0;  // operand, or row of the table
  };

  void statement();
  bool directive();
  void registers();
  void location();
  void declare(Space space);
  void labelled(std::string_view name, std::uint32_t line);
  void label_table(std::string_view name, std::string_view kind);
  void instruction(std::optional<Operand> guard, bool negated);
  void call_operands(std::vector<Operand>& out);
  void open_scope();
  void close_scope();
  void add_name(std::string_view name, Symbol symbol, std::uint32_t line);
  void resolve_labels();

  Operand operand(bool label_allowed);
  Operand unary_or_name(bool label_allowed);
  Operand number(bool negative, bool inverted);
  Operand named(std::string_view name, std::uint32_t line, bool label_allowed);
  Operand address();
  Operand vector_of(std::vector<Operand> parts, bool pair);
  Operand braces();
  Operand parentheses();
  std::optional<Operand> find_register(std::string_view name);
  std::optional<Operand> special(std::string_view name);
  std::uint32_t make_register(RegisterGroup& group, std::uint64_t number, std::string_view name, std::uint32_t line);
  [[noreturn]] void fail(std::uint32_t line, std::string message) const { throw SyntaxError{line, std::move(message)}; }

  Lexer& lexer_;
  ModuleScope& scope_;
  Function& function_;
  std::vector<Scope> scopes_;      // all ever opened
  std::vector<std::size_t> open_;  // indices into scopes_
  std::vector<RegisterGroup> groups_;
  std::vector<LabelUse> uses_;
  std::uint32_t file_ = 0, source_line_ = 0;
};

}  // namespace cupilot::ptx
